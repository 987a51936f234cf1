//! Finds the ends of lines in bytes that come in any pieces, and looks at each byte once.

use alloc::vec::Vec;
use core::ops::Range;

const BOM: &[u8] = b"\xEF\xBB\xBF";
/// A buffer larger than this is given back when it is empty.
pub(super) const KEPT_CAPACITY: usize = 64 << 10;

/// The bytes fed and not yet read, and how far they have been searched.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    bytes: Vec<u8>,
    /// Where the line being read starts in `bytes`.
    start: usize,
    /// Up to where `bytes` is known to hold no line end. Without it small reads would take quadratic time.
    searched: usize,
    /// Where `bytes` starts in the stream.
    base: u64,
    state: State,
    finished: bool,
    /// Bytes that were compared with a line end, for the test of linearity.
    #[cfg(test)]
    pub(super) examined: u64,
}

/// What has been read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Nothing: a byte order mark may come.
    #[default]
    Nothing,
    /// A whole line, or a part of one.
    Line,
    /// A CR that ended a line: an LF that follows it belongs to it.
    PostCr,
    /// The head of a line that nobody wants; the rest of it is dropped as it comes.
    Dropping,
}

/// A line, or the head of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// A whole line.
    Whole(Span),
    /// The end of a line that was dropped.
    Dropped,
    /// All there is of a line whose end has not come.
    Partial(Span),
}

/// A line's place in the buffer. Good until the next feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    start: usize,
    end: usize,
    /// Where the line starts in the stream.
    pub(super) offset: u64,
}

impl Span {
    pub(super) const fn len(self) -> usize {
        self.end - self.start
    }

    pub(super) const fn range(self) -> Range<u64> {
        self.offset..self.offset + self.len() as u64
    }
}

