//! The rows of the timeline: time, place, label, what.

use std::fmt::Display;
use std::io::{self, Write};
use std::time::Duration;

use crate::colour::style;

/// Writes the rows about one item.
pub(crate) struct Rows<'a> {
    pub(crate) out: &'a mut dyn Write,
    /// When it came; none if times are not shown.
    pub(crate) time: Option<Duration>,
    pub(crate) is_coloured: bool,
    /// Where its frame starts.
    pub(crate) offset: u64,
    /// The choice that it is about, or 0.
    pub(crate) choice: u32,
    pub(crate) count: usize,
}

impl Rows<'_> {
    /// The names of the columns that need one.
    pub(crate) fn header(&mut self) -> io::Result<()> {
        if self.time.is_some() {
            write!(self.out, "{:>10}  ", "seconds")?;
        }
        writeln!(self.out, "{:>8}", "byte")
    }

    pub(crate) fn row(&mut self, label: &str, what: impl Display) -> io::Result<()> {
        self.styled(style(label), label, what)
    }

    /// A row about something at another place, and about no choice.
    pub(crate) fn row_at(
        &mut self,
        offset: u64,
        label: &str,
        what: impl Display,
    ) -> io::Result<()> {
        let out = &mut *self.out;
        Rows {
            out,
            offset,
            choice: 0,
            ..*self
        }
        .row(label, what)
    }

    /// A row in the style of another label.
    pub(crate) fn styled(
        &mut self,
        style: &str,
        label: &str,
        what: impl Display,
    ) -> io::Result<()> {
        self.count += 1;
        if let Some(time) = self.time {
            write!(self.out, "{:>10.3}  ", time.as_secs_f64())?;
        }
        let label = match self.choice {
            0 => label.to_owned(),
            choice => format!("{label} #{choice}"),
        };
        let row = format!("{label:<12}  {what}");
        if self.is_coloured && !style.is_empty() {
            writeln!(
                self.out,
                "{:>8}  \u{1b}[{style}m{row}\u{1b}[0m",
                self.offset
            )
        } else {
            writeln!(self.out, "{:>8}  {row}", self.offset)
        }
    }
}
