//! Errors: how each kind comes, where, what it says, and that it says nothing of the stream's text; and the server's errors in all
//! their shapes.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::std_instead_of_core, clippy::std_instead_of_alloc, clippy::cast_possible_truncation)]
#![cfg_attr(rustfmt, rustfmt_skip)] // tables, laid out by hand, 130 wide

mod common;

use std::error::Error as _;

use chatwire::chunk::{Decoder, Payload};
use chatwire::ErrorKind::{Api, Deviation, Malformed, NotEventStream, TooLarge, Truncated};
use chatwire::{ApiError, DeviationSet, Error, ErrorKind, Event, Limit, Options, Parser};
use common::{read, End, for_each_cut, read_with, streams};

/// Strict, and with low limits, where the stream needs it to go wrong.
fn options() -> Options {
    let mut options = Options::default();
    options.limits.max_frame_bytes = 400;
    options.limits.max_completion_bytes = 40;
    (options.limits.max_choices, options.limits.max_tool_calls, options.limits.max_depth) = (3, 1, 7);
    options.strict = DeviationSet::from_iter([chatwire::Deviation::FinishReasonEmpty]);
    options
}

fn errors(options: Options, stream: &[u8]) -> Vec<Error> {
    let mut parser = Parser::with_options(options);
    parser.feed(stream);
    parser.finish();
    std::iter::from_fn(|| parser.next_owned()).filter_map(Result::err).collect()
}

/// Each way in which an error comes: what comes before it and what it is in; its kind; what it says before its offset.
const WAYS: [(&str, &str, ErrorKind, &str); 25] = [
    (OK, "data: {\"choices\"\n\n", Malformed, "the payload is no JSON object"),
    (OK, "data: undefined\n\n", Malformed, "the payload is no JSON object"),
    (OK, "data: [1]\n\n", Malformed, "the payload is no JSON object"),
    (OK, "data: null\n\n", Malformed, "the payload is no JSON object"),
    (OK, "data: [DONE]x\n\n", Malformed, "the payload is no JSON object"),
    (OK, "data: {\"choices\":[],}\n\n", Malformed, "the payload is no JSON object"),
    (OK, "{\"choices\"\n", Malformed, "the payload is no JSON object"),
    (OK, "id: 1\ndata: {\"error\":\"busy\"}\n\n", Api, "the server sent an error"),
    (OK, "data: {\"error\":{\"message\":\"m\",\"code\":429,\"type\":\"t\"}}\n\n", Api, "the server sent an error (code 429, type t)"),
    (OK, "data: {\"error\":{\"message\":\"m\",\"code\":\"c\"}}\n\n", Api, "the server sent an error (code c)"),
    (OK, "data: {\"error\":{\"message\":\"m\",\"type\":\"t\"}}\n\n", Api, "the server sent an error (type t)"),
    (OK, "event: error\ndata: overloaded\n\n", Api, "the server sent an error"),
    (OK, "event: error\ndata: \"over\\ud83dloaded\"\n\n", Api, "the server sent an error"),
    (OK, "error: {\"code\":500,\"message\":\"m\"}\n", Api, "the server sent an error (code 500)"),
    (OK, "error: {\"code\":500,\"message\":\"m\\ud83d\",\"n\":NaN}\n", Api, "the server sent an error (code 500)"),
    (OK, "{\"error\":\"busy\"}\n", Api, "the server sent an error"),
    (OK, "data: {\"choices\":[{\"delta\":{\"content\":\"0123456789012345678901234567890123456789x\"}}]}\n\n", TooLarge, "over the limit max_completion_bytes"),
    (OK, "data: {\"choices\":[{},{},{},{}]}\n\n", TooLarge, "over the limit max_choices"),
    (OK, "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{},{}]}}]}\n\n", TooLarge, "over the limit max_tool_calls"),
    (OK, "data: {\"choices\":[{\"index\":4294967296}]}\n\n", TooLarge, "over the limit index"),
    (OK, "data: {\"choices\":[],\"usage\":{\"x\":[[[[[[[]]]]]]]}}\n\n", TooLarge, "over the limit max_depth"),
    (OK, "data: {\"choices\":[{\"finish_reason\":\"\"}]}\n\n", Deviation, "deviation finish_reason_empty"),
    (OK, "", Truncated, "the stream ended before the answer did"),
    ("", "<html>busy</html>", NotEventStream, "the body is no event stream"),
    ("", "\u{1f}\u{8b}", NotEventStream, "the body is no event stream"),
];
const OK: &str = "data: {\"choices\":[{\"delta\":{}}]}\n\n";

