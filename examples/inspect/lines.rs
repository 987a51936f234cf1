//! One JSON line for each event, or for each frame.

use std::io::{self, Write};

use chatwire::{DeviationSet, Error, Event, Parser, sse};
use serde::Serialize;

use crate::reading::{Sink, Tally, View};

/// An error as JSON.
#[derive(Serialize)]
pub(crate) struct Fault {
    kind: &'static str,
    offset: u64,
    /// For an error of the server, what the server says.
    message: String,
}

impl From<&Error> for Fault {
    fn from(error: &Error) -> Self {
        Self {
            kind: error.kind().as_str(),
            offset: error.offset(),
            message: error
                .api()
                .map_or_else(|| error.to_string(), |api| api.message.clone()),
        }
    }
}

/// Writes a value as a line.
pub(crate) fn line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

fn error_line(out: &mut dyn Write, error: &Error) -> io::Result<()> {
    #[derive(Serialize)]
    struct Line {
        error: Fault,
    }

    line(
        out,
        &Line {
            error: error.into(),
        },
    )
}

/// `--events`
pub(crate) struct Events;

impl View for Events {
    fn item(
        &mut self,
        item: Result<&Event<'_>, &Error>,
        _: &Parser,
        _: &Tally,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match item {
            Ok(event) => line(out, event),
            Err(error) => error_line(out, error),
        }
    }
}

/// `--frames`
#[derive(Default)]
pub(crate) struct Frames {
    decoder: sse::Decoder,
    is_broken: bool,
    /// Looks into the frames, if something in them is denied.
    parser: Option<Parser>,
}

impl Frames {
    pub(crate) fn new(is_denying: bool) -> Self {
        Self {
            parser: is_denying.then(Parser::new),
            ..Self::default()
        }
    }

    fn look(&mut self, bring: impl FnOnce(&mut Parser)) {
        if let Some(parser) = &mut self.parser {
            bring(parser);
            while parser.next_event().is_some() {}
        }
    }

    fn drain(&mut self, out: &mut dyn Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct Line<'a> {
            event: &'a str,
            data: &'a str,
            id: &'a str,
            retry: Option<u64>,
            terminated: bool,
        }

        while let Some(frame) = self.decoder.next_frame() {
            match frame {
                Ok(sse::Frame {
                    event,
                    data,
                    id,
                    retry,
                    terminated,
                    ..
                }) => {
                    line(
                        out,
                        &Line {
                            event,
                            data,
                            id,
                            retry,
                            terminated,
                        },
                    )?;
                }
                Err(error) => error_line(out, &error)?,
            }
        }
        Ok(())
    }
}

impl Sink for Frames {
    fn feed(&mut self, bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
        self.look(|parser| parser.feed(bytes));
        self.decoder.feed(bytes);
        self.drain(out)
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.look(Parser::finish);
        self.decoder.finish();
        self.drain(out)
    }

    fn abort(&mut self, _: &mut dyn Write) -> io::Result<()> {
        self.look(Parser::abort);
        // What is left is the beginning of a frame, whose rest is lost.
        self.is_broken = true;
        Ok(())
    }

    fn is_over(&self) -> bool {
        false
    }

    fn status(&self) -> u8 {
        self.is_broken.into()
    }

    fn deviations(&self) -> DeviationSet {
        let parser = self.parser.as_ref();
        parser.map_or(DeviationSet::new(), |parser| parser.deviations().set())
    }
}
