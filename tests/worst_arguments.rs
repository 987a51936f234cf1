//! Every public call is given the worst that it may be given: nothing panics, nothing goes on for ever, what is promised holds.
//!
//! What only reads a field or a flag (`as_str`, `kind`, `marker` ...) takes no argument that could be bad; what it is called
//! on is. A test below finds every public function in this list, and every test that is named here.
//!
//! | call | its worst argument | test |
//! |---|---|---|
//! | `Parser::feed` | nothing; a gigabyte in pieces; a million frames at once; after the end | `no_lines_take_more_than_the_limits_promise`, `no_chunks_take_more_than_the_limits_promise`, `a_million_frames_fed_at_once_take_their_bytes_and_nothing_more`, `calls_that_make_no_sense_change_nothing` |
//! | `Parser::new`, `Parser::with_options`, `Limits::worst_case_bytes` | limits of 0 and of `usize::MAX`, each alone and all; every deviation strict | `limits_of_nothing_and_without_end_are_good` |
//! | `Parser::finish`, `Parser::abort`, `Parser::is_terminated` | twice; one after the other; at every byte; on nothing | `calls_that_make_no_sense_change_nothing`, `an_abort_adds_one_truncated_and_nothing_else`, `a_clean_end_adds_the_frame_that_was_cut_and_one_terminal_item` |
//! | `Parser::next_event`, `Parser::next_owned`, `Parser::event`, `Parser::frame` | any bytes; after the end; before any byte; after an error | `a_damaged_stream_ends_once_with_errors_in_order_and_whole_calls`, `any_order_of_calls_reads_a_stream_as_the_plain_one_does` |
//! | `Parser::reset`, `Parser::take_completion`, `Parser::into_completion`, `Parser::completion` | at any time | `any_order_of_calls_reads_a_stream_as_the_plain_one_does`, `a_parser_that_was_reset_reads_as_a_new_one`, `a_stream_ends_once_whenever_the_completion_is_taken` |
//! | `Parser::unfinished`, `Parser::incomplete_calls`, `Parser::deviations` | at any time | `calls_that_make_no_sense_change_nothing` |
//! | `Event::into_owned`, `Lent::into_owned` | every event of every stream | `what_is_owned_is_what_is_lent` |
//! | `Done::marker`, `Done::unfinished`, `Done::incomplete_calls` | any end | `calls_that_make_no_sense_change_nothing` |
//! | `Error::kind`, `Error::offset`, `Error::api`, `Error::into_api`, `Error::limit`, `Error::deviation` | an error of each kind | `each_kind_says_its_kind_and_offset_and_has_its_cause_behind_it` |
//! | `ErrorKind::as_str`, `Limit::as_str`, `FinishReason::as_str` | each, and a reason of a megabyte | `an_error_is_one_pointer_and_may_go_to_another_thread`, `each_kind_says_its_kind_and_offset_and_has_its_cause_behind_it`, `every_reader_of_text_takes_the_worst_text` |
//! | `sse::Decoder::new`, `sse::Decoder::with_max_frame_bytes` | 0, `usize::MAX` | `a_decoder_of_frames_takes_calls_in_any_order` |
//! | `sse::Decoder::feed`, `sse::Decoder::finish`, `sse::Decoder::reset`, `sse::Decoder::next_frame`, `sse::Decoder::last_event_id`, `sse::Decoder::retry` | bytes that are no text; at every cut; after the end; twice; in a frame | `a_decoder_of_frames_takes_calls_in_any_order`, `every_cut_gives_the_same_frames_and_ranges` |
//! | `chunk::Decoder::new`, `chunk::Decoder::with_limits` | limits of 0 and of `usize::MAX` | `every_reader_of_text_takes_the_worst_text` |
//! | `chunk::Decoder::payloads`, `chunk::Decoder::payloads_of_event`, `Payloads::next_payload`, `chunk::Decoder::deviations` | nothing; a million levels; a payload left in the middle; after the end | `every_reader_of_text_takes_the_worst_text`, `a_payload_that_is_left_in_the_middle_is_forgotten` |
//! | `Chunk::from_json`, `ApiError::from_payload`, `is_done_marker` | nothing; a million levels; no JSON | `every_reader_of_text_takes_the_worst_text` |
//! | `Deserialize` of `Chunk`, `ChatCompletion`, `ToolCall`, `Usage`, `Event`, `RawJson`, `Extra` | the same, by another reader | `every_reader_of_text_takes_the_worst_text` |
//! | `Chunk::text`, `ChatCompletion::text`, `ToolCall::name`, `ToolCall::arguments`, `Usage::is_empty` | nothing in it | `what_is_empty_says_nothing` |
//! | `RawJson::as_str`, `RawJson::decode` | another type; no JSON | `raw_json_and_extra_fields_are_asked_for_what_is_not_there` |
//! | `Extra::get`, `Extra::keys`, `Extra::is_empty`, `Extra::into_map` | a key that is not there, is empty, came twice, is a part of another one's text | `raw_json_and_extra_fields_are_asked_for_what_is_not_there` |
//! | `Accumulator::new`, `Accumulator::with_limits` | limits of 0 and of `usize::MAX` | `an_accumulator_takes_any_chunk_at_any_time` |
//! | `Accumulator::push`, `Accumulator::finish`, `Accumulator::completed`, `Accumulator::exceeded`, `Accumulator::deviations`, `Accumulator::completion`, `Accumulator::into_completion`, `Accumulator::take_completion`, `Accumulator::unfinished`, `Accumulator::incomplete_calls` | chunks that no decoder bounded; the same again; made by hand; after the end; twice | `an_accumulator_takes_any_chunk_at_any_time` |
//! | `Deviation::from_code`, `Deviation::as_str`, `Deviation::description`, `Deviation::sent_by`, `Deviation::breaks` | no code; every deviation | `sets_of_deviations_take_each_and_all` |
//! | `DeviationSet::new`, `DeviationSet::all`, `DeviationSet::insert`, `DeviationSet::remove`, `DeviationSet::contains`, `DeviationSet::is_empty`, `DeviationSet::union`, `DeviationSet::intersection`, `DeviationSet::iter` | none; all; the last one; twice | `sets_of_deviations_take_each_and_all` |
//! | `Deviations::set`, `Deviations::is_empty`, `Deviations::iter` | a stream of nothing else | `each_deviation_is_met_in_its_fixture_and_no_other_is` |
//! | `Events::new`, `Events::with_parser`, `Events::next_event`, `Events::parser`, `Events::into_parser` | a transport that breaks at any byte; a parser in the middle of a stream; after the end | `a_transport_that_breaks_anywhere_gives_all_that_came_and_then_its_error_once`, `a_parser_goes_from_stream_to_stream_with_its_options`, `the_transport_is_asked_only_for_what_is_needed` |
//! | `EventStream::new`, `EventStream::with_parser`, `EventStream::next_event`, `EventStream::parser`, `EventStream::into_parser` | the same; a future that is dropped at any time | `a_transport_that_breaks_anywhere_gives_all_that_came_and_then_its_error_once`, `a_parser_goes_from_stream_to_stream_with_its_options`, `every_stream_comes_out_as_from_a_parser_in_pieces_of_any_size` |
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::std_instead_of_core, clippy::std_instead_of_alloc, clippy::cast_possible_truncation)]
#![cfg_attr(rustfmt, rustfmt_skip)] // tables, laid out by hand, 130 wide

