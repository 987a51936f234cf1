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

/// No reasoning has come, under any of its names.
const NO_REASONING: usize = usize::MAX;

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
        let mut rank = NO_REASONING;
        let mut details: Option<Box<Joined>> = None;
        let DeltaHalves {
            content: content_halves,
            refusal: refusal_halves,
            reasoning: reasoning_halves,
        } = &mut self.halves;
        // The names under which reasoning comes: of those that are not empty the first counts.
        macro_rules! reasoning {
            ($own_rank:literal, $cx:ident) => {{
                let (slot, halves) = (&mut self.reasoning_content, &mut *reasoning_halves);
                let text = HalvedText {
                    slot,
                    halves,
                    cx: &mut *$cx,
                };
                Lenient(Reasoning {
                    text,
                    own_rank: $own_rank,
                    rank: &mut rank,
                })
            }};
        }
        refill!(self, map, (slot, cx), fields {
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
            "tool_calls" as tool_calls => {
                let calls = ToolCalls { calls: &mut self.tool_calls, filled: &mut calls, cx: &mut *cx };
                map.next_value_seed(Lenient(calls))?;
            };
            "reasoning_content" as reasoning_content => map.next_value_seed(reasoning!(0, cx))?;
            "reasoning" as reasoning => map.next_value_seed(reasoning!(1, cx))?;
            "reasoning_text" as reasoning_text => map.next_value_seed(reasoning!(2, cx))?;
            "thinking" as thinking => map.next_value_seed(reasoning!(3, cx))?;
            "reasoning_details" as reasoning_details => {
                map.next_value_seed(Details { joined: &mut details, extra: &mut self.extra, cx: &mut *cx })?;
            };
        } other keep!(self, map, cx));
        while self.tool_calls.len() > calls {
            cx.spare.keep_call(self.tool_calls.pop());
        }
        if rank == NO_REASONING {
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
    /// The rank of its name: 0 is the best.
    own_rank: usize,
    /// That of the reasoning which counts so far.
    rank: &'a mut usize,
}

impl Reasoning<'_, '_> {
    /// Nothing under this name: what came before under the same one does not count.
    fn nothing(self) {
        if self.own_rank == *self.rank {
            *self.rank = NO_REASONING;
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
        if self.own_rank <= *self.rank {
            *self.rank = self.own_rank;
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
        refill!(self, map, (slot, cx), fields {
            "id" => id by text(slot, cx);
            "data" => data by text(slot, cx);
            "expires_at" => expires_at by count(slot, cx);
            "transcript" => transcript by Lenient(HalvedText { slot, halves: &mut *halves, cx: &mut *cx });
        } keys {} other keep!(self, map, cx));
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
        refill!(self, map, (slot, cx), fields {
            "content" => content by RawList(slot, cx);
            "refusal" => refusal by RawList(slot, cx);
        } keys {} other keep!(self, map, cx));
        Ok(())
    }
}
