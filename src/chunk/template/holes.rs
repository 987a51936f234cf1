//! What of a payload may differ from one to the next: where its holes are.

use alloc::vec::Vec;
use core::ops::Range;

use crate::chunk::json::Reader;

/// An object with more keys is not learned.
const MAX_KEYS: usize = 32;

/// A value that may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hole {
    Content,
    Reasoning,
    Arguments,
    Obfuscation,
    Created,
    ToolIndex,
    /// The list of log probabilities of the content, which is kept as text, and how deep the one was that was learned: a
    /// deeper one may be over the limit.
    Logprobs {
        depth: usize,
    },
}

/// The holes of a payload. False if it has a shape that is not to be learned.
pub(super) fn holes_of(reader: &mut Reader<'_, '_>, holes: &mut Vec<(Hole, Range<usize>)>) -> bool {
    walk(reader, Level::Chunk, holes)
}

/// What is being looked through for holes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Chunk,
    Choice,
    Delta,
    Call,
    Function,
    Logprobs,
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
            (Level::Choice, "logprobs") => (None, Some(Level::Logprobs)),
            (Level::Logprobs, "content") => (Some(Hole::Logprobs { depth: 0 }), None),
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
                    Some(Hole::Logprobs { .. }) if value.starts_with('[') => {
                        let depth = reader.deepest;
                        holes.push((Hole::Logprobs { depth }, start..end));
                    }
                    Some(Hole::Logprobs { .. }) => {}
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
