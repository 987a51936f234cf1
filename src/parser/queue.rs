//! What comes of one value and has not been handed out: a few flags and indices, never a queue of events.

use alloc::collections::VecDeque;
use core::ops::Range;

use crate::{Error, ErrorKind};

/// An item as an index: what it stands for is lent when it is handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    Error,
    Chunk,
    Usage,
    /// The nth of the calls that were completed last.
    Call(usize),
    Done,
}

/// The items of one value, in their order: errors, chunk, usage, calls, end.
#[derive(Debug, Default)]
pub(super) struct Queue {
    errors: VecDeque<Error>,
    /// The error that was handed out as an item.
    error: Option<Error>,
    chunk: bool,
    usage: bool,
    calls: Range<usize>,
    done: bool,
}

impl Queue {
    pub(super) fn error(&mut self, error: Error) {
        self.errors.push_back(error);
    }

    pub(super) fn chunk(&mut self, has_usage: bool, calls: usize) {
        self.chunk = true;
        self.usage = has_usage;
        self.calls = 0..calls;
    }

    pub(super) fn done(&mut self, calls: usize) {
        self.calls = 0..calls;
        self.done = true;
    }

    /// The error that the last item stands for.
    pub(super) fn take_error(&mut self) -> Option<Error> {
        self.error.take()
    }

    /// Whether the last item stands for an error that is of no frame.
    pub(super) fn is_about_the_body(&self) -> bool {
        self.error
            .as_ref()
            .is_some_and(|error| error.kind() == ErrorKind::NotEventStream)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.errors.is_empty() && !self.chunk && !self.usage && self.calls.is_empty() && !self.done
    }

    /// The next item.
    pub(super) fn next(&mut self) -> Option<Item> {
        if let Some(error) = self.errors.pop_front() {
            self.error = Some(error);
            Some(Item::Error)
        } else if core::mem::take(&mut self.chunk) {
            Some(Item::Chunk)
        } else if core::mem::take(&mut self.usage) {
            Some(Item::Usage)
        } else if let Some(nth) = self.calls.next() {
            Some(Item::Call(nth))
        } else if core::mem::take(&mut self.done) {
            Some(Item::Done)
        } else {
            None
        }
    }
}
