//! Strings: where they end, what they say, and halves of surrogate pairs.

use alloc::string::String;
use alloc::vec::Vec;

use super::escape::{hex4, unescaped};
use super::{Reader, Result, blocks};
use crate::Deviation;

/// The halves of UTF-16 surrogate pairs that a text lacks the other half of, at its two ends.
///
/// A server that cuts text by UTF-16 units sends one character in two deltas. Each half is U+FFFD in its delta; who
/// joins the deltas needs to know which half it was.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Halves {
    /// The text begins with this low surrogate; 0 if it does not.
    pub(crate) first: u16,
    /// The text ends with this high surrogate; 0 if it does not.
    pub(crate) last: u16,
    /// The text is not there at all: it was too deep to be kept.
    pub(crate) is_lost: bool,
}

/// What is missing is no part of a value: two texts that say the same are the same.
impl PartialEq for Halves {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Halves {
    /// The character of a high and a low surrogate; none if one is missing.
    pub(crate) fn join(high: u16, low: u16) -> Option<char> {
        if high == 0 || low == 0 {
            return None;
        }
        char::decode_utf16([high, low]).next()?.ok()
    }

    /// Appends a text with these halves to another one that ends with the half `high`, or with none: 0.
    #[inline]
    pub(crate) fn append(self, text: &str, target: &mut String, high: &mut u16) {
        let mut text = text;
        if let Some(char) = Self::join(*high, self.first) {
            target.pop();
            target.push(char);
            text = text
                .strip_prefix(char::REPLACEMENT_CHARACTER)
                .unwrap_or(text);
        }
        *high = self.last;
        target.push_str(text);
    }
}

/// What a string turned out to be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Text<'de> {
    /// As it stands in the input.
    Plain(&'de str),
    /// Unescaped, in the scratch.
    Unescaped,
}

/// With so many escapes a string is read in blocks.
const MANY: u32 = 8;

const ONES: u64 = u64::MAX / 255;
const HIGHS: u64 = ONES * 0x80;

/// A high bit for each byte of a word that is a quote, a backslash or a control byte. The lowest one is right; those
/// above it may be wrong.
#[inline(always)]
const fn special(bytes: [u8; 8]) -> u64 {
    let word = u64::from_le_bytes(bytes);
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    (quote.wrapping_sub(ONES) & !quote
        | backslash.wrapping_sub(ONES) & !backslash
        | word.wrapping_sub(ONES * 0x20) & !word)
        & HIGHS
}

/// The position of the first byte that is a quote, a backslash or a control byte.
#[inline(always)]
pub(in crate::chunk) fn special_in(block: &[u8; 16]) -> Option<usize> {
    let [a, b, c, d, e, f, g, h, more @ ..] = *block;
    let (first, second) = (special([a, b, c, d, e, f, g, h]), special(more));
    let (word, before) = if first == 0 { (second, 8) } else { (first, 0) };
    (word != 0).then(|| before + (word.trailing_zeros() / 8) as usize)
}

/// The position of the first byte at or after `at` that ends a run of plain text: a quote, a backslash, or a control
/// byte. Sixteen bytes at a time: most strings are no longer, and one that ends in the first step is foreseen.
#[inline(always)]
pub(crate) fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    let mut rest = bytes.get(at..).unwrap_or_default();
    while let Some((block, after)) = rest.split_first_chunk::<16>() {
        if let Some(found) = special_in(block) {
            return at + found;
        }
        at += 16;
        rest = after;
    }
    let found = rest
        .iter()
        .position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1F));
    at + found.unwrap_or(rest.len())
}

/// Appends the run of plain text that the bytes begin with. Gives its length.
///
/// Sixteen bytes are copied at a time, in always the same steps, and what is too much is cut off: how long the runs are is
/// not foreseeable either.
#[inline(always)]
fn push_run(bytes: &[u8], out: &mut Vec<u8>) -> usize {
    let mut rest = bytes;
    while let Some((block, after)) = rest.split_first_chunk::<16>() {
        out.extend_from_slice(block);
        if let Some(len) = special_in(block) {
            out.truncate(out.len() - (16 - len));
            return bytes.len() - rest.len() + len;
        }
        rest = after;
    }
    let len = plain_end(rest, 0);
    out.extend_from_slice(rest.get(..len).unwrap_or_default());
    bytes.len() - rest.len() + len
}

