//! Drives a parser, and keeps count of what it says.

use std::io::{self, Write};
use std::time::Duration;

use chatwire::{DeviationSet, Error, ErrorKind, Event, Parser};

use crate::text::Plain;

/// Takes the input.
pub(crate) trait Sink {
    /// When that came which is fed next.
    fn arrived(&mut self, _at: Duration) {}
    fn feed(&mut self, bytes: &[u8], out: &mut dyn Write) -> io::Result<()>;
    /// The input ended cleanly.
    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()>;
    /// The input broke.
    fn abort(&mut self, out: &mut dyn Write) -> io::Result<()>;
    /// No more input is needed.
    fn is_over(&self) -> bool;
    /// The exit status, whatever is denied.
    fn status(&self) -> u8;
    /// What was tolerated so far.
    fn deviations(&self) -> DeviationSet;
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

/// What was counted. But for the time it is the same however the input was cut.
#[derive(Default)]
pub(crate) struct Tally {
    /// The bytes fed. This alone depends on the cuts, until the input is over.
    fed: u64,
    /// When that came which was fed last.
    pub(crate) time: Duration,
    /// Where the last item came from: where its frame starts, or where the input ended.
    pub(crate) offset: u64,
    pub(crate) chunks: u64,
    /// The calls that are complete: slot, choice if it is not the first, name.
    pub(crate) calls: Vec<String>,
    /// An error of the server came, or no event stream.
    is_error: bool,
    pub(crate) ending: Option<Ending>,
}

/// How the stream ended.
pub(crate) struct Ending {
    pub(crate) is_truncated: bool,
    /// `[DONE]` came.
    pub(crate) marker: bool,
    /// How far the stream was read.
    pub(crate) read: u64,
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
    fn arrived(&mut self, at: Duration) {
        self.tally.time = at;
    }

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

    fn deviations(&self) -> DeviationSet {
        self.parser.deviations().set()
    }
}

impl Tally {
    fn count(&mut self, item: Result<&Event<'_>, &Error>, parser: &Parser) {
        // What comes from no frame comes at the end of the input.
        self.offset = match item {
            Err(error) => error.offset(),
            Ok(_) => parser.frame().map_or(self.fed, |frame| frame.range.start),
        };
        match item {
            Ok(Event::ChunkParsed(_)) => self.chunks += 1,
            Ok(Event::ToolCallComplete {
                choice, slot, call, ..
            }) => {
                let place = place(*choice, *slot);
                self.calls.push(format!("{place} {}", Plain(call.name())));
            }
            Ok(Event::Done(done)) => {
                let read = parser.frame().map_or(self.fed, |frame| frame.range.end);
                self.ending = Some(Ending {
                    is_truncated: false,
                    marker: done.marker(),
                    read,
                });
            }
            Err(error) if error.kind() == ErrorKind::Truncated => {
                self.ending = Some(Ending {
                    is_truncated: true,
                    marker: false,
                    read: error.offset(),
                });
            }
            Err(error) => {
                self.is_error |= matches!(error.kind(), ErrorKind::Api | ErrorKind::NotEventStream)
            }
            Ok(_) => {}
        }
    }
}

/// The slot of a call, and its choice if it is not the first.
pub(crate) fn place(choice: u32, slot: u32) -> String {
    match choice {
        0 => slot.to_string(),
        _ => format!("{slot} #{choice}"),
    }
}