#[test]
fn each_kind_comes_once_in_its_place_however_the_stream_is_cut() {
    let mut wrong = Vec::new();
    for (before, stream, kind, _) in WAYS {
        let (input, at) = (format!("{before}{stream}"), before.len() as u64);
        let mut want = vec![(kind, at), (Truncated, input.len() as u64)];
        want.dedup();
        for_each_cut(input.as_bytes(), |how, pieces| {
            let items = read_with(options(), pieces, End::Finish).items;
            let told: Vec<_> = items.iter().filter_map(|item| item.as_ref().err()).map(|fault| (fault.kind, fault.offset)).collect();
            if told != want {
                wrong.push(format!("{input:?}, {how}: {told:?}"));
            }
        });
    }
    wrong.dedup_by(|one, other| one.split(", ").next() == other.split(", ").next()); // one cut is enough to see
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn each_kind_says_its_kind_and_offset_and_has_its_cause_behind_it() {
    for (before, stream, kind, text) in WAYS {
        let (input, at) = (format!("{before}{stream}"), before.len());
        let Some(error) = errors(options(), input.as_bytes()).into_iter().find(|error| error.kind() == kind) else {
            continue; // that it comes is tested above
        };
        assert_eq!(error.to_string(), format!("{text} at byte {at}"), "{input:?}");
        let debug = format!("{error:?}");
        assert!(debug.contains(&format!("{kind:?}")) && debug.contains(&format!("offset: {at}")), "{debug}");
        assert_eq!(error.limit().map(Limit::as_str), text.strip_prefix("over the limit "), "{input:?}");
        assert_eq!(error.deviation().map(chatwire::Deviation::as_str), text.strip_prefix("deviation "), "{input:?}");
        assert_eq!(error.api().is_some(), kind == Api, "{input:?}");
        let source = error.source();
        assert_eq!(source.is_some(), matches!(kind, Api | Malformed), "{input:?}");
        assert_eq!(source.and_then(|source| source.downcast_ref::<ApiError>()), error.api(), "{input:?}");
        assert!(source.is_none_or(|source| source.source().is_none()), "{input:?}");
        assert_eq!(error.into_api().is_some(), kind == Api, "{input:?}");
    }
}

#[test]
fn a_frame_over_its_limit_is_told_where_it_starts() {
    let stream = format!("{OK}id: 1\ndata: {}\n\n{OK}", "x".repeat(400));
    let told = errors(options(), stream.as_bytes());
    assert_eq!(told[0].to_string(), format!("over the limit max_frame_bytes at byte {}", OK.len()));
    assert_eq!((told[0].limit(), told[0].source().is_some()), (Some(Limit::FrameBytes), false));
}

#[test]
fn reading_goes_on_after_every_error_but_truncated() {
    for (before, stream, kind, _) in WAYS {
        let input = format!("{before}{stream}\n\n{OK}data: [DONE]\n\n");
        let items = read_with(options(), [input.as_bytes()], End::Finish).items;
        let (last, rest) = items.split_last().unwrap();
        assert!(matches!(last, Ok(Event::Done(done)) if done.marker()), "{input:?}: {items:?}");
        assert!(matches!(rest.last(), Some(Ok(Event::ChunkParsed(_)))), "{input:?}: {items:?}");
        if kind == Deviation || stream.starts_with("data: {\"choices\":[") && kind == TooLarge {
            assert!(matches!(rest[1..], [Err(_), Ok(Event::ChunkParsed(_)), Ok(_)]), "{input:?}: {items:?}");
        }
    }
}

#[test]
fn a_body_that_is_one_long_line_is_no_event_stream_after_64_kib_and_no_frame_too_large() {
    for len in [70_000, 9 << 20] {
        let mut parser = Parser::new();
        parser.feed("<".repeat(len).as_bytes());
        let kinds: Vec<_> = std::iter::from_fn(|| parser.next_owned()).map(|item| item.unwrap_err().kind()).collect();
        assert_eq!(kinds, [NotEventStream], "{len} bytes");
    }
}

/// All texts that errors show to who logs them.
fn shown(stream: &[u8]) -> Vec<String> {
    let shown = errors(options(), stream).into_iter().flat_map(|error| {
        // The server's message is its own to show; why a payload is malformed is not.
        let source = error.source().filter(|_| error.kind() == Malformed).map(|source| format!("{source} {source:?}"));
        [error.to_string(), format!("{error:?}"), source.unwrap_or_default()]
    });
    shown.collect()
}

#[test]
fn no_error_shows_text_of_the_stream() {
    let mut checked = 0;
    let ways = WAYS.map(|(before, stream, ..)| format!("{before}{stream}").into_bytes()).to_vec();
    for input in streams().into_iter().map(|case| case.input).filter(|input| input.len() < 700).step_by(3).chain(ways) {
        for at in 0..=input.len() {
            // Instead of what is there, and before it. Code and type are shown: they are no place for a person's words.
            for until in [at, (at + 1).min(input.len()), (at + 9).min(input.len())] {
                let damaged = [&input[..at], b"MARKER", &input[until..]].concat();
                for text in shown(&damaged).iter().filter(|text| text.contains("MARKER")) {
                    let (code, r#type) = (text.find("(code "), text.find("type "));
                    assert!(text.starts_with("the server sent an error (") && code.or(r#type).is_some(), "{text}");
                    let error = errors(options(), &damaged).into_iter().find(|error| error.to_string() == *text).unwrap();
                    let api = error.into_api().unwrap();
                    assert!([api.code, api.r#type].iter().flatten().any(|text| text.contains("MARKER")), "{text}");
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 50_000);
}

#[test]
fn an_error_object_of_thousands_of_values_is_told_as_its_text() {
    for (values, is_told_in_words) in [(5_000, true), (20_000, false)] {
        let list = format!("[{}0]", "0,".repeat(values));
        let object = format!(r#"{{"message":"m","code":429,"x":{list}}}"#);
        for stream in [format!("data: {{\"error\":{object}}}\n\n"), format!("data: {{\"choices\":[{{\"error\":{object}}}]}}\n\n"), format!("error: {object}\n")] {
            let api = errors(Options::default(), stream.as_bytes()).remove(0).into_api().unwrap();
            assert_eq!((api.message == "m", api.message == object), (is_told_in_words, !is_told_in_words), "{:.80}", stream);
            assert_eq!(api.status, is_told_in_words.then_some(429));
        }
        // What is not the error itself is left out; what is beside the message and may be long is not.
        let long = "l".repeat(2 << 20);
        for fields in [format!(r#""object":"error","x":{list},"message":"{long}""#), format!(r#""code":500,"msg":"{long}","x":{list}"#)] {
            let api = errors(Options::default(), format!("data: {{{fields}}}\n\n").as_bytes()).remove(0).into_api().unwrap();
            assert_eq!(api.message, long);
            assert_eq!(api.extra.get("x").is_some(), is_told_in_words);
        }
        // A list is no error, whatever its length.
        let told = errors(Options::default(), format!("data: {{\"error\":{list},\"choices\":[]}}\n\ndata: [DONE]\n\n").as_bytes());
        assert!(told.is_empty(), "{told:?}");
    }
}

#[test]
fn an_error_is_one_pointer_and_may_go_to_another_thread() {
    fn is_static<T: Send + Sync + Unpin + std::error::Error + 'static>() {}
    is_static::<Error>();
    is_static::<ApiError>();
    assert_eq!(size_of::<Error>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Error>>(), size_of::<usize>());
    let names = [Malformed, Api, TooLarge, NotEventStream, Deviation, Truncated].map(ErrorKind::as_str);
    assert_eq!(names, ["malformed", "api", "too_large", "not_event_stream", "deviation", "truncated"]);
}

/// Where an error counts: only alone; beside a usage too; beside choices too.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Counts {
    Never,
    Alone,
    BesideUsage,
    BesideChoices,
}
use Counts::{Alone, BesideChoices, BesideUsage, Never};

type Row = (Counts, &'static str, &'static str, &'static str, &'static str, u16);

/// Where it counts; the fields; message, code, type, status of the error. `""` and 0 are none.
const SHAPES: [Row; 49] = [
    (BesideChoices, r#""error":"busy""#, "busy", "", "", 0),
    (BesideChoices, r#""error":{"message":"m"}"#, "m", "", "", 0),
    (BesideChoices, r#""error":{"message":"m","code":429,"type":"t","param":"p"}"#, "m", "429", "t", 429),
    (BesideChoices, r#""error":{"message":"m","code":"429"}"#, "m", "429", "", 429),
    (BesideChoices, r#""error":{"message":"m","code":"invalid_key","status":401}"#, "m", "invalid_key", "", 401),
    (BesideChoices, r#""error":{"message":"m","code":1301,"status":429}"#, "m", "1301", "", 429),
    (BesideChoices, r#""error":{"message":"m","code":200,"http_status":"503"}"#, "m", "200", "", 503),
    (BesideChoices, r#""error":{"message":"m","status_code":599}"#, "m", "", "", 599),
    (BesideChoices, r#""error":{"message":"m","code":600}"#, "m", "600", "", 0),
    (BesideChoices, r#""error":{"message":"m","code":399}"#, "m", "399", "", 0),
    (BesideChoices, r#""error":{"message":"m","code":400}"#, "m", "400", "", 400),
    (BesideChoices, r#""error":{"msg":"m"}"#, "m", "", "", 0),
    (BesideChoices, r#""error":{"message":null,"detail":"m"}"#, "m", "", "", 0),
    (BesideChoices, r#""error":{"code":7}"#, r#"{"code":7}"#, "7", "", 0),
    (BesideChoices, r#""base_resp":{"status_code":1004,"status_msg":"m"}"#, "m", "1004", "", 0),
    (BesideChoices, r#""base_resp":{"status_code":1004}"#, "error", "1004", "", 0),
    (BesideChoices, r#""error_msg":"m""#, "m", "", "", 0),
    (BesideChoices, r#""error_message":"m""#, "m", "", "", 0),
    (BesideChoices, r#""x_groq":{"error":"m"}"#, "m", "", "", 0),
    (BesideChoices, r#""x_groq":{"error":{"message":"m","type":"t"}}"#, "m", "", "t", 0),
    (BesideUsage, r#""errors":[{"message":"m","code":400}]"#, "m", "400", "", 400),
    (BesideUsage, r#""errors":["m","n"]"#, "m", "", "", 0),
    (BesideUsage, r#""header":{"code":10013,"message":"m"}"#, "m", "10013", "", 0),
    (Alone, r#""detail":"m""#, "m", "", "", 0),
    (Alone, r#""detail":[{"msg":"m","type":"missing"}]"#, "m", "", "missing", 0),
    (Alone, r#""object":"error","message":"m","type":"t","code":404"#, "m", "404", "t", 404),
    (Alone, r#""object":"error""#, "error", "", "", 0),
    (Alone, r#""type":"error","message":"m""#, "m", "", "error", 0),
    (Alone, r#""code":500,"message":"m""#, "m", "500", "", 500),
    (Alone, r#""code":"c","msg":"m""#, "m", "c", "", 0),
    (Never, r#""error":null"#, "", "", "", 0),
    (Never, r#""error":"""#, "", "", "", 0),
    (Never, r#""error":{}"#, "", "", "", 0),
    (Never, r#""error":{"code":0,"message":"","param":null}"#, "", "", "", 0),
    (Never, r#""error":{"code":"0","list":[],"object":{}}"#, "", "", "", 0),
    (Never, r#""error":false"#, "", "", "", 0),
    (Never, r#""error":0"#, "", "", "", 0),
    (Never, r#""base_resp":{"status_code":0,"status_msg":"ok"}"#, "", "", "", 0),
    (Never, r#""base_resp":null"#, "", "", "", 0),
    (Never, r#""header":{"code":0,"message":"ok"}"#, "", "", "", 0),
    (Never, r#""errors":[]"#, "", "", "", 0),
    (Never, r#""detail":"""#, "", "", "", 0),
    (Never, r#""detail":[]"#, "", "", "", 0),
    (Never, r#""error_msg":"","error_message":null"#, "", "", "", 0),
    (Never, r#""code":0,"message":"ok""#, "", "", "", 0),
    (Never, r#""code":500"#, "", "", "", 0),
    (Never, r#""message":"m""#, "", "", "", 0),
    (Never, r#""x_groq":{"id":"i","error":null}"#, "", "", "", 0),
    (Never, r#""type":"text","object":"list""#, "", "", "", 0),
];

/// The errors and the chunks in a frame, as they come.
fn items(frame: &str) -> Vec<Result<(), ApiError>> {
    let mut parser = Parser::new();
    parser.feed(frame.as_bytes());
    let items = std::iter::from_fn(|| match parser.next_owned()? {
        Ok(Event::ChunkParsed(_)) => Some(Some(Ok(()))),
        Ok(_) => Some(None),
        Err(error) => Some(Some(Err(error.into_api().unwrap()))),
    });
    items.flatten().collect()
}

/// Message, code, type and status.
fn told(error: &ApiError) -> (&str, &str, &str, u16) {
    let text = |text: &'_ Option<String>| text.clone().unwrap_or_default();
    assert!(error.code.as_deref() != Some("") && error.r#type.as_deref() != Some(""));
    let (code, r#type) = (text(&error.code).leak(), text(&error.r#type).leak());
    (&error.message, code, r#type, error.status.unwrap_or(0))
}

#[test]
fn every_shape_of_a_servers_error_is_told_alone_and_beside_what_it_may_stand_beside() {
    let mut wrong = Vec::new();
    for (counts, fields, message, code, r#type, status) in SHAPES {
        for (beside, is_told, is_chunk) in [
            ("", counts >= Alone, false),
            (r#","usage":{"total_tokens":1}"#, counts >= BesideUsage, counts < BesideUsage),
            (r#","choices":[{"delta":{"content":"a"}}]"#, counts >= BesideChoices, true),
            (r#","choices":[]"#, counts >= Alone, true),
            (r#","choices":[],"usage":{"total_tokens":1}"#, counts >= BesideUsage, true),
        ] {
            let payload = format!("{{{fields}{beside}}}");
            let items = items(&format!("data: {payload}\n\n"));
            let told: Vec<_> = items.iter().map(|item| item.as_ref().err().map(told)).collect();
            let error = is_told.then_some(Some((message, code, r#type, status)));
            let want: Vec<_> = error.into_iter().chain(is_chunk.then_some(None)).collect();
            let alone = ApiError::from_payload(&payload);
            if told != want || alone.as_ref() != items.iter().find_map(|item| item.as_ref().err()) {
                wrong.push(format!("{payload}: {told:?}, {alone:?}"));
            }
            assert!(alone.is_none_or(|error| error.to_string() == error.message));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_error_in_a_choice_is_told_before_its_chunk() {
    for error in [r#""m""#, r#"{"message":"m","code":502}"#] {
        let items = items(&format!("data: {{\"choices\":[{{\"delta\":{{}}}},{{\"error\":{error},\"finish_reason\":\"error\"}}]}}\n\n"));
        assert!(matches!(&items[..], [Err(error), Ok(())] if error.message == "m"), "{items:?}");
    }
    assert_eq!(items("data: {\"choices\":[{\"error\":null},{\"error\":{}}]}\n\n"), [Ok(())]);
}

#[test]
fn under_the_event_name_error_any_object_or_text_is_an_error_but_not_a_chunk() {
    for (data, message) in [
        (r#"{"message":"m"}"#, Some("m")), (r#"{"a":1}"#, Some(r#"{"a":1}"#)), ("{}", Some("error")), ("m", Some("m")), (r#""m""#, Some("m")),
        (r#"{"error":{"message":"m"}}"#, Some("m")), ("{\"error\"", Some("{\"error\"")), ("m\ndata: n", Some("m\nn")),
        (r#"{"usage":{"total_tokens":1}}"#, None), (r#"{"choices":[{}]}"#, None), (r#"{"choices":[]}"#, Some("error")),
    ] {
        let items = items(&format!("event: error\ndata: {data}\n\n"));
        let error = items.iter().find_map(|item| item.as_ref().err()).map(|error| error.message.as_str());
        assert_eq!(error, message, "{data}");
        assert_eq!(items.contains(&Ok(())), data.contains("choices") || data.contains("usage"), "{data}");
    }
}

#[test]
fn the_decoder_of_payloads_knows_the_event_name_error_too() {
    let mut decoder = Decoder::new();
    for (event, is_error) in [("error", true), ("message", false)] {
        for payload in ["overloaded", r#"{"why":"overloaded"}"#] {
            let mut payloads = decoder.payloads_of_event(event, payload);
            let told = matches!(payloads.next_payload(), Some(Ok(Payload::Api(_))));
            assert_eq!(told, is_error, "{event} {payload}");
        }
    }
}

#[test]
fn an_error_is_told_also_where_a_limit_costs_what_it_stands_in() {
    let deep = "[".repeat(130) + &"]".repeat(130);
    for payload in [
        r#"{"choices":[{"index":4294967296,"error":{"message":"m"}}]}"#.to_owned(),
        // The first one.
        r#"{"choices":[{"index":4294967296,"error":{"message":"m"}},{"index":4294967297,"error":{"message":"n"}}]}"#.to_owned(),
        format!(r#"{{"error":{{"message":"m","x":{deep}}}}}"#),
    ] {
        let items = read([format!("data: {payload}\n\n").as_bytes()]).items;
        let told: Vec<_> = items.iter().filter_map(|item| item.as_ref().err()).map(|fault| (fault.kind, fault.message.as_str())).collect();
        assert!(told.contains(&(Api, "m")), "{payload}: {told:?}");
        assert!(told.iter().any(|(kind, _)| *kind == TooLarge), "{payload}: {told:?}");
    }
}
