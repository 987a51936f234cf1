//! Whether the arguments of a call are a whole JSON object or list: scanned once, as they come.

use alloc::vec::Vec;

use crate::chunk::{container, plain_end, unescaped};

/// A scan of one text, which may grow. Each byte is looked at once.
///
/// | state | reads | goes to |
/// |---|---|---|
/// | `Value` | a quote, a digit, a letter, a bracket | `String`, `Number`, `Literal`, `First` or `Key` |
/// | `After` | a comma, a closing bracket | `Value` or `Key`, `After` |
/// | `First` | a closing bracket, or as `Value` | `After`, as `Value` |
/// | `Key` | a quote (in an empty object a brace too) | `String` |
/// | `Colon` | a colon | `Value` |
#[derive(Debug, Clone, Default)]
pub(super) struct Scan {
    state: State,
    /// For each open container whether it is an object.
    open: Vec<bool>,
    at: usize,
    /// Whether the string being read is a key.
    is_key: bool,
    /// Whether the outermost container has members.
    is_filled: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// The text has not begun.
    #[default]
    Start,
    /// A value must come.
    Value,
    /// A list was opened: a value, or its end.
    First,
    /// A key must come; in an object just opened, its end may.
    Key {
        or_end: bool,
    },
    Colon,
    /// A value was read: a comma, or the end of the container.
    After,
    String,
    Escape,
    /// This many hexadecimal digits of an escape are still to come.
    Hex(u8),
    /// In a literal: what is still to come of it.
    Literal(&'static [u8]),
    Number(Number),
    /// The outermost container was closed.
    Whole,
    /// This can never be whole JSON.
    Broken,
}

/// What of a number has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Integer,
    Dot,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

impl Scan {
    /// Whether `text` is a whole JSON object or list. `text` is what was given before and more, or less: then what is
    /// gone was of one string's inside.
    pub(super) fn is_whole(&mut self, text: &str, max_depth: usize) -> bool {
        let bytes = text.as_bytes();
        if self.at == 0 {
            // Nearly all are whole when they are looked at for the first time, and the reader is faster.
            if let Some(is_filled) = container(text, max_depth) {
                self.is_filled = is_filled;
                self.state = State::Whole;
                self.at = bytes.len();
            }
        }
        self.at = self.at.min(bytes.len());
        while let Some(byte) = bytes.get(self.at) {
            if self.state == State::String {
                // The inside of strings is nearly all there is.
                self.at = inside_end(bytes, self.at);
                let Some(byte) = bytes.get(self.at) else {
                    break;
                };
                self.step(*byte, max_depth);
            } else {
                self.step(*byte, max_depth);
            }
            self.at += 1;
        }
        self.state == State::Whole
    }

    /// Whether the object or list that is whole has anything in it.
    pub(super) const fn is_filled(&self) -> bool {
        self.is_filled
    }

    /// From a char that was taken from the end of the text, and was inside a string.
    pub(super) fn shortened(&mut self, len: usize) {
        self.at = self.at.min(len);
    }

