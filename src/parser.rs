//! Bytes in, events out: the three layers, one after the other, and the end.

mod end;
mod queue;
mod steps;
mod strays;

use crate::chunk::{self, Cursor};
use crate::completion::{Accumulator, CallRef, ChatCompletion};
use crate::event::{Done, Event};
use crate::sse::{self, Advance, Frame};
use crate::{DeviationSet, Deviations, Error, Limits};

use end::Input;
use queue::{Item, Queue};
use strays::Strays;

/// How a [`Parser`] reads.
///
/// ```
/// use chatwire::{Deviation, DeviationSet, ErrorKind, Options, Parser};
/// let mut options = Options::default();
/// options.limits.max_frame_bytes = 1 << 20;
/// options.strict = DeviationSet::from_iter([Deviation::FinishReasonEmpty]);
/// let mut parser = Parser::with_options(options);
/// parser.feed(b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"\"}]}\n\n");
/// assert_eq!(parser.next_event().unwrap().unwrap_err().kind(), ErrorKind::Deviation);
/// assert!(parser.next_event().unwrap().is_ok());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Options {
    /// How much of the stream is held at once.
    pub limits: Limits,
    /// The deviations that are errors: each gives an [`ErrorKind::Deviation`](crate::ErrorKind::Deviation) before the
    /// events of its frame, which still come. None by default.
    pub strict: DeviationSet,
}

/// Reads a Chat Completions stream.
///
/// Feed it bytes, then take events until there are none, and so on until [`is_terminated`](Self::is_terminated). When the
/// input ends, say so with [`finish`](Self::finish), or with [`abort`](Self::abort) if the transport broke: the last
/// events come then. No input and no order of calls makes it panic.
///
/// ```
/// use chatwire::{Event, Parser};
///
/// let mut parser = Parser::new();
/// parser.feed(b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"},\"finish_reason\":\"stop\"}]}\n\nda");
/// assert!(matches!(parser.next_event(), Some(Ok(Event::ChunkParsed(chunk))) if chunk.text() == "Hello"));
/// assert!(parser.next_event().is_none());
/// parser.feed(b"ta: [DONE]\n\n");
/// assert!(matches!(parser.next_event(), Some(Ok(Event::Done(done))) if done.marker()));
/// assert!(parser.is_terminated());
/// assert_eq!(parser.into_completion().text(), "Hello");
/// ```
#[derive(Debug)]
pub struct Parser {
    options: Options,
    framing: sse::Decoder,
    decoder: chunk::Decoder,
    accumulator: Accumulator,
    strays: Strays,
    deviations: Deviations,
    /// What the framing came upon and is not to be read yet: a run of stray lines comes before it.
    held: Option<Advance>,
    /// The text that is being decoded.
    source: Source,
    cursor: Cursor,
    queue: Queue,
    /// What was handed out last.
    last: Option<Item>,
    input: Input,
    /// A bare end marker came: the stream ends when the frame before it is read.
    ends_after_frame: bool,
    /// The last step gave a frame on the fast path, and nothing else is to be read before the bytes that follow it.
    is_clear: bool,
    /// All that was fed has been read, but for the head of a line.
    is_idle: bool,
    is_concluded: bool,
    is_terminated: bool,
    done: Done,
}

/// Where a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Source {
    #[default]
    Nowhere,
    Frame,
    Stray,
    Run,
}

impl Default for Parser {
    fn default() -> Self {
        Self::new()
    }
}

