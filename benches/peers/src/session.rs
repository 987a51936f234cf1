//! A pipeline: reads in, the answer out.

use std::time::Instant;

use crate::streams::Answer;

/// One stream being read by one pipeline.
pub trait Session<'a>: Default {
    fn read(&mut self, bytes: &'a [u8]);

    /// The answer; none if something could not be read.
    fn finish(self) -> Option<Answer>;
}

/// What a run gave.
#[derive(Debug)]
pub enum Outcome {
    Answer(Answer),
    Failed,
    /// It was not done in time.
    TooSlow,
    /// A floor: it reads nothing.
    Nothing,
}

/// Finds frames in bytes.
pub trait Framing<'a>: Default {
    fn read(&mut self, bytes: &'a [u8], payload: &mut impl FnMut(&str));

    fn finish(&mut self, payload: &mut impl FnMut(&str));
}

/// Reads the texts of payloads, and adds them up.
pub trait Reader: Default {
    /// False: it could not be read.
    fn payload(&mut self, text: &str) -> bool;

    fn finish(self) -> Answer;
}

/// A framing glued to a reader, as a user would.
#[derive(Default)]
pub struct Glued<F, R> {
    framing: F,
    reader: R,
    failed: bool,
}

impl<'a, F: Framing<'a>, R: Reader> Session<'a> for Glued<F, R> {
    fn read(&mut self, bytes: &'a [u8]) {
        let Self {
            framing,
            reader,
            failed,
        } = self;
        framing.read(bytes, &mut |text| {
            *failed |= text != "[DONE]" && !reader.payload(text);
        });
    }

    fn finish(self) -> Option<Answer> {
        let Self {
            mut framing,
            mut reader,
            mut failed,
        } = self;
        framing.finish(&mut |text| {
            failed |= text != "[DONE]" && !reader.payload(text);
        });
        (!failed).then(|| reader.finish())
    }
}

const READS_BETWEEN_LOOKS: usize = 256;

/// Runs a session over the reads of a stream.
pub fn drive<'a, S: Session<'a>>(reads: &[&'a [u8]], deadline: Option<Instant>) -> Outcome {
    let mut session = S::default();
    for block in reads.chunks(READS_BETWEEN_LOOKS) {
        for read in block {
            session.read(read);
        }
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return Outcome::TooSlow;
        }
    }
    session.finish().map_or(Outcome::Failed, Outcome::Answer)
}
