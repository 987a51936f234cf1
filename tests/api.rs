//! The types and calls are as DESIGN.md's tables say, in any order, lent or owned, as one parser or as layers.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::std_instead_of_core, clippy::std_instead_of_alloc, clippy::cast_possible_truncation)]
#![cfg_attr(rustfmt, rustfmt_skip)] // laid out by hand, 130 wide

mod common;

use std::fmt::Debug;
use std::io::Read;

use chatwire::chunk::{self, Payload};
use chatwire::completion::Accumulator;
use chatwire::{
    ChatCompletion, Chunk, Deviation, Deviations, Error, Event, Lent, Options, Parser, ToolCall,
    Usage, sse,
};
use common::{Case, End, Fault, read, read_with, streams};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

#[test]
fn the_types_are_what_the_tables_say() {
    fn plain<T: Debug + Clone + PartialEq + Default + Serialize + DeserializeOwned + Send + Sync + Unpin>() {}
    fn free<T: Debug + Send + Sync + Unpin + 'static>() {}
    fn begun<T: Default>() {}
    plain::<Chunk>();
    plain::<ToolCall>();
    plain::<Usage>();
    plain::<ChatCompletion>();
    plain::<chatwire::ApiError>();
    plain::<chatwire::Extra>();
    free::<Parser>();
    free::<Options>();
    free::<Event<'static>>();
    free::<Lent<'static, Chunk>>();
    free::<sse::Decoder>();
    free::<chunk::Decoder>();
    free::<Accumulator>();
    free::<Deviations>();
    free::<Error>();
    begun::<Parser>();
    begun::<Options>();
    begun::<chatwire::Limits>();
    begun::<sse::Decoder>();
    begun::<chunk::Decoder>();
    begun::<Accumulator>();
    assert!(size_of::<Event<'_>>() <= 32);
    assert_eq!(size_of::<Option<Event<'_>>>(), size_of::<Event<'_>>());
    assert_eq!(Options::default().limits, chatwire::Limits::default());
    assert!(Options::default().strict.is_empty());
}

#[test]
fn the_ten_lines_run() -> Result<(), Box<dyn std::error::Error>> {
    let path = common::fixtures().join("tool_calls.sse");
    let (mut body, mut buf) = (std::fs::File::open(path)?, [0; 100]);
    let (mut printed, mut calls) = (String::new(), Vec::new());
    let mut run = |name: &str, arguments: &str| calls.push(format!("{name} {arguments}"));
    let mut billed = Vec::new();
    let mut bill = |total: Option<u64>| billed.extend(total);
    let mut parser = Parser::new();
    while !parser.is_terminated() {
        match body.read(&mut buf)? {
            0 => parser.finish(),
            n => parser.feed(&buf[..n]),
        }
        while let Some(event) = parser.next_event() {
            match event? {
                Event::ChunkParsed(chunk) => printed += chunk.text(),
                Event::ToolCallComplete { call, .. } => run(&call.function.name, &call.function.arguments),
                Event::UsageFrame(usage) => bill(usage.total_tokens),
                Event::Done(done) => assert!(done.unfinished().is_empty()),
                _ => {}
            }
        }
    }
    let answer = parser.into_completion();
    assert_eq!(printed, answer.text());
    assert_eq!((calls.len(), billed.len()), (2, 1));
    Ok(())
}

type Item = Result<Event<'static>, Fault>;

fn owned(item: Result<Event<'static>, Error>) -> Item {
    item.map_err(|error| Fault::from(&error))
}

/// Reads a whole stream with a parser that may have been used before.
fn read_by(parser: &mut Parser, input: &[u8]) -> (Vec<Item>, ChatCompletion, Deviations) {
    parser.feed(input);
    parser.finish();
    let items = std::iter::from_fn(|| parser.next_owned()).map(owned).collect();
    let deviations = parser.deviations().clone();
    (items, parser.take_completion(), deviations)
}

#[test]
fn a_parser_that_was_reset_reads_as_a_new_one() {
    let streams = streams();
    let mut used = Parser::new();
    for (nth, case) in streams.iter().enumerate() {
        let before = &streams[(nth * 7 + 3) % streams.len()].input;
        for (at, taken, is_ended) in [(3, 1, true), (2, usize::MAX, false), (1, 0, true), (1, 2, false)] {
            used.feed(&before[..before.len() / at]);
            if is_ended {
                used.finish();
            }
            for _ in 0..taken {
                if used.next_event().is_none() {
                    break;
                }
            }
            used.reset();
            assert!(!used.is_terminated() && used.deviations().is_empty());
            assert!(used.event().is_none() && used.frame().is_none());
            assert_eq!(used.completion(), &ChatCompletion::default());
            assert_eq!(read_by(&mut used, &case.input), read_by(&mut Parser::new(), &case.input), "{}", case.id);
            used.reset();
        }
    }
}

#[test]
fn what_is_owned_is_what_is_lent() {
    for case in streams() {
        let (mut lending, mut owning) = (Parser::new(), Parser::new());
        for piece in case.input.chunks(50).chain([&[][..]]) {
            for parser in [&mut lending, &mut owning] {
                if piece.is_empty() { parser.finish() } else { parser.feed(piece) }
            }
            loop {
                let lent = lending.next_event().map(|item| owned(item.map(Event::into_owned)));
                assert_eq!(lent, owning.next_owned().map(owned), "{}", case.id);
                assert_eq!(lending.event(), owning.event());
                assert_eq!(lending.completion(), owning.completion());
                if lent.is_none() { break }
            }
        }
    }
}

#[test]
fn the_last_event_and_its_frame_are_lent_again_until_bytes_come() {
    for case in streams() {
        let mut parser = Parser::new();
        assert!(parser.event().is_none() && parser.frame().is_none());
        parser.feed(&case.input);
        let mut last = None;
        while let Some(item) = parser.next_owned() {
            last = item.ok();
            assert_eq!(parser.event(), last, "{}", case.id);
            assert_eq!(parser.event(), last, "{}: once more", case.id);
            if let Some(frame) = parser.frame() {
                assert!(frame.range.start < frame.range.end && frame.range.end <= case.input.len() as u64);
            }
        }
        // Nothing else may be taken for it when there is nothing more.
        assert!(parser.event().is_none() || parser.event() == last, "{}: {:?}", case.id, parser.event());
        if !parser.is_terminated() {
            parser.feed(&[]);
            assert!(parser.event().is_none() || parser.event() == last, "{}: nothing was fed", case.id);
            parser.feed(b"\n");
            assert!(parser.event().is_none() && parser.frame().is_none(), "{}", case.id);
        }
    }
}

#[test]
fn a_payload_that_is_ignored_is_not_taken_for_the_last_event() {
    let mut parser = Parser::new();
    parser.feed(b"data: {\"id\":\"a\",\"choices\":[]}\n\ndata: {}\n\n");
    let last = std::iter::from_fn(|| parser.next_owned()).last().unwrap().unwrap();
    assert!(parser.event().is_none() || parser.event() == Some(last), "{:?}", parser.event());
}

#[test]
fn an_empty_read_after_an_event_changes_nothing() {
    let mut parser = Parser::new();
    parser.feed(b"data: {\"choices\":[]}\n\n");
    let event = parser.next_owned().unwrap().unwrap();
    parser.feed(&[]);
    assert_eq!(parser.event(), Some(event));
    assert!(parser.frame().is_some());
}

const CALL: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"[1]\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n";

#[test]
fn taking_the_completion_loses_no_event() {
    let stream = format!("{CALL}data: [DONE]\n\n");
    let whole = read([stream.as_bytes()]);
    for taken_at in 0..4 {
        let mut parser = Parser::new();
        parser.feed(stream.as_bytes());
        let mut items = Vec::new();
        for nth in 0..4 {
            if nth == taken_at {
                parser.take_completion();
            }
            items.extend(parser.next_owned().map(owned));
        }
        assert_eq!(items, whole.items, "taken before item {taken_at}");
    }
}

#[test]
fn a_stream_whose_completion_was_taken_ends_as_it_would_have() {
    let mut parser = Parser::new();
    parser.feed(CALL.as_bytes());
    while parser.next_event().is_some() {}
    assert_eq!(parser.take_completion().choices.len(), 1);
    parser.finish();
    assert!(matches!(parser.next_event(), Some(Ok(Event::Done(_)))));
}

#[derive(Debug, Clone)]
enum Call {
    Feed(usize),
    Finish,
    Abort,
    NextEvent,
    NextOwned,
    Drain,
    Event,
    Frame,
    Look,
    TakeCompletion,
    Reset,
}

fn any_calls(may_take: bool) -> impl Strategy<Value = Vec<Call>> {
    let call = prop_oneof![
        12 => (0_usize..300).prop_map(Call::Feed),
        1 => Just(Call::Finish),
        1 => Just(Call::Abort),
        8 => Just(Call::NextEvent),
        8 => Just(Call::NextOwned),
        4 => Just(Call::Drain),
        3 => Just(Call::Event),
        3 => Just(Call::Frame),
        2 => Just(Call::Look),
        1 => Just(if may_take { Call::TakeCompletion } else { Call::Look }),
        1 => Just(Call::Reset),
    ];
    prop::collection::vec(call, 1..60)
}

/// One stream read by one parser.
#[derive(Default)]
struct Reading {
    fed: usize,
    end: Option<End>,
    items: Vec<Item>,
    is_taken: bool,
    /// Nothing was there, and nothing has come since.
    is_dry: bool,
}

impl Reading {
    fn next(&mut self, item: Option<Item>) {
        assert!(item.is_none() || !self.is_dry, "there was more when there was none: {item:?}");
        self.is_dry = item.is_none();
        self.items.extend(item);
    }

    /// Ends it, and compares it with the plain way to read the same bytes.
    fn finish(mut self, parser: &mut Parser, case: &Case) {
        parser.finish();
        let end = self.end.unwrap_or(End::Finish);
        self.items.extend(std::iter::from_fn(|| parser.next_owned()).map(owned));
        assert!(parser.is_terminated() && parser.next_event().is_none());
        let plain = read_with(Options::default(), [&case.input[..self.fed]], end);
        if !self.is_taken {
            assert_eq!(self.items, plain.items, "{}", case.id);
            assert_eq!(parser.completion(), &plain.completion, "{}", case.id);
            assert_eq!(parser.deviations(), &plain.deviations, "{}", case.id);
        }
        let chunks = |items: &[Item]| items.iter().filter(|item| matches!(item, Ok(Event::ChunkParsed(_)))).count();
        assert_eq!(chunks(&self.items), chunks(&plain.items), "{}", case.id);
    }
}

/// Makes the calls on one parser, a stream each time anew.
fn make(calls: Vec<Call>, nth: prop::sample::Index) {
    let case = &STREAMS[nth.index(STREAMS.len())];
    let mut parser = Parser::new();
    let mut reading = Reading::default();
    for call in calls {
        match call {
            Call::Feed(len) => {
                let until = (reading.fed + len).min(case.input.len());
                parser.feed(&case.input[reading.fed..until]);
                if until > reading.fed && !parser.is_terminated() {
                    assert!(parser.event().is_none() && parser.frame().is_none());
                }
                if reading.end.is_none() && !parser.is_terminated() {
                    reading.is_dry &= until == reading.fed;
                    reading.fed = until;
                }
            }
            Call::Finish | Call::Abort => {
                let end = if matches!(call, Call::Finish) { End::Finish } else { End::Abort };
                if end == End::Finish { parser.finish() } else { parser.abort() }
                reading.is_dry &= reading.end.is_some();
                reading.end.get_or_insert(end);
            }
            Call::NextEvent => reading.next(parser.next_event().map(|item| owned(item.map(Event::into_owned)))),
            Call::NextOwned => reading.next(parser.next_owned().map(owned)),
            Call::Drain => while !reading.is_dry { reading.next(parser.next_owned().map(owned)) },
            Call::Event => if let Some(event) = parser.event() { assert_eq!(Some(&Ok(event.into_owned())), reading.items.last()) },
            Call::Frame => if let Some(frame) = parser.frame() { assert!(frame.range.end <= case.input.len() as u64) },
            Call::Look => assert!(parser.completion().choices.len() < 10 && parser.deviations().iter().count() < 20),
            Call::TakeCompletion => {
                parser.take_completion();
                reading.is_taken = true;
            }
            Call::Reset => {
                std::mem::take(&mut reading).finish(&mut parser, case);
                parser.reset();
            }
        }
    }
    reading.finish(&mut parser, case);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_calls_reads_a_stream_as_the_plain_one_does(nth in any::<prop::sample::Index>(), calls in any_calls(false)) {
        make(calls, nth);
    }

    #[test]
    fn a_stream_ends_once_whenever_the_completion_is_taken(nth in any::<prop::sample::Index>(), calls in any_calls(true)) {
        make(calls, nth);
    }
}

static STREAMS: std::sync::LazyLock<Vec<Case>> = std::sync::LazyLock::new(streams);

/// Slots are written by the accumulator and are not on the wire.
fn without_slots(chunk: &Chunk) -> Chunk {
    let mut chunk = chunk.clone();
    for choice in &mut chunk.choices {
        let message = choice.message.as_deref_mut();
        for delta in [Some(&mut choice.delta), message].into_iter().flatten() {
            delta.tool_calls.iter_mut().for_each(|call| call.slot = None);
        }
    }
    chunk
}

fn round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) -> Result<(), String> {
    let json = serde_json::to_string(value).unwrap();
    let back: T = serde_json::from_str(&json).unwrap();
    if back == *value { Ok(()) } else { Err(json) }
}

