//! What the adapters share: a parser, and how a broken transport stands in its place in the stream.

use core::fmt;

use crate::{Error, ErrorKind, Parser};

/// What an adapter gives in place of an event.
///
/// It reads as the error inside: `Display` and `source` are those of the transport's error, or of the protocol's.
///
/// ```
/// use chatwire::{Events, StreamError};
/// let mut events = Events::new(&b"data: {\"error\":{\"message\":\"slow down\",\"code\":429}}\n\n"[..]);
/// let Some(Err(StreamError::Protocol(error))) = events.next() else { panic!() };
/// assert_eq!(error.api().unwrap().message, "slow down");
/// ```
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "either the transport is at fault, or what it brought"
)]
pub enum StreamError<E> {
    /// The transport broke. Final: it stands in place of [`Truncated`](ErrorKind::Truncated).
    Transport(E),
    /// As [`Parser::next_event`] gives it.
    Protocol(Error),
}

impl<E: fmt::Display> fmt::Display for StreamError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transport(error) => error.fmt(f),
            Self::Protocol(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error> core::error::Error for StreamError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Transport(error) => error.source(),
            Self::Protocol(error) => error.source(),
        }
    }
}

/// A parser, and what broke its transport.
pub(crate) struct Driven<E> {
    pub(crate) parser: Parser,
    broken: Option<E>,
}

impl<E> Driven<E> {
    pub(crate) fn new(parser: Parser) -> Self {
        Self {
            parser,
            broken: None,
        }
    }

    /// Takes what a read gave: bytes, the end, or what broke it.
    pub(crate) fn take(&mut self, read: Option<Result<impl AsRef<[u8]>, E>>) {
        match read {
            Some(Ok(bytes)) => self.parser.feed(bytes.as_ref()),
            None => self.parser.finish(),
            Some(Err(error)) => {
                self.broken = Some(error);
                self.parser.abort();
            }
        }
    }

    /// Goes on to the next item. An event is lent by [`Parser::event`].
    pub(crate) fn step(&mut self) -> Option<Result<(), StreamError<E>>> {
        let Err(error) = self.parser.next_event()? else {
            return Some(Ok(()));
        };
        let broken = match error.kind() {
            ErrorKind::Truncated => self.broken.take(),
            _ => None,
        };
        Some(Err(broken.map_or(
            StreamError::Protocol(error),
            StreamError::Transport,
        )))
    }
}
