#![no_std]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod chunk;
pub mod completion;
mod deviation;
mod error;
mod event;
mod limits;
mod parser;
pub mod sse;

pub use chunk::{ApiError, Chunk, Extra, FinishReason, RawJson, Usage};
pub use completion::{CallRef, ChatCompletion, ToolCall};
pub use deviation::{Deviation, DeviationSet, Deviations, Met};
pub use error::{Error, ErrorKind};
pub use event::{Done, Event, Lent};
pub use limits::{Limit, Limits};
pub use parser::{Options, Parser};
