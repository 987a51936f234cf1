//! async-openai's types, which are what most programs deserialise into.

use async_openai::types::chat::CreateChatCompletionStreamResponse;

use super::{Fragment, push_call};
use crate::session::Reader;
use crate::streams::Answer;

/// It has no reasoning: those types drop it.
#[derive(Default)]
pub struct AsyncOpenai(Answer);

impl Reader for AsyncOpenai {
    fn payload(&mut self, text: &str) -> bool {
        let Ok(chunk) = serde_json::from_str::<CreateChatCompletionStreamResponse>(text) else {
            return false;
        };
        for choice in chunk.choices {
            let delta = choice.delta;
            self.0
                .content
                .push_str(delta.content.as_deref().unwrap_or_default());
            for call in delta.tool_calls.iter().flatten() {
                let function = call.function.as_ref();
                let fragment = Fragment {
                    index: call.index as usize,
                    id: call.id.as_deref(),
                    name: function.and_then(|function| function.name.as_deref()),
                    arguments: function.and_then(|function| function.arguments.as_deref()),
                };
                push_call(&mut self.0, &fragment);
            }
        }
        true
    }

    fn finish(self) -> Answer {
        self.0
    }
}
