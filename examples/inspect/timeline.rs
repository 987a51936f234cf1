//! The timeline for people: a row for each thing that came, and the verdict.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::iter;

use chatwire::chunk::Choice;
use chatwire::{Chunk, DeviationSet, Error, ErrorKind, Event, Extra, Met, Parser};

use crate::describe::{
    annotation, audio, complete, fault, logprobs, moderated, named, pieces, tool_call, usage,
};
use crate::pace::Pace;
use crate::reading::{Tally, View};
use crate::rows::Rows;
use crate::text::{Plain, Quoted, list};
use crate::verdict::verdict;

/// So many unknown fields are shown.
const MAX_NAMES: usize = 100;

pub(crate) struct Timeline {
    /// Times are shown.
    has_times: bool,
    is_coloured: bool,
    pace: Pace,
    is_begun: bool,
    /// Id and model were shown.
    is_named: bool,
    /// The choices whose role was shown, and those whose audio's id was.
    roles: BTreeSet<u32>,
    audio_ids: BTreeSet<u32>,
    /// The unknown fields that were shown.
    names: BTreeSet<String>,
    /// The deviations that were shown.
    deviations: DeviationSet,
}

impl Timeline {
    pub(crate) fn new(has_times: bool, is_coloured: bool) -> Self {
        Self {
            has_times,
            is_coloured,
            pace: Pace::default(),
            is_begun: false,
            is_named: false,
            roles: BTreeSet::new(),
            audio_ids: BTreeSet::new(),
            names: BTreeSet::new(),
            deviations: DeviationSet::new(),
        }
    }

    /// The deviations that were not shown yet. They are looked at when an item is out, never before: what was passed
    /// over on the way to it is the same however the input was cut.
    fn take_deviations(&mut self, parser: &Parser) -> Vec<Met> {
        let shown = self.deviations;
        self.deviations = parser.deviations().set();
        if self.deviations == shown {
            return Vec::new();
        }
        let mut met: Vec<_> = parser
            .deviations()
            .iter()
            .filter(|met| !shown.contains(met.code))
            .collect();
        met.sort_by_key(|met| met.offset);
        met
    }

    fn chunk(&mut self, chunk: &Chunk, rows: &mut Rows<'_>) -> io::Result<()> {
        let names = [named("id", &chunk.id), named("model", &chunk.model)]
            .into_iter()
            .flatten();
        let names = list(names.filter(|_| !self.is_named));
        if !names.is_empty() {
            self.is_named = true;
            rows.row("start", names)?;
        }
        if let Some(time) = rows.time {
            for (choice, name) in self.pace.chunk(chunk, time) {
                rows.choice = choice;
                rows.row("first", format!("{name} after {:.3} s", time.as_secs_f64()))?;
            }
        }
        for choice in &chunk.choices {
            rows.choice = choice.index;
            self.choice(choice, rows)?;
        }
        rows.choice = 0;
        if let Some(results) = &chunk.moderation {
            rows.row("moderation", moderated(results))?;
        }
        self.unknown_fields(chunk, rows)?;
        if rows.count == 0 && chunk.usage.is_none() {
            rows.row("chunk", "nothing new")?;
        }
        Ok(())
    }

    fn choice(&mut self, choice: &Choice, rows: &mut Rows<'_>) -> io::Result<()> {
        let delta = &choice.delta;
        if let Some(role) = delta
            .role
            .as_ref()
            .filter(|_| self.roles.insert(choice.index))
        {
            rows.row("role", Plain(role))?;
        }
        let mut logprobs = logprobs(choice);
        let texts = [
            ("reasoning", &delta.reasoning_content),
            ("text", &delta.content),
            ("refusal", &delta.refusal),
        ];
        for (label, text) in texts {
            let Some(text) = text.as_ref().filter(|text| !text.is_empty()) else {
                continue;
            };
            // Probabilities are of what is said, not of what is thought.
            match logprobs.take_if(|_| label != "reasoning") {
                Some(logprobs) => rows.row(label, format!("{}  {logprobs}", Quoted(text)))?,
                None => rows.row(label, Quoted(text))?,
            }
        }
        if let Some(logprobs) = logprobs {
            rows.row("logprobs", logprobs)?;
        }
        for call in &delta.tool_calls {
            match call.slot {
                Some(slot) => rows.row(&format!("tool {slot}"), tool_call(call))?,
                None => rows.row("tool -", format!("{}  (dropped)", tool_call(call)))?,
            }
        }
        if let Some(call) = &delta.function_call {
            rows.row("function", pieces(call))?;
        }
        if let Some(piece) = &delta.audio {
            // The id comes with each piece.
            let is_first = piece.id.is_some() && self.audio_ids.insert(choice.index);
            rows.row("audio", audio(piece, is_first))?;
        }
        for found in delta.annotations.iter().flat_map(annotation) {
            rows.row("annotation", found)?;
        }
        if choice.message.is_some() {
            rows.row("message", "the whole message again, not read")?;
        }
        if let Some(reason) = &choice.finish_reason {
            rows.row("finish", Plain(reason.as_str()))?;
        }
        Ok(())
    }

    /// The names of fields that are not OpenAI's, each once.
    fn unknown_fields(&mut self, chunk: &Chunk, rows: &mut Rows<'_>) -> io::Result<()> {
        let of_choices = chunk
            .choices
            .iter()
            .flat_map(|choice| [&choice.extra, &choice.delta.extra]);
        let mut new = Vec::new();
        for name in iter::once(&chunk.extra)
            .chain(of_choices)
            .flat_map(Extra::keys)
        {
            if self.names.len() < MAX_NAMES && !self.names.contains(name) {
                self.names.insert(name.to_owned());
                new.push(Plain(name));
            }
        }
        if new.is_empty() {
            Ok(())
        } else {
            rows.row("also", list(new))
        }
    }
}

impl View for Timeline {
    fn item(
        &mut self,
        item: Result<&Event<'_>, &Error>,
        parser: &Parser,
        tally: &Tally,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut rows = Rows {
            out,
            time: self.has_times.then_some(tally.time),
            is_coloured: self.is_coloured,
            offset: tally.offset,
            choice: 0,
            count: 0,
        };
        if !self.is_begun {
            self.is_begun = true;
            rows.header()?;
        }
        // What was passed over on the way to this item comes before it, what was tolerated in it after it.
        let is_before = |met: &Met| met.offset < tally.offset || tally.ending.is_some();
        let (before, after): (Vec<_>, Vec<_>) = self
            .take_deviations(parser)
            .into_iter()
            .partition(is_before);
        for met in before {
            rows.row_at(met.offset, "deviation", met.code)?;
        }
        rows.count = 0;
        match item {
            Ok(Event::ChunkParsed(chunk)) => self.chunk(chunk, &mut rows)?,
            Ok(Event::UsageFrame(counts)) => rows.row("usage", usage(counts))?,
            Ok(Event::ToolCallComplete {
                choice, slot, call, ..
            }) => {
                rows.choice = *choice;
                rows.row(&format!("call {slot}"), complete(call))?;
            }
            // The verdict says it.
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Truncated => {}
            Err(error) => rows.row("ERROR", fault(error))?,
        }
        for met in after {
            rows.row_at(met.offset, "deviation", met.code)?;
        }
        match &tally.ending {
            Some(ending) => verdict(ending, parser, tally, &self.pace, &mut rows),
            None => Ok(()),
        }
    }
}
