//! The fast path gives exactly what the general path gives: each chunk is that of a fresh decoder for its payload alone,
//! and the whole is that of the layers by hand, which have no fast path.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use chatwire::chunk::{Decoder, Payload};
use chatwire::completion::Accumulator;
use chatwire::{ChatCompletion, Deviation, DeviationSet, Event, Parser, sse};
use common::{corpus, streams};
use proptest::prelude::*;

/// What the layers say of a stream when each payload gets a decoder of its own: chunks, tolerated per chunk, answer.
fn by_hand(input: &[u8]) -> (Vec<String>, Vec<DeviationSet>, ChatCompletion) {
    let (mut framing, mut accumulator) = (sse::Decoder::new(), Accumulator::new());
    let (mut chunks, mut tolerated) = (Vec::new(), Vec::new());
    framing.feed(input);
    framing.finish();
    'stream: while let Some(frame) = framing.next_frame() {
        let Ok(frame) = frame else { continue };
        let mut decoder = Decoder::new();
        let mut payloads = decoder.payloads_of_event(frame.event, frame.data);
        while let Some(payload) = payloads.next_payload() {
            match payload {
                Ok(Payload::Chunk(chunk)) => {
                    accumulator.push(chunk);
                    chunks.push(serde_json::to_string(chunk).unwrap());
                    tolerated.push(accumulator.deviations());
                }
                Ok(Payload::Done) => break 'stream,
                _ => {}
            }
        }
    }
    (chunks, tolerated, accumulator.into_completion())
}

/// The same of a parser, which has the fast path.
fn by_parser(input: &[u8], size: usize) -> (Vec<String>, ChatCompletion) {
    let mut parser = Parser::new();
    let mut chunks = Vec::new();
    let mut drain = |parser: &mut Parser| {
        while let Some(item) = parser.next_event() {
            if let Ok(Event::ChunkParsed(chunk)) = item {
                chunks.push(serde_json::to_string(&*chunk).unwrap());
            }
        }
    };
    for read in input.chunks(size) {
        parser.feed(read);
        drain(&mut parser);
    }
    parser.finish();
    drain(&mut parser);
    (chunks, parser.into_completion())
}

fn assert_same(input: &[u8], what: &str) {
    let (chunks, _, completion) = by_hand(input);
    for size in [1, 50, 1400, usize::MAX] {
        let (got, answer) = by_parser(input, size);
        assert_eq!(got, chunks, "{what}, {size} bytes a read");
        assert_eq!(answer, completion, "{what}, {size} bytes a read");
    }
}

#[test]
fn fixtures_give_the_same_chunks_and_answer() {
    for case in streams() {
        // Lines that are no fields, and keep-alive events, are the parser's, not the layers'.
        let text = String::from_utf8_lossy(&case.input);
        let fields = ["data", "event", "id:", "id", "retry", ":", "\u{feff}"];
        let is_plain = text
            .split(['\n', '\r'])
            .all(|line| line.is_empty() || fields.iter().any(|field| line.starts_with(field)));
        if is_plain
            && !["ping", "keepalive", "keep-alive", "heartbeat"]
                .iter()
                .any(|name| text.contains(name))
        {
            assert_same(&case.input, &case.id);
        }
    }
}

#[test]
fn recorded_streams_give_the_same_chunks_and_answer() {
    let Some(corpus) = corpus() else { return };
    let mut compared = 0;
    for entry in std::fs::read_dir(corpus.join("streams")).unwrap() {
        let path = entry.unwrap().path();
        let input = std::fs::read(&path).unwrap();
        let is_plain = input.starts_with(b"data: ") || input.starts_with(b": ");
        if is_plain && input.len() < 200_000 {
            assert_same(&input, &path.display().to_string());
            compared += 1;
        }
    }
    assert!(compared > 300);
}

/// Values that go into a hole, or beside one: most of them make the payload like the one before, some do not.
fn value() -> impl Strategy<Value = &'static str> {
    prop::sample::select(
        &[
            "\"\"",
            "\"a\"",
            "\" b c\"",
            "\"\\n\"",
            "\"é\"",
            "\"\\u00e9\"",
            "\"\\ud83d\\ude00\"",
            "\"\\ud83d\"",
            "\"\\ude00\"",
            "\"\\x\"",
            "\"\\\"\"",
            "\"a\\\\\"",
            "\"\t\"",
            "null",
            "7",
            "[]",
            "{}",
            "\"unclosed",
        ][..],
    )
}

fn number() -> impl Strategy<Value = &'static str> {
    prop::sample::select(
        &[
            "0",
            "1",
            "7",
            "01",
            "-1",
            "1.0",
            "4294967295",
            "4294967296",
            "99999999999999999999",
            "null",
            "\"1\"",
        ][..],
    )
}

