//! Reading allocates nothing but the growth of the answer. A binary of its own: its allocator counts.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::std_instead_of_core, clippy::std_instead_of_alloc, clippy::cast_possible_truncation)]
#![cfg_attr(rustfmt, rustfmt_skip)] // laid out by hand, 130 wide

use allocation_counter::measure;
use chatwire::Parser;

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
    const INDENTED: &str = "\\n\\t\\t\\t\\t{\\n\\t\\t\\t\\t\\t\\\"key\\\": 1\\n";
    [" extraordinarily", " a", " \\\"quoted\\\"", INDENTED, "\\n\\n", " word", "é"][nth % 7]
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

/// Log probabilities beside each word, some with a vendor's field.
fn logprobs_stream() -> String {
    let chunk = |nth: usize| {
        let entry = format!("{{\"token\":\"{}\",\"logprob\":-0.{},\"bytes\":[{nth}]}}", word(nth), nth % 7);
        let vendor = if nth % 5 == 0 { ",\"x\":null" } else { "" };
        format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{}\"}},\
             \"logprobs\":{{\"content\":[{entry}],\"refusal\":null}},\"finish_reason\":null}}]{vendor}}}\n\n",
            word(nth)
        )
    };
    (0..FRAMES).map(chunk).collect()
}

/// The same usage in every chunk.
fn usage_stream() -> String {
    let usage = "{\"total_tokens\":1,\"prompt_tokens_details\":{\"cached_tokens\":1},\"cost\":0.5}";
    (0..FRAMES)
        .map(|nth| format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{}\"}}}}],\"usage\":{usage}}}\n\n", word(nth)))
        .collect()
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
        ("log probabilities", logprobs_stream(), 2),
        ("usage", usage_stream(), 1),
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
        let first = measure(|| read(&mut parser, head, READ));
        parser.reset();
        let second = measure(|| read(&mut parser, head, READ));
        assert!(second.count_total < first.count_total, "{second:?} after {first:?}");
        // Among them that for what is fed.
        assert!(second.bytes_total + READ as u64 <= first.bytes_total, "{second:?} after {first:?}");
    }
}

#[test]
fn what_comes_after_the_end_is_not_kept() {
    let body = "data: [DONE]\n\n".to_owned() + &"x".repeat(1 << 20);
    let mut parser = Parser::new();
    let held = measure(|| {
        read(&mut parser, body.as_bytes(), usize::MAX);
        read(&mut parser, body.as_bytes(), READ);
    });
    assert!(parser.is_terminated());
    assert!(held.bytes_current < 64 << 10, "{held:?}");
}
