//! The fast path: most payloads of a stream are byte for byte the same but for one or two values.
//!
//! After a payload was decoded on the general path, its bytes are remembered with holes for these values: content,
//! reasoning, arguments and obfuscation, the tool call's index, log probabilities, and the time `created` once it was
//! seen to differ. If the next payload has the same bytes around the holes, only what is in them is read, into the chunk
//! that is right in all else already. Everything else is a miss, and goes the general path.
//!
//! It gives exactly what the general path gives, because: keys are never holes; what steers the reading (roles, names,
//! ids, finish reasons, usage, errors, null against text) stays literal; the text in a hole is checked as the reader
//! checks it, and a half surrogate pair is a miss; a payload with a key that comes twice is never learned; and what was
//! tolerated in the learned payload is recorded again.

mod holes;

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use holes::{Hole, holes_of};

use super::RawJson;
use super::json::{Notes, Reader, Scratch, special_in, unescape};
use super::types::Chunk;
use crate::{Deviation, DeviationSet};

/// A longer payload is not learned: to compare it would cost more than it saves.
const MAX_LEN: usize = 4 << 10;
const MAX_HOLES: usize = 6;
/// Texts are written by so many bytes.
const BLOCK: usize = 16;

/// A payload with holes, and how well it has done.
#[derive(Debug, Clone, Default)]
pub(super) struct Template {
    /// The bytes of the payload that was learned, without what was in the holes.
    literals: Vec<u8>,
    /// The holes, each with how many of the literal bytes are before it.
    holes: Vec<(Hole, usize)>,
    /// Where the holes are in the payload that was looked at last.
    ranges: Vec<(Hole, Range<usize>)>,
    /// What was tolerated in it.
    deviations: DeviationSet,
    /// The chunk holds this payload, or one that differs from it in the holes.
    is_current: bool,
    change: Change,
    /// The time of the payload learned, and whether it has been seen to differ: with most providers it does not.
    created: Option<u64>,
    created_varies: bool,
    /// Misses in a row.
    misses: u32,
    /// For so many payloads nothing is tried or learned.
    pause: u32,
    #[cfg(test)]
    pub(super) tries: u64,
    #[cfg(test)]
    pub(super) hits: u64,
}

/// How much of a chunk may differ from what came before, and must be looked at by who adds it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Change {
    #[default]
    Any,
    /// All but the envelope: id, time, model, tier and fingerprint are as they were.
    Contents,
    /// The delta and the log probabilities of the one choice.
    Delta,
    /// As `Delta`; but of the delta, content and reasoning: there is nothing else in it.
    Texts,
    /// As `Delta`; but of the delta, index and arguments of its one tool call: there is nothing else in it.
    Arguments,
}

impl Change {
    /// Whether nothing but the delta and the log probabilities of the one choice may differ.
    pub(crate) const fn is_in_delta(self) -> bool {
        !matches!(self, Self::Any | Self::Contents)
    }
}

/// Why a payload was not filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    Miss,
    /// The input ends before it is decided.
    Incomplete,
}

impl Template {
    pub(super) const fn change(&self) -> Change {
        self.change
    }

    /// Whether the chunk holds the payload that was learned, or one that differs from it in the holes.
    pub(super) const fn is_current(&self) -> bool {
        self.is_current
    }

    pub(super) const fn deviations(&self) -> DeviationSet {
        self.deviations
    }

    /// The chunk was overwritten by something else.
    pub(super) fn forget(&mut self) {
        self.is_current = false;
    }

    /// Fills the chunk if `bytes` are a payload like the one learned, or, if they are `more`, begin with one. Gives the
    /// payload's length. If not, the chunk's holes hold anything.
    pub(super) fn fill(
        &mut self,
        bytes: &[u8],
        more: bool,
        chunk: &mut Chunk,
        scratch: &mut Scratch,
    ) -> Result<usize, Refused> {
        if !self.is_current {
            return Err(Refused::Miss);
        }
        #[cfg(test)]
        {
            self.tries += 1;
        }
        let filled = self.compare(bytes, more, chunk, scratch);
        match filled {
            Ok(_) => {
                self.misses = 0;
                #[cfg(test)]
                {
                    self.hits += 1;
                }
            }
            Err(Refused::Incomplete) => {}
            Err(Refused::Miss) => {
                self.is_current = false;
                self.misses = self.misses.saturating_add(1);
                if self.misses > 1 {
                    self.pause = 1 << (self.misses - 2).min(6);
                }
            }
        }
        filled
    }