fn payload() -> impl Strategy<Value = String> {
    let shape = 0_usize..6;
    (shape, value(), value(), number(), number()).prop_map(|(shape, one, two, index, created)| match shape {
        0 | 1 => format!(
            r#"{{"id":"c","object":"chat.completion.chunk","created":1,"choices":[{{"index":0,"delta":{{"content":{one}}},"finish_reason":null}}],"obfuscation":{two}}}"#
        ),
        2 => format!(
            r#"{{"id":"c","object":"chat.completion.chunk","created":{created},"choices":[{{"index":0,"delta":{{"content":null,"reasoning_content":{one}}},"finish_reason":null}}]}}"#
        ),
        3 | 4 => format!(
            r#"{{"id":"c","object":"chat.completion.chunk","choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":{index},"function":{{"arguments":{one}}}}}]}},"finish_reason":null}}]}}"#
        ),
        _ => format!(
            r#"{{"id":"d","choices":[{{"index":0,"delta":{{"content":{one},"reasoning":{two},"thinking":{one}}}}},{{"index":{index},"delta":{{}}}}]}}"#
        ),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn payloads_that_nearly_repeat_give_the_same_chunks_and_answer(payloads in prop::collection::vec(payload(), 1..30)) {
        let input: String = payloads.iter().map(|payload| format!("data: {payload}\n\n")).collect();
        assert_same(input.as_bytes(), &input);
    }
}

/// What is said of the answer as a whole: each field as before, as something else, or not at all.
fn envelope() -> impl Strategy<Value = String> {
    let field = |key: &'static str, values: &'static [&'static str]| {
        prop::sample::select(values).prop_map(move |value| match value {
            "" => String::new(),
            value => format!("\"{key}\":{value},"),
        })
    };
    let texts = &["\"a\"", "\"a\"", "\"a\"", "\"b\"", "\"\"", "null", "7", ""][..];
    (
        field("id", texts),
        field("model", texts),
        field("service_tier", &["\"a\"", "\"a\"", "\"b\"", ""]),
        field("system_fingerprint", &["\"a\"", "\"a\"", "\"b\"", ""]),
        field("created", &["1", "1", "2", ""]),
        field("x", &["", "", "1", "[2]", "null"]),
        field("moderation", &["", "", "", "{\"a\":1}", "{\"b\":2}"]),
    )
        .prop_map(|(a, b, c, d, e, f, g)| a + &b + &c + &d + &e + &f + &g)
}

/// The data of a frame: a chunk most often, or what has chunks in it that do not count, or more than chunks.
fn data() -> impl Strategy<Value = String> {
    let choices = prop::sample::select(
        &[
            "[]",
            "[{\"delta\":{\"content\":\"c\"}}]",
            "[{\"index\":1,\"delta\":{},\"x\":1}]",
        ][..],
    );
    (0..12, envelope(), choices, envelope()).prop_map(|(kind, one, choices, other)| {
        let chunk = format!("{{{one}\"choices\":{choices}}}");
        match kind {
            0 => format!("{{{one}\"error\":{{\"message\":\"m\"}}}}"),
            1 => format!("{{{one}\"error\":{{\"message\":\"m\"}},\"choices\":{choices}}}"),
            2 => format!("{{{one}\"neither\":1}}"),
            3 => format!("{chunk} {{{other}\"choices\":{choices}}}"),
            4 => format!("{chunk} broken"),
            5 => format!("{{{one}\"choices\":[{{\"delta\":{{\"content\":"),
            6 => format!("{{{one}\"choices\":{choices},\"usage\":{{\"total_tokens\":1}}}}"),
            _ => chunk,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_said_of_the_answer_as_a_whole_counts_whenever_it_changes(frames in prop::collection::vec(data(), 1..20)) {
        let input: String = frames.iter().map(|data| format!("data: {data}\n\n")).collect();
        assert_same(input.as_bytes(), &input);
        let mut parser = Parser::new();
        parser.feed(input.as_bytes());
        while parser.next_event().is_some() {}
        let met = parser.deviations().iter().find(|met| met.code == Deviation::IdChanged);
        let (_, tolerated, completion) = by_hand(input.as_bytes());
        let expected = tolerated.iter().filter(|tolerated| tolerated.contains(Deviation::IdChanged));
        prop_assert_eq!(met.map_or(0, |met| met.count), expected.count() as u64, "{}", input);
        // In another stream it is new again.
        parser.reset();
        parser.feed(input.as_bytes());
        while parser.next_event().is_some() {}
        prop_assert_eq!(parser.completion(), &completion, "{}", input);
    }
}

#[test]
fn texts_of_any_length_and_script_are_read_into_the_holes() {
    for char in ["x", "é", "日", "😀", "\\n", "\\u65e5"] {
        for before in ["", "a", "ab", "abc"] {
            // Long ones among short ones, so that a buffer is used for both.
            let frames = (0..40).map(|nth| {
                let text = format!("{before}{}", char.repeat(nth * 7 % 23));
                format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}],\"obfuscation\":\"{text}\"}}\n\n")
            });
            assert_same(frames.collect::<String>().as_bytes(), char);
        }
    }
}

#[test]
fn a_frame_of_two_values_that_comes_again_loses_neither() {
    let of = |text: &str| {
        format!(
            r#"{{"object":"chat.completion.chunk","choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#
        )
    };
    let stream = format!("data: {} {}\n\n", of("a"), of("b")).repeat(5);
    assert_same(stream.as_bytes(), "two values");
    assert_eq!(by_parser(stream.as_bytes(), 100).1.text(), "ababababab");
}

#[test]
fn what_only_looks_like_the_payload_before_is_read_for_itself() {
    // The first of each pair could be learned, the second has the same bytes around other texts, and means something else.
    let over_lines = "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"delta\":\n{\"content\":\"b\"}}]}\n\n";
    assert_same(over_lines.as_bytes(), "data lines");
    for payload in [
        r#"{"choices":[{"delta":{"content":"@"}}],"choices":[{"delta":{}}]}"#,
        r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":"T"}],"reasoning":"@"}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"index":null,"function":{"name":"f","arguments":"@"}}]}}]}"#,
        r#"{"choices":[{"delta":{"reasoning":"@","reasoning":""}}]}"#,
        r#"{"created":1e400,"choices":[{"delta":{"content":"@"}}]}"#,
        // The content is that of a choice that is skipped.
        r#"{"choices":[{"index":4294967296,"delta":{"content":"@"}},{"index":0,"delta":{}}]}"#,
        // What repeats counts again, beside what differs.
        r#"{"choices":[{"delta":{"content":"@","tool_calls":[{"index":0,"function":{"name":"f","arguments":"@"}}]}}]}"#,
        r#"{"choices":[{"delta":{"content":"@","refusal":"r"}}]}"#,
        r#"{"choices":[{"delta":{"content":"@","audio":{"data":"d","transcript":"t"}}}]}"#,
        r#"{"choices":[{"delta":{"content":"@","function_call":{"name":"f","arguments":"1"}}}]}"#,
        r#"{"choices":[{"delta":{"content":"@","annotations":[1],"x":["y"]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"i","function":{"name":"f","arguments":"@"}}],"x":[1]}}]}"#,
        r#"{"choices":[{"delta":{"content":"@"},"finish_reason":"stop"}]}"#,
        r#"{"choices":[{"message":{"content":"m"}}],"obfuscation":"@"}"#,
        r#"{"choices":[{"delta":{"content":"@"}}],"usage":{"total_tokens":1}}"#,
        r#"{"choices":[{"delta":{"content":"@"}}],"moderation":{"m":"@"}}"#,
        r#"{"choices":[{"delta":{"content":"@"},"logprobs":{"content":[{"token":"@"}],"refusal":[1]}}]}"#,
    ] {
        let stream: String = ["a", "b", "c"]
            .map(|text| format!("data: {}\n\n", payload.replace('@', text)))
            .concat();
        assert_same(stream.as_bytes(), payload);
    }
    // Arguments, and one thing beside them that counts each time it comes.
    let opening = r#"{"tool_calls":[{"index":0,"id":"i","type":"function","function":{"name":"f","arguments":"{\"a\":\""}}]}"#;
    for delta in [
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"@"}}]}"#,
        r#"{"tool_calls":[{"index":0,"id":"","type":"","function":{"name":"","arguments":"@"}}]}"#,
        r#"{"tool_calls":[{"index":0,"id":"j","function":{"arguments":"@"}}]}"#,
        r#"{"tool_calls":[{"index":0,"id":"j","function":{"name":"g","arguments":"@"}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"name":"g","arguments":"@"}}]}"#,
        r#"{"tool_calls":[{"index":0,"x":["@"],"function":{"arguments":"@"}}]}"#,
        r#"{"tool_calls":[{"index":0,"x":["y"],"function":{"arguments":"@"}}]}"#,
        r#"{"tool_calls":[{"index":0,"custom":{"name":"c","input":"y"},"function":{"arguments":"@"}}]}"#,
        r#"{"tool_calls":[{"function":{"arguments":"@"}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"@"}}],"content":"c"}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"@"}}],"reasoning":"r"}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"@"}}],"refusal":"r"}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"@"}}],"role":"assistant"}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"@"}}],"audio":{"data":"d"}}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"@"}}],"annotations":[1]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"@"}}],"x":["y"]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"@"}}],"function_call":{"arguments":"1"}}"#,
    ] {
        let frame = |delta: &str| format!("data: {{\"choices\":[{{\"delta\":{delta}}}]}}\n\n");
        let rest = ["a", "b", "c", "d"].map(|text| frame(&delta.replace('@', text)));
        let stream = frame(opening) + &rest.concat();
        assert_same(stream.as_bytes(), delta);
    }
}
