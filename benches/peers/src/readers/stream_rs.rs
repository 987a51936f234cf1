//! stream-rs's accumulator. It brings no JSON, so it gets the borrowed struct.

use stream_rs::accumulators::openai::OpenAiAccumulator;

use super::borrowed::{Choice, Chunk, Text, fragment};
use crate::session::Reader;
use crate::streams::{Answer, Call};

/// It has no reasoning: the accumulator has no place for it.
#[derive(Default)]
pub struct StreamRs(OpenAiAccumulator);

impl Reader for StreamRs {
    fn payload(&mut self, text: &str) -> bool {
        let Ok(chunk) = serde_json::from_str::<Chunk<'_>>(text) else {
            return false;
        };
        for Choice {
            delta,
            finish_reason,
        } in chunk.choices
        {
            if let Some(content) = &delta.content {
                self.0.push_content(0, content.as_str());
            }
            for call in delta.tool_calls.iter().flatten() {
                let call = fragment(call);
                self.0
                    .push_tool_call(0, call.index, call.id, call.name, call.arguments);
            }
            if let Some(reason) = finish_reason.as_ref().map(Text::as_str) {
                self.0.set_finish_reason(0, reason);
            }
        }
        true
    }

    fn finish(self) -> Answer {
        let Some(choice) = self.0.choice(0) else {
            return Answer::default();
        };
        let calls = choice.tool_calls.values().map(|call| Call {
            id: call.id.clone().unwrap_or_default(),
            name: call.name.clone().unwrap_or_default(),
            arguments: call.arguments.clone(),
        });
        Answer {
            content: choice.content.clone(),
            reasoning: String::new(),
            calls: calls.collect(),
        }
    }
}
