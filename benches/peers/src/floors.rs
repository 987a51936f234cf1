//! What no reader can be faster than: touching all bytes once, in the ways that reading needs.

use std::hint::black_box;

use crate::session::Outcome;

pub fn memcpy(reads: &[&[u8]]) -> Outcome {
    let mut buffer = Vec::with_capacity(reads.iter().map(|read| read.len()).max().unwrap_or(0));
    for read in reads {
        buffer.clear();
        buffer.extend_from_slice(read);
        black_box(buffer.as_slice());
    }
    Outcome::Nothing
}

/// Finds the line ends.
pub fn memchr2(reads: &[&[u8]]) -> Outcome {
    for read in reads {
        black_box(memchr::memchr2_iter(b'\n', b'\r', read).fold(0, |sum, at| sum ^ at));
    }
    Outcome::Nothing
}

pub fn simdutf8(reads: &[&[u8]]) -> Outcome {
    for read in reads {
        black_box(simdutf8::basic::from_utf8(read).is_ok());
    }
    Outcome::Nothing
}

pub fn memchr2_simdutf8(reads: &[&[u8]]) -> Outcome {
    memchr2(reads);
    simdutf8(reads)
}
