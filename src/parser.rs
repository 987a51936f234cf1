//! Bytes in, events out: the three layers, one after the other, and the end.

mod end;
mod queue;
mod strays;

use crate::chunk::{self, ApiError, Cursor, Step};
use crate::completion::{Accumulator, CallRef, ChatCompletion};
use crate::event::{Done, Event, Lent};
use crate::sse::{self, Advance, Frame};
use crate::{Deviation, DeviationSet, Deviations, Error, Limit, Limits};

use end::{Input, Verdict, verdict};
use queue::{Item, Queue};
use strays::{Kind, Strays, error_json};

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
#[derive(Debug, Default)]
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

impl Parser {
    /// A parser with the default options: lenient, and with the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::with_options(Options::default())
    }

    /// A parser with these options.
    #[must_use]
    pub fn with_options(options: Options) -> Self {
        Self {
            options,
            framing: sse::Decoder::with_strays(options.limits.max_frame_bytes),
            decoder: chunk::Decoder::with_template(options.limits),
            accumulator: Accumulator::with_limits(options.limits),
            ..Self::default()
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
    pub fn next_event(&mut self) -> Option<Result<Event<'_>, Error>> {
        match self.step()? {
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
    /// [`deviations`](Self::deviations). None if it was an error, and after [`feed`](Self::feed).
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
        let (data, range) = match self.source {
            Source::Nowhere => return None,
            Source::Frame => return self.framing.frame(),
            Source::Stray => (self.framing.stray().text, self.framing.stray().range),
            Source::Run => (self.strays.run(), self.strays.run_range()),
        };
        let (id, retry) = (self.framing.last_event_id(), self.framing.retry());
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

    /// Takes the answer out. If the stream goes on, a new one begins.
    pub fn take_completion(&mut self) -> ChatCompletion {
        self.last = None;
        self.accumulator.take_completion()
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
        let accumulator = Accumulator::with_limits(self.options.limits);
        *self = Self {
            options: self.options,
            framing,
            decoder,
            accumulator,
            ..Self::default()
        };
    }

    #[cfg(test)]
    pub(crate) fn template_hits(&self) -> u64 {
        self.decoder.template_hits()
    }

    fn lend(&self, item: Item) -> Option<Event<'_>> {
        Some(match item {
            Item::Error => return None,
            Item::Chunk => Event::ChunkParsed(Lent::Borrowed(self.decoder.chunk())),
            Item::Usage => Event::UsageFrame(Lent::Borrowed(self.decoder.chunk().usage.as_ref()?)),
            Item::Call(nth) => {
                let completed = self.accumulator.nth_completed(nth)?;
                Event::ToolCallComplete {
                    choice: completed.choice,
                    slot: completed.slot,
                    call: Lent::Borrowed(completed.call),
                }
            }
            Item::Done => Event::Done(Lent::Borrowed(&self.done)),
        })
    }

    /// Goes on to the next item.
    fn step(&mut self) -> Option<Item> {
        if self.is_idle {
            if self.framing.is_waiting() {
                return None;
            }
            self.is_idle = false;
        }
        loop {
            if let Some(item) = self.queue.next() {
                self.last = Some(item);
                self.is_terminated = self.is_concluded && self.queue.is_empty();
                return Some(item);
            }
            if self.is_concluded {
                return None;
            }
            if let Some(step) = self.decode() {
                self.take(step);
            } else if core::mem::take(&mut self.ends_after_frame) {
                self.conclude(true);
            } else if let Some(step) = self.resume() {
                self.take(step);
            } else {
                self.advance()?;
            }
        }
    }

    /// Decodes on in the text at hand.
    fn decode(&mut self) -> Option<Step> {
        if self.cursor.is_over() && !self.decoder.has_queued() {
            return None;
        }
        let (text, is_error_event) = match self.source {
            Source::Nowhere => return None,
            Source::Frame => {
                let frame = self.framing.frame()?;
                (frame.data, frame.event == "error")
            }
            Source::Stray => (self.framing.stray().text, false),
            Source::Run => (self.strays.run(), false),
        };
        self.decoder.step(text, &mut self.cursor, is_error_event)
    }

    /// Queues what comes of a value.
    fn take(&mut self, step: Step) {
        let offset = self.offset();
        let tolerated = self.decoder.take_deviations();
        match step {
            Step::Chunk => {
                let is_plain = self.decoder.is_plain();
                let chunk = self.decoder.chunk_mut();
                if is_plain {
                    self.accumulator.push_texts(chunk);
                } else {
                    self.accumulator.push(chunk);
                }
                self.note(tolerated.union(self.accumulator.deviations()), offset);
                for limit in self.accumulator.exceeded() {
                    self.queue.error(Error::too_large(offset, *limit));
                }
                let has_usage = self
                    .decoder
                    .chunk()
                    .usage
                    .as_ref()
                    .is_some_and(|usage| !usage.is_empty());
                self.queue
                    .chunk(has_usage, self.accumulator.completed().count());
            }
            Step::Done => {
                self.note(tolerated, offset);
                self.conclude(true);
            }
            Step::Api(api) => {
                self.queue.error(Error::from_api(offset, *api));
                self.note(tolerated, offset);
            }
            Step::Malformed(_, syntax) => {
                self.note(tolerated, offset);
                self.queue.error(Error::malformed(offset, syntax));
            }
            Step::TooDeep(_) => {
                self.queue.error(Error::too_large(offset, Limit::Depth));
                self.note(tolerated, offset);
            }
            Step::Ignored => self.note(tolerated, offset),
        }
    }

    /// The fast path over all layers: a frame whose bytes are those of the one before but for some texts.
    fn resume(&mut self) -> Option<Step> {
        if self.held.is_some() || self.strays.is_running() {
            return None;
        }
        let len = self
            .decoder
            .resume(self.framing.fresh_data()?, Some(sse::TERMINATOR))?;
        self.framing.take_frame(len);
        self.source = Source::Frame;
        self.cursor = Cursor::over();
        Some(Step::Chunk)
    }

    /// Goes on to the next text, or to the end. None: nothing is there.
    fn advance(&mut self) -> Option<()> {
        self.source = Source::Nowhere;
        let advance = self.held.take().or_else(|| self.framing.advance());
        if self.strays.is_run_over(self.framing.fields()) {
            self.held = advance;
            self.judge_run();
            return Some(());
        }
        match advance {
            Some(Advance::Frame) => self.frame_came(),
            Some(Advance::Stray) => self.stray_came(),
            Some(Advance::TooLarge { offset, is_stray }) => {
                let stray = self.framing.stray();
                if is_stray {
                    self.strays.ignored();
                    if self
                        .strays
                        .look(stray.text, stray.range.end, self.framing.fields())
                    {
                        self.queue.error(Error::not_event_stream());
                    }
                }
                self.queue
                    .error(Error::too_large(offset, Limit::FrameBytes));
            }
            None if self.input == Input::Open => {
                self.is_idle = true;
                self.decoder.shrink();
                let fields = self.framing.fields();
                if !self.strays.is_open(fields) {
                    return None;
                }
                let stray = self.framing.partial_stray()?;
                if !self.strays.look(stray.text, stray.range.end, fields) {
                    return None;
                }
                self.is_idle = false;
                self.queue.error(Error::not_event_stream());
            }
            None => self.end(),
        }
        Some(())
    }

    fn frame_came(&mut self) {
        let is_invalid = self.framing.take_invalid_utf8();
        let Some(frame) = self.framing.frame() else {
            return;
        };
        let (is_terminated, offset) = (frame.terminated, frame.range.start);
        let nothing = if matches!(
            frame.event,
            "ping" | "keepalive" | "keep-alive" | "heartbeat"
        ) {
            Some(Deviation::KeepAliveEvent)
        } else if frame.data.trim().is_empty() {
            Some(Deviation::PayloadBlank)
        } else {
            None
        };
        if let Some(deviation) = nothing {
            return self.note_if(true, deviation, offset);
        }
        self.read(Source::Frame);
        self.note_if(is_invalid, Deviation::InvalidUtf8, offset);
        self.note_if(!is_terminated, Deviation::FrameUnterminated, offset);
    }

    fn stray_came(&mut self) {
        let is_invalid = self.framing.take_invalid_utf8();
        let fields = self.framing.fields();
        let stray = self.framing.stray();
        let (kind, range) = (Kind::of(stray.text), stray.range);
        if self.strays.is_running() && matches!(kind, Kind::Marker | Kind::Error) {
            self.held = Some(Advance::Stray);
            return self.judge_run();
        }
        if self.strays.look(stray.text, range.end, fields) {
            self.queue.error(Error::not_event_stream());
        }
        match kind {
            Kind::Marker => {
                self.note_if(true, Deviation::BareDone, range.start);
                if self.strays.end(fields) {
                    self.queue.error(Error::not_event_stream());
                }
                self.ends_after_frame = true;
                self.source = Source::Stray;
                self.cursor = Cursor::over();
                if self.framing.dispatch_pending() {
                    self.frame_came();
                }
            }
            Kind::Error => {
                let json = error_json(stray.text).and_then(|json| serde_json::from_str(json).ok());
                if let Some(api) = json.and_then(ApiError::from_value) {
                    self.source = Source::Stray;
                    self.cursor = Cursor::over();
                    self.queue.error(Error::from_api(range.start, api));
                }
                self.note_if(true, Deviation::ErrorFieldLine, range.start);
            }
            _ if self.strays.is_running() => {
                if !self.strays.add_to_run(
                    stray.text,
                    range.end,
                    self.options.limits.max_frame_bytes,
                ) {
                    self.queue.error(Error::too_large(
                        self.strays.run_range().start,
                        Limit::FrameBytes,
                    ));
                }
            }
            Kind::Object if self.decoder.check(stray.text).is_ok() => {
                self.read(Source::Stray);
                self.note_if(true, Deviation::BareJson, range.start);
            }
            Kind::Object if !stray.in_frame => {
                self.strays.begin_run(stray.text, range.clone(), fields)
            }
            Kind::Object | Kind::Other => {
                self.strays.ignored();
                self.note_if(true, Deviation::StrayLine, range.start);
            }
        }
        self.note_if(is_invalid, Deviation::InvalidUtf8, range.start);
    }

    /// The run of stray lines is over: it is JSON, or not.
    fn judge_run(&mut self) {
        if !self.strays.end_run() {
            return;
        }
        let offset = self.strays.run_range().start;
        match self.decoder.check(self.strays.run()) {
            Ok(()) => {
                self.read(Source::Run);
                self.note_if(true, Deviation::BareJson, offset);
            }
            Err(_) if self.strays.is_bare(self.framing.fields()) => self.strays.ignored(),
            Err(syntax) => {
                self.source = Source::Run;
                self.cursor = Cursor::over();
                self.queue.error(Error::malformed(offset, syntax));
            }
        }
    }

    /// All that was fed has been read, and no more will come.
    fn end(&mut self) {
        if self.strays.is_running() && self.input == Input::Finished {
            return self.judge_run();
        }
        if self.strays.end(self.framing.fields()) {
            self.queue.error(Error::not_event_stream());
        }
        self.conclude(false);
    }

    /// The stream is over.
    fn conclude(&mut self, marker: bool) {
        let choices = &self.completion().choices;
        let is_finished =
            !choices.is_empty() && choices.iter().all(|choice| choice.finish_reason.is_some());
        self.is_concluded = true;
        let offset = if self.source == Source::Nowhere {
            self.framing.fed()
        } else {
            self.offset()
        };
        match verdict(marker, self.input, is_finished) {
            Verdict::Open => self.is_concluded = false,
            Verdict::Truncated => self.queue.error(Error::truncated(self.framing.fed())),
            Verdict::Done => {
                self.accumulator.finish();
                let unfinished = self.accumulator.unfinished().collect();
                self.done = Done::new(
                    marker,
                    unfinished,
                    self.accumulator.incomplete_calls().collect(),
                );
                self.note_if(!marker, Deviation::DoneMissing, offset);
                self.note_if(
                    !self.done.unfinished().is_empty(),
                    Deviation::FinishReasonMissing,
                    offset,
                );
                self.note_if(
                    !self.done.incomplete_calls().is_empty(),
                    Deviation::ToolCallIncomplete,
                    offset,
                );
                self.queue.done(self.accumulator.completed().count());
            }
        }
    }

    fn read(&mut self, source: Source) {
        self.source = source;
        self.cursor = Cursor::new();
    }

    /// Where the text at hand starts in the stream.
    fn offset(&self) -> u64 {
        match self.source {
            Source::Nowhere => self.framing.fed(),
            Source::Frame => self.framing.frame_start(),
            Source::Stray => self.framing.stray().range.start,
            Source::Run => self.strays.run_range().start,
        }
    }

    fn note_if(&mut self, is_so: bool, deviation: Deviation, offset: u64) {
        if is_so {
            self.note(DeviationSet::from_iter([deviation]), offset);
        }
    }

    /// Records deviations; those that are errors by the options are queued.
    fn note(&mut self, set: DeviationSet, offset: u64) {
        if set.is_empty() {
            return;
        }
        self.deviations.record(set, offset);
        for deviation in set.intersection(self.options.strict).iter() {
            self.queue.error(Error::from_deviation(offset, deviation));
        }
    }
}