impl Parser {
    /// A parser with the default options: lenient, and with the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::with_options(Options::default())
    }

    /// A parser with these options.
    #[must_use]
    pub fn with_options(options: Options) -> Self {
        let framing = sse::Decoder::with_strays(options.limits.max_frame_bytes);
        Self::of(
            options,
            framing,
            chunk::Decoder::with_template(options.limits),
        )
    }

    fn of(options: Options, framing: sse::Decoder, decoder: chunk::Decoder) -> Self {
        Self {
            options,
            framing,
            decoder,
            accumulator: Accumulator::with_limits(options.limits),
            strays: Strays::default(),
            deviations: Deviations::default(),
            held: None,
            source: Source::Nowhere,
            cursor: Cursor::over(),
            queue: Queue::default(),
            last: None,
            input: Input::Open,
            ends_after_frame: false,
            is_clear: false,
            is_idle: false,
            is_concluded: false,
            is_terminated: false,
            done: Done::default(),
        }
    }

    /// Stores bytes, cut anywhere. Never fails and never parses; an empty slice changes nothing.
    ///
    /// After [`finish`](Self::finish), [`abort`](Self::abort) or the terminal item bytes are ignored.
    pub fn feed(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.is_terminated {
            return;
        }
        self.last = None;
        self.framing.feed(bytes);
    }

    /// The input ended cleanly. Calling it again changes nothing.
    pub fn finish(&mut self) {
        if self.input == Input::Open {
            self.input = Input::Finished;
            self.framing.finish();
        }
    }

    /// The transport broke. As [`finish`](Self::finish), but unless `[DONE]` came the end is
    /// [`Truncated`](crate::ErrorKind::Truncated), no call completes by it, and an unterminated frame is not read. After
    /// `finish` it changes nothing.
    ///
    /// ```
    /// use chatwire::{ErrorKind, Parser};
    /// let mut parser = Parser::new();
    /// parser.feed(b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}");
    /// parser.abort();
    /// assert_eq!(parser.next_event().unwrap().unwrap_err().kind(), ErrorKind::Truncated);
    /// assert!(parser.is_terminated());
    /// ```
    pub fn abort(&mut self) {
        if self.input == Input::Open {
            self.input = Input::Aborted;
            self.framing.abort();
        }
    }

    /// The next event, lent until the parser is called again. None: feed more, or it is over.
    ///
    /// # Errors
    /// What the server said against us, and what could not be read, at its place in the stream. The next call goes on.
    /// Only [`Truncated`](crate::ErrorKind::Truncated) is final.
    #[inline]
    pub fn next_event(&mut self) -> Option<Result<Event<'_>, Error>> {
        // Where bytes come one by one that is nearly all there is to do.
        if self.is_idle && self.framing.is_waiting() {
            return None;
        }
        self.next()
    }

    fn next(&mut self) -> Option<Result<Event<'_>, Error>> {
        self.is_idle = false;
        let Some(item) = self.step() else {
            self.last = None;
            return None;
        };
        match item {
            Item::Error => self.queue.take_error().map(Err),
            item => self.lend(item).map(Ok),
        }
    }

    /// As [`next_event`](Self::next_event), as a copy of its own: for channels and streams. The parser keeps its chunk.
    ///
    /// # Errors
    /// As [`next_event`](Self::next_event).
    ///
    /// ```
    /// let mut parser = chatwire::Parser::new();
    /// parser.feed(b"data: {\"choices\":[]}\n\ndata: [DONE]\n\n");
    /// let events: Vec<_> = std::iter::from_fn(|| parser.next_owned()).collect::<Result<_, _>>()?;
    /// assert_eq!(events.len(), 2);
    /// # Ok::<(), chatwire::Error>(())
    /// ```
    pub fn next_owned(&mut self) -> Option<Result<Event<'static>, Error>> {
        Some(self.next_event()?.map(Event::into_owned))
    }

    /// The event that came last, lent again, so that it can be read beside [`completion`](Self::completion) and
    /// [`deviations`](Self::deviations). None if it was an error, after [`feed`](Self::feed), and after
    /// [`next_event`](Self::next_event) gave none.
    ///
    /// ```
    /// use chatwire::{Event, Parser};
    /// let mut parser = Parser::new();
    /// parser.feed(b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n");
    /// while parser.next_event().is_some() {
    ///     let (Some(Event::ChunkParsed(chunk)), answer) = (parser.event(), parser.completion()) else { continue };
    ///     assert_eq!(chunk.text(), answer.text());
    ///     assert_eq!(parser.frame().unwrap().range, 0..57);
    /// }
    /// ```
    #[must_use]
    pub fn event(&self) -> Option<Event<'_>> {
        self.lend(self.last?)
    }

    /// The frame that the last event or error came from, for who wants its bytes, its event name or its id. A payload
    /// that came on a line without `data:` is a frame named `message` here.
    ///
    /// None where the event came from no frame (the end of the input), after [`feed`](Self::feed), and after
    /// [`next_event`](Self::next_event) gave none.
    #[must_use]
    pub fn frame(&self) -> Option<Frame<'_>> {
        self.last?;
        let (data, range, (id, retry)) = match self.source {
            Source::Nowhere => return None,
            Source::Frame => return self.framing.frame(),
            Source::Stray => {
                let (stray, framing) = (self.framing.stray(), &self.framing);
                (
                    stray.text,
                    stray.range,
                    (framing.last_event_id(), framing.retry()),
                )
            }
            Source::Run => (
                self.strays.run(),
                self.strays.run_range(),
                self.strays.run_sticky(),
            ),
        };
        Some(Frame {
            event: "message",
            data,
            id,
            retry,
            terminated: true,
            range,
        })
    }

    /// The answer so far. It costs nothing.
    #[must_use]
    pub fn completion(&self) -> &ChatCompletion {
        self.accumulator.completion()
    }

    /// The answer.
    #[must_use]
    pub fn into_completion(self) -> ChatCompletion {
        self.accumulator.into_completion()
    }

    /// Takes the answer out once the stream is over; before that it is a copy, and the stream goes on as if nothing had
    /// happened.
    ///
    /// ```
    /// let mut parser = chatwire::Parser::new();
    /// parser.feed(b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n");
    /// while parser.next_event().is_some() {}
    /// assert_eq!(parser.take_completion().text(), "Hi");
    /// parser.feed(b"data: [DONE]\n\n");
    /// while parser.next_event().is_some() {}
    /// assert_eq!(parser.take_completion().text(), "Hi");
    /// assert_eq!(parser.completion().text(), "");
    /// ```
    pub fn take_completion(&mut self) -> ChatCompletion {
        if self.is_terminated {
            self.last = None;
            self.accumulator.take_completion()
        } else {
            self.completion().clone()
        }
    }

    /// The indices of the choices that have no finish reason yet, ascending.
    pub fn unfinished(&self) -> impl Iterator<Item = u32> + '_ {
        self.accumulator.unfinished()
    }

    /// The calls that are not complete yet. At a truncated end: those that were cut off.
    ///
    /// ```
    /// let mut parser = chatwire::Parser::new();
    /// parser.feed(b"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"f\"}}]}}]}\n\n");
    /// while parser.next_event().is_some() {}
    /// assert_eq!(parser.incomplete_calls().count(), 1);
    /// assert_eq!(parser.unfinished().collect::<Vec<_>>(), [0]);
    /// ```
    pub fn incomplete_calls(&self) -> impl Iterator<Item = CallRef> + '_ {
        self.accumulator.incomplete_calls()
    }

    /// What was tolerated so far.
    #[must_use]
    pub fn deviations(&self) -> &Deviations {
        &self.deviations
    }

    /// Whether the terminal item is out: [`Event::Done`] or [`Truncated`](crate::ErrorKind::Truncated).
    #[must_use]
    pub fn is_terminated(&self) -> bool {
        self.is_terminated
    }

    /// Ready for the next stream, with the same options. Buffers are kept.
    ///
    /// ```
    /// let mut parser = chatwire::Parser::new();
    /// parser.abort();
    /// assert!(parser.next_event().unwrap().is_err());
    /// parser.reset();
    /// assert!(!parser.is_terminated());
    /// ```
    pub fn reset(&mut self) {
        let mut framing = core::mem::take(&mut self.framing);
        framing.reset();
        let mut decoder = core::mem::take(&mut self.decoder);
        decoder.reset();
        *self = Self::of(self.options, framing, decoder);
    }

    #[cfg(test)]
    pub(crate) fn template_tries_and_hits(&self) -> (u64, u64) {
        self.decoder.template_tries_and_hits()
    }

    /// How many bytes were searched for line ends.
    #[cfg(test)]
    pub(crate) fn searched(&self) -> u64 {
        self.framing.searched()
    }
}
