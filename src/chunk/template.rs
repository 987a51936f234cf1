//! The fast path: most payloads of a stream are byte for byte the same but for one or two values.
//!
//! After a payload was decoded on the general path, its bytes are remembered with holes for these values: content,
//! reasoning, arguments and obfuscation, the tool call's index, and the time `created` once it was seen to differ. If the next payload has
//! the same bytes around the holes, only what is in them is read, into the chunk that is right in all else already.
//! Everything else is a miss, and goes the general path.
//!
//! It gives exactly what the general path gives, because: keys are never holes; what steers the reading (roles, names,
//! ids, finish reasons, usage, errors, null against text) stays literal; the text in a hole is checked as the reader
//! checks it, by the reader where there is an escape, and a half surrogate pair is a miss; a payload with a key that
//! comes twice is never learned; and what was tolerated in the learned payload is recorded again.

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::Cell;
use core::ops::Range;

use super::json::{Reader, Scratch, plain_end};
use super::lenient::set_text;
use super::types::Chunk;
use crate::{Deviation, DeviationSet};

/// A longer payload is not learned: to compare it would cost more than it saves.
const MAX_LEN: usize = 4 << 10;
const MAX_HOLES: usize = 6;
/// An object with more keys is not learned.
const MAX_KEYS: usize = 32;

/// A payload with holes, and how well it has done.
#[derive(Debug, Clone, Default)]
pub(super) struct Template {
    /// The payload that was learned.
    bytes: Vec<u8>,
    holes: Vec<(Hole, Range<usize>)>,
    /// What was tolerated in it.
    deviations: DeviationSet,
    /// The chunk holds this payload, or one that differs from it in the holes.
    is_current: bool,
    is_plain: bool,
    /// The time of the payload learned, and whether it has been seen to differ: with most providers it does not.
    created: Option<u64>,
    created_varies: bool,
    /// Misses in a row.
    misses: u32,
    /// For so many payloads nothing is tried or learned.
    pause: u32,
    #[cfg(test)]
    pub(super) hits: u64,
}

/// A value that may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hole {
    Content,
    Reasoning,
    Arguments,
    Obfuscation,
    Created,
    ToolIndex,
}

/// What is in a hole.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    start: usize,
    end: usize,
    /// Of a text.
    is_escaped: bool,
    /// Of a number.
    number: u64,
}

/// What came of a comparison.
#[derive(Debug)]
enum Outcome {
    /// The length of the payload.
    Hit(usize),
    Miss,
    /// The input ends before it is decided.
    Incomplete,
}

impl Template {
    /// Whether the chunk that was just filled differs from the one before in texts only, so that who adds it up need not
    /// look at anything else.
    pub(super) const fn is_plain(&self) -> bool {
        self.is_plain
    }

    pub(super) const fn deviations(&self) -> DeviationSet {
        self.deviations
    }

    /// The chunk was overwritten by something else.
    pub(super) fn forget(&mut self) {
        self.is_current = false;
    }

    /// Fills the chunk if `bytes` begin with a payload like the one learned, and the terminator, or the end of `bytes`,
    /// follows it. Gives the payload's length.
    pub(super) fn fill(
        &mut self,
        bytes: &[u8],
        terminator: Option<&[u8]>,
        chunk: &mut Chunk,
        scratch: &mut Scratch,
    ) -> Option<usize> {
        if !self.is_current || self.pause > 0 {
            return None;
        }
        let mut found = [Found::default(); MAX_HOLES];
        let outcome = self.compare(bytes, terminator, &mut found);
        if let Outcome::Hit(len) = outcome {
            let holes = self.holes.iter().zip(&found);
            if holes
                .into_iter()
                .all(|((hole, _), found)| write(*hole, found, bytes, chunk, scratch).is_some())
            {
                self.misses = 0;
                #[cfg(test)]
                {
                    self.hits += 1;
                }
                return Some(len);
            }
        }
        if !matches!(outcome, Outcome::Incomplete) {
            self.is_current = false;
            self.misses = self.misses.saturating_add(1);
            if self.misses > 1 {
                self.pause = 1 << (self.misses - 2).min(6);
            }
        }
        None
    }

