//! A parser holds no more than `Limits` say, whatever comes. A binary of its own: its allocator counts.
//!
//! Each row of a table is a stream that tries, with the most that it may take: tighter than what the limits promise, so that a
//! buffer too many is seen. `.ci/limits` runs the full sizes.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]
#![allow(clippy::std_instead_of_core, clippy::std_instead_of_alloc, clippy::cast_possible_truncation)]
#![cfg_attr(rustfmt, rustfmt_skip)] // tables, laid out by hand, 130 wide

use allocation_counter::{measure, opt_out};
use chatwire::{Limits, Options, Parser};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Writes the nth piece of a stream.
type Write = Box<dyn FnMut(usize, &mut Vec<u8>)>;

/// A stream, and the most that reading it may take.
struct Row {
    name: String,
    limits: Limits,
    pieces: usize,
    write: Write,
    at_most: usize,
}

fn row(name: impl Into<String>, (limits, at_most): (Limits, usize), pieces: usize, write: impl FnMut(usize, &mut Vec<u8>) + 'static) -> Row {
    Row { name: name.into(), limits, pieces, write: Box::new(write), at_most }
}

/// The same bytes as a stream, fed in pieces of 4 KiB.
fn in_pieces(name: impl Into<String>, bounds: (Limits, usize), stream: Vec<u8>) -> Row {
    let pieces = stream.len().div_ceil(4 * KIB);
    row(name, bounds, pieces, move |nth, out| out.extend_from_slice(stream[nth * 4 * KIB..].chunks(4 * KIB).next().unwrap()))
}

impl Row {
    /// Feeds and drains; the most that was held, and by how much that is too much.
    fn read(mut self, too_much: &mut Vec<String>) -> String {
        let (mut piece, mut longest) = (Vec::new(), 0);
        let mut options = Options::default();
        options.limits = self.limits;
        let held = measure(|| {
            let mut parser = Parser::with_options(options);
            for nth in 0..self.pieces {
                opt_out(|| {
                    piece.clear();
                    (self.write)(nth, &mut piece);
                    longest = longest.max(piece.len());
                });
                parser.feed(&piece);
                while parser.next_event().is_some() {}
            }
        });
        let (held, fed, promised) = (held.bytes_max as usize, 3 * longest, self.limits.worst_case_bytes());
        let told = format!("{:7} KiB of {:7} KiB, promised {:7} KiB: {}", held / KIB, (self.at_most + fed) / KIB, (promised + fed) / KIB, self.name);
        if held > self.at_most + fed || self.at_most > promised {
            too_much.push(told.clone());
        }
        told
    }
}

fn check(rows: Vec<Row>) {
    let mut too_much = Vec::new();
    for row in rows {
        println!("{}", row.read(&mut too_much));
    }
    assert!(too_much.is_empty(), "{too_much:#?}");
}

fn limits(frame: usize, completion: usize, parts: usize) -> Limits {
    let mut limits = Limits::default();
    (limits.max_frame_bytes, limits.max_completion_bytes) = (frame, completion);
    (limits.max_choices, limits.max_tool_calls) = (parts, parts);
    limits
}

fn frame(json: &str) -> String {
    format!("data: {json}\n\n")
}

/// What the size of an attack is; each row says what of it is bounded.
struct Sizes {
    bytes: usize,
    count: usize,
}

/// Lines without end, and comments.
fn lines(sizes: &Sizes) -> Vec<Row> {
    let default = Limits::default();
    let f = default.max_frame_bytes;
    let mut rows = Vec::new();
    for (head, line, at_most) in [
        ("data: ", "x", 3 * f),
        ("event: ", "x", 3 * f),
        ("id: ", "x", 3 * f),
        ("", "x", 3 * f),
        ("{", "x", 3 * f),
        ("error: {", "x", 3 * f),
        ("data: ", "\u{fffd}", 3 * f),
        (": ", "x", 256 * KIB),
        ("data: 1\n", "data: 1\n", 3 * f),
        ("{\n", "{\n", 3 * f),
        ("x\n", "x\n", 256 * KIB),
        ("", ": ping\n", 256 * KIB),
    ] {
        let piece = line.repeat(64 * KIB / line.len());
        rows.push(row(format!("{head:?} and {line:?} without end"), (default, at_most), sizes.bytes / piece.len(), move |nth, out| {
            out.extend(if nth == 0 { head } else { &piece }.bytes());
        }));
    }
    rows.push(row("comment lines", (default, 256 * KIB), sizes.count / 100, |_, out| out.extend(b": OPENROUTER PROCESSING\n\n".repeat(100))));
    rows
}

