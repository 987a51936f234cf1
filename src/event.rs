//! What a stream says, one thing at a time.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::chunk::{Chunk, Usage};
use crate::completion::{CallRef, ToolCall};

/// Something lent: borrowed from the parser, or owned, in a box.
///
/// ```
/// use chatwire::{Chunk, Lent};
/// let chunk = Chunk::default();
/// let lent = Lent::Borrowed(&chunk);
/// assert_eq!(lent.text(), "");
/// assert_eq!(lent.into_owned(), chunk);
/// ```
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "there is no third way to have something"
)]
pub enum Lent<'a, T> {
    /// Lent by the parser, until it is called again.
    Borrowed(&'a T),
    /// Of its own.
    Owned(Box<T>),
}

impl<T> Deref for Lent<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Borrowed(value) => value,
            Self::Owned(value) => value,
        }
    }
}

impl<T: Clone> Lent<'_, T> {
    /// The value itself; cloned if it was borrowed.
    #[must_use]
    pub fn into_owned(self) -> T {
        match self {
            Self::Borrowed(value) => value.clone(),
            Self::Owned(value) => *value,
        }
    }

    fn into_static(self) -> Lent<'static, T> {
        Lent::Owned(match self {
            Self::Borrowed(value) => Box::new(value.clone()),
            Self::Owned(value) => value,
        })
    }
}

impl<T: Clone> Clone for Lent<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Self::Borrowed(value) => Self::Borrowed(value),
            Self::Owned(value) => Self::Owned(value.clone()),
        }
    }
}

impl<T: PartialEq> PartialEq for Lent<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T> From<T> for Lent<'_, T> {
    fn from(value: T) -> Self {
        Self::Owned(Box::new(value))
    }
}

impl<T: Serialize> Serialize for Lent<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

/// What a stream says. At most 32 bytes.
///
/// It serialises with a tag: `{"event":"chunk_parsed","chunk":{...}}`, `{"event":"usage_frame","usage":{...}}`,
/// `{"event":"tool_call_complete","choice":0,"slot":0,"call":{...}}`,
/// `{"event":"done","marker":true,"unfinished":[],"incomplete_calls":[]}`. It reads back; but the `slot` of a tool call's
/// delta, which is not on the wire, is not written. `inspect --events` writes a line of it for each event.
///
/// ```
/// use chatwire::{Event, Parser};
/// let mut parser = Parser::new();
/// parser.feed(b"data: [DONE]\n\n");
/// let event: Event<'static> = parser.next_owned().unwrap()?;
/// let json = serde_json::to_string(&event).unwrap();
/// assert_eq!(json, r#"{"event":"done","marker":true,"unfinished":[],"incomplete_calls":[]}"#);
/// assert_eq!(serde_json::from_str::<Event<'static>>(&json).unwrap(), event);
/// # Ok::<(), chatwire::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A chunk was decoded: each one, in order. What follows from it comes after it.
    ChunkParsed(Lent<'a, Chunk>),
    /// The chunk carried token counts. It comes each time: with running totals once per chunk. The last one counts.
    UsageFrame(Lent<'a, Usage>),
    /// A tool call is complete: once per call, whole, and frozen from now on. The arguments of a function are JSON by its
    /// grammar: not every reader takes a number out of range, or half a surrogate pair, that a model may write.
    #[non_exhaustive]
    ToolCallComplete {
        /// The index of its choice.
        choice: u32,
        /// Its number in the choice, in order of arrival.
        slot: u32,
        /// The call.
        call: Lent<'a, ToolCall>,
    },
    /// The answer is over: `[DONE]` came, or the input ended cleanly with every choice finished. Once, last.
    Done(Lent<'a, Done>),
}

const _: () = assert!(size_of::<Event<'static>>() <= 32);

/// How a stream ended well.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Done {
    marker: bool,
    unfinished: Vec<u32>,
    incomplete_calls: Vec<CallRef>,
}

impl Done {
    pub(crate) fn new(marker: bool, unfinished: Vec<u32>, incomplete_calls: Vec<CallRef>) -> Self {
        Self {
            marker,
            unfinished,
            incomplete_calls,
        }
    }

    /// Whether `[DONE]` came. Some servers never send it.
    #[must_use]
    pub fn marker(&self) -> bool {
        self.marker
    }

    /// The choices that have no finish reason, ascending: `[DONE]` ends the transport, not every choice.
    #[must_use]
    pub fn unfinished(&self) -> &[u32] {
        &self.unfinished
    }

    /// The calls that never completed: no name, no whole arguments. What came of them is in the completion.
    #[must_use]
    pub fn incomplete_calls(&self) -> &[CallRef] {
        &self.incomplete_calls
    }
}

impl Event<'_> {
    /// The same event, of its own.
    ///
    /// ```
    /// let mut parser = chatwire::Parser::new();
    /// parser.feed(b"data: {\"choices\":[]}\n\n");
    /// let event = parser.next_event().unwrap()?.into_owned();
    /// parser.feed(b"data: [DONE]\n\n");
    /// assert!(matches!(event, chatwire::Event::ChunkParsed(chunk) if chunk.choices.is_empty()));
    /// # Ok::<(), chatwire::Error>(())
    /// ```
    #[must_use]
    pub fn into_owned(self) -> Event<'static> {
        match self {
            Self::ChunkParsed(chunk) => Event::ChunkParsed(chunk.into_static()),
            Self::UsageFrame(usage) => Event::UsageFrame(usage.into_static()),
            Self::ToolCallComplete { choice, slot, call } => Event::ToolCallComplete {
                choice,
                slot,
                call: call.into_static(),
            },
            Self::Done(done) => Event::Done(done.into_static()),
        }
    }
}

