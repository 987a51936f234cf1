//! What reads the text of a payload: types of others, and types that a user would write.

mod async_openai;
mod borrowed;
mod owned;
mod stream_rs;

pub use async_openai::AsyncOpenai;
pub use borrowed::Borrowed;
pub use owned::Owned;
pub use stream_rs::StreamRs;

use crate::streams::{Answer, Call};

/// A fragment of a tool call, by the index that it names.
pub struct Fragment<'a> {
    pub index: usize,
    pub id: Option<&'a str>,
    pub name: Option<&'a str>,
    pub arguments: Option<&'a str>,
}

/// Adds a fragment up, as a user would: by index, without the rules that odd dialects need.
pub fn push_call(answer: &mut Answer, fragment: &Fragment<'_>) {
    if answer.calls.len() <= fragment.index {
        answer.calls.resize_with(fragment.index + 1, Call::default);
    }
    let call = &mut answer.calls[fragment.index];
    call.id.push_str(fragment.id.unwrap_or_default());
    call.name.push_str(fragment.name.unwrap_or_default());
    call.arguments
        .push_str(fragment.arguments.unwrap_or_default());
}