    fn compare(
        &self,
        bytes: &[u8],
        terminator: Option<&[u8]>,
        found: &mut [Found; MAX_HOLES],
    ) -> Outcome {
        let mut at = 0;
        let mut learned = 0;
        for ((hole, range), found) in self.holes.iter().zip(found) {
            let literal = self.bytes.get(learned..range.start).unwrap_or_default();
            match bytes.get(at..) {
                Some(rest) if rest.starts_with(literal) => {}
                rest => return not_so(rest, literal),
            }
            learned = range.end;
            at += literal.len();
            found.start = at;
            let is_good = match hole {
                Hole::Created => digits(bytes, &mut at, found),
                Hole::ToolIndex => {
                    digits(bytes, &mut at, found) && found.number <= u64::from(u32::MAX)
                }
                Hole::Reasoning => text(bytes, &mut at, found) && found.end > found.start,
                Hole::Content | Hole::Arguments | Hole::Obfuscation => text(bytes, &mut at, found),
            };
            if at >= bytes.len() {
                return Outcome::Incomplete;
            }
            if !is_good {
                return Outcome::Miss;
            }
        }
        let literal = self.bytes.get(learned..).unwrap_or_default();
        match bytes.get(at..) {
            Some(rest) if rest.starts_with(literal) => {}
            rest => return not_so(rest, literal),
        }
        at += literal.len();
        let rest = bytes.get(at..).unwrap_or_default();
        match terminator {
            None if rest.is_empty() => Outcome::Hit(at),
            None => Outcome::Miss,
            Some(terminator) if rest.starts_with(terminator) => Outcome::Hit(at),
            Some(terminator) => not_so(Some(rest), terminator),
        }
    }