mod common;

use std::fs;
use std::path::Path;

use chatwire::chunk::{self, Payload, is_done_marker};
use chatwire::completion::Accumulator;
use chatwire::{
    ApiError, ChatCompletion, Chunk, Deviation, DeviationSet, ErrorKind, Event, Extra, FinishReason, Limits, Options, Parser, RawJson,
    ToolCall, Usage, sse,
};
use common::{End, all_streams, read_with};

/// Limits at their ends: all of them, and each alone.
fn extreme_limits() -> Vec<Limits> {
    let fields: [fn(&mut Limits) -> &mut usize; 5] = [
        |limits| &mut limits.max_frame_bytes,
        |limits| &mut limits.max_completion_bytes,
        |limits| &mut limits.max_choices,
        |limits| &mut limits.max_tool_calls,
        |limits| &mut limits.max_depth,
    ];
    let mut all = Vec::new();
    for value in [0, 1, usize::MAX] {
        let mut every = Limits::default();
        for field in fields {
            let mut one = Limits::default();
            *field(&mut one) = value;
            *field(&mut every) = value;
            all.push(one);
        }
        all.push(every);
    }
    all
}

#[test]
fn limits_of_nothing_and_without_end_are_good() {
    let streams: Vec<_> = all_streams().into_iter().filter(|case| case.input.len() < 3_000).collect();
    for limits in extreme_limits() {
        for strict in [DeviationSet::new(), DeviationSet::all()] {
            let mut options = Options::default();
            (options.limits, options.strict) = (limits, strict);
            for case in &streams {
                // That there is one terminal item is asserted there.
                let whole = read_with(options, [&case.input[..]], End::Finish);
                assert_eq!(read_with(options, case.input.chunks(7), End::Finish), whole, "{}: {limits:?}", case.id);
                let message = whole.completion.choices.first().map_or(0, |choice| choice.message.tool_calls.len());
                assert!(whole.completion.choices.len() <= limits.max_choices && message <= limits.max_tool_calls, "{}: {limits:?}", case.id);
            }
        }
        let largest = [limits.max_frame_bytes, limits.max_completion_bytes, limits.max_choices, limits.max_tool_calls].contains(&usize::MAX);
        assert_eq!(limits.worst_case_bytes() == usize::MAX, largest, "{limits:?}");
    }
}

