//! Reading allocates nothing but the growth of the answer, and holds no more than `Limits` says. A binary of its own: its allocator
//! counts.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::std_instead_of_core, clippy::std_instead_of_alloc, clippy::cast_possible_truncation)]
#![cfg_attr(rustfmt, rustfmt_skip)] // laid out by hand, 130 wide

use allocation_counter::measure;
use chatwire::{Options, Parser};

const FRAMES: usize = 4_000;
const READ: usize = 16 << 10;

fn read(parser: &mut Parser, bytes: &[u8], read: usize) {
    for piece in bytes.chunks(read) {
        parser.feed(piece);
        while let Some(event) = parser.next_event() {
            event.unwrap();
        }
    }
}

/// Words of different lengths, the longest among the first.
fn word(nth: usize) -> &'static str {
    [" extraordinarily", " a", " \\\"quoted\\\"", "\\n\\n", " word", "é"][nth % 6]
}

/// OpenAI's shape with all that it has in every chunk.
fn content_stream() -> String {
    let chunk = |nth: usize| {
        format!(
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"m-1\",\
             \"service_tier\":\"default\",\"system_fingerprint\":\"fp_1\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\
             \"{}\"}},\"logprobs\":null,\"finish_reason\":null}}],\"usage\":null,\"obfuscation\":\"{}\"}}\n\n",
            word(nth),
            &"abcdefghijkl"[nth % 7..]
        )
    };
    (0..FRAMES).map(chunk).collect()
}

/// DeepSeek's shape: reasoning first, then content, each null beside the other; CJK, raw and escaped; a vendor's field.
fn reasoning_stream() -> String {
    let chunk = |nth: usize| {
        let text = ["\\u601d\\u8003\\u4e2d\\u6587\\ud83d\\ude00", "思考", "，", "推理过程"][nth % 4];
        let (reasoning, content) = (format!("\"{text}\""), "null".to_owned());
        let (reasoning, content) = if nth < FRAMES / 2 { (reasoning, content) } else { (content, reasoning) };
        format!(
            "data: {{\"id\":\"d1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"deepseek\",\
             \"system_fingerprint\":\"fp_1\",\"x_trace\":{{\"hop\":[1,2]}},\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\
             {content},\"reasoning_content\":{reasoning}}},\"logprobs\":null,\"finish_reason\":null}}]}}\n\n"
        )
    };
    (0..FRAMES).map(chunk).collect()
}

/// Eight calls in parallel, their fragments interleaved, some chunks with two.
fn tools_stream() -> String {
    let chunk = |nth: usize| {
        let fragment = |nth: usize| {
            let open = if nth < 8 { "{\\\"text\\\":\\\"" } else { "" };
            let index = nth % 8;
            let head = if nth < 8 { format!("\"id\":\"call_{nth}\",\"type\":\"function\",") } else { String::new() };
            let name = if nth < 8 { "\"name\":\"write\"," } else { "" };
            let text = ["some words", "a", "longer than the others are", "\\\\n"][nth % 4];
            format!("{{\"index\":{index},{head}\"function\":{{{name}\"arguments\":\"{open}{text}\"}}}}")
        };
        let fragments = if nth >= 8 && nth % 5 == 0 { fragment(nth) + "," + &fragment(nth + 3) } else { fragment(nth) };
        format!(
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"m-1\",\
             \"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{fragments}]}},\"finish_reason\":null}}]}}\n\n"
        )
    };
    (0..FRAMES).map(chunk).collect()
}

#[test]
fn nothing_is_allocated_for_a_frame_but_the_growth_of_the_answer() {
    let streams = [
        ("content", content_stream(), 1),
        ("reasoning", reasoning_stream(), 2),
        ("eight calls", tools_stream(), 8),
    ];
    for (name, stream, texts) in streams {
        let (warm_up, rest) = stream.as_bytes().split_at(stream.len() / 4);
        let mut parser = Parser::new();
        read(&mut parser, warm_up, READ);
        let allocated = measure(|| read(&mut parser, rest, READ));
        // Four times the text: a string doubles twice, or three times. And the content that comes after all the reasoning
        // begins with nothing: it doubles from 8 bytes to 16 KiB; the first of it takes the general path, which unescapes
        // into a buffer of its own.
        let begun = if name == "reasoning" { 13 } else { 0 };
        assert!(allocated.count_total <= 3 * texts + begun, "{name}: {allocated:?}");
        assert!(!parser.completion().choices.is_empty());
    }
}

