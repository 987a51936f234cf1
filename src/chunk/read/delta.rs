//! What is added to a message: text, reasoning, audio; and log probabilities.

use alloc::boxed::Box;

use serde::de::MapAccess;

use super::calls::ToolCalls;
use super::{Refill, Seen, count, object, text};
use crate::Deviation;
use crate::chunk::content::{Content, Details, Joined, Parts};
use crate::chunk::context::Cx;
use crate::chunk::extra;
use crate::chunk::json::Halves;
use crate::chunk::lenient::{Field, HalvedText, Key, Lenient, RawList};
use crate::chunk::types::{Audio, Delta, DeltaHalves, Logprobs};

/// The names under which reasoning comes; the first that is not empty counts.
const REASONING: [&str; 4] = [
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "thinking",
];

impl Refill for Delta {
    fn refill<'de, A: MapAccess<'de>>(
        &mut self,
        mut map: A,
        cx: &mut Cx<'_>,
    ) -> Result<(), A::Error> {
        self.extra.clear();
        self.halves = DeltaHalves::default();
        let mut calls = 0;
        let mut parts: Option<Box<Parts>> = None;
        let mut rank = REASONING.len();
        let mut details: Option<Box<Joined>> = None;
        let DeltaHalves {
            content: content_halves,
            refusal: refusal_halves,
            reasoning: reasoning_halves,
        } = &mut self.halves;
        refill!(self, map, key, (slot, cx), fields {
            "role" => role by text(slot, cx);
            "content" => content by {
                let text = HalvedText { slot, halves: &mut *content_halves, cx: &mut *cx };
                Lenient(Content { text, parts: &mut parts })
            };
            "refusal" => refusal by Lenient(HalvedText { slot, halves: &mut *refusal_halves, cx: &mut *cx });
            "function_call" => function_call by object(slot, cx);
            "audio" => audio by object(slot, cx);
            "annotations" => annotations by RawList(slot, cx);
        } keys {
            "tool_calls" => {
                let calls = ToolCalls { calls: &mut self.tool_calls, filled: &mut calls, cx: &mut *cx };
                map.next_value_seed(Lenient(calls))?;
            };
            name @ ("reasoning_content" | "reasoning" | "reasoning_text" | "thinking") => {
                let halves = &mut *reasoning_halves;
                let text = HalvedText { slot: &mut self.reasoning_content, halves, cx: &mut *cx };
                map.next_value_seed(Lenient(Reasoning { text, name, rank: &mut rank }))?;
            };
            "reasoning_details" => {
                map.next_value_seed(Details { joined: &mut details, extra: &mut self.extra, cx: &mut *cx })?;
            };
        } other keep!(self, map, key));
        while self.tool_calls.len() > calls {
            cx.spare.keep_call(self.tool_calls.pop());
        }
        if rank == REASONING.len() {
            self.reasoning_content = None;
        }
        if let Some(details) = details.filter(|_| self.reasoning_content.is_none()) {
            details.into_reasoning_of(self);
        }
        if rank != 0 && self.reasoning_content.is_some() {
            cx.note(Deviation::ReasoningRenamed);
        }
        if let Some(parts) = parts {
            parts.finish(self, cx);
        }
        Ok(())
    }
}

impl Delta {
    pub(super) fn clear(&mut self, cx: &mut Cx<'_>) {
        self.tool_calls
            .drain(..)
            .for_each(|call| cx.spare.keep_call(Some(call)));
        let mut extra = core::mem::take(&mut self.extra);
        extra.clear();
        *self = Self {
            extra,
            ..Self::default()
        };
    }
}

/// Reasoning: text that counts if it is not empty and no better name had some.
struct Reasoning<'a, 'h> {
    text: HalvedText<'a, 'h>,
    name: &'a str,
    rank: &'a mut usize,
}

impl Reasoning<'_, '_> {
    fn own_rank(&self) -> usize {
        REASONING
            .iter()
            .position(|name| *name == self.name)
            .unwrap_or(REASONING.len())
    }

    /// Nothing under this name: what came before under the same one does not count.
    fn nothing(self) {
        if self.own_rank() == *self.rank {
            *self.rank = REASONING.len();
            self.text.absent();
        }
    }
}

impl Field for Reasoning<'_, '_> {
    fn absent(self) {
        self.nothing();
    }

    fn wrong(self) {
        self.text.cx.note(Deviation::WrongType);
        self.nothing();
    }

    fn text(self, text: &str) {
        if text.is_empty() {
            return self.nothing();
        }
        let rank = self.own_rank();
        if rank <= *self.rank {
            *self.rank = rank;
            self.text.text(text);
        }
    }
}

impl Refill for Audio {
    fn refill<'de, A: MapAccess<'de>>(
        &mut self,
        mut map: A,
        cx: &mut Cx<'_>,
    ) -> Result<(), A::Error> {
        self.extra.clear();
        self.halves = Halves::default();
        let halves = &mut self.halves;
        refill!(self, map, key, (slot, cx), fields {
            "id" => id by text(slot, cx);
            "data" => data by text(slot, cx);
            "expires_at" => expires_at by count(slot, cx);
            "transcript" => transcript by Lenient(HalvedText { slot, halves: &mut *halves, cx: &mut *cx });
        } keys {} other keep!(self, map, key));
        Ok(())
    }
}

impl Refill for Logprobs {
    fn refill<'de, A: MapAccess<'de>>(
        &mut self,
        mut map: A,
        cx: &mut Cx<'_>,
    ) -> Result<(), A::Error> {
        self.extra.clear();
        refill!(self, map, key, (slot, cx), fields {
            "content" => content by RawList(slot, cx);
            "refusal" => refusal by RawList(slot, cx);
        } keys {} other keep!(self, map, key));
        Ok(())
    }
}
