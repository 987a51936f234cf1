//! 10,000 streams at once, round robin, one event a read: as in a gateway.

use std::time::Instant;

use crate::allocations;
use crate::framings::{EventsourceStream, SseCore, SseParse, SseStream};
use crate::session::{Glued, Session};
use crate::streams::{self, Answer, Stream};
use crate::{ours, readers};

pub const PARSERS: usize = 10_000;
const EVENTS: usize = 40;
const ROUNDS: usize = 5;

pub struct Many {
    pub pipeline: &'static str,
    pub is_glued: bool,
    pub best_ns: f64,
    /// Per parser, beside the text of its answer: the most at any time.
    pub peak_bytes: f64,
    /// The same when all but the end has been read.
    pub held_bytes: f64,
    pub is_right: bool,
}

type Run = fn(&[&[u8]]) -> Ran;

const PIPELINES: [(&str, bool, Run); 5] = [
    ("chatwire", false, |events| run::<ours::Lent>(events)),
    ("sse-core", true, |events| {
        run::<Glued<SseCore, readers::Borrowed>>(events)
    }),
    ("sse-stream", true, |events| {
        run::<Glued<SseStream<'_>, readers::Borrowed>>(events)
    }),
    ("sse-parse", true, |events| {
        run::<Glued<SseParse, readers::Borrowed>>(events)
    }),
    ("usual", false, |events| {
        run::<Glued<EventsourceStream<'_>, readers::AsyncOpenai>>(events)
    }),
];

struct Ran {
    ns: f64,
    held_bytes: usize,
    answers: Vec<Option<Answer>>,
}

pub fn measure() -> Vec<Many> {
    let (stream, text) = stream();
    let events: Vec<&[u8]> = stream.events().collect();
    let mut rows: Vec<Many> = PIPELINES
        .iter()
        .map(|(pipeline, is_glued, run)| {
            let (ran, counted) = allocations::count(|| run(&events));
            let each = |bytes: usize| bytes as f64 / PARSERS as f64 - text.len() as f64;
            Many {
                pipeline,
                is_glued: *is_glued,
                best_ns: f64::INFINITY,
                peak_bytes: each(counted.peak_bytes),
                held_bytes: each(ran.held_bytes),
                is_right: ran
                    .answers
                    .iter()
                    .all(|answer| answer.as_ref().is_some_and(|answer| answer.content == text)),
            }
        })
        .collect();
    for _ in 0..ROUNDS {
        for (row, (_, _, run)) in rows.iter_mut().zip(PIPELINES) {
            row.best_ns = row.best_ns.min(run(&events).ns);
        }
    }
    rows
}

fn run<'a, S: Session<'a>>(events: &[&'a [u8]]) -> Ran {
    let began = Instant::now();
    let mut sessions: Vec<S> = (0..PARSERS).map(|_| S::default()).collect();
    let Some((last, deltas)) = events.split_last() else {
        unreachable!("a stream ends with [DONE]");
    };
    for event in deltas {
        sessions.iter_mut().for_each(|session| session.read(event));
    }
    let (read, held_bytes) = (began.elapsed(), allocations::live_bytes());
    let mut answers = Vec::new();
    let began = Instant::now();
    for mut session in sessions {
        session.read(last);
        // 10,000 answers would be counted in the peak.
        let answer = session.finish();
        if answers.last() != Some(&answer) {
            answers.push(answer);
        }
    }
    let took = read + began.elapsed();
    Ran {
        ns: took.as_secs_f64() * 1e9 / (events.len() * PARSERS) as f64,
        held_bytes,
        answers,
    }
}

/// The first events of the content stream, and its end.
fn stream() -> (Stream, String) {
    let content = streams::content();
    let all: Vec<&[u8]> = content.events().collect();
    let (head, tail) = (&all[..EVENTS - 2], &all[all.len() - 2..]);
    let mut stream = Stream {
        name: "many",
        bytes: Vec::new(),
        ends: Vec::new(),
        answer: Answer::default(),
    };
    for event in head.iter().chain(tail) {
        stream.bytes.extend_from_slice(event);
        stream.ends.push(stream.bytes.len());
    }
    let mut text = String::new();
    for payload in stream.texts().filter(|payload| *payload != "[DONE]") {
        let chunk: serde_json::Value = serde_json::from_str(payload).expect("generated JSON");
        text.push_str(
            chunk["choices"][0]["delta"]["content"]
                .as_str()
                .unwrap_or_default(),
        );
    }
    (stream, text)
}
