//! `--summary`: the whole stream as one JSON object.

use std::io::{self, Write};

use chatwire::{CallRef, ChatCompletion, Error, Event, Parser};
use serde::Serialize;

use crate::lines::{Fault, line};
use crate::reading::{Tally, View};

/// Collects what is not kept by the parser, and writes all at the end.
#[derive(Default)]
pub(crate) struct Summary {
    calls: Vec<CompletedCall>,
    errors: Vec<Fault>,
}

#[derive(Serialize)]
struct CompletedCall {
    choice: u32,
    slot: u32,
    id: Option<String>,
    name: String,
    arguments: String,
}

#[derive(Serialize)]
struct Object<'a> {
    completion: Option<&'a ChatCompletion>,
    chunks: u64,
    done_marker: bool,
    ending: &'static str,
    unfinished_choices: Vec<u32>,
    incomplete_calls: Vec<CallRef>,
    tool_calls_completed: &'a [CompletedCall],
    errors: &'a [Fault],
    deviations: Vec<Tolerated>,
}

#[derive(Serialize)]
struct Tolerated {
    code: &'static str,
    count: u64,
    offset: u64,
}

impl View for Summary {
    fn item(
        &mut self,
        item: Result<&Event<'_>, &Error>,
        parser: &Parser,
        tally: &Tally,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match item {
            Ok(Event::ToolCallComplete {
                choice, slot, call, ..
            }) => self.calls.push(CompletedCall {
                choice: *choice,
                slot: *slot,
                id: call.id.clone(),
                name: call.name().to_owned(),
                arguments: call.arguments().to_owned(),
            }),
            Ok(_) => {}
            Err(error) => self.errors.push(error.into()),
        }
        let Some(ending) = &tally.ending else {
            return Ok(());
        };
        let completion = parser.completion();
        let is_empty =
            completion.choices.is_empty() && completion.id.is_none() && completion.usage.is_none();
        let deviations = parser.deviations().iter();
        let object = Object {
            completion: Some(completion).filter(|_| !is_empty),
            chunks: tally.chunks,
            done_marker: ending.marker,
            ending: if ending.is_truncated {
                "truncated"
            } else {
                "done"
            },
            unfinished_choices: parser.unfinished().collect(),
            incomplete_calls: parser.incomplete_calls().collect(),
            tool_calls_completed: &self.calls,
            errors: &self.errors,
            deviations: deviations
                .map(|met| Tolerated {
                    code: met.code.as_str(),
                    count: met.count,
                    offset: met.offset,
                })
                .collect(),
        };
        line(out, &object)
    }
}
