//! chatwire, by its lent events and by its owned ones.

use std::hint::black_box;

use chatwire::{ChatCompletion, Error, Event, Parser};

use crate::session::Session;
use crate::streams::{Answer, Call};

/// `next_event`.
#[derive(Default)]
pub struct Lent(Reading);

/// `next_owned`.
#[derive(Default)]
pub struct Owned(Reading);

struct Reading {
    parser: Parser,
    seen: Seen,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            parser: Parser::new(),
            seen: Seen::default(),
        }
    }
}

/// What the events said, to be compared with the completion.
#[derive(Default)]
struct Seen {
    calls: usize,
    done: bool,
    failed: bool,
}

impl Seen {
    fn event(&mut self, event: Result<Event<'_>, Error>) {
        match event {
            Ok(Event::ChunkParsed(chunk)) => {
                black_box(chunk.text());
            }
            Ok(Event::ToolCallComplete { .. }) => self.calls += 1,
            Ok(Event::Done(_)) => self.done = true,
            Ok(_) => {}
            Err(_) => self.failed = true,
        }
    }

    fn answer(&self, completion: ChatCompletion) -> Option<Answer> {
        let message = completion.choices.into_iter().next()?.message;
        let is_right = self.done && !self.failed && self.calls == message.tool_calls.len();
        is_right.then(|| Answer {
            content: message.content.unwrap_or_default(),
            reasoning: message.reasoning_content.unwrap_or_default(),
            calls: message
                .tool_calls
                .into_iter()
                .map(|call| Call {
                    id: call.id.unwrap_or_default(),
                    name: call.function.name,
                    arguments: call.function.arguments,
                })
                .collect(),
        })
    }
}

impl<'a> Session<'a> for Lent {
    fn read(&mut self, bytes: &'a [u8]) {
        let Reading { parser, seen } = &mut self.0;
        parser.feed(bytes);
        while let Some(event) = parser.next_event() {
            seen.event(event);
        }
    }

    fn finish(self) -> Option<Answer> {
        let Reading {
            mut parser,
            mut seen,
        } = self.0;
        parser.finish();
        while let Some(event) = parser.next_event() {
            seen.event(event);
        }
        seen.answer(parser.into_completion())
    }
}

impl<'a> Session<'a> for Owned {
    fn read(&mut self, bytes: &'a [u8]) {
        let Reading { parser, seen } = &mut self.0;
        parser.feed(bytes);
        while let Some(event) = parser.next_owned() {
            seen.event(event);
        }
    }

    fn finish(self) -> Option<Answer> {
        let Reading {
            mut parser,
            mut seen,
        } = self.0;
        parser.finish();
        while let Some(event) = parser.next_owned() {
            seen.event(event);
        }
        seen.answer(parser.into_completion())
    }
}