    /// The length of the payload, if it is like the one learned. Fills the holes as it comes to them.
    fn compare(
        &self,
        bytes: &[u8],
        more: bool,
        chunk: &mut Chunk,
        scratch: &mut Scratch,
    ) -> Result<usize, Refused> {
        let choice = chunk.choices.first_mut().ok_or(Refused::Miss)?;
        let (mut at, mut literals) = (0, &self.literals[..]);
        for (hole, before) in &self.holes {
            let (literal, after) = literals.split_at_checked(*before).ok_or(Refused::Miss)?;
            literals = after;
            at = strip(bytes, at, literal)?;
            let delta = &mut choice.delta;
            let slot = match hole {
                Hole::Content => &mut delta.content,
                Hole::Obfuscation => &mut chunk.obfuscation,
                Hole::Reasoning => {
                    // If it is empty others may count.
                    if bytes.get(at) == Some(&b'"') {
                        return Err(Refused::Miss);
                    }
                    &mut delta.reasoning_content
                }
                Hole::Created => {
                    chunk.created = Some(digits(bytes, &mut at)?);
                    continue;
                }
                Hole::ToolIndex | Hole::Arguments => {
                    let call = delta.tool_calls.first_mut().ok_or(Refused::Miss)?;
                    if *hole == Hole::ToolIndex {
                        let index = digits(bytes, &mut at)?.try_into();
                        call.index = Some(index.map_err(|_| Refused::Miss)?);
                        continue;
                    }
                    &mut call.function.as_mut().ok_or(Refused::Miss)?.arguments
                }
                Hole::Logprobs { depth } => {
                    let logprobs = choice.logprobs.as_mut().ok_or(Refused::Miss)?;
                    let rest = bytes.get(at..).unwrap_or_default();
                    let list = list(rest, more, *depth, scratch)?;
                    RawJson::set(&mut logprobs.content, list);
                    at += list.len();
                    continue;
                }
            };
            at = text(bytes, at, slot)?;
        }
        at = strip(bytes, at, literals)?;
        if more || at == bytes.len() {
            Ok(at)
        } else {
            Err(Refused::Miss)
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
        self.created_varies |= !self.literals.is_empty() && self.created != chunk.created;
        self.created = chunk.created;
        let Self { ranges, .. } = self;
        ranges.clear();
        let notes = Notes::default();
        let mut reader = Reader::new(payload, 0, usize::MAX, scratch, &notes);
        let is_good = holes_of(&mut reader, ranges) && reader.rest().is_empty();
        ranges.retain(|(hole, _)| *hole != Hole::Created || self.created_varies);
        let is_single = |at: usize, hole| !ranges.iter().take(at).any(|(other, _)| other == hole);
        if !is_good
            || !matches!(ranges.len(), 1..=MAX_HOLES)
            || !(0..)
                .zip(&*ranges)
                .all(|(at, (hole, _))| is_single(at, hole))
        {
            return;
        }
        self.literals.clear();
        self.literals.reserve(payload.len());
        self.holes.clear();
        let mut from = 0;
        for (hole, range) in ranges {
            let literal = payload.get(from..range.start).unwrap_or_default();
            self.literals.extend_from_slice(literal.as_bytes());
            self.holes.push((*hole, literal.len()));
            from = range.end;
        }
        self.literals
            .extend_from_slice(payload.get(from..).unwrap_or_default().as_bytes());
        self.deviations = deviations;
        let is_delta_only = chunk.usage.is_none()
            && chunk.moderation.is_none()
            && choice.finish_reason.is_none()
            && !(chunk.skipped.index
                || chunk.skipped.count
                || choice.skipped.index
                || choice.skipped.count);
        self.change = match &choice.delta {
            _ if !is_delta_only => Change::Any,
            delta if delta.is_texts() => Change::Texts,
            delta if delta.is_arguments() => Change::Arguments,
            _ => Change::Delta,
        };
        self.is_current = true;
    }
}

/// Goes past a literal.
#[inline(always)]
fn strip(bytes: &[u8], at: usize, literal: &[u8]) -> Result<usize, Refused> {
    let rest = bytes.get(at..).unwrap_or_default();
    if rest.starts_with(literal) {
        Ok(at + literal.len())
    } else {
        Err(not_so(rest, literal))
    }
}

/// Why the input does not go on with a literal.
#[cold]
fn not_so(rest: &[u8], literal: &[u8]) -> Refused {
    if rest.len() < literal.len() && literal.starts_with(rest) {
        Refused::Incomplete
    } else {
        Refused::Miss
    }
}

/// Reads the text that begins at `at`, after its quote, and goes to its closing quote. What the general path would not
/// take as it is, is a miss.
#[inline(always)]
fn text(bytes: &[u8], at: usize, slot: &mut Option<String>) -> Result<usize, Refused> {
    let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) else {
        return long_text(bytes, at, slot);
    };
    match special_in(block) {
        Some(len) if block.get(len) == Some(&b'"') => {
            let mut out = buffer(slot);
            out.extend_from_slice(block);
            set(slot, out, len)?;
            Ok(at + len)
        }
        _ => long_text(bytes, at, slot),
    }
}

