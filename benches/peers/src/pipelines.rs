//! All that is measured, by name.

use std::time::Instant;

use crate::framings::{EventsourceStream, SseCore, SseParse, SseStream, StreamRs};
use crate::session::{Glued, Outcome, drive};
use crate::{floors, ours, readers};

pub struct Pipeline {
    pub name: &'static str,
    pub kind: Kind,
    pub what: &'static str,
    pub run: Run,
}

pub type Run = fn(&[&[u8]], Option<Instant>) -> Outcome;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// chatwire's usual way.
    Ours,
    /// One of those of which the best is the yardstick.
    Glued,
    /// What users run today.
    Usual,
    Other,
    Floor,
}

pub const ALL: &[Pipeline] = &[
    Pipeline {
        name: "chatwire",
        kind: Kind::Ours,
        what: "`feed`, `next_event`, `into_completion`",
        run: |reads, deadline| drive::<ours::Lent>(reads, deadline),
    },
    Pipeline {
        name: "chatwire-owned",
        kind: Kind::Other,
        what: "the same by `next_owned`: each event a copy of its own",
        run: |reads, deadline| drive::<ours::Owned>(reads, deadline),
    },
    Pipeline {
        name: "sse-core",
        kind: Kind::Glued,
        what: "sse-core 0.2, serde_json into a borrowed struct of the needed keys, `String::push_str`",
        run: |reads, deadline| drive::<Glued<SseCore, readers::Borrowed>>(reads, deadline),
    },
    Pipeline {
        name: "sse-stream",
        kind: Kind::Glued,
        what: "the same with sse-stream 0.3",
        run: |reads, deadline| drive::<Glued<SseStream<'_>, readers::Borrowed>>(reads, deadline),
    },
    Pipeline {
        name: "sse-parse",
        kind: Kind::Glued,
        what: "the same with sse-parse 0.1",
        run: |reads, deadline| drive::<Glued<SseParse, readers::Borrowed>>(reads, deadline),
    },
    Pipeline {
        name: "usual",
        kind: Kind::Usual,
        what: "eventsource-stream 0.2, serde_json into async-openai 0.43's types, `String::push_str`",
        run: |reads, deadline| {
            drive::<Glued<EventsourceStream<'_>, readers::AsyncOpenai>>(reads, deadline)
        },
    },
    Pipeline {
        name: "stream-rs",
        kind: Kind::Other,
        what: "stream-rs 0.1 and its accumulator, serde_json into the borrowed struct between them",
        run: |reads, deadline| drive::<Glued<StreamRs, readers::StreamRs>>(reads, deadline),
    },
    Pipeline {
        name: "serde-owned",
        kind: Kind::Other,
        what: "sse-core 0.2, serde_json into a struct of all keys that owns its strings, `String::push_str`",
        run: |reads, deadline| drive::<Glued<SseCore, readers::Owned>>(reads, deadline),
    },
    Pipeline {
        name: "memcpy",
        kind: Kind::Floor,
        what: "floor: copies the bytes",
        run: |reads, _| floors::memcpy(reads),
    },
    Pipeline {
        name: "memchr2",
        kind: Kind::Floor,
        what: "floor: finds each line end",
        run: |reads, _| floors::memchr2(reads),
    },
    Pipeline {
        name: "simdutf8",
        kind: Kind::Floor,
        what: "floor: validates the bytes",
        run: |reads, _| floors::simdutf8(reads),
    },
    Pipeline {
        name: "memchr2+simdutf8",
        kind: Kind::Floor,
        what: "floor: finds each line end, then validates the bytes",
        run: |reads, _| floors::memchr2_simdutf8(reads),
    },
];
