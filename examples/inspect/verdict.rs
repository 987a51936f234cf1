//! The end of the timeline: how the stream ended, and what there was in all.

use std::io;

use chatwire::Parser;

use crate::colour::style;
use crate::describe::usage;
use crate::pace::Pace;
use crate::reading::{Ending, Tally, place};
use crate::rows::Rows;
use crate::text::{Plain, list};

pub(crate) fn verdict(
    ending: &Ending,
    parser: &Parser,
    tally: &Tally,
    pace: &Pace,
    rows: &mut Rows<'_>,
) -> io::Result<()> {
    let choices = &parser.completion().choices;
    let how = match (ending.is_truncated, ending.marker) {
        (false, true) => "done: [DONE] came",
        (false, false) => "done: the input ended without [DONE], every choice finished",
        (true, _) if choices.is_empty() => "TRUNCATED: the input ended before an answer began",
        (true, _) => "TRUNCATED: the input ended before the answer did",
    };
    let style = style(if ending.is_truncated { "CUT" } else { "end" });
    rows.styled(style, "end", how)?;

    let finished = choices.iter().filter_map(|choice| {
        let reason = choice.finish_reason.as_ref()?;
        Some(format!("{} ({})", choice.index, Plain(reason.as_str())))
    });
    let incomplete = parser.incomplete_calls();
    let incomplete = incomplete.map(|call| place(call.choice, call.slot));
    let met = parser.deviations().iter();
    let content = choices
        .iter()
        .filter_map(|choice| choice.message.content.as_ref());
    let characters: usize = content.map(|text| text.chars().count()).sum();
    let (bytes, chunks) = (ending.read, tally.chunks);
    let counts = parser.completion().usage.as_ref();
    let times = [("first token", pace.first()), ("speed", pace.speed(counts))];
    let facts = [
        ("finished choices", list(finished)),
        ("unfinished choices", list(parser.unfinished())),
        ("finished calls", list(&tally.calls)),
        ("incomplete calls", list(incomplete)),
        ("usage", counts.map(usage).unwrap_or_default()),
        (
            "deviations",
            list(met.map(|met| format!("{} x{}", met.code, met.count))),
        ),
        (
            "totals",
            format!("{bytes} bytes, {chunks} chunks, {characters} characters of content"),
        ),
    ];
    writeln!(rows.out)?;
    let times = times.iter().filter(|_| rows.time.is_some());
    for (name, fact) in facts.iter().chain(times) {
        let fact = if fact.is_empty() { "none" } else { fact };
        writeln!(rows.out, "{name:<18}  {fact}")?;
    }
    Ok(())
}
