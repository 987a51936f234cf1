//! Writes a value again: without white space, and as JSON that every reader takes.

use alloc::string::String;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::number::Number;
use super::string::Text;
use super::{MAX_DEPTH, Notes, Reader, Result, Scratch};
use crate::chunk::transcode::Transcode;

/// Appends `raw`, a value that was read before, to `out`: compact, in its own key order, non-ASCII as it is, halves of
/// surrogate pairs as U+FFFD, and as null numbers that are none, or out of range, and what is nested deeper than `levels`.
pub(super) fn rewrite(raw: &str, levels: usize, out: &mut String) {
    let (mut scratch, notes) = (Scratch::default(), Notes::default());
    let mut reader = Reader::new(raw, 0, usize::MAX, &mut scratch, &notes);
    let mut open = 0;
    while let Ok(true) = token(&mut reader, levels, &mut open, out) {}
}

/// The value that a text is: as this reader takes it, fractions exact. None if it is none.
pub(crate) fn value(text: &str) -> Option<Value> {
    let (mut scratch, notes) = (Scratch::default(), Notes::default());
    let mut reader = Reader::new(text, 0, MAX_DEPTH, &mut scratch, &notes);
    let value = Value::deserialize(&mut reader).ok()?;
    reader.rest().is_empty().then_some(value)
}

/// Serialises a text as the value it is, its keys in their own order.
pub(in crate::chunk) fn serialize<S: Serializer>(
    text: &str,
    serializer: S,
) -> core::result::Result<S::Ok, S::Error> {
    let (mut scratch, notes) = (Scratch::default(), Notes::default());
    let mut reader = Reader::new(text, 0, MAX_DEPTH, &mut scratch, &notes);
    Transcode::new(&mut reader).serialize(serializer)
}

/// False at the end.
fn token(
    reader: &mut Reader<'_, '_>,
    levels: usize,
    open: &mut usize,
    out: &mut String,
) -> Result<bool> {
    let Some(first) = reader.peek_token() else {
        return Ok(false);
    };
    let start = reader.at();
    match first {
        b'"' => {
            let text = reader.string()?;
            write_string(
                match text {
                    Text::Plain(text) => text,
                    Text::Unescaped => reader.unescaped(),
                },
                out,
            );
            return Ok(true);
        }
        _ if reader.is_not_finite() => {
            reader.not_finite()?;
            out.push_str("null");
            return Ok(true);
        }
        b'-' | b'0'..=b'9' => {
            if let Number::Float(f64::INFINITY | f64::NEG_INFINITY) = reader.number()? {
                out.push_str("null");
                return Ok(true);
            }
        }
        b't' => reader.literal("true")?,
        b'f' => reader.literal("false")?,
        b'n' => reader.literal("null")?,
        b'{' | b'[' if *open >= levels => {
            reader.skip()?;
            out.push_str("null");
            return Ok(true);
        }
        _ => {
            match first {
                b'{' | b'[' => *open += 1,
                b'}' | b']' => *open = open.saturating_sub(1),
                _ => {}
            }
            reader.at += 1;
        }
    }
    out.push_str(reader.slice(start, reader.at));
    Ok(true)
}

fn write_string(text: &str, out: &mut String) {
    // Writing a string to memory cannot fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}
