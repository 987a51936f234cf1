//! Aggregation: [`Chunk`](crate::Chunk)s in, the whole answer out. Knows no bytes.
//!
//! [`Accumulator::push`] adds a chunk to the [`ChatCompletion`], which can be looked at at any time. Text is appended as
//! it comes, never guessed at. What a tool call fragment belongs to, and when a call is complete, is in `tools.rs`, where
//! a new quirk of a provider goes too.
//!
//! ```
//! use chatwire::{Chunk, completion::Accumulator};
//!
//! let mut accumulator = Accumulator::new();
//! for text in ["Hel", "lo"] {
//!     let json = format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#);
//!     accumulator.push(&mut Chunk::from_json(&json)?);
//! }
//! assert_eq!(accumulator.completion().text(), "Hello");
//! # Ok::<(), chatwire::Error>(())
//! ```

mod accumulator;
mod fields;
mod fragment;
mod latest;
mod ledger;
mod merge;
mod tools;
mod types;
mod whole;

pub use accumulator::{Accumulator, CallRef, Completed};
pub use types::{ChatCompletion, Choice, CustomCall, FunctionCall, Message, ToolCall};
