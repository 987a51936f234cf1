//! Drives a parser, and keeps count of what it says.

use std::collections::BTreeSet;
use std::io::{self, Write};

use chatwire::{Deviation, Error, ErrorKind, Event, Parser};
use serde::Serialize;

/// Takes the input.
pub(crate) trait Sink {
    fn feed(&mut self, bytes: &[u8], out: &mut dyn Write) -> io::Result<()>;
    /// The input ended cleanly.
    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()>;
    /// The input broke.
    fn abort(&mut self, out: &mut dyn Write) -> io::Result<()>;
    /// No more input is needed.
    fn is_over(&self) -> bool;
    /// The exit status.
    fn status(&self) -> u8;
}

/// Shows what a parser says.
pub(crate) trait View {
    /// An event or an error. With the last one the tally has the ending.
    fn item(
        &mut self,
        item: Result<&Event<'_>, &Error>,
        parser: &Parser,
        tally: &Tally,
        out: &mut dyn Write,
    ) -> io::Result<()>;
}

/// A parser, and what shows what it says.
pub(crate) struct Reading<V> {
    parser: Parser,
    tally: Tally,
    view: V,
}

/// What was counted. It is the same however the input was cut.
#[derive(Default)]
pub(crate) struct Tally {
    /// The bytes fed. This alone depends on the cuts, until the input is over.
    fed: u64,
    /// Where the last item came from: where its frame starts, or where the input ended.
    pub(crate) offset: u64,
    pub(crate) chunks: u64,
    /// An error of the server came, or no event stream.
    is_error: bool,
    /// Begun, and not complete.
    open_calls: BTreeSet<Call>,
    pub(crate) ending: Option<Ending>,
}

/// How the stream ended.
pub(crate) struct Ending {
    pub(crate) is_truncated: bool,
    /// `[DONE]` came.
    pub(crate) marker: bool,
    pub(crate) unfinished_choices: Vec<u32>,
    pub(crate) incomplete_calls: Vec<Call>,
    /// How far the stream was read.
    pub(crate) read: u64,
}

/// Which tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Call {
    pub(crate) choice: u32,
    pub(crate) slot: u32,
}

impl<V: View> Reading<V> {
    pub(crate) fn new(view: V) -> Self {
        Self {
            parser: Parser::new(),
            tally: Tally::default(),
            view,
        }
    }

    /// Shows all that can be said so far.
    fn drain(&mut self, out: &mut dyn Write) -> io::Result<()> {
        while let Some(item) = self.parser.next_event() {
            // An error is ours; an event is lent again, so that the rest of the parser can be seen beside it.
            let error = item.err();
            let event = self.parser.event();
            let item = match (&error, &event) {
                (Some(error), _) => Err(error),
                (None, Some(event)) => Ok(event),
                (None, None) => continue,
            };
            self.tally.count(item, &self.parser);
            self.view.item(item, &self.parser, &self.tally, out)?;
        }
        Ok(())
    }
}

impl<V: View> Sink for Reading<V> {
    fn feed(&mut self, bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
        if !self.is_over() {
            self.parser.feed(bytes);
            self.tally.fed += bytes.len() as u64;
        }
        self.drain(out)
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.parser.finish();
        self.drain(out)
    }

    fn abort(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.parser.abort();
        self.drain(out)
    }

    fn is_over(&self) -> bool {
        self.parser.is_terminated()
    }

    fn status(&self) -> u8 {
        let is_whole = self
            .tally
            .ending
            .as_ref()
            .is_some_and(|ending| !ending.is_truncated);
        match (self.tally.is_error, is_whole) {
            (true, _) => 2,
            (false, false) => 1,
            (false, true) => 0,
        }
    }
}

impl Tally {
    fn count(&mut self, item: Result<&Event<'_>, &Error>, parser: &Parser) {
        self.offset = match item {
            Err(error) => error.offset(),
            Ok(_) => parser
                .frame()
                .map_or_else(|| self.end(parser), |frame| frame.range.start),
        };
        match item {
            Ok(Event::ChunkParsed(chunk)) => {
                self.chunks += 1;
                for choice in &chunk.choices {
                    let slots = choice.delta.tool_calls.iter().filter_map(|call| call.slot);
                    let choice = choice.index;
                    self.open_calls
                        .extend(slots.map(|slot| Call { choice, slot }));
                }
            }
            Ok(Event::ToolCallComplete { choice, slot, .. }) => {
                self.open_calls.remove(&Call {
                    choice: *choice,
                    slot: *slot,
                });
            }
            Ok(Event::Done(done)) => {
                let calls = done.incomplete_calls().iter();
                let read = parser
                    .frame()
                    .map_or_else(|| self.end(parser), |frame| frame.range.end);
                self.ending = Some(Ending {
                    is_truncated: false,
                    marker: done.marker(),
                    unfinished_choices: done.unfinished().to_vec(),
                    incomplete_calls: calls
                        .map(|call| Call {
                            choice: call.choice,
                            slot: call.slot,
                        })
                        .collect(),
                    read,
                });
            }
            Err(error) if error.kind() == ErrorKind::Truncated => {
                let choices = parser.completion().choices.iter();
                let unfinished = choices.filter(|choice| choice.finish_reason.is_none());
                self.ending = Some(Ending {
                    is_truncated: true,
                    marker: false,
                    unfinished_choices: unfinished.map(|choice| choice.index).collect(),
                    // A legacy `function_call` is not among them: the chunk does not say which slot it has.
                    incomplete_calls: self.open_calls.iter().copied().collect(),
                    read: error.offset(),
                });
            }
            Err(error) => {
                self.is_error |= matches!(error.kind(), ErrorKind::Api | ErrorKind::NotEventStream)
            }
            Ok(_) => {}
        }
    }

    /// Where the stream ended, if not in a frame: at the end of the input or, with more input behind it, at a bare
    /// `[DONE]`, of which only the deviation tells the place.
    fn end(&self, parser: &Parser) -> u64 {
        let bare = parser
            .deviations()
            .iter()
            .find(|met| met.code == Deviation::BareDone);
        bare.map_or(self.fed, |bare| bare.offset)
    }
}