    fn step(&mut self, byte: u8, max_depth: usize) {
        if let State::Number(number) = self.state {
            match number.next(byte) {
                Some(next) => return self.state = State::Number(next),
                None if number.may_end() => self.state = State::After,
                None => return self.state = State::Broken,
            }
        }
        self.state = match (self.state, byte) {
            (State::Broken, _) => State::Broken,
            (State::String, b'"') if self.is_key => State::Colon,
            (State::String, b'"') => State::After,
            (State::String, b'\\') => State::Escape,
            (State::String, 0x20..) => State::String,
            (State::Escape, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                State::String
            }
            (State::Escape, b'u') => State::Hex(4),
            (State::Hex(1), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => State::String,
            (State::Hex(left), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => State::Hex(left - 1),
            (State::Literal(rest), _) => match rest.split_first() {
                Some((first, [])) if *first == byte => State::After,
                Some((first, rest)) if *first == byte => State::Literal(rest),
                _ => State::Broken,
            },
            (state, b' ' | b'\n' | b'\r' | b'\t')
                if !matches!(state, State::String | State::Escape | State::Hex(_)) =>
            {
                state
            }
            (State::Start | State::Value | State::First, b'{' | b'[')
                if self.open.len() < max_depth =>
            {
                self.is_filled |= !self.open.is_empty();
                self.open.push(byte == b'{');
                if byte == b'{' {
                    State::Key { or_end: true }
                } else {
                    State::First
                }
            }
            (State::First, b']') => self.close(),
            (State::Value | State::First, _) => {
                self.is_filled = true;
                self.value(byte)
            }
            (State::Key { .. }, b'"') => {
                self.is_filled = true;
                self.is_key = true;
                State::String
            }
            (State::Key { or_end: true }, b'}') => self.close(),
            (State::Colon, b':') => State::Value,
            (State::After, b',') if self.is_in_object() => State::Key { or_end: false },
            (State::After, b',') => State::Value,
            (State::After, b'}') if self.is_in_object() => self.close(),
            (State::After, b']') if !self.is_in_object() => self.close(),
            _ => State::Broken,
        };
    }

    fn value(&mut self, byte: u8) -> State {
        match byte {
            b'"' => {
                self.is_key = false;
                State::String
            }
            b't' => State::Literal(b"rue"),
            b'f' => State::Literal(b"alse"),
            b'n' => State::Literal(b"ull"),
            b'-' => State::Number(Number::Minus),
            b'0' => State::Number(Number::Zero),
            b'1'..=b'9' => State::Number(Number::Integer),
            _ => State::Broken,
        }
    }

    fn is_in_object(&self) -> bool {
        self.open.last() == Some(&true)
    }

    fn close(&mut self) -> State {
        self.open.pop();
        if self.open.is_empty() {
            State::Whole
        } else {
            State::After
        }
    }
}

/// The first byte at or after `at` that is not plainly the inside of a string: a quote, a control byte, an escape of
/// several digits or one that is cut or none.
fn inside_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at = plain_end(bytes, at);
        match bytes.get(at..at + 2) {
            Some([b'\\', escape]) if unescaped(*escape).is_some() => at += 2,
            _ => return at,
        }
    }
}

impl Number {
    /// What has been read with one more byte; none if that byte is not of the number.
    const fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus | Self::Integer, b'0'..=b'9') => Self::Integer,
            (Self::Zero | Self::Integer, b'.') => Self::Dot,
            (Self::Dot | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => Self::Exponent,
            (Self::Exponent, b'+' | b'-') => Self::ExponentSign,
            (Self::Exponent | Self::ExponentSign | Self::ExponentDigits, b'0'..=b'9') => {
                Self::ExponentDigits
            }
            _ => return None,
        })
    }

    const fn may_end(self) -> bool {
        matches!(
            self,
            Self::Zero | Self::Integer | Self::Fraction | Self::ExponentDigits
        )
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn is_whole(text: &str) -> bool {
        Scan::default().is_whole(text, 128)
    }

    /// Whether it is whole, and has members, by serde_json.
    fn expected(text: &str) -> (bool, bool) {
        match serde_json::from_str(text) {
            Ok(Value::Object(fields)) => (true, !fields.is_empty()),
            Ok(Value::Array(list)) => (true, !list.is_empty()),
            _ => (false, false),
        }
    }

    /// The same by a scan that saw the first byte alone, so that it goes on from there by itself.
    fn grown(text: &str) -> (bool, bool) {
        let mut scan = Scan::default();
        assert!(!scan.is_whole(&text[..1], 128), "{text}");
        let is_whole = scan.is_whole(text, 128);
        (is_whole, is_whole && scan.is_filled())
    }

    /// Every text of up to four of these tokens, against serde_json.
    #[test]
    fn agrees_with_serde_json_on_every_short_text() {
        const TOKENS: [&str; 20] = [
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"a\"",
            "\"\\u00e9\\n\"",
            "\"",
            "\\",
            "1",
            "-0",
            "01",
            "2.5e-3",
            "1.",
            "true",
            "nul",
            "null",
            " ",
            "\u{1}",
        ];
        let mut texts = Vec::from([alloc::string::String::new()]);
        let mut from = 0;
        for _ in 0..4 {
            let until = texts.len();
            for at in from..until {
                for token in TOKENS {
                    let text = alloc::format!("{}{token}", texts[at]);
                    assert_eq!(is_whole(&text), expected(&text).0, "{text:?}");
                    assert_eq!(grown(&text), expected(&text), "{text:?}");
                    texts.push(text);
                }
            }
            from = until;
        }
    }

    /// Every text of six of these, most of them brackets.
    #[test]
    fn brackets_must_match() {
        const TOKENS: [&str; 8] = ["{", "}", "[", "]", ",", ":", "\"a\"", "0"];
        for mut nth in 0..TOKENS.len().pow(6) {
            let mut text = alloc::string::String::new();
            for _ in 0..6 {
                text += TOKENS[nth % TOKENS.len()];
                nth /= TOKENS.len();
            }
            assert_eq!(grown(&text), expected(&text), "{text:?}");
        }
    }

    #[test]
    fn each_byte_alone_gives_the_same() {
        for text in [
            r#"{"a":[1,2.5e3,{"b":"\"\\u00e9"},null,true,false,-0]} "#,
            r#"{"a":}"#,
            "[]",
            "{} x",
        ] {
            let mut scan = Scan::default();
            for end in 0..=text.len() {
                assert_eq!(
                    scan.is_whole(&text[..end], 128),
                    is_whole(&text[..end]),
                    "{:?}",
                    &text[..end]
                );
            }
        }
    }

    #[test]
    fn is_filled_tells_placeholders_from_arguments() {
        for (text, filled) in [
            ("{}", false),
            (" { } ", false),
            ("[]", false),
            ("[[]]", true),
            (r#"{"a":1}"#, true),
            ("[0]", true),
        ] {
            let mut scan = Scan::default();
            assert!(scan.is_whole(text, 128));
            assert_eq!(scan.is_filled(), filled, "{text}");
        }
    }

    #[test]
    fn deeper_than_the_limit_is_never_whole() {
        let text = "[".repeat(3) + &"]".repeat(3);
        assert!(Scan::default().is_whole(&text, 3));
        assert!(!Scan::default().is_whole(&text, 2));
    }
}