/// Chunks without end, and chunks of many parts.
fn chunks(sizes: &Sizes) -> Vec<Row> {
    let default = Limits::default();
    let f = default.max_frame_bytes;
    let mut rows = Vec::new();
    let many = sizes.count / 100;
    let chunks = |name: &str, at_most, json: &'static str| {
        row(name, (default, at_most), many, move |nth, out| {
            for nth in nth * 100..(nth + 1) * 100 {
                out.extend(frame(&json.replace('@', &nth.to_string())).bytes());
            }
        })
    };
    rows.push(chunks("a choice index of 2^63", 256 * KIB, r#"{"choices":[{"index":9223372036854775808,"delta":{"content":"@"}}]}"#));
    rows.push(chunks("choice indices", MIB, r#"{"choices":[{"index":@,"delta":{"x":[{"y":0}]}}]}"#));
    rows.push(chunks("tool indices", MIB, r#"{"choices":[{"delta":{"tool_calls":[{"index":@,"id":"@","function":{"name":"f","arguments":"{}"}}]}}]}"#));
    rows.push(chunks("unknown keys, one in each chunk", 3 * 64 * MIB, r#"{"k@":0,"choices":[]}"#));
    rows.push(chunks("unknown keys, one in each delta", 3 * 64 * MIB, r#"{"choices":[{"delta":{"k@":0}}]}"#));
    rows.push(chunks("keys of moderation", 3 * 64 * MIB, r#"{"choices":[],"moderation":{"k@":0}}"#));
    rows.push(chunks("an unknown field that changes", 256 * KIB, r#"{"choices":[{"x":{"y":@}}],"x":[@]}"#));
    rows.push(chunks("errors", 256 * KIB, r#"{"error":{"message":"@","k@":[0,0,0]}}"#));
    // As many as fit in a frame, in each chunk others.
    for json in [r#"{@"choices":[]}"#, r#"{"choices":[{@"index":0}]}"#] {
        rows.push(row(format!("other unknown keys in each {json}"), (limits(16 * KIB, 16 * MIB, 1), 3 * 16 * MIB + 24 * 16 * KIB), 1_500, move |nth, out| {
            let keys: String = (0..1_300).map(|key| format!("\"{:x}\":0,", nth * 1_300 + key)).collect();
            out.extend(frame(&json.replace('@', &keys)).bytes());
        }));
    }
    let large = limits(16 * MIB, 64 * MIB, 128);
    let count = sizes.count.min(1_000_000);
    for json in [r#"{@"choices":[]}"#, r#"{"choices":[{"delta":{@"content":"a"}}]}"#, r#"{"choices":[{"delta":{"tool_calls":[{@"index":0}]}}]}"#, r#"{"error":{@"message":"m"}}"#] {
        let keys: String = (0..count).map(|key| format!("\"{key}\":0,")).collect();
        let stream = frame(&json.replace('@', &keys)).into_bytes();
        rows.push(in_pieces(format!("unknown keys in {json}"), (large, 8 * 16 * MIB), stream));
    }
    let calls: String = (0..count / 10).map(|index| format!("{{\"index\":{index}}},")).collect();
    rows.push(in_pieces("tool indices in one chunk", (default, 4 * f), frame(&format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{calls}{{}}]}}}}]}}"#)).into_bytes()));
    let choices: String = (0..count / 10).map(|index| format!("{{\"index\":{index}}},")).collect();
    rows.push(in_pieces("choice indices in one chunk", (default, 4 * f), frame(&format!(r#"{{"choices":[{choices}{{}}]}}"#)).into_bytes()));
    let little = limits(64 * KIB, 16 * MIB, 128);
    for (name, json) in [
        ("arguments", r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"@"}}]}}]}"#),
        ("content", r#"{"choices":[{"delta":{"content":"@"}}]}"#),
        ("a text in a field", r#"{"choices":[{"delta":{"x":"@"}}]}"#),
        ("a list in a field", r#"{"choices":[{"delta":{"x":["@"]}}]}"#),
        ("legacy arguments", r#"{"choices":[{"delta":{"function_call":{"name":"f","arguments":"@"}}}]}"#),
        ("log probabilities", r#"{"choices":[{"logprobs":{"content":["@"]}}]}"#),
    ] {
        let chunk = frame(&json.replace('@', &"x".repeat(32 * KIB))).into_bytes();
        rows.push(row(format!("{name} without end"), (little, 3 * 16 * MIB), sizes.bytes / (32 * KIB), move |_, out| out.extend_from_slice(&chunk)));
    }
    rows
}

/// Values as large as a frame.
fn values(sizes: &Sizes) -> Vec<Row> {
    let default = Limits::default();
    let f = default.max_frame_bytes;
    let mut rows = Vec::new();
    // 8 MB each: as long as a line may be, or longer.
    for head in ["id: @\ndata: 1\n\n", "event: @\ndata: 1\n\n", "id: @\nid: @\nevent: @\n\n", "@: 1\n", "{\"@\":0}\n", "{\n\"@\"\n"] {
        for len in [f - 100, f] {
            rows.push(in_pieces(format!("{head:?} of {len}"), (default, 9 * f), head.replace('@', &"x".repeat(len)).repeat(2).into_bytes()));
        }
    }
    for json in [
        r#"{"id":"@","choices":[]}"#, r#"{"@":0,"choices":[]}"#, r#"{"choices":[{"@":0}]}"#, r#"{"choices":[{"delta":{"@":0}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"@"}]}}]}"#, r#"{"choices":[{"delta":{"tool_calls":[{"@":0}]}}]}"#,
        r#"{"choices":[],"usage":{"total_tokens":1,"@":0}}"#, r#"{"choices":[],"moderation":{"@":0}}"#, r#"{"error":{"@":0}}"#, r#"{"choices":[{"finish_reason":"@"}]}"#,
    ] {
        // Another one each time: the answer has all of them, in texts that grow by doubling.
        rows.push(row(format!("8 MB in {json}"), (default, 9 * f + 3 * 8 * f), sizes.count / 125_000, move |nth, out| {
            out.extend(frame(&json.replace('@', &format!("{nth}{}", "x".repeat(8_000_000)))).bytes());
        }));
    }
    let deep = |open: &str, close: &str| open.repeat(sizes.count.min(1_000_000)) + "7" + &close.repeat(sizes.count.min(1_000_000));
    for (deep, limits) in [(deep("[", "]"), default), (deep(r#"{"":"#, "}"), default), (deep(r#"[{"":"#, "}]"), limits(16 * MIB, 64 * MIB, 128))] {
        for json in ["@", r#"{"x":@,"choices":[]}"#, r#"{"choices":@}"#, r#"{"choices":[{"delta":{"x":@}}]}"#, r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":@}}]}}]}"#, r#"{"error":@}"#, r#"{"choices":[{"delta":{"content":@}}]}"#, r#"{"choices":[],"moderation":@}"#] {
            rows.push(in_pieces(format!("depth of {:.3} in {json}", deep), (limits, 5 * limits.max_frame_bytes), frame(&json.replace('@', &deep)).into_bytes()));
        }
    }
    rows
}

/// With `CHATWIRE_ATTACKS=full`, which takes minutes, the full sizes.
fn sizes() -> Sizes {
    if std::env::var_os("CHATWIRE_ATTACKS").is_some_and(|attacks| attacks == "full") {
        Sizes { bytes: 1024 * MIB, count: 10_000_000 }
    } else {
        Sizes { bytes: 64 * MIB, count: 1_000_000 }
    }
}

#[test]
fn no_lines_take_more_than_the_limits_promise() {
    check(lines(&sizes()));
}

#[test]
fn no_chunks_take_more_than_the_limits_promise() {
    check(chunks(&sizes()));
}

#[test]
fn no_large_values_take_more_than_the_limits_promise() {
    check(values(&sizes()));
}

#[test]
fn a_million_frames_fed_at_once_take_their_bytes_and_nothing_more() {
    let json = r#"{"choices":[{"index":0,"delta":{"content":""}}]}"#;
    let stream = frame(json).repeat(1_000_000).into_bytes();
    for (feed, times) in [(stream.len(), 1), (64 * KIB, 3)] {
        let mut chunks = 0;
        let held = measure(|| {
            let mut parser = Parser::new();
            stream.chunks(feed).for_each(|piece| parser.feed(piece));
            while parser.next_event().is_some() {
                chunks += 1;
            }
        });
        assert_eq!(chunks, 1_000_000);
        assert!(held.bytes_max as usize <= times * stream.len() + 256 * KIB, "fed by {feed}: {} KiB of {}", held.bytes_max as usize / KIB, stream.len() / KIB);
    }
}

/// JSON of which a few bytes become many when it is decoded: what it is, a unit of it, and where it is put.
const AMPLIFIED: [&str; 6] = ["0,", "[],", "{},", "[0],", r#"{"":0},"#, r#"{"a":{"a":{"a":{"a":0}}}},"#];
const PLACES: [&str; 24] = [
    "@",
    r#"{"choices":@}"#,
    r#"{"choices":[],"x":@}"#,
    r#"{"choices":[{"x":@}]}"#,
    r#"{"choices":[{"error":@}]}"#,
    r#"{"choices":[{"delta":{"x":@}}]}"#,
    r#"{"choices":[{"delta":{"content":@}}]}"#,
    r#"{"choices":[{"delta":{"annotations":@}}]}"#,
    r#"{"choices":[{"delta":{"reasoning_details":@}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":@}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":@}}]}}]}"#,
    r#"{"choices":[{"delta":{"audio":{"x":@}}}]}"#,
    r#"{"choices":[{"logprobs":{"content":@}}]}"#,
    r#"{"choices":[],"moderation":@}"#,
    r#"{"choices":[],"moderation":{"x":@}}"#,
    r#"{"choices":[],"usage":{"total_tokens":1,"x":@}}"#,
    r#"{"choices":[],"usage":{"total_tokens":1,"input_tokens":@}}"#,
    r#"{"choices":[],"x_groq":{"usage":@}}"#,
    r#"{"error":@}"#,
    r#"{"error":{"message":"m","x":@}}"#,
    r#"{"errors":@}"#,
    r#"{"detail":@}"#,
    r#"{"object":"error","x":@}"#,
    r#"{"code":1,"message":"m","x":@}"#,
];

#[test]
fn what_is_large_only_once_it_is_decoded_is_not_decoded() {
    let f = MIB;
    let mut rows = Vec::new();
    for unit in AMPLIFIED {
        let list = format!("[{}0]", unit.repeat((f - 200) / unit.len()));
        for (head, place) in PLACES.iter().map(|place| ("data: ", *place)).chain([
            ("event: error\ndata: ", "@"), ("event: error\ndata: ", r#"{"x":@}"#), ("error: ", r#"{"message":"m","x":@}"#), ("", r#"{"error":@}"#), ("{\n\"error\":", "@}"),
        ]) {
            // Twice, and with another field, so that what is kept is merged.
            let json = place.replace('@', &list);
            let stream = format!("{head}{json}\n\n{head}{}\n\n", json.replacen("\"x\"", "\"y\"", 1)).into_bytes();
            // Less than a completion of such a size, and what decodes to a mebibyte.
            rows.push(in_pieces(format!("{unit} in {head}{place}"), (limits(f, f, 8), 9 * f), stream));
        }
    }
    check(rows);
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
    let text = "x".repeat(200_000);
    let mut rows = Vec::new();
    for (nth, (before, large)) in LARGE.into_iter().enumerate() {
        for is_growing in [true, false] {
            let text = text.clone();
            rows.push(row(format!("{large}, {}", if is_growing { "ever more" } else { "ever less" }), (limits(MIB / 4, MIB / 4, 128), 3 * MIB / 2), 100, move |piece, out| {
                let list = before.repeat(if is_growing { piece } else { 99 - piece }) + &large.replace('@', &text);
                // The last three are calls, the others choices.
                let choices = if nth < 9 { list } else { format!(r#"{{"delta":{{"tool_calls":[{list}]}}}}"#) };
                out.extend(frame(&format!(r#"{{"choices":[{choices}]}}"#)).bytes());
            }));
        }
    }
    check(rows);
}

#[test]
fn small_texts_in_ever_other_places_are_not_all_held() {
    let kilobyte = "k".repeat(1000);
    let call = r#"{"id":"@","type":"@","function":{"name":"@","arguments":"@"},"custom":{"name":"@","input":"@"}}"#;
    let mut rows = Vec::new();
    // What is kept of 60 x 128 calls, if each keeps six buffers of a kilobyte, is 45 MiB.
    for (choices, place) in [(128, "delta"), (60, "delta"), (60, "message")] {
        let calls = |text: &str| format!(r#"{{"{place}":{{"tool_calls":[{}]}}}}"#, vec![call.replace('@', text); 128].join(","));
        let (full, empty) = (calls(&kilobyte), calls(""));
        rows.push(row(format!("small texts in the {place} of {choices}"), (limits(8 * MIB, MIB, 128), 32 * MIB), choices, move |nth, out| {
            let choices = vec![empty.as_str(); nth].into_iter().chain([full.as_str()]).collect::<Vec<_>>();
            out.extend(frame(&format!(r#"{{"choices":[{}]}}"#, choices.join(","))).bytes());
        }));
    }
    check(rows);
}

/// Chunks of which each puts something of its own size in the place of what was there: `@` is that.
const REPLACED: [&str; 12] = [
    r#"{"choices":[],"model":"@"}"#,
    r#"{"choices":[],"service_tier":"@"}"#,
    r#"{"choices":[],"system_fingerprint":"@"}"#,
    r#"{"choices":[],"usage":{"total_tokens":1,"x":"@"}}"#,
    r#"{"choices":[],"usage":{"total_tokens":1,"prompt_tokens_details":{"x":"@"}}}"#,
    r#"{"choices":[],"usage":{"total_tokens":1,"completion_tokens_details":{"x":"@"}}}"#,
    r#"{"choices":[],"x":"@"}"#,
    r#"{"choices":[{"x":["@"]}]}"#,
    r#"{"choices":[{"finish_reason":"@"}]}"#,
    r#"{"choices":[{"delta":{"id":"@"}}]}"#,
    r#"{"choices":[{"delta":{"audio":{"name":"@"}}}]}"#,
    r#"{"choices":[{"delta":{"x":{"type":"@"}}}]}"#,
];

#[test]
fn what_is_replaced_is_not_held() {
    let mut rows = Vec::new();
    let mut all = String::new();
    for json in REPLACED {
        let mut stream = String::new();
        for nth in 0..40 {
            // Long, short, long: what is short may not keep the buffer of what was long.
            stream += &frame(&json.replace('@', &"x".repeat(if nth % 2 == 0 { 60_000 } else { 1 })));
        }
        all += &stream;
        rows.push(in_pieces(json, (limits(64 * KIB, 64 * KIB, 8), 512 * KIB), stream.into_bytes()));
    }
    rows.push(in_pieces("all of them", (limits(64 * KIB, 64 * KIB, 8), 512 * KIB), all.into_bytes()));
    check(rows);
}

#[test]
fn what_is_held_in_one_place_after_the_other_adds_up_to_less_than_is_promised() {
    let f = MIB;
    let x = "x".repeat(f - 200);
    let lines = [
        frame(&format!(r#"{{"choices":[],"moderation":{{"a":"{x}"}}}}"#)),
        format!("id: {x}\ndata: 1\n\n"),
        format!("{{\n{}\"a\":0}}\n", "\"aaaaaaaaaaaaaaa\":0,\n".repeat((f - 200) / 21)),
        format!("event: {x}\ndata: 1\n\n"),
        frame(&format!(r#"{{"choices":[{{"delta":{{"content":"{x}"}}}}]}}"#)),
        frame(&format!(r#"{{"choices":[{{"delta":{{"content":"{}","x":"{}"}}}}]}}"#, &x[..f / 4], &x[..f / 2])),
        format!("id: {}\n{}\n\n", &x[..f / 2], frame(&format!(r#"{{"{}":0,{}"choices":[]}}"#, &x[..f / 4], r#""":0,"#.repeat(f / 10)))),
    ];
    check(vec![in_pieces("all of it", (limits(f, f, 8), 16 * f), lines.concat().repeat(2).into_bytes())]);
}

#[test]
fn bytes_that_are_no_text_count_as_the_text_they_become() {
    let n = MIB - 100;
    let mut rows = Vec::new();
    // What becomes as long as a frame may be; and three times as long.
    for len in [n / 3, n] {
        let line = |head: &&str| [head.as_bytes(), &vec![0xff; len], b"\n"].concat();
        for lines in [&["data: "][..], &["id: "], &["event: "], &[""], &["id: ", "", "data: "], &["event: ", "id: ", "data: "], &["{", "", ""]] {
            let stream = lines.iter().flat_map(line).chain(*b"\n").collect::<Vec<_>>();
            rows.push(in_pieces(format!("{lines:?}"), (limits(MIB, MIB, 8), 8 * MIB), stream.repeat(2)));
        }
    }
    check(rows);
}
