//! 64 MB in one feed, beside the same bytes in 16 KB reads.

use std::time::{Duration, Instant};

use crate::allocations;
use crate::pipelines::{ALL, Pipeline};
use crate::session::Outcome;
use crate::streams::{self, Cut, Stream};

const BYTES: usize = 64_000_000;
const ROUNDS: usize = 7;
const PIPELINES: [&str; 2] = ["chatwire", "sse-core"];
const CUTS: [Cut; 2] = [Cut::Whole, Cut::KIB_16];

pub struct Large {
    pub pipeline: &'static str,
    pub cut: String,
    pub best_ns: f64,
    pub peak_bytes: usize,
    pub is_right: bool,
}

pub fn measure() -> Vec<Large> {
    let stream = stream();
    let mut rows = Vec::new();
    let chosen = || {
        ALL.iter()
            .filter(|pipeline| PIPELINES.contains(&pipeline.name))
    };
    for pipeline in chosen() {
        for cut in CUTS {
            let (outcome, counted) = allocations::count(|| run(pipeline, &stream, cut).0);
            rows.push(Large {
                pipeline: pipeline.name,
                cut: cut.name(),
                best_ns: f64::INFINITY,
                peak_bytes: counted.peak_bytes,
                is_right: matches!(outcome, Outcome::Answer(answer) if answer == stream.answer),
            });
        }
    }
    for _ in 0..ROUNDS {
        let mut rows = rows.iter_mut();
        for pipeline in chosen() {
            for cut in CUTS {
                let Some(row) = rows.next() else { continue };
                let (_, took) = run(pipeline, &stream, cut);
                let ns = took.as_secs_f64() * 1e9 / stream.payloads() as f64;
                row.best_ns = row.best_ns.min(ns);
            }
        }
    }
    rows
}

fn run(pipeline: &Pipeline, stream: &Stream, cut: Cut) -> (Outcome, Duration) {
    let reads = stream.reads(cut);
    let began = Instant::now();
    let outcome = (pipeline.run)(&reads, None);
    (outcome, began.elapsed())
}

/// The deltas of the content stream again and again.
fn stream() -> Stream {
    let content = streams::content();
    let mut large = Stream {
        name: "large",
        bytes: Vec::with_capacity(BYTES + content.bytes.len()),
        ends: Vec::new(),
        answer: streams::Answer::default(),
    };
    // All but the finish reason and the end marker.
    let repeated = content.ends.len() - 2;
    let end = content.ends[repeated - 1];
    while large.bytes.len() < BYTES {
        let base = large.bytes.len();
        large.bytes.extend_from_slice(&content.bytes[..end]);
        large
            .ends
            .extend(content.ends[..repeated].iter().map(|end| base + end));
        large.answer.content.push_str(&content.answer.content);
    }
    let base = large.bytes.len() - end;
    large.bytes.extend_from_slice(&content.bytes[end..]);
    large
        .ends
        .extend(content.ends[repeated..].iter().map(|end| base + end));
    large
}
