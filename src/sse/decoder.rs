//! From lines to frames: fields, blank lines, the size limit.

use alloc::string::String;
use core::ops::Range;

use super::fields::{Block, clear, is_stray, milliseconds, push_decoded};
use super::lines::{KEPT_CAPACITY, Line, Lines, Span};
use crate::{Error, Limit, Limits};

/// How a frame of one line begins, with nearly every provider.
const PREFIX: &[u8] = b"data: ";

/// So much data is not copied if it is a frame's only line: to validate it once more for each look at it costs less.
const LARGE: usize = 4 << 10;
/// So much of a line is enough to see what it is.
const HEAD: usize = 256;

/// One dispatched event of an event stream (WHATWG's "event"; here that word is [`Event`](crate::Event)).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame<'a> {
    /// The event name; `message` where the stream gives none.
    pub event: &'a str,
    /// The data lines, joined with LF.
    pub data: &'a str,
    /// The last event ID as of this frame; empty where none was sent. It is sticky.
    pub id: &'a str,
    /// The last valid reconnection time as of this frame, in milliseconds. It is sticky.
    pub retry: Option<u64>,
    /// Whether the frame's blank line came. WHATWG drops a frame without.
    pub terminated: bool,
    /// From the first byte of the first data, event, id or retry line to just past the byte that dispatched the frame,
    /// in bytes from the start of the stream. An LF after a dispatching CR is not in it: so it is the same for every
    /// cut. Of an unterminated frame: to the end of the input.
    pub range: Range<u64>,
}

/// Reads frames from bytes that come in any pieces.
///
/// Time is linear in the bytes, however they are cut. Memory: the bytes fed and not yet read, and one frame.
///
/// ```
/// let mut decoder = chatwire::sse::Decoder::new();
/// decoder.feed(b"id: 7\nretry: 1500\n\ndata: a\r\rdata: cut off");
/// assert_eq!(decoder.next_frame().unwrap().unwrap().data, "a");
/// assert!(decoder.next_frame().is_none());
/// assert_eq!((decoder.last_event_id(), decoder.retry()), ("7", Some(1500)));
/// decoder.finish();
/// let last = decoder.next_frame().unwrap().unwrap();
/// assert_eq!((last.data, last.terminated), ("cut off", false));
/// assert!(decoder.next_frame().is_none());
/// ```
#[derive(Debug, Clone)]
pub struct Decoder {
    lines: Lines,
    max_frame_bytes: usize,
    lend_strays: bool,
    block: Block,
    /// The block is over a limit; its lines are dropped up to the blank line.
    skipping: bool,
    /// The input broke: what is not terminated is not read.
    aborted: bool,
    /// The bytes of the last frame, dispatched: `block.data` holds its text until the next one is asked for.
    dispatched: Option<Dispatched>,
    event: String,
    id: String,
    retry: Option<u64>,
    stray: String,
    stray_range: Range<u64>,
    /// The stray line has bytes that are no UTF-8.
    stray_is_invalid: bool,
    fields: u64,
}

#[derive(Debug, Clone)]
struct Dispatched {
    terminated: bool,
    range: Range<u64>,
    is_invalid: bool,
    /// The frame's bytes, and how many of them are data, where it was read at once: until the next feed. Otherwise its
    /// text is in `block.data`.
    at_once: Option<(Span, usize)>,
}

/// What `advance` came upon.
#[derive(Debug)]
pub(crate) enum Advance {
    Frame,
    Stray,
    /// Where it starts. Of a line that is no field, its head is the stray line.
    TooLarge {
        offset: u64,
        is_stray: bool,
    },
}

