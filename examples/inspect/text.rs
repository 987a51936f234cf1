//! Text of the stream, made short and harmless: control characters, those of C1 and those that turn the direction of
//! writing would otherwise command the terminal.

use std::fmt::{self, Display, Formatter, Write};

/// So many characters of a piece are shown,
const SHORT: usize = 60;
/// and so many of what one wants to read.
const LONG: usize = 2000;

/// The beginning of a text, in quotes.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

/// The beginning of a text without quotes. Those in it stay as they are: arguments are JSON already.
pub(crate) struct Plain<'a>(pub(crate) &'a str);

/// As [`Plain`], but much more of it.
pub(crate) struct Long<'a>(pub(crate) &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (shown, rest) = split(self.0, SHORT);
        // `Debug` escapes as `escape_debug` does, but for apostrophes.
        write!(f, "{shown:?}")?;
        more(f, rest)
    }
}

impl Display for Plain<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        plain(f, self.0, SHORT)
    }
}

impl Display for Long<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        plain(f, self.0, LONG)
    }
}

fn plain(f: &mut Formatter<'_>, text: &str, limit: usize) -> fmt::Result {
    let (shown, rest) = split(text, limit);
    let kept = ['"', '\'', '\\'];
    for piece in shown.split_inclusive(kept) {
        let escaped = piece.trim_end_matches(kept);
        write!(f, "{}", escaped.escape_debug())?;
        f.write_str(piece.get(escaped.len()..).unwrap_or_default())?;
    }
    more(f, rest)
}

/// What is shown of a text, and what is not.
fn split(text: &str, limit: usize) -> (&str, &str) {
    let at = text
        .char_indices()
        .nth(limit)
        .map_or(text.len(), |(at, _)| at);
    text.split_at_checked(at).unwrap_or((text, ""))
}

fn more(f: &mut Formatter<'_>, rest: &str) -> fmt::Result {
    match rest.chars().count() {
        0 => Ok(()),
        count => write!(f, "… and {count} more"),
    }
}

/// All of them, with commas between.
pub(crate) fn list<T: Display>(things: impl IntoIterator<Item = T>) -> String {
    let mut list = String::new();
    for thing in things {
        if !list.is_empty() {
            list.push_str(", ");
        }
        // Writing to a string does not fail.
        let _ = write!(list, "{thing}");
    }
    list
}
