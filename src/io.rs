//! Events from a reader: a `TcpStream`, a file, standard input, the body of a blocking HTTP client. Feature `io`.

use alloc::boxed::Box;
use alloc::vec;
use core::fmt;
use core::iter::FusedIterator;
use std::io::{self, ErrorKind, Read};

use crate::transport::Driven;
use crate::{Event, Parser, StreamError};

/// So much is asked of the reader at a time.
const READ: usize = 16 * 1024;

/// The events of what a reader gives: an iterator of owned ones, or lent ones from [`next_event`](Self::next_event).
///
/// It reads at most 16 KiB at a time, and only when all that came is handed out; what a read gives is parsed at once,
/// so a buffer around the reader is of no use. A read of nothing is the end of the input. A read that was interrupted
/// is tried again; any other error, `WouldBlock` too, ends the stream: what came before it is handed out, then
/// [`StreamError::Transport`] in place of [`Truncated`](crate::ErrorKind::Truncated). After `[DONE]` nothing is read. After
/// the terminal item there is none, for ever, and the answer, whole or not, is in the [`parser`](Self::parser).
///
/// ```
/// use chatwire::{Event, Events};
/// let body = &b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"[..];
/// let mut events = Events::new(body);
/// for event in &mut events {
///     match event? {
///         Event::ChunkParsed(chunk) => print!("{}", chunk.text()),
///         Event::ToolCallComplete { call, .. } => println!("{}({})", call.name(), call.arguments()),
///         _ => {}
///     }
/// }
/// assert_eq!(events.into_parser().into_completion().text(), "Hi");
/// # Ok::<(), chatwire::StreamError<std::io::Error>>(())
/// ```
pub struct Events<R> {
    reader: R,
    buffer: Box<[u8]>,
    driven: Driven<io::Error>,
}

impl<R: Read> Events<R> {
    /// Reads with the default options.
    pub fn new(reader: R) -> Self {
        Self::with_parser(reader, Parser::new())
    }

    /// Reads with a parser of one's own: with other options, with bytes fed, or one that was
    /// [reset](Parser::reset) after another stream.
    ///
    /// ```
    /// use chatwire::{Events, Parser};
    /// let mut parser = Parser::new();
    /// parser.feed(b"data: [DO");
    /// assert_eq!(Events::with_parser(&b"NE]\n\n"[..], parser).count(), 1);
    /// ```
    pub fn with_parser(reader: R, parser: Parser) -> Self {
        Self {
            reader,
            buffer: vec![0; READ].into(),
            driven: Driven::new(parser),
        }
    }

    /// The next event, lent until this is called again: no copy is made. None: the stream is over.
    ///
    /// # Errors
    /// As [`Parser::next_event`], and [`StreamError::Transport`] last, if the reader broke before the answer was whole.
    ///
    /// ```
    /// let mut events = chatwire::Events::new(&b"data: {\"choices\":[]}\n\n"[..]);
    /// assert!(events.next_event().unwrap().is_ok());
    /// let error = events.next_event().unwrap().unwrap_err();
    /// assert_eq!(error.to_string(), "the stream ended before the answer did at byte 22");
    /// assert!(events.next_event().is_none());
    /// ```
    pub fn next_event(&mut self) -> Option<Result<Event<'_>, StreamError<io::Error>>> {
        match self.step()? {
            Ok(()) => self.driven.parser.event().map(Ok),
            Err(error) => Some(Err(error)),
        }
    }

    fn step(&mut self) -> Option<Result<(), StreamError<io::Error>>> {
        loop {
            let step = self.driven.step();
            if step.is_some() || self.driven.parser.is_terminated() {
                return step;
            }
            let read = match self.reader.read(&mut self.buffer) {
                Ok(0) => None,
                // A reader that says it gave more than there is room for gave all of it.
                Ok(read) => Some(Ok(self.buffer.get(..read).unwrap_or(&self.buffer))),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Some(Err(error)),
            };
            self.driven.take(read);
        }
    }
}

impl<R> Events<R> {
    /// The parser: the answer so far, the frame of the last event, what was tolerated.
    ///
    /// ```
    /// let mut events = chatwire::Events::new(&b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n"[..]);
    /// while events.next_event().is_some() {
    ///     assert_eq!(events.parser().completion().text(), "Hi");
    /// }
    /// ```
    pub fn parser(&self) -> &Parser {
        &self.driven.parser
    }

    /// The parser itself: for the answer, or for the next stream.
    pub fn into_parser(self) -> Parser {
        self.driven.parser
    }
}

impl<R: Read> Iterator for Events<R> {
    type Item = Result<Event<'static>, StreamError<io::Error>>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.next_event()?.map(Event::into_owned))
    }
}

impl<R: Read> FusedIterator for Events<R> {}

impl<R> fmt::Debug for Events<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events")
            .field("parser", self.parser())
            .finish_non_exhaustive()
    }
}
