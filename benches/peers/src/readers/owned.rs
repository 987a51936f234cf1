//! The types that a user writes first: all documented fields, each a `String` of its own.
#![allow(
    dead_code,
    reason = "most fields are read from the wire and never looked at"
)]

use serde::Deserialize;

use super::{Fragment, push_call};
use crate::session::Reader;
use crate::streams::Answer;

#[derive(Deserialize)]
struct Chunk {
    id: String,
    object: String,
    created: u64,
    model: String,
    service_tier: Option<String>,
    system_fingerprint: Option<String>,
    choices: Vec<Choice>,
    usage: Option<Usage>,
    obfuscation: Option<String>,
}

#[derive(Deserialize)]
struct Choice {
    index: u32,
    delta: Delta,
    logprobs: Option<Logprobs>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    role: Option<String>,
    content: Option<String>,
    reasoning_content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<ToolCall>>,
}

#[derive(Deserialize)]
struct ToolCall {
    index: usize,
    id: Option<String>,
    r#type: Option<String>,
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Logprobs {
    content: Option<Vec<Logprob>>,
}

#[derive(Deserialize)]
struct Logprob {
    token: String,
    logprob: f64,
    bytes: Option<Vec<u8>>,
    #[serde(default)]
    top_logprobs: Vec<Self>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
}

#[derive(Default)]
pub struct Owned(Answer);

impl Reader for Owned {
    fn payload(&mut self, text: &str) -> bool {
        let Ok(chunk) = serde_json::from_str::<Chunk>(text) else {
            return false;
        };
        for Choice { delta, .. } in chunk.choices {
            self.0
                .content
                .push_str(delta.content.as_deref().unwrap_or_default());
            self.0
                .reasoning
                .push_str(delta.reasoning_content.as_deref().unwrap_or_default());
            for call in delta.tool_calls.iter().flatten() {
                let function = call.function.as_ref();
                let fragment = Fragment {
                    index: call.index,
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
