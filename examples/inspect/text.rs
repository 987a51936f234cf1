//! Text of the stream, made short and harmless: control characters, those of C1 and those that turn the direction of
//! writing would otherwise command the terminal.

use std::fmt::{self, Display, Formatter, Write};

/// So many characters of a text are shown.
const SHOWN: usize = 60;

/// The text in quotes, its beginning.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

/// The text without quotes, its beginning, quotes and backslashes as they are: arguments are JSON already.
pub(crate) struct Plain<'a>(pub(crate) &'a str);

/// As [`Plain`], in full: for what is read to the end.
pub(crate) struct Full<'a>(pub(crate) &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (shown, rest) = split(self.0);
        // `Debug` escapes as `escape_debug` does, but for apostrophes.
        write!(f, "{shown:?}")?;
        more(f, rest)
    }
}

impl Display for Plain<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (shown, rest) = split(self.0);
        Full(shown).fmt(f)?;
        more(f, rest)
    }
}

impl Display for Full<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kept = ['"', '\'', '\\'];
        for piece in self.0.split_inclusive(kept) {
            let text = piece.trim_end_matches(kept);
            write!(f, "{}", text.escape_debug())?;
            f.write_str(piece.get(text.len()..).unwrap_or_default())?;
        }
        Ok(())
    }
}

/// What is shown of a text, and what is not.
fn split(text: &str) -> (&str, &str) {
    let at = text
        .char_indices()
        .nth(SHOWN)
        .map_or(text.len(), |(at, _)| at);
    text.split_at_checked(at).unwrap_or((text, ""))
}

fn more(f: &mut Formatter<'_>, rest: &str) -> fmt::Result {
    match rest.chars().count() {
        0 => Ok(()),
        count => write!(f, "… and {count} more"),
    }
}

/// What there is of several things, with commas between.
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