#[test]
fn calls_that_make_no_sense_change_nothing() {
    for case in all_streams() {
        let plain = read_with(Options::default(), [&case.input[..]], End::Finish);
        let mut parser = Parser::new();
        let nothing = |parser: &Parser| {
            assert!(parser.event().is_none() && parser.frame().is_none() && !parser.is_terminated());
            assert!(parser.unfinished().next().is_none() && parser.incomplete_calls().next().is_none() && parser.deviations().is_empty());
        };
        nothing(&parser);
        parser.feed(b"");
        assert!(parser.next_event().is_none() && parser.next_owned().is_none());
        nothing(&parser);
        parser.feed(&case.input);
        parser.finish();
        parser.feed(b"data: {\"choices\":[{\"index\":7}]}\n\n");
        parser.abort();
        parser.finish();
        let mut items = 0;
        while let Some(item) = parser.next_event() {
            items += 1;
            if let Ok(Event::Done(done)) = item {
                let (marker, unfinished, calls) = (done.marker(), done.unfinished().to_vec(), done.incomplete_calls().to_vec());
                assert_eq!(Some(marker), plain.items.last().and_then(|item| if let Ok(Event::Done(done)) = item { Some(done.marker()) } else { None }));
                assert_eq!(parser.unfinished().collect::<Vec<_>>(), unfinished);
                assert_eq!(parser.incomplete_calls().collect::<Vec<_>>(), calls);
            }
        }
        assert_eq!((items, parser.is_terminated()), (plain.items.len(), true), "{}", case.id);
        let end = format!("{parser:?}").len();
        parser.feed(&case.input);
        parser.abort();
        parser.finish();
        assert!(parser.next_event().is_none() && parser.next_owned().is_none() && parser.event().is_none() && parser.frame().is_none());
        assert_eq!((parser.completion(), parser.deviations()), (&plain.completion, &plain.deviations), "{}", case.id);
        assert!(format!("{parser:?}").len() <= end, "what comes after the end is not kept");
        assert_eq!(parser.take_completion(), plain.completion);
        assert_eq!(parser.take_completion(), ChatCompletion::default());
        assert_eq!(parser.into_completion(), ChatCompletion::default());
    }
}

