//! A payload as a sequence: several JSON values in one frame, line by line if need be, and the end marker.

use super::json::{Notes, Reader, Scratch, SyntaxError};

/// Whether a payload is the end marker `[DONE]`: alone, trimmed, also in quotes.
///
/// ```
/// use chatwire::chunk::is_done_marker;
/// assert!(is_done_marker(" [DONE]\n") && is_done_marker("\"[DONE]\""));
/// assert!(!is_done_marker("[DONE]x"));
/// ```
#[must_use]
pub fn is_done_marker(payload: &str) -> bool {
    let payload = payload.trim();
    marker_len(payload).is_some_and(|len| len == payload.len())
}

/// The length of the end marker that the text begins with.
fn marker_len(text: &str) -> Option<usize> {
    ["[DONE]", "\"[DONE]\""]
        .iter()
        .find(|marker| text.starts_with(**marker))
        .map(|marker| marker.len())
}

/// Where in a payload the decoder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    state: State,
    at: usize,
    /// The end of the sequence being read: of the payload, or of a line of it.
    end: usize,
    /// The end of the payload, trimmed.
    last: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing is known. The first value can be decoded at once: it is all there is in all but a few payloads.
    Start,
    /// What is between `at` and `end` is a good sequence.
    Values,
    /// The payload is no good sequence as a whole; a line begins at `at`.
    Lines,
    Over,
}

/// What comes next in a payload.
#[derive(Debug)]
pub(super) enum Next {
    /// The first value, at this byte; what comes of it decides how the payload is read on.
    First(usize),
    /// A value, at this byte.
    Value(usize),
    /// The end marker. Nothing counts after it.
    Done {
        is_quoted: bool,
    },
    /// A line that is no good sequence.
    Malformed(usize, SyntaxError),
    /// A marker first and something after it: no sequence.
    Forged,
    Nothing,
}

/// How a payload is read on after its first value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// That was all.
    Single,
    /// A later value of a sequence: it is known already.
    Later,
    /// A sequence of values.
    Sequence,
    /// No sequence as a whole, but some lines of it are.
    Lines,
    /// Nothing in it is good.
    Broken,
}

impl Default for Cursor {
    fn default() -> Self {
        Self::new()
    }
}

impl Cursor {
    pub(crate) const fn new() -> Self {
        Self {
            state: State::Start,
            at: 0,
            end: 0,
            last: 0,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    pub(super) fn is_at_start(&self) -> bool {
        self.state == State::Start
    }

    /// At the end of any payload.
    pub(crate) const fn over() -> Self {
        Self {
            state: State::Over,
            ..Self::new()
        }
    }

    pub(super) fn next(&mut self, text: &str, scratch: &mut Scratch) -> Next {
        loop {
            match self.state {
                State::Start if text.starts_with('{') => {
                    self.last = if text.ends_with('}') {
                        text.len()
                    } else {
                        text.trim_end().len()
                    };
                    self.end = self.last;
                    self.state = State::Values;
                    return Next::First(0);
                }
                State::Start => {
                    self.last = text.trim_end().len();
                    self.end = self.last;
                    self.skip_space(text);
                    let rest = self.rest(text);
                    self.state = State::Values;
                    if !rest.is_empty() && !is_done_marker(rest) {
                        return if marker_len(rest).is_some() {
                            Next::Forged
                        } else {
                            Next::First(self.at)
                        };
                    }
                }
                State::Values => {
                    self.skip_space(text);
                    let rest = self.rest(text);
                    if marker_len(rest).is_some() {
                        self.state = State::Over;
                        return Next::Done {
                            is_quoted: rest.starts_with('"'),
                        };
                    }
                    if !rest.is_empty() {
                        return Next::Value(self.at);
                    }
                    self.at = self.end + 1;
                    self.state = if self.at < self.last {
                        State::Lines
                    } else {
                        State::Over
                    };
                }
                State::Lines => {
                    let rest = text.get(self.at..self.last).unwrap_or_default();
                    let start = self.at;
                    self.end = start + rest.find('\n').unwrap_or(rest.len());
                    if let Err(syntax) =
                        check(text, start, self.end, self.end == self.last, scratch)
                    {
                        self.at = self.end + 1;
                        self.state = if self.at < self.last {
                            State::Lines
                        } else {
                            State::Over
                        };
                        return Next::Malformed(start, syntax);
                    }
                    self.state = State::Values;
                }
                State::Over => return Next::Nothing,
            }
        }
    }

    /// A value ends at `at`.
    pub(super) fn go_to(&mut self, at: usize) {
        self.at = at;
    }

    /// The first value ends at `value_end`, or there was none. Looks at the rest of the payload, once.
    pub(super) fn shape(
        &mut self,
        text: &str,
        value_end: Option<usize>,
        scratch: &mut Scratch,
    ) -> Shape {
        if let Some(end) = value_end {
            self.at = end;
            if end == self.last {
                self.state = State::Over;
                return Shape::Single;
            }
            if check(text, end, self.last, true, scratch).is_ok() {
                return Shape::Sequence;
            }
        }
        let is_any_good = text.get(..self.last).unwrap_or_default().contains('\n')
            && self.any_line(text, scratch);
        self.at = text.len() - text.trim_start().len();
        self.state = if is_any_good {
            State::Lines
        } else {
            State::Over
        };
        if is_any_good {
            Shape::Lines
        } else {
            Shape::Broken
        }
    }

    fn any_line(&self, text: &str, scratch: &mut Scratch) -> bool {
        let mut start = 0;
        while start < self.last {
            let rest = text.get(start..self.last).unwrap_or_default();
            let end = start + rest.find('\n').unwrap_or(rest.len());
            if check(text, start, end, end == self.last, scratch) == Ok(true) {
                return true;
            }
            start = end + 1;
        }
        false
    }

    fn rest<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.at..self.end).unwrap_or_default()
    }

    fn skip_space(&mut self, text: &str) {
        let rest = self.rest(text);
        self.at += rest.len() - rest.trim_start().len();
    }
}

/// Whether `text[start..end]` is a sequence of JSON values, closed by an end marker only if it `may_end` the payload.
/// True if there is anything in it.
pub(super) fn check(
    text: &str,
    start: usize,
    end: usize,
    may_end: bool,
    scratch: &mut Scratch,
) -> Result<bool, SyntaxError> {
    let notes = Notes::default();
    let text = text.get(..end).unwrap_or_default();
    let mut reader = Reader::new(text, start, usize::MAX, scratch, &notes);
    let mut is_any = false;
    loop {
        let rest = reader.rest();
        if rest.is_empty() {
            return Ok(is_any);
        }
        is_any = true;
        if may_end && is_done_marker(rest) {
            return Ok(true);
        }
        if marker_len(rest).is_some() {
            return Err(SyntaxError::forged_marker());
        }
        reader.skip().map_err(|_| reader.fault())?;
    }
}
