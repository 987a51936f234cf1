//! Decoding: the text of a payload in, [`Chunk`]s out. Knows no event stream, and keeps no history of the answer.
//!
//! Every field is optional, and a value of a wrong type costs its field, not the chunk. What was tolerated is told by
//! [`Decoder::deviations`].
//!
//! Where a new quirk of a provider goes: a field under another name or of another type is an arm in `read` (a kind of value
//! that is not there yet: a small type in `lenient.rs`); an error of another shape is an arm in `api.rs`; JSON that is none
//! is an arm in `json`.
//!
//! ```
//! use chatwire::chunk::{Decoder, Payload};
//!
//! let mut decoder = Decoder::new();
//! let mut payloads = decoder.payloads(r#"{"choices":[{"index":0,"delta":{"content":"Hi"}}]} [DONE]"#);
//! assert!(matches!(payloads.next_payload(), Some(Ok(Payload::Chunk(chunk))) if chunk.text() == "Hi"));
//! assert!(matches!(payloads.next_payload(), Some(Ok(Payload::Done))));
//! assert!(payloads.next_payload().is_none());
//! ```

mod api;
mod content;
mod context;
mod decoder;
mod extra;
mod json;
mod key;
mod lenient;
mod raw;
mod read;
mod reuse;
mod sequence;
mod template;
mod transcode;
mod types;
mod usage;
mod weight;

pub use api::ApiError;
pub use decoder::{Decoder, Payload, Payloads};
pub use extra::Extra;
pub use raw::{DecodeError, RawJson};
pub use sequence::is_done_marker;
pub use types::{
    Audio, Choice, Chunk, CustomDelta, Delta, FinishReason, FunctionDelta, Logprobs, TokenLogprob,
    ToolCallDelta,
};
pub use usage::{CompletionTokensDetails, PromptTokensDetails, Usage};

pub(crate) use decoder::Step;
pub(crate) use json::{Halves, MAX_DEPTH, SyntaxError, container, plain_end, unescaped, value};
pub(crate) use sequence::Cursor;
pub(crate) use template::{Change, Refused};
pub(crate) use weight::{FIELD, OBJECT, overhead};