/// As `text`, for any text.
#[inline(never)]
fn long_text(bytes: &[u8], start: usize, slot: &mut Option<String>) -> Result<usize, Refused> {
    let mut out = buffer(slot);
    let mut at = start;
    let halves = unescape(bytes, &mut at, &mut out);
    let len = out.len();
    out.extend_from_slice(&[0; BLOCK]);
    out.truncate(len.next_multiple_of(BLOCK));
    let is_good = set(slot, out, len).is_ok() && halves == Ok(None);
    if at >= bytes.len() {
        Err(Refused::Incomplete)
    } else if is_good {
        Ok(at)
    } else {
        Err(Refused::Miss)
    }
}

/// The buffer of a field, empty, to be `set` again.
#[inline(always)]
fn buffer(slot: &mut Option<String>) -> Vec<u8> {
    let old = slot.take().filter(|old| old.capacity() <= MAX_LEN);
    let mut out = old.unwrap_or_default().into_bytes();
    out.clear();
    out
}

/// Writes the text of which so many bytes are in `out` into a field. After it is what fills it up to whole blocks: to
/// copy and to validate these takes always the same steps, whatever the length of the text. The lengths in a stream are
/// not foreseeable, and a wrong guess of the processor costs more than that.
#[inline(always)]
fn set(slot: &mut Option<String>, out: Vec<u8>, len: usize) -> Result<(), Refused> {
    let text = String::from_utf8(out).or_else(|error| {
        // The block may end inside of a character.
        let mut out = error.into_bytes();
        out.truncate(len);
        String::from_utf8(out)
    });
    let mut text = text.map_err(|_| Refused::Miss)?;
    text.truncate(len);
    *slot = Some(text);
    Ok(())
}

/// The list that is next, no deeper than so many levels; in one line, if this is of more than one payload.
fn list<'b>(
    bytes: &'b [u8],
    is_in_lines: bool,
    depth: usize,
    scratch: &mut Scratch,
) -> Result<&'b str, Refused> {
    let line = match memchr::memchr2(b'\n', b'\r', bytes).filter(|_| is_in_lines) {
        Some(end) => bytes.get(..end).unwrap_or_default(),
        None if is_in_lines => return Err(Refused::Incomplete),
        None => bytes,
    };
    let text = simdutf8::basic::from_utf8(line).map_err(|_| Refused::Miss)?;
    let notes = Notes::default();
    let mut reader = Reader::new(text, 0, depth, scratch, &notes);
    let is_good = text.starts_with('[') && reader.skip() == Ok(false);
    text.get(..reader.at())
        .filter(|_| is_good && reader.tolerated.is_empty())
        .ok_or(Refused::Miss)
}

