//! `--lint`: a line for each deviation that was met, and nothing else.

use std::io::{self, Write};

use chatwire::{DeviationSet, Error, Event, Met, Parser};
use serde::Serialize;

use crate::args::Format;
use crate::lines::line;
use crate::reading::{Tally, View};

pub(crate) struct Lint {
    profile: DeviationSet,
    format: Format,
}

impl Lint {
    pub(crate) fn new(profile: DeviationSet, format: Format) -> Self {
        Self { profile, format }
    }
}

impl View for Lint {
    fn item(
        &mut self,
        _: Result<&Event<'_>, &Error>,
        parser: &Parser,
        tally: &Tally,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        // How often each was met is known at the end.
        if tally.ending.is_none() {
            return Ok(());
        }
        let met = parser.deviations().iter();
        let mut met: Vec<_> = met.filter(|met| self.profile.contains(met.code)).collect();
        met.sort_by_key(|met| met.offset);
        met.iter().try_for_each(|met| match self.format {
            Format::Text => text(out, met),
            Format::Json => json(out, met),
        })
    }
}

fn text(out: &mut dyn Write, met: &Met) -> io::Result<()> {
    let Met {
        code,
        count,
        offset,
        ..
    } = met;
    let (what, breaks) = (code.description().trim_end_matches('.'), code.breaks());
    writeln!(out, "{offset}  {code}  x{count}  {what}; breaks: {breaks}")
}

fn json(out: &mut dyn Write, met: &Met) -> io::Result<()> {
    #[derive(Serialize)]
    struct Line {
        code: &'static str,
        count: u64,
        offset: u64,
        description: &'static str,
        sent_by: &'static str,
        breaks: &'static str,
    }

    line(
        out,
        &Line {
            code: met.code.as_str(),
            count: met.count,
            offset: met.offset,
            description: met.code.description(),
            sent_by: met.code.sent_by(),
            breaks: met.code.breaks(),
        },
    )
}