    /// Learns a payload that was decoded into `chunk`, if it is of a shape that repeats.
    pub(super) fn learn(
        &mut self,
        payload: &str,
        chunk: &Chunk,
        deviations: DeviationSet,
        scratch: &mut Scratch,
    ) {
        if self.pause > 0 {
            self.pause -= 1;
            return;
        }
        let not_to_be_learned = DeviationSet::from_iter([
            Deviation::DuplicateKey,
            Deviation::LoneSurrogate,
            Deviation::ContentParts,
            Deviation::NumberOutOfRange,
            Deviation::NotFinite,
            Deviation::CountNotInteger,
            Deviation::WrongType,
        ]);
        let [choice] = chunk.choices.as_slice() else {
            return;
        };
        // Of several data lines: in the raw bytes there would be more than one line.
        if payload.len() > MAX_LEN
            || memchr::memchr2(b'\n', b'\r', payload.as_bytes()).is_some()
            || choice.message.is_some()
            || choice.delta.tool_calls.len() > 1
            || !deviations.intersection(not_to_be_learned).is_empty()
        {
            return;
        }
        self.created_varies |= !self.bytes.is_empty() && self.created != chunk.created;
        self.created = chunk.created;
        self.holes.clear();
        let halves = Cell::default();
        let mut reader = Reader::new(payload, 0, usize::MAX, scratch, &halves);
        let is_good = walk(&mut reader, Level::Chunk, &mut self.holes) && reader.rest().is_empty();
        self.holes
            .retain(|(hole, _)| *hole != Hole::Created || self.created_varies);
        let is_single = self
            .holes
            .iter()
            .enumerate()
            .all(|(at, (hole, _))| !self.holes.iter().take(at).any(|(other, _)| other == hole));
        if !is_good || !is_single || !matches!(self.holes.len(), 1..=MAX_HOLES) {
            return;
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(payload.as_bytes());
        self.deviations = deviations;
        self.is_plain = chunk.usage.is_none()
            && chunk.moderation.is_none()
            && choice.finish_reason.is_none()
            && choice.logprobs.is_none()
            && !(chunk.skipped.index
                || chunk.skipped.count
                || choice.skipped.index
                || choice.skipped.count);
        self.is_current = true;
    }
}

/// Why the input does not go on with a literal.
fn not_so(rest: Option<&[u8]>, literal: &[u8]) -> Outcome {
    let rest = rest.unwrap_or_default();
    if rest.len() < literal.len() && literal.starts_with(rest) {
        Outcome::Incomplete
    } else {
        Outcome::Miss
    }
}

/// Goes to the quote that ends a text. False if there is something in it that ends a text nowhere.
fn text(bytes: &[u8], at: &mut usize, found: &mut Found) -> bool {
    loop {
        *at = plain_end(bytes, *at);
        match bytes.get(*at) {
            Some(b'"') => {
                found.end = *at;
                return true;
            }
            Some(b'\\') => {
                found.is_escaped = true;
                *at += 2;
            }
            _ => return false,
        }
    }
}

/// Goes past a number of digits, as JSON writes them. False if it is none, or may be too large.
fn digits(bytes: &[u8], at: &mut usize, found: &mut Found) -> bool {
    let start = *at;
    while let Some(digit @ b'0'..=b'9') = bytes.get(*at) {
        found.number = found
            .number
            .wrapping_mul(10)
            .wrapping_add(u64::from(digit - b'0'));
        *at += 1;
    }
    found.end = *at;
    matches!(*at - start, 1..=19) && (bytes.get(start) != Some(&b'0') || *at - start == 1)
}

/// Writes what was found in a hole into the chunk. None if it is not what the general path takes.
fn write(
    hole: Hole,
    found: &Found,
    bytes: &[u8],
    chunk: &mut Chunk,
    scratch: &mut Scratch,
) -> Option<()> {
    let choice = chunk.choices.first_mut();
    let slot: &mut Option<String> = match hole {
        Hole::Created => {
            chunk.created = Some(found.number);
            return Some(());
        }
        Hole::ToolIndex => {
            let call = choice?.delta.tool_calls.first_mut()?;
            call.index = u32::try_from(found.number).ok();
            return Some(());
        }
        Hole::Obfuscation => &mut chunk.obfuscation,
        Hole::Content => &mut choice?.delta.content,
        Hole::Reasoning => &mut choice?.delta.reasoning_content,
        Hole::Arguments => {
            &mut choice?
                .delta
                .tool_calls
                .first_mut()?
                .function
                .as_mut()?
                .arguments
        }
    };
    if found.is_escaped {
        let quoted = bytes.get(found.start.checked_sub(1)?..=found.end)?;
        let quoted = simdutf8::basic::from_utf8(quoted).ok()?;
        let halves = Cell::default();
        let mut reader = Reader::new(quoted, 0, usize::MAX, scratch, &halves);
        let text = reader.whole_string()?;
        set_text(slot, text);
    } else {
        set_text(
            slot,
            simdutf8::basic::from_utf8(bytes.get(found.start..found.end)?).ok()?,
        );
    }
    Some(())
}

/// What is being looked through for holes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Chunk,
    Choice,
    Delta,
    Call,
    Function,
}

