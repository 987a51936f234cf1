//! The timeline for people: a line for each thing that came, and the verdict.

use std::collections::BTreeSet;
use std::fmt::{Arguments, Display};
use std::io::{self, Write};
use std::iter;
use std::time::{Duration, Instant};

use chatwire::chunk::Choice;
use chatwire::{Chunk, DeviationSet, Error, ErrorKind, Event, Extra, Parser};
use serde_json::Value;

use crate::describe::{audio, complete, fault, logprobs, pieces, tool_call, usage};
use crate::reading::{Ending, Tally, View};
use crate::text::{Plain, Quoted, list};

/// Of so many unknown fields the first one is shown.
const MAX_NAMES: usize = 100;

pub(crate) struct Timeline {
    /// When the reading began, if times are shown.
    start: Option<Instant>,
    is_begun: bool,
    is_named: bool,
    /// The choices whose role was shown.
    roles: BTreeSet<u32>,
    /// The unknown fields that were shown.
    names: BTreeSet<String>,
    /// The deviations that were shown.
    deviations: DeviationSet,
}

/// Writes lines.
struct Rows<'a> {
    out: &'a mut dyn Write,
    time: Option<Duration>,
    offset: u64,
    choice: u32,
    count: usize,
}

impl Timeline {
    pub(crate) fn new(times: bool) -> Self {
        Self {
            start: times.then(Instant::now),
            is_begun: false,
            is_named: false,
            roles: BTreeSet::new(),
            names: BTreeSet::new(),
            deviations: DeviationSet::new(),
        }
    }

    fn chunk(&mut self, chunk: &Chunk, rows: &mut Rows<'_>) -> io::Result<()> {
        if !self.is_named && (chunk.id.is_some() || chunk.model.is_some()) {
            self.is_named = true;
            let id = chunk.id.iter().map(|id| format!("id {}", Plain(id)));
            rows.row(
                "start",
                list(
                    id.chain(
                        chunk
                            .model
                            .iter()
                            .map(|model| format!("model {}", Plain(model))),
                    ),
                ),
            )?;
        }
        for choice in &chunk.choices {
            rows.choice = choice.index;
            self.choice(choice, rows)?;
        }
        rows.choice = 0;
        if chunk.moderation.is_some() {
            rows.row("moderation", "results")?;
        }
        let of_choices = chunk
            .choices
            .iter()
            .flat_map(|choice| [&choice.extra, &choice.delta.extra]);
        let names = iter::once(&chunk.extra)
            .chain(of_choices)
            .flat_map(Extra::keys);
        let new: Vec<_> = names.filter(|name| self.is_new(name)).collect();
        if !new.is_empty() {
            rows.row("also", list(new.into_iter().map(Plain)))?;
        }
        if rows.count == 0 && chunk.usage.is_none() {
            rows.row("chunk", "nothing new")?;
        }
        Ok(())
    }

