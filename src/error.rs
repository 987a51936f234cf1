//! What the server said against us, and what could not be read.

use alloc::boxed::Box;
use core::fmt;

use crate::chunk::{ApiError, SyntaxError};
use crate::{Deviation, Limit};

/// What went wrong, where. One pointer in size.
///
/// Each error is yielded once, in the order of the stream, and reading goes on after it; only
/// [`ErrorKind::Truncated`] is final. `Debug` and `Display` hold no text of the stream, which may be personal;
/// that is in [`api`](Self::api).
///
/// ```
/// let mut parser = chatwire::Parser::new();
/// parser.feed(b"data: {\"error\":{\"message\":\"slow down\",\"code\":429}}\n\n");
/// let error = parser.next_event().unwrap().unwrap_err();
/// assert_eq!(error.kind(), chatwire::ErrorKind::Api);
/// assert_eq!(error.to_string(), "the server sent an error (code 429) at byte 0");
/// assert_eq!(error.api().unwrap().message, "slow down");
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    offset: u64,
    cause: Cause,
}

enum Cause {
    None,
    Syntax(SyntaxError),
    Api(ApiError),
    Limit(Limit),
    Deviation(Deviation),
}

/// The kinds of [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A payload is no JSON, or no object. It is skipped.
    Malformed,
    /// The server sent an error: [`Error::api`]. What came before is in the completion.
    Api,
    /// A limit was exceeded: [`Error::limit`]. That part is skipped.
    TooLarge,
    /// The body is no event stream and no JSON: HTML, compressed, or something else.
    NotEventStream,
    /// A deviation that [`Options::strict`](crate::Options::strict) asks to be an error: [`Error::deviation`]. The
    /// events of the frame still come.
    Deviation,
    /// The input ended before the answer did. Final; the answer cannot be resumed.
    Truncated,
}

impl ErrorKind {
    /// The name in snake case, stable.
    ///
    /// ```
    /// assert_eq!(chatwire::ErrorKind::TooLarge.as_str(), "too_large");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Api => "api",
            Self::TooLarge => "too_large",
            Self::NotEventStream => "not_event_stream",
            Self::Deviation => "deviation",
            Self::Truncated => "truncated",
        }
    }
}

impl Error {
    fn new(kind: ErrorKind, offset: u64, cause: Cause) -> Self {
        Self(Box::new(Inner {
            kind,
            offset,
            cause,
        }))
    }

    pub(crate) fn malformed(offset: u64, syntax: SyntaxError) -> Self {
        Self::new(ErrorKind::Malformed, offset, Cause::Syntax(syntax))
    }

    pub(crate) fn from_api(offset: u64, api: ApiError) -> Self {
        Self::new(ErrorKind::Api, offset, Cause::Api(api))
    }

    pub(crate) fn too_large(offset: u64, limit: Limit) -> Self {
        Self::new(ErrorKind::TooLarge, offset, Cause::Limit(limit))
    }

    pub(crate) fn not_event_stream() -> Self {
        Self::new(ErrorKind::NotEventStream, 0, Cause::None)
    }

    pub(crate) fn from_deviation(offset: u64, deviation: Deviation) -> Self {
        Self::new(ErrorKind::Deviation, offset, Cause::Deviation(deviation))
    }

    pub(crate) fn truncated(offset: u64) -> Self {
        Self::new(ErrorKind::Truncated, offset, Cause::None)
    }

    /// What kind of error it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Where the frame it came from starts, in bytes from the start of the stream: 0 for
    /// [`NotEventStream`](ErrorKind::NotEventStream), the bytes fed for [`Truncated`](ErrorKind::Truncated). From
    /// [`chunk::Decoder`](crate::chunk::Decoder), which knows no stream: where the JSON value starts in its payload.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.0.offset
    }

    /// The server's error, for [`ErrorKind::Api`].
    #[must_use]
    pub fn api(&self) -> Option<&ApiError> {
        match &self.0.cause {
            Cause::Api(api) => Some(api),
            _ => None,
        }
    }

    /// The server's error as its own value, for [`ErrorKind::Api`].
    #[must_use]
    pub fn into_api(self) -> Option<ApiError> {
        match self.0.cause {
            Cause::Api(api) => Some(api),
            _ => None,
        }
    }

    /// The limit that was exceeded, for [`ErrorKind::TooLarge`].
    #[must_use]
    pub fn limit(&self) -> Option<Limit> {
        match self.0.cause {
            Cause::Limit(limit) => Some(limit),
            _ => None,
        }
    }

    /// The deviation, for [`ErrorKind::Deviation`].
    #[must_use]
    pub fn deviation(&self) -> Option<Deviation> {
        match self.0.cause {
            Cause::Deviation(deviation) => Some(deviation),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.kind, &self.0.cause) {
            (ErrorKind::Api, Cause::Api(api)) => {
                f.write_str("the server sent an error")?;
                api.fmt_codes(f)?;
            }
            (ErrorKind::TooLarge, Cause::Limit(limit)) => {
                write!(f, "over the limit {}", limit.as_str())?
            }
            (_, Cause::Deviation(deviation)) => write!(f, "deviation {deviation}")?,
            (ErrorKind::NotEventStream, _) => f.write_str("the body is no event stream")?,
            (ErrorKind::Truncated, _) => f.write_str("the stream ended before the answer did")?,
            _ => f.write_str("the payload is no JSON object")?,
        }
        write!(f, " at byte {}", self.0.offset)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("offset", &self.0.offset)
            .finish_non_exhaustive()
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.0.cause {
            Cause::Syntax(syntax) => Some(syntax),
            Cause::Api(api) => Some(api),
            _ => None,
        }
    }
}

const _: () = assert!(size_of::<Result<(), Error>>() == size_of::<usize>());