/// Reads a number of digits, as JSON writes them. It must not be too large.
fn digits(bytes: &[u8], at: &mut usize) -> Result<u64, Refused> {
    let start = *at;
    let mut number = 0_u64;
    while let Some(digit @ b'0'..=b'9') = bytes.get(*at) {
        number = number
            .wrapping_mul(10)
            .wrapping_add(u64::from(digit - b'0'));
        *at += 1;
    }
    match (bytes.get(start), *at - start) {
        _ if *at == bytes.len() => Err(Refused::Incomplete),
        (Some(b'0'), 1) => Ok(0),
        (Some(b'1'..=b'9'), 1..=19) => Ok(number),
        _ => Err(Refused::Miss),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::*;
    use crate::chunk::Decoder;
    use crate::{Limits, Parser};

    /// The parser of a stream of payloads, at its end, and the stream's length.
    fn read(payloads: &[String], line_end: &str, size: usize) -> (Parser, u64) {
        let stream: Vec<u8> = payloads
            .iter()
            .flat_map(|payload| format!("data: {payload}{line_end}{line_end}").into_bytes())
            .collect();
        let mut parser = Parser::new();
        for read in stream.chunks(size) {
            parser.feed(read);
            while parser.next_event().is_some() {}
        }
        (parser, stream.len() as u64)
    }

    fn is_nearly_all(payloads: &[String]) {
        let count = payloads.len() as u64;
        for line_end in ["\n", "\r\n", "\r"] {
            for size in [usize::MAX, 1400, 64, 1] {
                let (parser, len) = read(payloads, line_end, size);
                let (tries, hits) = parser.template_tries_and_hits();
                assert!(
                    hits * 100 >= count * 95,
                    "{hits} of {count} at {size}, {line_end:?}"
                );
                // It is not tried once more for each byte that comes.
                assert!(
                    tries <= count * 4,
                    "{tries} for {count} at {size}, {line_end:?}"
                );
                // Nobody looks for line ends where the bytes are those of the frame before.
                if size == usize::MAX && line_end != "\r" {
                    let searched = parser.searched();
                    assert!(searched * 20 <= len, "{searched} of {len}, {line_end:?}");
                }
            }
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
    fn nearly_all_of_a_stream_with_log_probabilities_takes_the_fast_path() {
        let of = |at: usize| {
            let choice = format!(
                r#"{{"index":0,"delta":{{"content":"{at}"}},"logprobs":{{"content":[{{"token":"{at}","bytes":[{at}]}}],"refusal":null}}}}"#
            );
            format!(r#"{{"object":"chat.completion.chunk","choices":[{choice}]}}"#)
        };
        is_nearly_all(&(0..1000).map(of).collect::<Vec<_>>());
    }

    #[test]
    fn a_payload_that_is_cut_anywhere_may_still_be_like_the_one_before() {
        for payload in [
            r#"{"created":@,"choices":[{"delta":{"content":"\n@","reasoning":"@"}}],"obfuscation":"a@"}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":@,"function":{"arguments":"\"@"}}]}}]}"#,
            r#"{"choices":[{"delta":{},"logprobs":{"content":[@,{"a":"@"}]}}]}"#,
        ] {
            let mut decoder = Decoder::with_template(Limits::default());
            for number in ["1", "2", "3"] {
                let payload = payload.replace('@', number);
                decoder.payloads(&payload).next_payload().unwrap().unwrap();
            }
            let payload = payload.replace('@', "45678");
            for (len, _) in payload.char_indices() {
                let resumed = decoder.resume(&payload.as_bytes()[..len], true);
                assert_eq!(resumed, Err(Refused::Incomplete), "{payload} at {len}");
            }
            let line = format!("{payload}\n\n");
            assert_eq!(decoder.resume(line.as_bytes(), true), Ok(payload.len()));
            assert_eq!(decoder.resume(payload.as_bytes(), false), Ok(payload.len()));
            assert!(decoder.resume(b"{\"other\":1}\n\n", true).is_err());
        }
    }

    #[test]
    fn a_stream_that_never_repeats_is_tried_less_and_less() {
        let payloads: Vec<_> = (0..1000)
            .map(|at| chunk(r#"{"content":"a"}"#, &format!(r#","k{at}":0"#)))
            .collect();
        let (parser, _) = read(&payloads, "\n", 1400);
        let (tries, hits) = parser.template_tries_and_hits();
        assert_eq!(hits, 0);
        assert!((1..40).contains(&tries), "{tries}");
    }
}