    fn is_new(&mut self, name: &str) -> bool {
        self.names.len() < MAX_NAMES && self.names.insert(name.to_owned())
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
        let texts = [
            ("reasoning", &delta.reasoning_content),
            ("text", &delta.content),
            ("refusal", &delta.refusal),
        ];
        let mut logprobs = logprobs(choice);
        for (label, text) in texts {
            if let Some(text) = text.as_ref().filter(|text| !text.is_empty()) {
                // Probabilities are of what is said, not of what is thought.
                let logprobs = logprobs.take_if(|_| label != "reasoning");
                rows.row(
                    label,
                    Quoted(text).to_string()
                        + &logprobs.map(|of| format!("  {of}")).unwrap_or_default(),
                )?;
            }
        }
        if let Some(logprobs) = logprobs {
            rows.row("logprobs", logprobs)?;
        }
        for call in &delta.tool_calls {
            rows.numbered("tool", call.slot, tool_call(call))?;
        }
        if let Some(call) = &delta.function_call {
            rows.row("function", pieces(call))?;
        }
        if let Some(piece) = &delta.audio {
            rows.row("audio", audio(piece))?;
        }
        if let Some(annotations) = &delta.annotations {
            let count = annotations
                .decode::<Vec<Value>>()
                .map_or(0, |list| list.len());
            if count > 0 {
                rows.row("annotations", format_args!("{count}"))?;
            }
        }
        if choice.message.is_some() {
            rows.row("message", "the whole message again; not read")?;
        }
        if let Some(reason) = &choice.finish_reason {
            rows.row("finish", Plain(reason.as_str()))?;
        }
        Ok(())
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
        let time = self.start.map(|start| start.elapsed());
        if !self.is_begun {
            self.is_begun = true;
            writeln!(
                out,
                "{}    byte",
                if time.is_some() { "    time  " } else { "" }
            )?;
        }
        let mut met: Vec<_> = parser
            .deviations()
            .iter()
            .filter(|met| !self.deviations.contains(met.code))
            .collect();
        self.deviations = parser.deviations().set();
        met.sort_by_key(|met| met.offset);
        let mut rows = Rows {
            out,
            time,
            offset: tally.offset,
            choice: 0,
            count: 0,
        };
        // What was passed over on the way to this item comes before it, what was tolerated in it after it.
        let (before, after): (Vec<_>, Vec<_>) = met
            .into_iter()
            .partition(|met| tally.ending.is_some() || met.offset < tally.offset);
        for met in before {
            Rows {
                out: &mut *rows.out,
                offset: met.offset,
                ..rows
            }
            .row("deviation", met.code)?;
        }
        match item {
            Ok(Event::ChunkParsed(chunk)) => self.chunk(chunk, &mut rows)?,
            Ok(Event::UsageFrame(counts)) => rows.row("usage", usage(counts))?,
            Ok(Event::ToolCallComplete {
                choice, slot, call, ..
            }) => {
                rows.choice = *choice;
                rows.numbered("call", Some(*slot), complete(call))?;
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Truncated => {}
            Err(error) => rows.row("ERROR", fault(error))?,
        }
        for met in after {
            Rows {
                out: &mut *rows.out,
                offset: met.offset,
                choice: 0,
                ..rows
            }
            .row("deviation", met.code)?;
        }
        match &tally.ending {
            Some(ending) => verdict(ending, parser, tally, &mut rows),
            None => Ok(()),
        }
    }
}

impl Rows<'_> {
    fn row(&mut self, label: &str, what: impl Display) -> io::Result<()> {
        self.write(format_args!("{label}"), &what)
    }

    /// A row about one of several tool calls.
    fn numbered(&mut self, label: &str, number: Option<u32>, what: impl Display) -> io::Result<()> {
        match number {
            Some(number) => self.write(format_args!("{label} {number}"), &what),
            None => self.write(format_args!("{label} -"), &what),
        }
    }

    fn write(&mut self, label: Arguments<'_>, what: &dyn Display) -> io::Result<()> {
        self.count += 1;
        if let Some(time) = self.time {
            write!(
                self.out,
                "{:>7}.{:03}  ",
                time.as_secs(),
                time.subsec_millis()
            )?;
        }
        let label = match self.choice {
            0 => label.to_string(),
            choice => format!("{label} #{choice}"),
        };
        writeln!(self.out, "{:>8}  {label:<12}  {what}", self.offset)
    }
}

/// How it ended, and what there was in all.
fn verdict(ending: &Ending, parser: &Parser, tally: &Tally, rows: &mut Rows<'_>) -> io::Result<()> {
    let choices = &parser.completion().choices;
    rows.row(
        "end",
        match (ending.is_truncated, ending.marker) {
            (false, true) => "done: [DONE] came",
            (false, false) => {
                "done: the input ended, with every choice finished and without [DONE]"
            }
            (true, _) if choices.is_empty() => "TRUNCATED: the input ended and there is no answer",
            (true, _) => "TRUNCATED: the input ended before the answer did",
        },
    )?;
    let finished = choices.iter().filter_map(|choice| {
        Some(format!(
            "{} ({})",
            choice.index,
            Plain(choice.finish_reason.as_ref()?.as_str())
        ))
    });
    let calls = ending
        .incomplete_calls
        .iter()
        .map(|call| match call.choice {
            0 => call.slot.to_string(),
            choice => format!("{} #{choice}", call.slot),
        });
    let deviations = parser
        .deviations()
        .iter()
        .map(|met| format!("{} x{}", met.code, met.count));
    let characters = |text: &Option<String>| text.as_ref().map_or(0, |text| text.chars().count());
    let content: usize = choices
        .iter()
        .map(|choice| characters(&choice.message.content))
        .sum();
    let totals = format!(
        "{} bytes, {} chunks, {content} characters of content",
        ending.read, tally.chunks
    );
    let facts = [
        ("finished choices", list(finished)),
        ("unfinished choices", list(&ending.unfinished_choices)),
        ("incomplete calls", list(calls)),
        ("deviations", list(deviations)),
        ("totals", totals),
    ];
    writeln!(rows.out)?;
    for (name, fact) in facts {
        writeln!(
            rows.out,
            "{name:<18}  {}",
            if fact.is_empty() { "none" } else { &fact }
        )?;
    }
    Ok(())
}
