//! A reader of JSON text that feeds serde's visitors, lenient where streams need it.
//!
//! It differs from `serde_json` as the reader under the visitors in this: raw values come with their text, a string
//! with half a surrogate pair, a number out of range, `NaN` and `Infinity` cost nothing but their value, what is too
//! deep is skipped without recursion, and nothing is allocated for an escape.

mod access;
mod blocks;
mod escape;
mod number;
mod rewrite;
mod skip;
mod string;

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;

use crate::{Deviation, DeviationSet};

pub(super) use access::{RAW, STRING_OR_RAW, TWICE};
pub(crate) use escape::unescaped;
pub(super) use rewrite::serialize;
pub(crate) use rewrite::value;
pub(crate) use skip::container;
pub(crate) use string::Halves;
pub(crate) use string::plain_end;
pub(super) use string::{special_in, unescape};

/// Whoever recurses into values goes no deeper than this, whatever [`Limits::max_depth`](crate::Limits::max_depth) says.
pub(crate) const MAX_DEPTH: usize = 512;

/// Why a text is no JSON: what was expected where. Behind [`source`](core::error::Error::source) of a malformed payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    at: usize,
    expected: &'static str,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "expected {} at byte {} of the payload",
            self.expected, self.at
        )
    }
}

impl core::error::Error for SyntaxError {}

impl SyntaxError {
    /// An end marker with something after it.
    pub(super) const fn forged_marker() -> Self {
        Self {
            at: 0,
            expected: "nothing after the end marker",
        }
    }

    /// A value with something after it that is none.
    pub(super) const fn not_a_sequence() -> Self {
        Self {
            at: 0,
            expected: "JSON values only",
        }
    }

    /// JSON, but no object.
    pub(super) const fn no_object() -> Self {
        Self {
            at: 0,
            expected: "an object",
        }
    }
}

/// What is read is no JSON, or not what was asked for: [`Reader::fault`] says why. It holds nothing itself, so that what
/// each of the many small steps gives fits a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failed;

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a value of another type")
    }
}

impl core::error::Error for Failed {}

impl serde::de::Error for Failed {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

pub(super) type Result<T> = core::result::Result<T, Failed>;

/// Strings that the reader needs and its user lends: so they are allocated once per stream.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    unescaped: Vec<u8>,
    raw: String,
}

impl Scratch {
    pub(super) fn clear_large(&mut self, kept: usize) {
        if self.unescaped.capacity() > kept {
            self.unescaped = Vec::new();
        }
        if self.raw.capacity() > kept {
            self.raw = String::new();
        }
    }
}

/// The bytes that are visited are a key of this reader, and what follows it.
pub(super) const OFFERED: usize = usize::MAX;

/// What the reader and its visitors tell each other beside serde's traits.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// What was cut of the string that was visited last.
    pub(super) halves: Cell<Halves>,
    /// Of a key that is read: [`OFFERED`], and then how many bytes it takes with its quotes; 0 if it was not taken.
    pub(super) key: Cell<usize>,
}

/// Where in a text the reader is.
#[derive(Debug)]
pub(super) struct Reader<'de, 's> {
    text: &'de str,
    at: usize,
    /// Containers that are open, and how many may be.
    depth: usize,
    max_depth: usize,
    /// What was met that is no JSON, or means nothing.
    pub(super) tolerated: DeviationSet,
    /// A value deeper than `max_depth` was skipped.
    pub(super) is_too_deep: bool,
    /// How many levels the value has that was skipped last.
    pub(super) deepest: usize,
    fault: Option<SyntaxError>,
    unescaped: &'s mut Vec<u8>,
    raw: &'s mut String,
    notes: &'s Notes,
}

impl<'de, 's> Reader<'de, 's> {
    /// Starts at byte `at` of `text`. What its visitors are to know beside what they visit it leaves in `notes`.
    pub(super) fn new(
        text: &'de str,
        at: usize,
        max_depth: usize,
        scratch: &'s mut Scratch,
        notes: &'s Notes,
    ) -> Self {
        let Scratch { unescaped, raw } = scratch;
        Self {
            text,
            at,
            depth: 0,
            max_depth,
            tolerated: DeviationSet::new(),
            is_too_deep: false,
            deepest: 0,
            fault: None,
            unescaped,
            raw,
            notes,
        }
    }

    /// The byte after what was read.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    /// All that is left of the text, without the white space before it, which is taken.
    pub(super) fn rest(&mut self) -> &'de str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    /// Why reading failed.
    pub(super) fn fault(&self) -> SyntaxError {
        self.fault.unwrap_or(SyntaxError {
            at: self.at,
            expected: "a value of another type",
        })
    }

