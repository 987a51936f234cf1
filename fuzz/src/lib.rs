//! Fuzz targets: one function each that asserts what must hold for any bytes. Nothing here needs a fuzzer: the binaries in
//! `fuzz_targets/` hand libFuzzer's inputs to these functions, and `replay` hands them seeds and regressions on stable.
//!
//! | target | an input is | what must hold |
//! |---|---|---|
//! | [`framing`] | [`Input`] | whole = cut = naive oracle; a frame's range holds that frame |
//! | [`decode`] | a byte of switches, a payload | no panic; fresh = used decoder; as `serde_json::Value` reads it |
//! | [`pipeline`] | [`Input`] | whole = cut, lent = owned, one terminal item, places ascending, completed calls are in the answer |
//! | [`template`] | [`Input`], its body a script of payloads | with the fast path = without |
//! | [`tools`] | fragments of tool calls | each call once, whole, nothing invented |
//! | [`roundtrip`] | [`Input`], its body an answer | answer, split into a stream and read = the same answer |

use std::path::{Path, PathBuf};

use chatwire::{DeviationSet, Options};

#[path = "../../tests/common/mod.rs"]
mod common;
mod decode;
mod framing;
mod pipeline;
mod roundtrip;
pub mod seeds;
#[path = "../../tests/split/mod.rs"]
mod split;
mod template;
mod tools;

pub use decode::decode;
pub use framing::framing;
pub use pipeline::pipeline;
pub use roundtrip::roundtrip;
pub use template::template;
pub use tools::tools;

/// A target: its name, the function, and the seeds made for it.
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    pub seeds: fn() -> Vec<Vec<u8>>,
}

pub const TARGETS: [Target; 6] = [
    Target {
        name: "framing",
        run: framing,
        seeds: seeds::framing,
    },
    Target {
        name: "decode",
        run: decode,
        seeds: seeds::decode,
    },
    Target {
        name: "pipeline",
        run: pipeline,
        seeds: seeds::pipeline,
    },
    Target {
        name: "template",
        run: template,
        seeds: seeds::template,
    },
    Target {
        name: "tools",
        run: tools,
        seeds: seeds::tools,
    },
    Target {
        name: "roundtrip",
        run: roundtrip,
        seeds: seeds::roundtrip,
    },
];

/// The folder of this crate in the repository.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// A body, and how it is read.
///
/// | bytes of the input | meaning |
/// |---|---|
/// | 0 | switches: [`ABORT`](Self::ABORT), [`SMALL`](Self::SMALL), [`STRICT`](Self::STRICT) |
/// | 1 to 3 | the sizes of the reads, in turn, again and again; 0 is an empty read. All 0: one read |
/// | 4 and on | the body |
///
/// An input shorter than 4 bytes has zeros in place of what is missing.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    pub switches: u8,
    pub sizes: [u8; 3],
    pub body: &'a [u8],
}

impl<'a> Input<'a> {
    /// The transport breaks at the end.
    pub const ABORT: u8 = 1;
    /// Limits that small inputs exceed.
    pub const SMALL: u8 = 2;
    /// Every deviation is an error too.
    pub const STRICT: u8 = 4;

    #[must_use]
    pub fn of(data: &'a [u8]) -> Self {
        let mut head = [0; 4];
        let (given, body) = data.split_at(data.len().min(head.len()));
        head[..given.len()].copy_from_slice(given);
        let [switches, sizes @ ..] = head;
        Self {
            switches,
            sizes,
            body,
        }
    }

    /// The bytes of this input.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.switches];
        bytes.extend_from_slice(&self.sizes);
        bytes.extend_from_slice(self.body);
        bytes
    }

    #[must_use]
    pub fn has(&self, switch: u8) -> bool {
        self.switches & switch != 0
    }

    /// A stream in reads of these sizes.
    pub(crate) fn cut<'s>(&self, stream: &'s [u8]) -> Vec<&'s [u8]> {
        let mut pieces = Vec::new();
        let mut rest = stream;
        if self.sizes != [0; 3] {
            for size in self.sizes.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, tail) = rest.split_at(rest.len().min(usize::from(*size)));
                pieces.push(piece);
                rest = tail;
            }
        }
        pieces.push(rest);
        pieces
    }

    pub(crate) fn end(&self) -> common::End {
        if self.has(Self::ABORT) {
            common::End::Abort
        } else {
            common::End::Finish
        }
    }

    pub(crate) fn options(&self) -> Options {
        let mut options = Options::default();
        if self.has(Self::SMALL) {
            options.limits.max_frame_bytes = 160;
            options.limits.max_completion_bytes = 48;
            options.limits.max_choices = 2;
            options.limits.max_tool_calls = 2;
            options.limits.max_depth = 6;
        }
        if self.has(Self::STRICT) {
            options.strict = DeviationSet::all();
        }
        options
    }
}