/// Looks through an object for holes. False if it has a shape that is not to be learned.
fn walk(reader: &mut Reader<'_, '_>, level: Level, holes: &mut Vec<(Hole, Range<usize>)>) -> bool {
    let mut is_good = true;
    let mut seen = [""; MAX_KEYS];
    let mut count = 0;
    let walked = reader.members(|reader, key| {
        is_good &= !seen.iter().take(count).any(|earlier| *earlier == key);
        match seen.get_mut(count) {
            Some(free) => *free = key,
            None => is_good = false,
        }
        count += 1;
        let value = reader.rest();
        let start = reader.at();
        let (hole, inner) = match (level, key) {
            (Level::Chunk, "obfuscation") => (Some(Hole::Obfuscation), None),
            (Level::Chunk, "created") => (Some(Hole::Created), None),
            (Level::Chunk, "choices") => (None, Some(Level::Choice)),
            (Level::Choice, "delta") => (None, Some(Level::Delta)),
            (Level::Delta, "content") => (Some(Hole::Content), None),
            (Level::Delta, "reasoning_content" | "reasoning" | "reasoning_text" | "thinking") => {
                (Some(Hole::Reasoning), None)
            }
            (Level::Delta, "tool_calls") => (None, Some(Level::Call)),
            (Level::Call, "index") => (Some(Hole::ToolIndex), None),
            (Level::Call, "function") => (None, Some(Level::Function)),
            (Level::Function, "arguments") => (Some(Hole::Arguments), None),
            _ => (None, None),
        };
        match inner {
            Some(inner) if value.starts_with('{') => is_good &= walk(reader, inner, holes),
            Some(inner) if value.starts_with('[') => {
                let mut count = 0;
                reader.elements(|reader| {
                    count += 1;
                    if reader.rest().starts_with('{') {
                        is_good &= walk(reader, inner, holes);
                        Ok(())
                    } else {
                        reader.skip().map(|_| ())
                    }
                })?;
                is_good &= count <= 1;
            }
            _ => {
                reader.skip()?;
                let end = reader.at();
                let is_number = matches!(hole, Some(Hole::Created | Hole::ToolIndex));
                let is_empty = end - start <= 2;
                match hole {
                    Some(hole)
                        if is_number && value.starts_with(|first: char| first.is_ascii_digit()) =>
                    {
                        holes.push((hole, start..end));
                    }
                    Some(Hole::Reasoning) if is_empty => {}
                    Some(hole) if !is_number && value.starts_with('"') => {
                        holes.push((hole, start + 1..end - 1))
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    });
    is_good && walked.is_ok()
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use crate::Parser;

    /// How many of the payloads of a stream the fast path decoded, in reads of a size.
    fn hits(payloads: &[String], size: usize) -> u64 {
        let stream: Vec<u8> = payloads
            .iter()
            .flat_map(|payload| format!("data: {payload}\n\n").into_bytes())
            .collect();
        let mut parser = Parser::new();
        for read in stream.chunks(size) {
            parser.feed(read);
            while parser.next_event().is_some() {}
        }
        parser.template_hits()
    }

    fn is_nearly_all(payloads: &[String]) {
        for size in [usize::MAX, 1400, 64, 1] {
            let hits = hits(payloads, size);
            assert!(
                hits * 100 >= payloads.len() as u64 * 95,
                "{hits} of {} at {size}",
                payloads.len()
            );
        }
    }

    fn chunk(delta: &str, rest: &str) -> String {
        format!(
            r#"{{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":null}}]{rest}}}"#
        )
    }

    #[test]
    fn nearly_all_of_a_content_stream_takes_the_fast_path() {
        let of = |at: usize| {
            chunk(
                &format!(r#"{{"content":" w\n{at}\""}}"#),
                &format!(r#","obfuscation":"{}""#, "x".repeat(at % 9)),
            )
        };
        is_nearly_all(&(0..1000).map(of).collect::<Vec<_>>());
    }

    #[test]
    fn nearly_all_of_a_reasoning_stream_takes_the_fast_path() {
        let of = |at: usize| {
            let (reasoning, content) = if at < 500 {
                ("\"想\"", "null")
            } else {
                ("null", "\"\\u7b54\"")
            };
            chunk(
                &format!(r#"{{"content":{content},"reasoning_content":{reasoning}}}"#),
                r#","usage":null"#,
            )
        };
        is_nearly_all(&(0..1000).map(of).collect::<Vec<_>>());
    }

    #[test]
    fn nearly_all_of_interleaved_tool_calls_take_the_fast_path() {
        let of = |at: usize| {
            let index = at % 8;
            let head = if at < 8 {
                format!(r#""id":"call_{at}","type":"function","#)
            } else {
                String::new()
            };
            let name = if at < 8 { r#""name":"f","# } else { "" };
            chunk(
                &format!(
                    r#"{{"tool_calls":[{{"index":{index},{head}"function":{{{name}"arguments":"\"{at},"}}}}]}}"#
                ),
                "",
            )
        };
        is_nearly_all(&(0..1000).map(of).collect::<Vec<_>>());
    }

    #[test]
    fn a_stream_that_never_repeats_is_tried_less_and_less() {
        let payloads: Vec<_> = (0..1000)
            .map(|at| chunk("{}", &format!(r#","k{at}":0"#)))
            .collect();
        assert_eq!(hits(&payloads, 1400), 0);
    }
}