#[test]
fn a_parser_that_was_reset_keeps_its_buffers() {
    for stream in [content_stream(), reasoning_stream(), tools_stream()] {
        let head = &stream.as_bytes()[..stream.len() / 8];
        let mut parser = Parser::new();
        let first = measure(|| read(&mut parser, head, READ)).count_total;
        parser.reset();
        let second = measure(|| read(&mut parser, head, READ)).count_total;
        assert!(second < first, "{second} after {first}");
    }
}

const MIB: usize = 1 << 20;

/// The most that a parser holds while it reads, the growth of a buffer, when it is there twice, not counted; beside the bytes
/// that are fed at once.
fn most_held(options: Options, pieces: impl Iterator<Item = Vec<u8>>) -> usize {
    let mut most = 0;
    let mut parser = None;
    let mut held = measure(|| parser = Some(Parser::with_options(options))).bytes_current;
    let mut parser = parser.unwrap();
    for piece in pieces {
        for step in 0..2 {
            let change = measure(|| {
                if step == 0 {
                    parser.feed(&piece);
                } else {
                    while parser.next_event().is_some() {}
                }
            });
            held += change.bytes_current;
            most = most.max(usize::try_from(held).unwrap().saturating_sub(piece.len()));
        }
    }
    most
}

#[test]
fn a_line_without_end_is_held_up_to_the_limit() {
    let limit = Options::default().limits.max_frame_bytes;
    for (head, line, bound) in [
        ("data: ", "x", 2 * limit),
        ("event: ", "x", 2 * limit),
        ("id: ", "x", 2 * limit),
        ("", "x", 2 * limit),
        ("{", "x", 2 * limit),
        ("data: 1\n", "data: 1\n", 2 * limit),
        ("{\n", "{\n", 2 * limit),
        (": ", "x", MIB),
        ("x\n", "x\n", MIB),
    ] {
        let piece = line.repeat((64 << 10) / line.len()).into_bytes();
        let pieces = std::iter::once(head.as_bytes().to_vec()).chain(std::iter::repeat_n(piece, 1024));
        let held = most_held(Options::default(), pieces);
        assert!(held <= bound + MIB, "{head}{line}...: {} KiB", held >> 10);
    }
}

/// Frames of which each makes another place large: what is there for each place before it, and what is in it; `@` is text.
const LARGE: [(&str, &str); 12] = [
    (r#"{"delta":{"content":""}},"#, r#"{"delta":{"content":"@"}}"#),
    (r#"{"delta":{"reasoning":"a"}},"#, r#"{"delta":{"reasoning":"@"}}"#),
    (r#"{"delta":{"role":""}},"#, r#"{"delta":{"role":"@"}}"#),
    (r#"{"delta":{}},"#, r#"{"delta":{},"x":"@"}"#),
    (r#"{"delta":{}},"#, r#"{"delta":{"x":"@"}}"#),
    (r#"{"delta":{}},"#, r#"{"delta":{},"finish_reason":"@"}"#),
    (r#"{"logprobs":{"content":[]}},"#, r#"{"logprobs":{"content":["@"]}}"#),
    (r#"{"delta":{"audio":{"data":""}}},"#, r#"{"delta":{"audio":{"data":"@"}}}"#),
    (r#"{"delta":{"function_call":{"arguments":""}}},"#, r#"{"delta":{"function_call":{"arguments":"@"}}}"#),
    (r#"{"id":""},"#, r#"{"id":"","x":"@"}"#),
    (r#"{"function":{"arguments":""}},"#, r#"{"function":{"arguments":"@"}}"#),
    (r#"{"type":""},"#, r#"{"type":"@"}"#),
];

#[test]
fn large_texts_in_ever_other_places_are_not_all_held() {
    let mut options = Options::default();
    options.limits.max_frame_bytes = MIB / 4;
    options.limits.max_completion_bytes = MIB / 4;
    let (text, mut over) = ("x".repeat(200_000), Vec::new());
    for (nth, (before, large)) in LARGE.iter().enumerate() {
        let frame = |places: usize| {
            let list = before.repeat(places) + &large.replace('@', &text);
            // The last three are calls, the others choices.
            let choices = if nth < 9 { list } else { format!(r#"{{"delta":{{"tool_calls":[{list}]}}}}"#) };
            format!("data: {{\"choices\":[{choices}]}}\n\n").into_bytes()
        };
        let held = most_held(options, (0..100).map(frame));
        // A frame twice, a chunk and the completion are 1 MiB; and as much again for what grows by doubling.
        over.extend((held > 2 * MIB).then(|| format!("{large}: {} KiB", held >> 10)));
    }
    assert!(over.is_empty(), "over 2048 KiB: {over:#?}");
}