#[test]
fn a_decoder_of_frames_takes_calls_in_any_order() {
    for (max, is_read) in [(0, false), (1, false), (16, false), (17, true), (usize::MAX, true)] {
        let mut decoder = sse::Decoder::with_max_frame_bytes(max);
        for round in 0..3 {
            assert!(decoder.next_frame().is_none());
            assert_eq!((decoder.last_event_id(), decoder.retry()), ("", None));
            decoder.feed(b"");
            decoder.feed(b"id: 7\xff\nretry: 5\nretry: 5x\nretry:\nid: a\0b\n\nevent: e\ndata: lost\n");
            assert!(decoder.next_frame().is_none());
            assert_eq!((decoder.last_event_id(), decoder.retry()), ("7\u{fffd}", Some(5)));
            decoder.reset();
            decoder.feed(b"data: 01234567890");
            decoder.finish();
            decoder.finish();
            decoder.feed(b"\n\n");
            match decoder.next_frame() {
                Some(Ok(frame)) => assert!(is_read && !frame.terminated && frame.event == "message" && frame.range == (0..17), "{max}, {round}: {frame:?}"),
                Some(Err(error)) => assert!(!is_read && error.kind() == ErrorKind::TooLarge, "{max}, {round}"),
                None => panic!("{max}, {round}"),
            }
            assert!(decoder.next_frame().is_none() && decoder.next_frame().is_none());
            decoder.reset();
        }
    }
}