    #[cold]
    fn error<T>(&mut self, expected: &'static str) -> Result<T> {
        self.fault = Some(SyntaxError {
            at: self.at,
            expected,
        });
        Err(Failed)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is not white space, not taken.
    fn peek_token(&mut self) -> Option<u8> {
        loop {
            match self.peek() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other,
            }
        }
    }

    #[inline(always)]
    fn slice(&self, from: usize, to: usize) -> &'de str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// Takes a literal that is known by its first byte.
    fn literal(&mut self, literal: &'static str) -> Result<()> {
        if self
            .text
            .as_bytes()
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(literal.as_bytes()))
        {
            self.at += literal.len();
            Ok(())
        } else {
            self.error(literal)
        }
    }

    /// `NaN`, `Infinity`, `-Infinity`: null. Python's `json.dumps` writes them.
    fn not_finite(&mut self) -> Result<()> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        self.literal(if self.peek() == Some(b'N') {
            "NaN"
        } else {
            "Infinity"
        })?;
        self.tolerated.insert(Deviation::NotFinite);
        Ok(())
    }

    /// Whether `NaN`, `Infinity` or `-Infinity` may begin here.
    fn is_not_finite(&self) -> bool {
        match self.peek() {
            Some(b'N' | b'I') => true,
            Some(b'-') => self.text.as_bytes().get(self.at + 1) == Some(&b'I'),
            _ => false,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;

    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

    /// The value that a text is, read by this reader; none if it is not one value.
    fn read(text: &str) -> (Option<Value>, DeviationSet) {
        let (mut scratch, notes) = (Scratch::default(), Notes::default());
        let mut reader = Reader::new(text, 0, 100, &mut scratch, &notes);
        let value = Value::deserialize(&mut reader).ok();
        let is_all = reader.rest().is_empty();
        (value.filter(|_| is_all), reader.tolerated)
    }

    /// Whether `skip` takes a text as one value.
    fn skips(text: &str) -> bool {
        let (mut scratch, notes) = (Scratch::default(), Notes::default());
        let mut reader = Reader::new(text, 0, 100, &mut scratch, &notes);
        reader.skip().is_ok() && reader.rest().is_empty()
    }

    /// Fractions are read exactly here, and within one unit in the last place by serde_json.
    fn is_same(one: &Value, another: &Value) -> bool {
        match (one, another) {
            (Value::Number(one), Value::Number(another)) if one.is_f64() && another.is_f64() => {
                let (one, another) = (one.as_f64().unwrap(), another.as_f64().unwrap());
                one == another || ((one - another) / one).abs() < 1e-15
            }
            (Value::Array(one), Value::Array(another)) => {
                one.len() == another.len()
                    && one
                        .iter()
                        .zip(another)
                        .all(|(one, another)| is_same(one, another))
            }
            (Value::Object(one), Value::Object(another)) => {
                one.len() == another.len()
                    && one
                        .iter()
                        .zip(another)
                        .all(|(one, another)| one.0 == another.0 && is_same(one.1, another.1))
            }
            _ => one == another,
        }
    }

    /// Every text of up to four of these tokens, against serde_json.
    #[test]
    fn agrees_with_serde_json_on_every_short_text() {
        const TOKENS: [&str; 26] = [
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"a\"",
            "\"b\\n\\u00e9\"",
            "\"",
            "\\",
            "\\u12",
            "0",
            "-",
            "-0",
            "01",
            "7",
            "2.5e1",
            "1.",
            "1e400",
            "true",
            "nul",
            "null",
            " ",
            "\u{1}",
            "é",
            "18446744073709551616",
        ];
        let mut texts = Vec::from([String::new()]);
        let mut from = 0;
        for _ in 0..4 {
            let until = texts.len();
            for at in from..until {
                for token in TOKENS {
                    let text = alloc::format!("{}{token}", texts[at]);
                    let (value, tolerated) = read(&text);
                    assert_eq!(skips(&text), value.is_some(), "{text:?}");
                    if tolerated.is_empty() {
                        let is_good = match (&value, serde_json::from_str(&text)) {
                            (Some(value), Ok(expected)) => is_same(value, &expected),
                            (value, expected) => value.is_none() && expected.is_err(),
                        };
                        assert!(is_good, "{text:?}: {value:?}");
                    }
                    texts.push(text);
                }
            }
            from = until;
        }
    }

    #[test]
    fn large_buffers_are_given_back() {
        for (unescaped, raw, left) in [
            (9, 9, (0, 0)),
            (9, 8, (0, 8)),
            (8, 9, (8, 0)),
            (8, 8, (8, 8)),
        ] {
            let mut scratch = Scratch {
                unescaped: Vec::with_capacity(unescaped),
                raw: String::with_capacity(raw),
            };
            scratch.clear_large(8);
            assert_eq!((scratch.unescaped.capacity(), scratch.raw.capacity()), left);
        }
    }

    #[test]
    fn what_is_no_json_and_means_something_is_tolerated() {
        for (text, value, deviation) in [
            (
                "[NaN,Infinity,-Infinity]",
                "[null,null,null]",
                Deviation::NotFinite,
            ),
            ("[1e400,-1e400]", "[null,null]", Deviation::NumberOutOfRange),
            (
                r#"["\ud83d","\ude00x","\ud83d\u0041"]"#,
                r#"["\ufffd","\ufffdx","\ufffdA"]"#,
                Deviation::LoneSurrogate,
            ),
        ] {
            let (got, tolerated) = read(text);
            assert_eq!(got, serde_json::from_str(value).ok(), "{text}");
            assert_eq!(tolerated, DeviationSet::from_iter([deviation]), "{text}");
            let mut rewritten = String::new();
            rewrite::rewrite(text, 100, &mut rewritten);
            assert_eq!(
                serde_json::from_str(&rewritten).ok(),
                got,
                "what is kept as text is JSON for everybody"
            );
        }
        for text in [
            "nan",
            "Inf",
            "-Inf",
            "NaNa",
            "--1",
            "[-NaN]",
            "undefined",
            "[1,]",
            "{\"a\":1,}",
            "{,}",
            "\"\u{7}\"",
        ] {
            assert_eq!(read(text).0, None, "{text:?}");
            assert!(!skips(text), "{text:?}");
        }
    }

    #[test]
    fn the_ends_of_a_string_tell_the_halves_that_are_missing() {
        for (text, first, last) in [
            (r#""\ud83d""#, 0, 0xD83D),
            (r#""\ude00""#, 0xDE00, 0),
            (r#""a\ud83d""#, 0, 0xD83D),
            (r#""\ude00a""#, 0xDE00, 0),
            (r#""\ude00\ud83d""#, 0xDE00, 0xD83D),
            (r#""\ud83da""#, 0, 0),
            (r#""a\ude00""#, 0, 0),
            (r#""\ud83d\ude00""#, 0, 0),
            (r#""\ud83d\n""#, 0, 0),
            (r#""""#, 0, 0),
        ] {
            let (mut scratch, notes) = (Scratch::default(), Notes::default());
            notes.halves.set(Halves {
                first: 1,
                last: 1,
                is_lost: false,
            });
            Reader::new(text, 0, 100, &mut scratch, &notes)
                .string()
                .unwrap();
            let halves = notes.halves.get();
            assert_eq!((halves.first, halves.last), (first, last), "{text}");
        }
        assert_eq!(Halves::join(0xD83D, 0xDE00), Some('😀'));
        assert_eq!(Halves::join(0xD83D, 0), None);
        assert_eq!(Halves::join(0, 0xDE00), None);
    }

    #[test]
    fn depth_is_counted_and_not_recursed_into() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        assert!(skips(&deep));
        let (mut scratch, notes) = (Scratch::default(), Notes::default());
        for (depth, is_too_deep) in [(100, false), (101, true)] {
            let text = "[".repeat(depth) + &"]".repeat(depth);
            let mut reader = Reader::new(&text, 0, 100, &mut scratch, &notes);
            assert_eq!(reader.skip(), Ok(is_too_deep));
        }
        // A mixture, so that each container must be closed by its own bracket.
        let open = "[{\"a\":".repeat(200);
        assert!(skips(&(open.clone() + "1" + &"}]".repeat(200))));
        assert!(!skips(&(open + "1" + &"]}".repeat(200))));
    }

    #[test]
    fn what_is_too_deep_is_rewritten_as_null() {
        for (levels, expected) in [
            (3, r#"[{"a":[1]},2]"#),
            (2, r#"[{"a":null},2]"#),
            (1, "[null,2]"),
            (0, "null"),
        ] {
            let mut out = String::new();
            rewrite::rewrite(r#"[{"a":[1]},2]"#, levels, &mut out);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn a_raw_value_is_rewritten_compactly_and_keeps_order_and_numbers() {
        let mut out = String::new();
        rewrite::rewrite(
            " { \"b\" : [ 1.50 , 123456789012345678901234567890 ] , \"a\" : \"\\u00e9\\n\" } ",
            100,
            &mut out,
        );
        assert_eq!(
            out,
            r#"{"b":[1.50,123456789012345678901234567890],"a":"é\n"}"#
        );
    }
}
