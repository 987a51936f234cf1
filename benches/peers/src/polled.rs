//! Drives a `Stream` without a runtime: reads are put into a slot, and it is polled until it wants more.

use std::cell::Cell;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;

/// The body, one read at a time.
#[derive(Clone, Default)]
pub struct Body<'a>(Rc<Cell<Slot<'a>>>);

#[derive(Clone, Copy, Default)]
enum Slot<'a> {
    #[default]
    Empty,
    Read(&'a [u8]),
    End,
}

impl<'a> Body<'a> {
    pub fn put(&self, bytes: &'a [u8]) {
        self.0.set(Slot::Read(bytes));
    }

    pub fn end(&self) {
        self.0.set(Slot::End);
    }
}

impl<'a> Stream for Body<'a> {
    type Item = Result<&'a [u8], Infallible>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.0.get() {
            Slot::Empty => Poll::Pending,
            Slot::End => Poll::Ready(None),
            Slot::Read(bytes) => {
                self.0.set(Slot::Empty);
                Poll::Ready(Some(Ok(bytes)))
            }
        }
    }
}

/// The next item, if one is there.
pub fn poll<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    let mut context = Context::from_waker(Waker::noop());
    match Pin::new(stream).poll_next(&mut context) {
        Poll::Ready(item) => item,
        Poll::Pending => None,
    }
}