impl Serialize for Event<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "event", rename_all = "snake_case")]
        enum Wire<'a> {
            ChunkParsed {
                chunk: &'a Chunk,
            },
            UsageFrame {
                usage: &'a Usage,
            },
            ToolCallComplete {
                choice: u32,
                slot: u32,
                call: &'a ToolCall,
            },
            Done {
                marker: bool,
                unfinished: &'a [u32],
                incomplete_calls: &'a [CallRef],
            },
        }

        match self {
            Self::ChunkParsed(chunk) => Wire::ChunkParsed { chunk },
            Self::UsageFrame(usage) => Wire::UsageFrame { usage },
            Self::ToolCallComplete { choice, slot, call } => Wire::ToolCallComplete {
                choice: *choice,
                slot: *slot,
                call,
            },
            Self::Done(done) => Wire::Done {
                marker: done.marker,
                unfinished: &done.unfinished,
                incomplete_calls: &done.incomplete_calls,
            },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Event<'static> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(tag = "event", rename_all = "snake_case")]
        #[expect(clippy::large_enum_variant, reason = "it is taken apart at once")]
        enum Wire {
            ChunkParsed {
                chunk: Chunk,
            },
            UsageFrame {
                usage: Usage,
            },
            ToolCallComplete {
                choice: u32,
                slot: u32,
                call: ToolCall,
            },
            Done {
                marker: bool,
                unfinished: Vec<u32>,
                incomplete_calls: Vec<CallRef>,
            },
        }

        Ok(match Wire::deserialize(deserializer)? {
            Wire::ChunkParsed { chunk } => Event::ChunkParsed(chunk.into()),
            Wire::UsageFrame { usage } => Event::UsageFrame(usage.into()),
            Wire::ToolCallComplete { choice, slot, call } => Event::ToolCallComplete {
                choice,
                slot,
                call: call.into(),
            },
            Wire::Done {
                marker,
                unfinished,
                incomplete_calls,
            } => Event::Done(Done::new(marker, unfinished, incomplete_calls).into()),
        })
    }
}