impl<'de> Reader<'de, '_> {
    /// Reads a string; the opening quote is next.
    #[inline(always)]
    pub(super) fn string(&mut self) -> Result<Text<'de>> {
        let start = self.at + 1;
        self.at = plain_end(self.text.as_bytes(), start);
        self.notes.halves.set(Halves::default());
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Text::Plain(self.slice(start, self.at - 1)));
        }
        self.escaped_string(start)?;
        Ok(Text::Unescaped)
    }

    /// Reads a string with escapes, which begins at `start`.
    #[inline(never)]
    fn escaped_string(&mut self, start: usize) -> Result<()> {
        self.at = start;
        self.unescaped.clear();
        let bytes = self.text.as_bytes();
        // What is said is never longer than how it is said.
        self.unescaped.reserve(bytes.len().saturating_sub(start));
        match unescape(bytes, &mut self.at, self.unescaped) {
            Ok(halves) => {
                self.at += 1;
                if let Some(halves) = halves {
                    self.notes.halves.set(halves);
                    self.tolerated.insert(Deviation::LoneSurrogate);
                }
                Ok(())
            }
            Err(expected) => self.error(expected),
        }
    }

    /// What was unescaped.
    pub(super) fn unescaped(&self) -> &str {
        // Runs of a text, cut at ASCII, and characters: that is a text too.
        simdutf8::basic::from_utf8(self.unescaped).unwrap_or_default()
    }

    /// Goes past a string without keeping it; the opening quote is next.
    #[inline(always)]
    pub(super) fn skip_string(&mut self) -> Result<()> {
        self.at = plain_end(self.text.as_bytes(), self.at + 1);
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(());
        }
        self.skip_escaped_string()
    }

    /// Goes past the rest of a string, which is not plain here.
    fn skip_escaped_string(&mut self) -> Result<()> {
        let bytes = self.text.as_bytes();
        let mut escapes = 0;
        loop {
            if escapes == MANY {
                escapes = 0;
                blocks::skip(bytes, &mut self.at);
                self.at = plain_end(bytes, self.at);
            }
            escapes += 1;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => match escape(bytes, &mut self.at) {
                    Ok((_, 0)) => self.at = plain_end(bytes, self.at),
                    Ok(_) => {
                        self.tolerated.insert(Deviation::LoneSurrogate);
                        self.at = plain_end(bytes, self.at);
                    }
                    Err(expected) => return self.error(expected),
                },
                Some(_) => return self.error("no control character"),
                None => return self.error("the end of a string"),
            }
        }
    }
}

/// Appends the inside of a string to `out`, from `at` up to its closing quote: the halves of surrogate pairs in it, if
/// there are any, or what was expected where `at` is then.
#[inline(always)]
pub(in crate::chunk) fn unescape(
    bytes: &[u8],
    at: &mut usize,
    out: &mut Vec<u8>,
) -> core::result::Result<Option<Halves>, &'static str> {
    let mut halves = Halves::default();
    let mut is_any_lone = false;
    let mut simple = 0;
    loop {
        if simple == MANY {
            simple = 0;
            blocks::unescape(bytes, at, out);
        }
        let len = push_run(bytes.get(*at..).unwrap_or_default(), out);
        *at += len;
        if len > 0 {
            halves.last = 0;
        }
        match bytes.get(*at) {
            Some(b'"') => return Ok(is_any_lone.then_some(halves)),
            Some(b'\\') => {
                halves.last = 0;
                if let Some(byte) = bytes.get(*at + 1).copied().and_then(unescaped) {
                    *at += 2;
                    out.push(byte);
                    simple += 1;
                    continue;
                }
                let is_first = out.is_empty();
                let (char, lone) = escape(bytes, at)?;
                out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                is_any_lone |= lone != 0;
                match lone {
                    0 => {}
                    0xDC00.. if is_first => halves.first = lone,
                    0xDC00.. => {}
                    _ => halves.last = lone,
                }
            }
            Some(_) => return Err("no control character"),
            None => return Err("the end of a string"),
        }
    }
}

/// The character of the escape at `at`, whose backslash is there. A surrogate without its other half gives U+FFFD and
/// itself.
#[inline]
fn escape(bytes: &[u8], at: &mut usize) -> core::result::Result<(char, u16), &'static str> {
    *at += 1;
    if let Some(byte) = bytes.get(*at).copied().and_then(unescaped) {
        *at += 1;
        return Ok((char::from(byte), 0));
    }
    if bytes.get(*at) != Some(&b'u') {
        return Err("an escape");
    }
    *at += 1;
    let unit = hex4(bytes, at)?;
    if let Some(char) = char::from_u32(u32::from(unit)) {
        return Ok((char, 0));
    }
    let after = *at;
    let rest = bytes.get(after..).unwrap_or_default();
    if unit < 0xDC00 && rest.starts_with(b"\\u") {
        *at += 2;
        let low = hex4(bytes, at)?;
        if let Some(char) = Halves::join(unit, low) {
            return Ok((char, 0));
        }
        *at = after;
    }
    Ok((char::REPLACEMENT_CHARACTER, unit))
}
