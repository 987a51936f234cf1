//! How a parser goes on: from bytes to a frame, from a frame to its values, from a value to items.

use super::end::{Verdict, verdict};
use super::queue::Item;
use super::strays::{Kind, error_json};
use super::{Input, Parser, Source};
use crate::chunk::{ApiError, Change, Cursor, Refused, Step};
use crate::event::{Done, Event, Lent};
use crate::sse::Advance;
use crate::{Deviation, DeviationSet, Error, Limit};

/// What came of the fast path.
enum Resumed {
    Frame(Change),
    /// It may be a frame for it once more bytes are there.
    Waiting,
    Nothing,
}

impl Parser {
    pub(super) fn lend(&self, item: Item) -> Option<Event<'_>> {
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
    #[inline]
    pub(super) fn step(&mut self) -> Option<Item> {
        if self.is_clear {
            match self.resume() {
                Resumed::Frame(change) if self.add(change) => {
                    self.last = Some(Item::Chunk);
                    return self.last;
                }
                Resumed::Waiting => return None,
                Resumed::Frame(_) | Resumed::Nothing => self.is_clear = false,
            }
        }
        self.slow_step()
    }

    fn slow_step(&mut self) -> Option<Item> {
        loop {
            if let Some(item) = self.queue.next() {
                // An error about the body as a whole is of no frame.
                self.last = Some(item).filter(|_| !self.queue.is_about_the_body());
                self.is_terminated = self.is_concluded && self.queue.is_empty();
                return Some(item);
            }
            if self.is_concluded {
                self.source = Source::Nowhere;
                self.framing.discard();
                return None;
            }
            if let Some(step) = self.decode() {
                if self.take(step) {
                    self.last = Some(Item::Chunk);
                    return self.last;
                }
            } else if core::mem::take(&mut self.ends_after_frame) {
                self.bare_marker();
            } else if self.held.is_some() || self.strays.is_running() {
                self.advance()?;
            } else {
                match self.resume() {
                    Resumed::Frame(change) if self.add(change) => {
                        self.is_clear = true;
                        self.last = Some(Item::Chunk);
                        return self.last;
                    }
                    Resumed::Frame(_) => {}
                    Resumed::Waiting => return None,
                    Resumed::Nothing => self.advance()?,
                }
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
        let step = self.decoder.step(text, &mut self.cursor, is_error_event);
        if self.decoder.has_queued() || !self.cursor.is_over() {
            self.framing.settle();
        }
        step
    }

    /// Queues what comes of a value; but true, and nothing is queued, if that is a chunk alone.
    fn take(&mut self, step: Step) -> bool {
        // The chunk that was lent last is another one now.
        self.last = None;
        if let Step::Chunk = step {
            return self.add(self.decoder.change());
        }
        let tolerated = self.decoder.take_deviations();
        let offset = self.offset();
        match step {
            Step::Chunk => {}
            Step::Done => {
                if self.strays.end(self.framing.fields()) {
                    self.queue.error(Error::not_event_stream());
                }
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
        false
    }

    /// Adds the chunk to the answer. Queues what comes of it; but true, and nothing is queued, if that is the chunk
    /// alone.
    fn add(&mut self, change: Change) -> bool {
        let chunk = self.decoder.chunk_mut();
        self.accumulator.push_change(chunk, change);
        let has_usage =
            !change.is_in_delta() && chunk.usage.as_ref().is_some_and(|usage| !usage.is_empty());
        let tolerated = self.decoder.take_deviations();
        if !has_usage && tolerated.is_empty() && self.accumulator.is_quiet() {
            return true;
        }
        let offset = self.offset();
        self.note(tolerated.union(self.accumulator.deviations()), offset);
        for limit in self.accumulator.exceeded() {
            self.queue.error(Error::too_large(offset, *limit));
        }
        self.queue
            .chunk(has_usage, self.accumulator.completed_len());
        false
    }

    /// The fast path over all layers: a frame whose bytes are those of the one before but for what may change. Only if
    /// nothing is to be read before the bytes that come next.
    fn resume(&mut self) -> Resumed {
        // The chunk that was lent last may be another one now, also if nothing comes of it.
        self.last = None;
        if !self.decoder.can_resume() {
            return Resumed::Nothing;
        }
        let Some((data, is_all)) = self.framing.fresh_data() else {
            return Resumed::Nothing;
        };
        let resumed = if data.is_empty() {
            // Nothing is tried on nothing: so each read would be.
            Err(Refused::Incomplete)
        } else {
            self.decoder.resume(data, true)
        };
        let taken = match resumed {
            Ok(len) => self.framing.take_frame(len),
            Err(Refused::Incomplete) => None,
            Err(Refused::Miss) => Some(false),
        };
        match taken {
            Some(true) => {
                self.source = Source::Frame;
                Resumed::Frame(self.decoder.change())
            }
            // It is tried once more when the end of the line is there, and when what follows it is.
            None if is_all && self.input == Input::Open => {
                self.source = Source::Nowhere;
                self.is_clear = true;
                self.wait();
                Resumed::Waiting
            }
            _ => Resumed::Nothing,
        }
    }

    /// There is nothing more to be read now.
    fn wait(&mut self) {
        self.is_idle = true;
        self.decoder.shrink();
        self.framing.shrink();
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
            Some(Advance::TooLarge { is_stray: true, .. }) if self.strays.is_running() => {
                // The run is over the limit with it.
                if self.strays.overflow(self.framing.stray().range.start) {
                    self.run_is_too_large();
                }
            }
            Some(Advance::TooLarge { .. }) if self.strays.is_running() => {
                // An error line, as far as can be seen: that ends a run.
                self.held = advance;
                self.judge_run();
            }
            Some(Advance::TooLarge { offset, is_stray }) => {
                let (stray, fields) = (self.framing.stray(), self.framing.fields());
                let is_plain = is_stray && {
                    self.strays.ignored();
                    if self.strays.look(stray.text, stray.range.end, fields) {
                        self.queue.error(Error::not_event_stream());
                    }
                    self.strays.is_plain(fields)
                };
                // Of a body that is no event stream that is all there is to say.
                if !is_plain {
                    self.queue
                        .error(Error::too_large(offset, Limit::FrameBytes));
                }
            }
            None if self.input == Input::Open => {
                self.wait();
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
        let is_invalid = self.framing.frame_is_invalid();
        let Some(frame) = self.framing.frame() else {
            return;
        };
        let (is_terminated, offset) = (frame.terminated, frame.range.start);
        let nothing = if matches!(
            frame.event,
            "ping" | "keepalive" | "keep-alive" | "heartbeat"
        ) {
            Some(Deviation::KeepAliveEvent)
        } else if !frame.data.starts_with('{') && frame.data.trim_start().is_empty() {
            Some(Deviation::PayloadBlank)
        } else {
            None
        };
        self.read(Source::Frame);
        self.note_if(is_invalid, Deviation::InvalidUtf8, offset);
        if let Some(deviation) = nothing {
            self.cursor = Cursor::over();
            return self.note_if(true, deviation, offset);
        }
        self.note_if(!is_terminated, Deviation::FrameUnterminated, offset);
    }

    fn stray_came(&mut self) {
        let is_invalid = self.framing.stray_is_invalid();
        let fields = self.framing.fields();
        let stray = self.framing.stray();
        let (kind, range) = (Kind::of(stray.text), stray.range);
        if kind == Kind::Error {
            self.strays.is_stream();
        }
        if stray.text.trim().is_empty() {
            return;
        }
        if self.strays.is_running() && matches!(kind, Kind::Marker | Kind::Error) {
            self.held = Some(Advance::Stray);
            return self.judge_run();
        }
        if self.strays.look(stray.text, range.end, fields) {
            self.queue.error(Error::not_event_stream());
        }
        match kind {
            Kind::Marker => {
                // What is pending of a frame comes first.
                self.ends_after_frame = true;
                if self.framing.dispatch_pending() {
                    self.frame_came();
                }
            }
            Kind::Error => {
                if let Some(api) = error_json(stray.text).and_then(ApiError::from_json) {
                    self.source = Source::Stray;
                    self.cursor = Cursor::over();
                    self.queue.error(Error::from_api(range.start, api));
                }
                self.note_if(true, Deviation::ErrorFieldLine, range.start);
            }
            _ if self.strays.is_running() => {
                let max_bytes = self.options.limits.max_frame_bytes;
                if !self.strays.add_to_run(stray.text, range.end, max_bytes) {
                    self.run_is_too_large();
                }
            }
            Kind::Object if self.decoder.check(stray.text).is_ok() => {
                self.read(Source::Stray);
                self.note_if(true, Deviation::BareJson, range.start);
            }
            Kind::Object if !stray.in_frame => {
                let (id, retry) = (self.framing.last_event_id(), self.framing.retry());
                self.strays
                    .begin_run(stray.text, range.clone(), fields, (id, retry));
            }
            Kind::Object | Kind::Other => {
                self.strays.ignored();
                self.note_if(true, Deviation::StrayLine, range.start);
            }
        }
        self.note_if(is_invalid, Deviation::InvalidUtf8, range.start);
    }

    fn run_is_too_large(&mut self) {
        let offset = self.strays.run_range().start;
        self.queue
            .error(Error::too_large(offset, Limit::FrameBytes));
    }

    /// The end marker on a line of its own: the stray line at hand.
    fn bare_marker(&mut self) {
        self.source = Source::Stray;
        self.cursor = Cursor::over();
        if self.strays.end(self.framing.fields()) {
            self.queue.error(Error::not_event_stream());
        }
        let offset = self.framing.stray().range.start;
        self.note_if(true, Deviation::BareDone, offset);
        self.note_if(
            self.framing.stray_is_invalid(),
            Deviation::InvalidUtf8,
            offset,
        );
        self.conclude(true);
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
                self.queue.done(self.accumulator.completed_len());
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
