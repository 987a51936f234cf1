//! The streams that are measured: generated from fixed seeds, so that every run and every program reads the same bytes.
//!
//! Each comes with the answer a right reader makes of it. Included by path: by the benches here, by `peers`, by tests.
#![allow(
    dead_code,
    reason = "each program that includes this takes what it needs"
)]
#![allow(
    clippy::indexing_slicing,
    reason = "as in tests: a wrong index here is a bug to be seen"
)]

mod deltas;
mod odd;
mod rng;
mod tools;
mod wire;

pub(crate) use deltas::{cjk, content, logprobs};
pub(crate) use odd::{miss, plain};
pub(crate) use tools::{fat, tools};

/// An event stream and what it says.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
    /// Where each event ends in `bytes`.
    pub(crate) ends: Vec<usize>,
    pub(crate) answer: Answer,
}

/// What the deltas of a stream add up to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Answer {
    pub(crate) content: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<Call>,
}

/// A finished tool call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// How a stream is cut into reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    Whole,
    Bytes(usize),
    Event,
}

impl Cut {
    pub(crate) const KIB_16: Self = Self::Bytes(16 << 10);
    pub(crate) const ALL: [Self; 6] = [
        Self::Whole,
        Self::KIB_16,
        Self::Bytes(1400),
        Self::Bytes(64),
        Self::Bytes(1),
        Self::Event,
    ];

    pub(crate) fn name(self) -> String {
        match self {
            Self::Whole => "whole".to_owned(),
            Self::KIB_16 => "16k".to_owned(),
            Self::Bytes(size) => size.to_string(),
            Self::Event => "event".to_owned(),
        }
    }
}

impl Stream {
    /// How many payloads it has, `[DONE]` included.
    pub(crate) fn payloads(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn reads(&self, cut: Cut) -> Vec<&[u8]> {
        match cut {
            Cut::Whole => vec![&self.bytes],
            Cut::Bytes(size) => self.bytes.chunks(size).collect(),
            Cut::Event => self.events().collect(),
        }
    }

    /// The bytes of each event, its blank line included.
    pub(crate) fn events(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.bytes.as_slice();
        let mut read = 0;
        self.ends.iter().map(move |end| {
            let (event, after) = rest.split_at(end - read);
            (rest, read) = (after, *end);
            event
        })
    }

    /// The text of each payload.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.events()
            .filter_map(|event| core::str::from_utf8(event).ok()?.strip_prefix("data: "))
            .map(str::trim_end)
    }
}

/// All of them, in the order of the tables.
pub(crate) fn all() -> Vec<Stream> {
    vec![
        content(),
        cjk(),
        tools(),
        logprobs(),
        fat(),
        miss(),
        plain(),
    ]
}

/// The one of this name.
pub(crate) fn named(name: &str) -> Option<Stream> {
    all().into_iter().find(|stream| stream.name == name)
}