/// A line that is no field.
#[derive(Debug)]
pub(crate) struct Stray<'a> {
    pub(crate) text: &'a str,
    pub(crate) range: Range<u64>,
    /// Whether data lines of a frame have come before it, but not yet its blank line.
    pub(crate) in_frame: bool,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder with the default [`Limits::max_frame_bytes`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_max_frame_bytes(Limits::default().max_frame_bytes)
    }

    /// A decoder whose lines, and whose frames' data, are at most this many bytes, but no less than 16.
    ///
    /// ```
    /// let mut decoder = chatwire::sse::Decoder::with_max_frame_bytes(16);
    /// decoder.feed(b"data: far too long for it\n\ndata: short\n\n");
    /// let error = decoder.next_frame().unwrap().unwrap_err();
    /// assert_eq!(error.kind(), chatwire::ErrorKind::TooLarge);
    /// assert_eq!(decoder.next_frame().unwrap().unwrap().data, "short");
    /// ```
    #[must_use]
    pub fn with_max_frame_bytes(max_frame_bytes: usize) -> Self {
        Self {
            lines: Lines::default(),
            // Enough to see what a line is.
            max_frame_bytes: max_frame_bytes.max(16),
            lend_strays: false,
            block: Block::default(),
            skipping: false,
            aborted: false,
            dispatched: None,
            event: String::new(),
            id: String::new(),
            retry: None,
            stray: String::new(),
            stray_range: 0..0,
            stray_is_invalid: false,
            fields: 0,
        }
    }

    /// As `with_max_frame_bytes`, and lines with an unknown field name are handed out too.
    pub(crate) fn with_strays(max_frame_bytes: usize) -> Self {
        Self {
            lend_strays: true,
            ..Self::with_max_frame_bytes(max_frame_bytes)
        }
    }

    /// Stores bytes, cut anywhere. Never fails and never parses; an empty slice changes nothing. After
    /// [`finish`](Self::finish) bytes are ignored.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.lines.feed(bytes);
    }

    /// The input ended. An unterminated last frame comes out now. Calling it twice changes nothing.
    pub fn finish(&mut self) {
        self.lines.finish();
    }

    /// The input broke: an unterminated frame is not read.
    pub(crate) fn abort(&mut self) {
        self.aborted |= !self.lines.is_finished();
        self.lines.finish();
    }

    /// Ready for the next stream; buffers are kept.
    pub fn reset(&mut self) {
        self.lines.reset();
        self.block.clear();
        self.id.clear();
        self.retry = None;
        self.dispatched = None;
        self.skipping = false;
        self.aborted = false;
        self.stray_is_invalid = false;
        self.fields = 0;
    }

    /// The next frame, or none: feed more, or it is over.
    ///
    /// # Errors
    /// [`TooLarge`](crate::ErrorKind::TooLarge) in place of a frame that is over the limit. The next call goes on after
    /// that frame.
    pub fn next_frame(&mut self) -> Option<Result<Frame<'_>, Error>> {
        match self.advance()? {
            Advance::TooLarge { offset, .. } => {
                Some(Err(Error::too_large(offset, Limit::FrameBytes)))
            }
            Advance::Frame | Advance::Stray => self.frame().map(Ok),
        }
    }

    /// Drops what was fed and not read: nobody will read it.
    pub(crate) fn discard(&mut self) {
        self.lines.discard();
        self.shrink();
    }

    /// The last event ID that a block set, as a client would send it in `Last-Event-ID`; empty if none.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        &self.id
    }

    /// The last valid reconnection time, in milliseconds; also from a block without data.
    #[must_use]
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// The frame that `advance` came upon last.
    pub(crate) fn frame(&self) -> Option<Frame<'_>> {
        let Dispatched {
            terminated,
            range,
            at_once,
            ..
        } = self.dispatched.as_ref()?;
        let data = match at_once {
            Some((span, len)) => {
                let data = self.lines.get(*span).get(PREFIX.len()..)?.get(..*len)?;
                simdutf8::basic::from_utf8(data).ok()?
            }
            None => &self.block.data,
        };
        Some(Frame {
            event: if self.event.is_empty() {
                "message"
            } else {
                &self.event
            },
            data,
            id: &self.id,
            retry: self.retry,
            terminated: *terminated,
            range: range.clone(),
        })
    }

    /// Where the frame that `advance` came upon last starts.
    pub(crate) fn frame_start(&self) -> u64 {
        self.dispatched
            .as_ref()
            .map_or(0, |dispatched| dispatched.range.start)
    }

    /// The stray line that `advance` came upon last.
    pub(crate) fn stray(&self) -> Stray<'_> {
        Stray {
            text: &self.stray,
            range: self.stray_range.clone(),
            in_frame: self.block.has_data,
        }
    }

    /// How many data, event, id and retry lines were read: the evidence that this is an event stream at all.
    pub(crate) const fn fields(&self) -> u64 {
        self.fields
    }

    #[cfg(test)]
    pub(crate) fn searched(&self) -> u64 {
        self.lines.examined
    }

    /// How many bytes were fed.
    pub(crate) fn fed(&self) -> u64 {
        self.lines.fed()
    }

    /// Whether the frame has bytes that are no UTF-8.
    pub(crate) fn frame_is_invalid(&self) -> bool {
        self.dispatched
            .as_ref()
            .is_some_and(|dispatched| dispatched.is_invalid)
    }

    /// Whether the stray line has bytes that are no UTF-8.
    pub(crate) const fn stray_is_invalid(&self) -> bool {
        self.stray_is_invalid
    }

    /// Dispatches the data that has come so far as if a blank line had come after the stray line.
    pub(crate) fn dispatch_pending(&mut self) -> bool {
        let end = self.stray_range.end;
        self.dispatch(end, true)
    }

    /// The line in progress, if it is plain already that it is no field and no comment: its head, and its place so far.
    pub(crate) fn partial_stray(&mut self) -> Option<Stray<'_>> {
        let Some(Line::Partial(span)) = self.lines.next_line() else {
            return None;
        };
        let line = self.lines.get(span);
        if !is_stray(line) {
            return None;
        }
        self.stray.clear();
        let head = line.get(..HEAD).unwrap_or(line);
        push_decoded(&mut self.stray, head, usize::MAX);
        self.stray_range = span.range();
        Some(self.stray())
    }

    /// What follows the `data: ` of a frame that begins here, if nothing has been read of it: for who can tell at a
    /// glance where it ends. Nothing follows also where not all of the `data: ` has come. And whether that is all that was
    /// fed.
    pub(crate) fn fresh_data(&mut self) -> Option<(&[u8], bool)> {
        if self.skipping || self.block.start.is_some() {
            return None;
        }
        let rest = self.lines.fresh()?;
        // The line must not be over the limit, and its end must be in sight.
        let longest = self.max_frame_bytes.saturating_add(3);
        let sight = rest.get(..longest).unwrap_or(rest);
        let is_all = sight.len() == rest.len();
        let none = || PREFIX.starts_with(sight).then_some(&[][..]);
        Some((sight.strip_prefix(PREFIX).or_else(none)?, is_all))
    }

    /// Whether all there is is the head of a line, too short to be looked at.
    #[inline]
    pub(crate) fn is_waiting(&mut self) -> bool {
        let longest = if self.skipping {
            0
        } else {
            self.max_frame_bytes
        };
        self.lines
            .is_waiting(self.max_frame_bytes.min(1024), longest)
    }

    /// Takes a frame of one line with so many bytes of data: valid UTF-8, without a line end. Only if the frame ends after
    /// them; none while that is open.
    pub(crate) fn take_frame(&mut self, data_len: usize) -> Option<bool> {
        let line_len = PREFIX.len() + data_len;
        if line_len > self.max_frame_bytes {
            return Some(false);
        }
        // With a CR the frame is dispatched; an LF after it is no part of it.
        let (end_len, ends_with_cr) = match self.lines.after(line_len) {
            [b'\n', b'\n', ..] => (2, false),
            [b'\r', b'\n', b'\r', ..] => (3, true),
            [] | [b'\n' | b'\r'] | [b'\r', b'\n'] => return None,
            _ => return Some(false),
        };
        let span = self.lines.take(line_len + end_len, ends_with_cr);
        self.block.data.clear();
        self.dispatch_at_once(span.range(), Some((span, data_len)));
        Some(true)
    }

    /// Takes a data line, and the blank line after it, if together they are a frame.
    fn at_once(&mut self, span: Span) -> bool {
        let line = self.lines.get(span);
        let is_alone = !self.skipping && self.block.start.is_none();
        if !is_alone || line.len() > self.max_frame_bytes {
            return false;
        }
        let (Some(data), Some((blank_len, ends_with_cr))) =
            (line.strip_prefix(PREFIX), self.lines.blank_next())
        else {
            return false;
        };
        // Only of what is a frame: else it would be looked at twice.
        let Ok(data) = simdutf8::basic::from_utf8(data) else {
            return false;
        };
        let at_once = (data.len() >= LARGE).then_some((span, data.len()));
        self.block.data.clear();
        if at_once.is_none() {
            self.block.data.push_str(data);
        }
        self.lines.take(blank_len, ends_with_cr);
        self.dispatch_at_once(span.offset..self.lines.offset(), at_once);
        true
    }

    fn dispatch_at_once(&mut self, range: Range<u64>, at_once: Option<(Span, usize)>) {
        clear(&mut self.event);
        self.fields += 1;
        self.dispatched = Some(Dispatched {
            terminated: true,
            range,
            is_invalid: false,
            at_once,
        });
    }

    /// Copies the frame's data if it is still where it was read: it will be looked at again and again, and after more was
    /// fed.
    pub(crate) fn settle(&mut self) {
        let Some(dispatched) = &mut self.dispatched else {
            return;
        };
        if let Some((span, len)) = dispatched.at_once.take() {
            let data = self.lines.get(span).get(PREFIX.len()..);
            let data = data.and_then(|data| data.get(..len)).unwrap_or_default();
            push_decoded(&mut self.block.data, data, usize::MAX);
        }
    }

    /// Goes to the next frame, stray line or fault.
    pub(crate) fn advance(&mut self) -> Option<Advance> {
        if self.dispatched.take().is_some() {
            self.block.data.clear();
        }
        clear(&mut self.stray);
        loop {
            match self.lines.next_line() {
                Some(Line::Whole(span)) => {
                    if self.at_once(span) {
                        return Some(Advance::Frame);
                    }
                    if let Some(found) = self.line(span) {
                        return Some(found);
                    }
                }
                Some(Line::Dropped) => {}
                Some(Line::Partial(span)) => {
                    if !self.lines.is_finished() {
                        return self.partial(span);
                    }
                    self.lines.take_partial();
                    if self.aborted {
                        continue;
                    }
                    if let Some(found) = self.line(span) {
                        return Some(found);
                    }
                }
                None => {
                    if self.lines.is_finished()
                        && !self.aborted
                        && self.dispatch(self.lines.fed(), false)
                    {
                        return Some(Advance::Frame);
                    }
                    self.shrink();
                    return None;
                }
            }
        }
    }

    /// A line whose end has not come: nobody waits for the end of a comment, nor of a line over the limit.
    fn partial(&mut self, span: Span) -> Option<Advance> {
        let is_comment = self.lines.get(span).first() == Some(&b':');
        let is_too_large = span.len() > self.max_frame_bytes;
        if is_comment || self.skipping {
            self.lines.drop_partial();
        } else if is_too_large {
            let found = self.too_large_line(span);
            self.lines.drop_partial();
            return Some(found);
        }
        None
    }

    fn line(&mut self, span: Span) -> Option<Advance> {
        let line = self.lines.get(span);
        if line.is_empty() {
            self.skipping = false;
            return self
                .dispatch(span.offset + 1, true)
                .then_some(Advance::Frame);
        }
        if self.skipping || line.first() == Some(&b':') {
            return None;
        }
        if line.len() > self.max_frame_bytes {
            return Some(self.too_large_line(span));
        }
        // Nearly all are data: no need to look for the colon.
        let colon = if line.starts_with(b"data:") {
            Some("data".len())
        } else {
            memchr::memchr(b':', line)
        };
        let (name, value) = match colon {
            Some(colon) => {
                let value = line.get(colon + 1..).unwrap_or_default();
                (
                    line.get(..colon).unwrap_or_default(),
                    value.strip_prefix(b" ").unwrap_or(value),
                )
            }
            None => (line, &[][..]),
        };
        let (block, max) = (&mut self.block, self.max_frame_bytes);
        let is_valid = match name {
            b"data" => {
                if block.has_data {
                    block.data.push('\n');
                }
                block.has_data = true;
                push_decoded(&mut block.data, value, max)
            }
            b"event" => {
                block.event.clear();
                push_decoded(&mut block.event, value, max)
            }
            b"id" => {
                if memchr::memchr(0, value).is_none() {
                    block.id.clear();
                    block.has_id = true;
                    push_decoded(&mut block.id, value, max)
                } else {
                    true
                }
            }
            b"retry" => {
                self.retry = milliseconds(value).or(self.retry);
                true
            }
            _ => {
                if !self.lend_strays {
                    return None;
                }
                self.stray.clear();
                self.stray_is_invalid = !push_decoded(&mut self.stray, line, max);
                if self.stray.len() > max {
                    return Some(self.too_large_line(span));
                }
                self.stray_range = span.range();
                return Some(Advance::Stray);
            }
        };
        block.is_invalid |= !is_valid;
        self.fields += 1;
        let start = *block.start.get_or_insert(span.offset);
        if block.data.len() + block.event.len() + block.id.len() > max {
            return Some(self.too_large(start, false));
        }
        None
    }

    /// The end of a block: its id counts in any case, a frame it is only with data.
    fn dispatch(&mut self, end: u64, terminated: bool) -> bool {
        let block = &mut self.block;
        if core::mem::take(&mut block.has_id) {
            core::mem::swap(&mut self.id, &mut block.id);
        }
        core::mem::swap(&mut self.event, &mut block.event);
        clear(&mut block.event);
        clear(&mut block.id);
        let start = block.start.take();
        let has_data = core::mem::take(&mut block.has_data);
        let is_invalid = core::mem::take(&mut block.is_invalid);
        self.dispatched = start.filter(|_| has_data).map(|start| Dispatched {
            terminated,
            range: start..end,
            is_invalid,
            at_once: None,
        });
        has_data
    }

    /// A line is over the limit: what is of its block is dropped.
    fn too_large_line(&mut self, span: Span) -> Advance {
        let line = self.lines.get(span);
        let is_stray = is_stray(line);
        // A field that is too large is a field all the same.
        self.fields += u64::from(!is_stray && !line.starts_with(b"error"));
        self.stray.clear();
        // No more than is there when the line is found to be too large, wherever it is cut.
        let head_len = HEAD.min(self.max_frame_bytes.saturating_add(1));
        let head = line.get(..head_len).unwrap_or(line);
        push_decoded(&mut self.stray, head, usize::MAX);
        self.stray_range = span.offset..span.offset + self.max_frame_bytes as u64;
        self.too_large(span.offset, is_stray)
    }

    fn too_large(&mut self, at: u64, is_stray: bool) -> Advance {
        let offset = self.block.start.unwrap_or(at);
        self.block.clear();
        self.skipping = true;
        Advance::TooLarge { offset, is_stray }
    }

    /// All was read: large buffers are given back.
    pub(crate) fn shrink(&mut self) {
        self.lines.shrink();
        if !self.block.has_data && self.block.data.capacity() > KEPT_CAPACITY {
            self.block.data = String::new();
        }
    }
}