impl Lines {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        if self.finished || bytes.is_empty() {
            return;
        }
        if self.start == self.bytes.len() {
            self.base = self.offset();
            if self.bytes.capacity() > KEPT_CAPACITY {
                self.bytes = Vec::new();
            }
            self.bytes.clear();
            (self.start, self.searched) = (0, 0);
        } else if self.start > self.bytes.len() / 2 {
            // What is moved is less than what was read since the last time, so all moves together are linear.
            self.base = self.offset();
            // With what was read since: as much may come again.
            let used = self.bytes.len() + bytes.len();
            if self.bytes.capacity() > KEPT_CAPACITY.max(used.saturating_mul(4)) {
                self.bytes = self.bytes.get(self.start..).unwrap_or_default().to_vec();
            } else {
                self.bytes.drain(..self.start);
            }
            self.searched = self.searched.saturating_sub(self.start);
            self.start = 0;
        }
        if let [byte] = bytes {
            self.bytes.push(*byte);
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    pub(super) fn finish(&mut self) {
        self.finished = true;
    }

    pub(super) const fn is_finished(&self) -> bool {
        self.finished
    }

    /// Where the next byte to be read lies in the stream.
    pub(super) const fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// How many bytes were fed.
    pub(super) fn fed(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    pub(super) fn get(&self, span: Span) -> &[u8] {
        self.bytes.get(span.start..span.end).unwrap_or_default()
    }

    /// The next line; the head of one if its end has not come; none if nothing is there.
    pub(super) fn next_line(&mut self) -> Option<Line> {
        if self.state == State::Nothing && !self.skip_bom() {
            return None;
        }
        if self.state == State::PostCr {
            self.after_cr()?;
        }
        let from = self.start.max(self.searched);
        let unsearched = self.bytes.get(from..).unwrap_or_default();
        let found = memchr::memchr2(b'\n', b'\r', unsearched);
        #[cfg(test)]
        {
            self.examined += found.map_or(unsearched.len(), |at| at + 1) as u64;
        }
        let Some(end) = found.map(|at| from + at) else {
            self.searched = self.bytes.len();
            if self.state == State::Dropping {
                self.start = self.bytes.len();
            }
            let span = self.span(self.bytes.len());
            return (span.len() > 0).then_some(Line::Partial(span));
        };
        let span = self.span(end);
        let dropped = self.state == State::Dropping;
        self.state = if self.bytes.get(end) == Some(&b'\r') {
            State::PostCr
        } else {
            State::Line
        };
        self.start = end + 1;
        Some(if dropped {
            Line::Dropped
        } else {
            Line::Whole(span)
        })
    }

    /// Whether there is nothing to be read but the head of a line, of no more than so many bytes, or of no more than
    /// `longest` if it begins like one that is kept to its end. It costs little.
    #[inline]
    pub(super) fn is_waiting(&mut self, head: usize, longest: usize) -> bool {
        if self.finished || self.state != State::Line {
            return false;
        }
        let from = self.start.max(self.searched);
        let found = match self.bytes.get(from..).unwrap_or_default() {
            // Where each byte comes alone.
            [byte] => matches!(byte, b'\n' | b'\r').then_some(0),
            bytes => memchr::memchr2(b'\n', b'\r', bytes),
        };
        let until = found.map_or(self.bytes.len(), |at| from + at);
        #[cfg(test)]
        {
            self.examined += (until - from) as u64;
        }
        self.searched = until;
        let line = self.bytes.get(self.start..).unwrap_or_default();
        found.is_none()
            && (line.len() <= head || line.len() <= longest && line.starts_with(b"data:"))
    }

    /// What has not been read, if a line begins here, and nothing of it has been searched or its end is in sight.
    pub(super) fn fresh(&mut self) -> Option<&[u8]> {
        if self.state == State::PostCr {
            self.after_cr()?;
        }
        let is_fresh = self.searched <= self.start || self.searched < self.bytes.len();
        self.bytes
            .get(self.start..)
            .filter(|_| is_fresh && self.state == State::Line)
    }

    /// What has not been read but for so many bytes.
    pub(super) fn after(&self, len: usize) -> &[u8] {
        self.bytes.get(self.start + len..).unwrap_or_default()
    }

    /// Takes so many bytes that are known to be lines, the last of them ended by LF, or by CR.
    pub(super) fn take(&mut self, len: usize, ends_with_cr: bool) -> Span {
        let span = self.span(self.start + len);
        self.start += len;
        self.state = if ends_with_cr {
            State::PostCr
        } else {
            State::Line
        };
        span
    }

    /// How many bytes there are up to the end of the next line, if it is there and blank, and whether a CR ends it.
    pub(super) fn blank_next(&self) -> Option<(usize, bool)> {
        let rest = self.after(0);
        let of_last_line = usize::from(self.state == State::PostCr && rest.first() == Some(&b'\n'));
        match rest.get(of_last_line)? {
            b'\n' => Some((of_last_line + 1, false)),
            b'\r' => Some((of_last_line + 1, true)),
            _ => None,
        }
    }

    /// A CR ended the last line: goes past the LF that belongs to it. None while it is open whether there is one.
    fn after_cr(&mut self) -> Option<()> {
        let next = self.bytes.get(self.start)?;
        self.start += usize::from(*next == b'\n');
        self.state = State::Line;
        Some(())
    }

    /// Reads the partial line as it is: the input has ended.
    pub(super) fn take_partial(&mut self) {
        self.start = self.bytes.len();
    }

    /// Drops the line being read, as far as it has come and as it comes.
    pub(super) fn drop_partial(&mut self) {
        self.start = self.bytes.len();
        self.state = State::Dropping;
    }

    /// Gives a large buffer back if all of it was read.
    pub(super) fn shrink(&mut self) {
        if self.start == self.bytes.len() && self.bytes.capacity() > KEPT_CAPACITY {
            self.base = self.offset();
            self.bytes = Vec::new();
            (self.start, self.searched) = (0, 0);
        }
    }

    /// Drops what has not been read.
    pub(super) fn discard(&mut self) {
        self.start = self.bytes.len();
        self.shrink();
    }

    pub(super) fn reset(&mut self) {
        let mut bytes = core::mem::take(&mut self.bytes);
        bytes.clear();
        *self = Self {
            bytes,
            ..Self::default()
        };
        self.shrink();
    }

    fn span(&self, end: usize) -> Span {
        Span {
            start: self.start,
            end,
            offset: self.offset(),
        }
    }

    /// False while it is open whether a byte order mark comes.
    fn skip_bom(&mut self) -> bool {
        if self.bytes.starts_with(BOM) {
            self.start = BOM.len();
        } else if BOM.starts_with(&self.bytes) && !self.finished {
            return false;
        }
        self.state = State::Line;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes examined for a text in reads of a size, for each byte of the text.
    fn examined_per_byte(text: &[u8], size: usize) -> f64 {
        let mut lines = Lines::default();
        for read in text.chunks(size) {
            lines.feed(read);
            // Twice, as a caller may.
            for _ in 0..2 {
                if lines.is_waiting(1024, 4096) {
                    continue;
                }
                while let Some(Line::Whole(_)) = lines.next_line() {}
            }
        }
        lines.examined as f64 / text.len() as f64
    }

    #[test]
    fn each_byte_is_examined_once_whatever_the_reads() {
        let long_line = alloc::vec![b'x'; 200_000];
        let short_lines = b"data: 1\n\n".repeat(20_000);
        for text in [&long_line, &short_lines] {
            for size in [1, 2, 63, 64, 1400, 16_384, usize::MAX] {
                let examined = examined_per_byte(text, size);
                assert!(examined <= 1.0, "{examined} at {size} bytes a read");
            }
        }
    }

    #[test]
    fn what_was_read_is_not_kept() {
        let mut lines = Lines::default();
        for _ in 0..1000 {
            lines.feed(&b"data: 0123456789\nda".repeat(100));
            while let Some(Line::Whole(_)) = lines.next_line() {}
        }
        assert!(
            lines.bytes.capacity() < 8 << 10,
            "{}",
            lines.bytes.capacity()
        );
        lines.feed(&b"\n".repeat(1 << 20));
        while let Some(Line::Whole(_)) = lines.next_line() {}
        lines.shrink();
        assert!(lines.bytes.capacity() <= KEPT_CAPACITY);
    }
}
