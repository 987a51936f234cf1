//! Reading takes time linear in the bytes, whatever grows and however small the reads are.
#![allow(clippy::unwrap_used, clippy::std_instead_of_core)]
#![cfg_attr(rustfmt, rustfmt_skip)] // a table, laid out by hand, 130 wide

use std::time::{Duration, Instant};

use chatwire::{Limits, Options, Parser};

fn frame(json: &str) -> String {
    format!("data: {json}\n\n")
}

fn delta(json: &str) -> String {
    frame(&format!(r#"{{"choices":[{{"index":0,"delta":{{{json}}}}}]}}"#))
}

/// The least of five readings of a stream in pieces of a size.
fn time(stream: &str, piece: usize, limits: Limits) -> Duration {
    let mut options = Options::default();
    options.limits = limits;
    let read = || {
        let (mut parser, start) = (Parser::with_options(options), Instant::now());
        for piece in stream.as_bytes().chunks(piece) {
            parser.feed(piece);
            while parser.next_event().is_some() {}
        }
        start.elapsed()
    };
    (0..5).map(|_| read()).min().unwrap()
}

/// What grows, to what size, how much is read at once, the stream of a size.
type Growing<'a> = (&'a str, usize, usize, &'a dyn Fn(usize) -> String);

#[test]
fn time_is_linear_in_the_bytes() {
    let keys = |n: usize| (0..n).map(|key| format!("\"k{key}\":{key},")).collect::<String>();
    let fragments = |n: usize, json: &str| delta(json).repeat(n);
    let replaced = |n: usize| (0..n).map(|nth| frame(&format!(r#"{{"k0":{nth},"choices":[]}}"#))).collect::<String>();
    let streams: [Growing<'_>; 13] = [
        ("unknown keys of a chunk", 12_500, 1 << 14, &|n| frame(&format!(r#"{{{}"choices":[]}}"#, keys(n)))),
        ("unknown keys of a call", 12_500, 1 << 14, &|n| delta(&format!(r#""tool_calls":[{{{}"index":0}}]"#, keys(n)))),
        ("a new key in each chunk", 1_000, 1 << 14, &|n| (0..n).map(|key| delta(&format!("\"k{key}\":1"))).collect()),
        ("many keys, and one that changes", 2_000, 1 << 14, &|n| frame(&format!(r#"{{{}"choices":[]}}"#, keys(n))) + &replaced(n)),
        ("a data line in small reads", 16_384, 8, &|n| format!("data: {}", "x".repeat(n))),
        ("a comment in small reads", 16_384, 8, &|n| format!(": {}", "x".repeat(n))),
        ("a stray line in small reads", 16_384, 8, &|n| "x".repeat(n)),
        ("bare lines", 2_000, 64, &|n| "{\n".repeat(n)),
        ("data lines", 2_000, 64, &|n| "data: 1\n".repeat(n)),
        ("arguments", 1_000, 1 << 14, &|n| fragments(n, r#""tool_calls":[{"index":0,"function":{"arguments":"[\"a"}}]"#)),
        ("log probabilities", 1_000, 1 << 14, &|n| frame(r#"{"choices":[{"logprobs":{"content":[{"token":"a"}]}}]}"#).repeat(n)),
        ("texts that are appended", 1_000, 1 << 14, &|n| fragments(n, r#""x":["a"],"y":"b","annotations":[1]"#)),
        ("moderation", 500, 1 << 14, &|n| {
            let large = format!(r#"{{"choices":[],"moderation":{{"x":"{}"}}}}"#, "x".repeat(60 * n));
            frame(&large) + &frame(r#"{"choices":[],"moderation":{"y":1}}"#).repeat(n)
        }),
    ];
    let mut slow = Vec::new();
    for (name, n, piece, stream) in streams {
        let (small, large) = (time(&stream(n), piece, Limits::default()), time(&stream(8 * n), piece, Limits::default()));
        // Eight times the bytes: 8 is linear, 64 is quadratic; a busy machine and its caches are in between.
        if large > small * 40 {
            slow.push(format!("{name}: {small:?}, and eight times the bytes {large:?}"));
        }
    }
    // What is replaced where there is room for three more: a key and its value count with 24 bytes more.
    let near_the_limit = |n: usize| {
        let mut limits = Limits::default();
        limits.max_completion_bytes = (0..n).map(|key| 25 + 2 * key.to_string().len()).sum::<usize>() + 100;
        time(&(frame(&format!(r#"{{{}"choices":[]}}"#, keys(n))) + &replaced(n)), 1 << 14, limits)
    };
    let (small, large) = (near_the_limit(2_000), near_the_limit(16_000));
    if large > small * 40 {
        slow.push(format!("what is replaced near the limit: {small:?}, and eight times the bytes {large:?}"));
    }
    assert!(slow.is_empty(), "{slow:#?}");
}