/// Texts that readers of JSON have failed on, and of each whether it is a chunk.
fn worst_texts() -> Vec<(String, bool)> {
    let deep = |open: &str, close: &str| open.repeat(1_000_000) + &close.repeat(1_000_000);
    let long = "l".repeat(1 << 20);
    let mut texts: Vec<_> = [
        "", " ", "\0", "\u{feff}", "\n\n", "[DONE]", "\"[DONE]\"", "[DONE]x", "null", "true", "-", "1e", "1e999", "\"", "\"\\", "\"\\u", "\"\\ud83d", "\"\\ud83d\\u", "{", "}", "[", "]", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{,}", "[,]", "nul", "NaN", "-Infinity", "{\"error\":", "\u{10ffff}",
    ].map(|text| (text.to_owned(), false)).to_vec();
    texts.extend([deep("[", ""), deep("[", "]"), deep("{\"a\":", ""), deep("{\"error\":", "}"), deep("\\", ""), deep("-", ""), format!("\"{long}"), format!("{{\"{long}"), "9".repeat(1 << 20)].map(|text| (text, false)));
    let chunks = [
        "[]".to_owned(), deep("[", "]"), "[{},[],0,null,{\"index\":-1},{\"index\":1e99},{\"index\":\"x\"}]".to_owned(),
        format!("[{{\"index\":0,\"delta\":{{\"content\":\"{long}\"}},\"finish_reason\":\"{long}\"}}]"), format!("[{{\"delta\":{}}}]", deep("[", "]")), format!("[{{\"delta\":{{\"x\":{}}}}}]", deep("{\"a\":", "}").replace(":}", ":0}")),
        "[{\"delta\":{\"tool_calls\":[{},[],{\"index\":-1},{\"function\":[]},{\"custom\":{}}]}}]".to_owned(),
    ];
    // What is too deep is an error, and the rest is a chunk.
    texts.extend(chunks.map(|choices| (format!("{{\"choices\":{choices}}}"), true)));
    texts
}

#[test]
fn every_reader_of_text_takes_the_worst_text() {
    for (text, is_chunk) in worst_texts() {
        let shown = &text.chars().take(80).collect::<String>();
        let is_deep = text.len() > 1_500_000;
        assert_eq!(Chunk::from_json(&text).is_ok(), is_chunk && (!is_deep || text.contains("lll")), "{shown}");
        assert_eq!(is_done_marker(&text), matches!(text.as_str(), "[DONE]" | "\"[DONE]\""), "{shown}");
        let api = ApiError::from_payload(&text);
        assert_eq!(api.is_some(), text.starts_with("{\"error\":{") && text.ends_with('}') && Chunk::from_json(&text).is_err_and(|error| error.kind() == ErrorKind::Api), "{shown}");
        for limits in extreme_limits() {
            let mut decoder = chunk::Decoder::with_limits(limits);
            for event in ["", "message", "error"] {
                let (mut payloads, mut items, mut chunks) = (decoder.payloads_of_event(event, &text), 0, 0);
                while let Some(item) = payloads.next_payload() {
                    items += 1;
                    chunks += usize::from(matches!(item, Ok(Payload::Chunk(_))));
                }
                assert!(payloads.next_payload().is_none());
                // Where nothing may be open, nothing is read of it.
                let is_chunk = is_chunk && limits.max_depth > 1;
                assert!(items <= 3 && chunks == usize::from(is_chunk), "{shown}: {items} {chunks}");
            }
            if text.len() > 1 << 16 {
                break;
            }
        }
        // By another reader.
        let is_ok = [
            serde_json::from_str::<Chunk>(&text).is_ok(), serde_json::from_str::<ChatCompletion>(&text).is_ok(), serde_json::from_str::<ToolCall>(&text).is_ok(),
            serde_json::from_str::<Usage>(&text).is_ok(), serde_json::from_str::<Extra>(&text).is_ok(),
        ];
        let is_object = serde_json::from_str::<serde_json::Value>(&text).is_ok_and(|value| value.is_object());
        // What it passes over may be deeper than what it would read.
        assert!(is_ok == [is_object; 5] || is_deep && text.starts_with('{'), "{shown}: {is_ok:?}");
        assert!(serde_json::from_str::<Event<'static>>(&text).is_err(), "{shown}");
        assert_eq!(serde_json::from_str::<RawJson>(&text).is_ok(), serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{shown}");
        let reason = FinishReason::from(text.as_str());
        assert_eq!(reason.as_str(), text);
    }
}

#[test]
fn a_payload_that_is_left_in_the_middle_is_forgotten() {
    let mut decoder = chunk::Decoder::new();
    let good = r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#;
    for left in [r#"{"choices":[],"error":"busy"}"#, r#"{"choices":[]} {"choices":[]}"#, "{\"choices\":[]}\n{", "{\n{\"choices\":[]}"] {
        for taken in 0..3 {
            let mut payloads = decoder.payloads(left);
            for _ in 0..taken {
                let _ = payloads.next_payload();
            }
            let mut payloads = decoder.payloads(good);
            assert!(matches!(payloads.next_payload(), Some(Ok(Payload::Chunk(chunk))) if chunk.text() == "a"), "{left}, {taken}");
            assert!(payloads.next_payload().is_none());
            decoder.payloads(good).next_payload();
            assert_eq!(decoder.deviations(), DeviationSet::from_iter([Deviation::ObjectMissing]), "{left}, {taken}");
        }
    }
}

#[test]
fn what_is_empty_says_nothing() {
    assert_eq!((Chunk::default().text(), ChatCompletion::default().text()), ("", ""));
    assert_eq!((ToolCall::default().name(), ToolCall::default().arguments()), ("", ""));
    assert!(Usage::default().is_empty() && Extra::default().is_empty());
    // Only the choice of index 0 is the text.
    for (json, text) in [
        (r#"{"choices":[{"index":4294967295,"delta":{"content":"x"}}]}"#, ""),
        (r#"{"choices":[{"index":1,"delta":{"content":"x"}},{"index":0,"delta":{"content":null}}]}"#, ""),
        (r#"{"choices":[{"index":1,"delta":{"content":"x"}},{"index":0,"delta":{"content":"y"}}]}"#, "y"),
    ] {
        let mut chunk = Chunk::from_json(json).unwrap();
        assert_eq!(chunk.text(), text);
        let mut accumulator = Accumulator::new();
        accumulator.push(&mut chunk);
        assert_eq!(accumulator.into_completion().text(), text);
    }
}

#[test]
fn raw_json_and_extra_fields_are_asked_for_what_is_not_there() {
    let chunk = Chunk::from_json(r#"{"choices":[],"moderation":[1,"a"],"":1,"ab":2,"a":"b2","b":{"\u0000":[]},"a":3,"\ud83d":4}"#).unwrap();
    let moderation = chunk.moderation.as_ref().unwrap();
    assert_eq!(moderation.as_str(), r#"[1,"a"]"#);
    assert!(moderation.decode::<u8>().is_err() && moderation.decode::<Vec<String>>().is_err() && moderation.decode::<(u8, String)>().is_ok());
    assert!(!format!("{} {:?}", moderation.decode::<u8>().unwrap_err(), moderation.decode::<Vec<String>>().unwrap_err()).is_empty());
    let extra = &chunk.extra;
    assert_eq!(extra.keys().collect::<Vec<_>>(), ["", "a", "ab", "b", "\u{fffd}"]);
    for missing in ["\0", "b2", "2", "aa", "choices", "moderation", " "] {
        assert_eq!(extra.get(missing), None, "{missing:?}");
    }
    for (key, value) in [("", 1), ("a", 3), ("ab", 2), ("\u{fffd}", 4)] {
        assert_eq!(extra.get(key), Some(value.into()), "{key:?}");
    }
    let read: Extra = serde_json::from_str(r#"{"a":1,"b":[{}],"a":"2"}"#).unwrap();
    assert_eq!((read.keys().count(), read.get("a"), read.get("b")), (2, Some("2".into()), Some(serde_json::json!([{}]))));
    let error = ApiError::from_payload(r#"{"error":{"message":"m","code":"c","retry_after":[7]}}"#).unwrap();
    let again: ApiError = serde_json::from_str(&serde_json::to_string(&error).unwrap()).unwrap();
    assert_eq!((again.extra.get("retry_after"), again), (Some(serde_json::json!([7])), error));
    let map = extra.clone().into_map();
    assert_eq!((map.len(), Extra::from(map.clone()) == *extra, Extra::from(map).get("a")), (5, true, Some(3.into())));
}

#[test]
fn an_accumulator_takes_any_chunk_at_any_time() {
    // No decoder has bounded it.
    let choice = |index: usize| format!(r#"{{"index":{index},"delta":{{"content":"x","tool_calls":[{{"index":0,"id":"a","function":{{"name":"f","arguments":"[1]"}}}}]}},"finish_reason":"tool_calls"}}"#);
    let calls: Vec<_> = (0..10_000).map(|index| format!(r#"{{"index":{index},"id":"i{index}"}}"#)).collect();
    let many = format!(r#"{{"choices":[{}]}}"#, (0..1_000).map(choice).collect::<Vec<_>>().join(","));
    let more = format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{}]}}}}]}}"#, calls.join(","));
    let unbounded = |json: &str| serde_json::from_str::<Chunk>(json).unwrap();
    for limits in extreme_limits() {
        let mut accumulator = Accumulator::with_limits(limits);
        accumulator.finish();
        assert_eq!((accumulator.completed().count(), accumulator.exceeded().len(), accumulator.unfinished().count()), (0, 0, 0));
        for round in 0..3 {
            accumulator.push(&mut unbounded(&many));
            let may_complete = limits.max_choices.min(1_000) * limits.max_tool_calls.min(1) * usize::from(limits.max_completion_bytes > 1 && limits.max_depth > 0);
            assert_eq!(accumulator.completed().count(), if round == 0 { may_complete } else { 0 }, "{limits:?}");
            assert!(accumulator.exceeded().len() <= 130 || limits.max_choices == usize::MAX, "{limits:?}");
            accumulator.push(&mut unbounded(&more));
            accumulator.push(&mut Chunk::default());
            let mut by_hand = Chunk::default();
            by_hand.extra = Extra::from(serde_json::Map::from_iter([("k".to_owned(), 1.into())]));
            accumulator.push(&mut by_hand);
        }
        let completion = accumulator.completion();
        assert!(completion.choices.len() <= limits.max_choices.min(1_000), "{limits:?}");
        assert!(completion.choices.iter().all(|choice| choice.message.tool_calls.len() <= limits.max_tool_calls.min(10_000)), "{limits:?}");
        let before = accumulator.completion().clone();
        accumulator.finish();
        assert_eq!(accumulator.completion(), &before);
        accumulator.finish();
        assert_eq!(accumulator.completed().count(), 0, "each once: {limits:?}");
        let incomplete = accumulator.incomplete_calls().count();
        assert!(incomplete <= before.choices.iter().map(|choice| choice.message.tool_calls.len()).sum());
        assert_eq!(accumulator.take_completion(), before);
        assert_eq!((accumulator.deviations(), accumulator.take_completion()), (DeviationSet::new(), ChatCompletion::default()));
        accumulator.push(&mut unbounded(r#"{"id":"next","choices":[]}"#));
        assert_eq!(accumulator.completion().id.is_some(), limits.max_completion_bytes >= 4, "{limits:?}");
        assert_eq!(accumulator.completion().id.is_some(), accumulator.into_completion().id.is_some());
    }
}

#[test]
fn sets_of_deviations_take_each_and_all() {
    for code in ["", " ", "BareDone", "bare_done ", "\0", "bare_don"] {
        assert_eq!(Deviation::from_code(code), None);
    }
    let (all, none) = (DeviationSet::all(), DeviationSet::new());
    assert!(none.is_empty() && !all.is_empty() && none.iter().next().is_none());
    assert_eq!(all.iter().collect::<Vec<_>>(), Deviation::ALL);
    for deviation in Deviation::ALL {
        let (mut one, mut others) = (none, all);
        for _ in 0..2 {
            one.insert(*deviation);
            others.remove(*deviation);
            others.remove(*deviation);
        }
        assert!(one.contains(*deviation) && !others.contains(*deviation) && !one.is_empty());
        assert_eq!((one.union(others), one.intersection(others), one.intersection(all), others.union(none)), (all, none, one, others));
        assert_eq!((one.iter().collect::<Vec<_>>(), others.iter().count()), (vec![*deviation], Deviation::ALL.len() - 1));
        assert_eq!(Deviation::from_code(deviation.as_str()), Some(*deviation));
        assert!([deviation.description(), deviation.sent_by(), deviation.breaks()].iter().all(|text| !text.is_empty()));
    }
}

fn files(folder: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("no_std") {
            files.extend(self::files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push((path.display().to_string(), fs::read_to_string(path).unwrap()));
        }
    }
    files
}

#[test]
fn every_public_function_and_every_test_named_is_in_the_list() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list: String = include_str!("worst_arguments.rs").lines().filter(|line| line.starts_with("//! |")).collect();
    let (mut missing, mut functions) = (Vec::new(), 0);
    for (path, text) in files(&root.join("src")) {
        let mut of = String::new();
        for line in text.lines().map(|line| line.replace("const fn", "fn")) {
            if let Some(rest) = line.strip_prefix("impl") {
                let rest = rest.rsplit(" for ").next().unwrap();
                let rest = if let Some(generic) = rest.strip_prefix('<') { generic.split_once('>').unwrap().1 } else { rest };
                of = rest.trim().split(['<', ' ']).next().unwrap().to_owned();
            }
            if line == "}" {
                of.clear();
            }
            let name = line.trim_start().strip_prefix("pub fn ").or_else(|| line.trim_start().strip_prefix("pub async fn "));
            let Some(name) = name.map(|rest| rest.split(['(', '<']).next().unwrap()) else { continue };
            functions += 1;
            // Those of a macro are of `Deviation`.
            let of = if path.ends_with("table.rs") { "Deviation" } else { &of };
            let call = if of.is_empty() { format!("`{name}`") } else { format!("{of}::{name}`") };
            missing.extend((!list.contains(&call)).then(|| format!("{path}: {call}")));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(functions > 90, "{functions}");
    let tests: String = files(&root.join("tests")).into_iter().map(|(_, text)| text).collect();
    let named = list.split('`').filter(|name| name.len() > 25 && name.chars().all(|char| char.is_ascii_lowercase() || char == '_'));
    let (mut count, mut unknown) = (0, Vec::new());
    for name in named {
        count += 1;
        unknown.extend((!tests.contains(&format!("fn {name}("))).then_some(name));
    }
    assert!(unknown.is_empty() && count > 30, "{count}: {unknown:#?}");
}
