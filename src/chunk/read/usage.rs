//! Token counts.

use serde::de::MapAccess;

use super::{Refill, Seen, count, object};
use crate::Deviation;
use crate::chunk::context::Cx;
use crate::chunk::extra;
use crate::chunk::json::value;
use crate::chunk::lenient::count_in;
use crate::chunk::usage::{CompletionTokensDetails, PromptTokensDetails, Usage};
use crate::chunk::weight::is_heavy;

impl Refill for Usage {
    fn refill<'de, A: MapAccess<'de>>(
        &mut self,
        mut map: A,
        cx: &mut Cx<'_>,
    ) -> Result<(), A::Error> {
        self.extra.clear();
        refill!(self, map, (slot, cx), fields {
            "prompt_tokens" => prompt_tokens by count(slot, cx);
            "completion_tokens" => completion_tokens by count(slot, cx);
            "total_tokens" => total_tokens by count(slot, cx);
            "prompt_tokens_details" => prompt_tokens_details by object(slot, cx);
            "completion_tokens_details" => completion_tokens_details by object(slot, cx);
        } keys {} other keep!(self, map, cx));
        for (count, name) in [
            (&mut self.prompt_tokens, "input_tokens"),
            (&mut self.completion_tokens, "output_tokens"),
        ] {
            if count.is_none() {
                let raw = self.extra.raw(name).filter(|raw| !is_heavy(raw));
                *count = raw.and_then(value).as_ref().and_then(count_in);
                if count.is_some() {
                    cx.note(Deviation::UsageRenamed);
                }
            }
        }
        Ok(())
    }
}

impl Refill for PromptTokensDetails {
    fn refill<'de, A: MapAccess<'de>>(
        &mut self,
        mut map: A,
        cx: &mut Cx<'_>,
    ) -> Result<(), A::Error> {
        self.extra.clear();
        refill!(self, map, (slot, cx), fields {
            "cached_tokens" => cached_tokens by count(slot, cx);
            "cache_write_tokens" => cache_write_tokens by count(slot, cx);
            "audio_tokens" => audio_tokens by count(slot, cx);
            "text_tokens" => text_tokens by count(slot, cx);
            "image_tokens" => image_tokens by count(slot, cx);
        } keys {} other keep!(self, map, cx));
        Ok(())
    }
}

impl Refill for CompletionTokensDetails {
    fn refill<'de, A: MapAccess<'de>>(
        &mut self,
        mut map: A,
        cx: &mut Cx<'_>,
    ) -> Result<(), A::Error> {
        self.extra.clear();
        refill!(self, map, (slot, cx), fields {
            "reasoning_tokens" => reasoning_tokens by count(slot, cx);
            "audio_tokens" => audio_tokens by count(slot, cx);
            "text_tokens" => text_tokens by count(slot, cx);
            "accepted_prediction_tokens" => accepted_prediction_tokens by count(slot, cx);
            "rejected_prediction_tokens" => rejected_prediction_tokens by count(slot, cx);
        } keys {} other keep!(self, map, cx));
        Ok(())
    }
}