#[test]
fn every_value_of_every_stream_is_the_same_after_serde() {
    let mut wrong = Vec::new();
    for case in streams() {
        let outcome = read([&case.input[..]]);
        let mut check = |result: Result<(), String>| wrong.extend(result.err().map(|error| format!("{}: {error}", case.id)));
        for event in outcome.items.iter().flatten() {
            match event {
                Event::ChunkParsed(chunk) => {
                    let chunk = without_slots(chunk);
                    check(round_trip(&chunk));
                    check(round_trip::<Event<'static>>(&Event::ChunkParsed(chunk.into())));
                }
                Event::UsageFrame(usage) => {
                    check(round_trip(&**usage));
                    check(round_trip(event));
                }
                // A call says what it is when it is written.
                Event::ToolCallComplete { call, .. } => check(round_trip(&typed(call))),
                _ => check(round_trip(event)),
            }
        }
        let mut completion = outcome.completion.clone();
        for choice in &mut completion.choices {
            choice.message.role.get_or_insert("assistant".to_owned());
            choice.message.tool_calls.iter_mut().for_each(|call| *call = typed(call));
        }
        check(round_trip(&completion));
        for choice in &completion.choices {
            check(round_trip(choice));
            check(round_trip(&choice.message));
        }
    }
    assert!(wrong.is_empty(), "{} wrong: {wrong:#?}", wrong.len());
}

#[test]
fn log_probabilities_are_written_again_as_the_numbers_that_came() {
    let mut wrong = Vec::new();
    for number in ["-12.783279292603929", "-11.667275081737445", "-10.930314155570201", "-0.5", "-0.00010889273108448833", "-9999.0"] {
        let stream = format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"x\":{number}}},\"logprobs\":{{\"content\":[{number}]}}}}]}}\n\n");
        let outcome = read([stream.as_bytes()]);
        let Some(Ok(Event::ChunkParsed(chunk))) = outcome.items.first() else { panic!("{number}") };
        for json in [serde_json::to_string(&**chunk).unwrap(), serde_json::to_string(&outcome.completion).unwrap()] {
            if json.matches(number).count() != 2 {
                wrong.push(format!("{number}: {json}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn serde_reads_a_chunk_as_the_decoder_does() {
    let mut compared = 0;
    for case in streams() {
        for (_, data, ..) in read([&case.input[..]]).frames.into_iter().flatten() {
            if let (Ok(decoded), Ok(read)) = (Chunk::from_json(&data), serde_json::from_str::<Chunk>(&data)) {
                assert_eq!(serde_json::to_value(&read).unwrap(), serde_json::to_value(&decoded).unwrap(), "{data}");
                compared += 1;
            }
        }
    }
    assert!(compared > 700, "{compared}");
}

fn typed(call: &ToolCall) -> ToolCall {
    let mut call = call.clone();
    let r#type = if call.custom.is_some() { "custom" } else { "function" };
    call.r#type.get_or_insert(r#type.to_owned());
    call
}

#[test]
fn calls_without_ids_stay_apart_in_a_completion_that_is_read_back() {
    let calls = r#"[{"type":"function","function":{"name":"now","arguments":""}},{"type":"function","function":{"name":"date","arguments":""}}]"#;
    let json = format!(r#"{{"object":"chat.completion","choices":[{{"index":0,"message":{{"role":"assistant","content":null,"tool_calls":{calls}}},"finish_reason":"tool_calls"}}]}}"#);
    let completion: ChatCompletion = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&completion).unwrap(), json);
}

#[test]
fn a_completion_taken_before_the_end_is_a_copy_and_the_stream_goes_on() {
    let repeated = ["a", "b", "c", "d"].map(|text| format!("data: {{\"id\":\"i\",\"model\":\"m\",\"x\":1,\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n"));
    for taken_after in 0..4 {
        let mut parser = Parser::new();
        for (nth, frame) in repeated.iter().enumerate() {
            if nth == taken_after {
                assert_eq!(parser.take_completion(), read_by_layers(repeated[..nth].concat().as_bytes()));
            }
            parser.feed(frame.as_bytes());
            while parser.next_event().is_some() {}
        }
        assert_eq!(parser.into_completion(), read_by_layers(repeated.concat().as_bytes()), "{taken_after}");
    }
}

/// The layers one after the other, by hand.
fn read_by_layers(input: &[u8]) -> ChatCompletion {
    let (mut framing, mut decoder, mut accumulator) = (sse::Decoder::new(), chunk::Decoder::new(), Accumulator::new());
    framing.feed(input);
    framing.finish();
    while let Some(Ok(frame)) = framing.next_frame() {
        if ["ping", "keepalive", "keep-alive", "heartbeat"].contains(&frame.event) {
            continue;
        }
        let mut payloads = decoder.payloads_of_event(frame.event, frame.data);
        while let Some(payload) = payloads.next_payload() {
            match payload {
                Ok(Payload::Chunk(chunk)) => accumulator.push(chunk),
                Ok(Payload::Done) => return accumulator.into_completion(),
                _ => {}
            }
        }
    }
    accumulator.into_completion()
}

#[test]
fn the_layers_by_hand_give_the_parsers_completion() {
    let strays = [Deviation::BareJson, Deviation::BareDone, Deviation::StrayLine, Deviation::ErrorFieldLine];
    let mut compared = 0;
    for case in streams() {
        let outcome = read([&case.input[..]]);
        if !strays.iter().any(|code| outcome.deviations.set().contains(*code)) {
            assert_eq!(read_by_layers(&case.input), outcome.completion, "{}", case.id);
            compared += 1;
        }
    }
    assert!(compared > 230, "{compared}");
}

#[test]
fn what_is_kept_as_text_compares_and_shows_as_what_it_says() {
    let chunk = |json: &str| Chunk::from_json(json).unwrap();
    let of = |content: &str| {
        let chunk = chunk(&format!(
            r#"{{"choices":[{{"logprobs":{{"content":{content}}}}}]}}"#
        ));
        chunk.choices[0].logprobs.clone().unwrap().content.unwrap()
    };
    assert_eq!(of(r#"[{"a":1,"b":"\u00e9"}]"#), of(r#"[ {"b":"é", "a":1} ]"#));
    assert_ne!(of("[1]"), of("[2]"));
    assert_ne!(of("[1]"), of("[1,1]"));
    assert_eq!(format!("{:?}", of("[1,2]")), "[1,2]");
    let source = |error: &dyn std::error::Error| error.source().is_some();
    assert!(source(&of("[1]").decode::<Vec<String>>().unwrap_err()));
    assert_eq!(of("[1]").decode::<Vec<u8>>().unwrap(), [1]);

    let extra = chunk(r#"{"choices":[],"b":[1],"a":"x","b":2}"#).extra;
    assert_eq!(format!("{extra:?}"), r#"{"a": "\"x\"", "b": "2"}"#);
    let map = chatwire::Extra::from(extra.clone().into_map());
    assert_eq!(extra, map);
    assert_eq!(
        format!("{map:?}"),
        r#"{"a": String("x"), "b": Number(2)}"#
    );
}

#[test]
fn a_default_parser_is_a_new_one() {
    for stream in ["{\"error\":{\"message\":\"x\"}}", "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n[DONE]\n"] {
        let mut parser = Parser::default();
        parser.feed(stream.as_bytes());
        parser.finish();
        let items: Vec<Item> = core::iter::from_fn(|| parser.next_owned()).map(owned).collect();
        assert_eq!(items, read([stream.as_bytes()]).items);
    }
}

#[test]
fn each_event_keeps_its_tags_and_goes_through_a_channel() {
    let call = r#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}"#;
    let chunk = format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{call}]}},"finish_reason":null}}],"usage":{{"total_tokens":3}}}}"#);
    let input = format!("data: {chunk}\n\ndata: [DONE]\n\n");
    let (sender, receiver) = std::sync::mpsc::channel::<Event<'static>>();
    std::thread::spawn(move || {
        let mut parser = Parser::new();
        parser.feed(input.as_bytes());
        while let Some(event) = parser.next_owned() {
            sender.send(event.unwrap()).unwrap();
        }
    });
    let received: Vec<_> = receiver.iter().collect();
    let json: Vec<_> = received.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    let expected = [
        format!(r#"{{"event":"chunk_parsed","chunk":{chunk}}}"#),
        r#"{"event":"usage_frame","usage":{"total_tokens":3}}"#.to_owned(),
        format!(r#"{{"event":"tool_call_complete","choice":0,"slot":0,"call":{}}}"#, call.replace(r#""index":0,"#, "")),
        r#"{"event":"done","marker":true,"unfinished":[0],"incomplete_calls":[]}"#.to_owned(),
    ];
    assert_eq!(json, expected);
}
