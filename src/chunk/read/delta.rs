//! What is added to a message: text, reasoning, audio; and log probabilities.

use alloc::boxed::Box;
use alloc::string::String;

use serde::de::MapAccess;

use super::calls::ToolCalls;
use super::{Refill, Seen, count, object, text};
use crate::Deviation;
use crate::chunk::content::{Content, Details, Joined, Parts};
use crate::chunk::context::Cx;
use crate::chunk::extra;
use crate::chunk::json::Halves;
use crate::chunk::lenient::{Field, HalvedText, Lenient, RawList};
use crate::chunk::reuse::{SMALL, set_text};
use crate::chunk::types::{Audio, Delta, DeltaHalves, Logprobs};

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
        let mut reasonings = 0_u8;
        let mut details: Option<Box<Joined>> = None;
        let DeltaHalves {
            content: content_halves,
            refusal: refusal_halves,
            reasoning: reasoning_halves,
        } = &mut self.halves;
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
            "reasoning_content" as reasoning_content => map.next_value_seed(Lenient(Reasoning(0, &mut reasonings, &mut *cx)))?;
            "reasoning" as reasoning => map.next_value_seed(Lenient(Reasoning(1, &mut reasonings, &mut *cx)))?;
            "reasoning_text" as reasoning_text => map.next_value_seed(Lenient(Reasoning(2, &mut reasonings, &mut *cx)))?;
            "thinking" as thinking => map.next_value_seed(Lenient(Reasoning(3, &mut reasonings, &mut *cx)))?;
            "reasoning_details" as reasoning_details => {
                map.next_value_seed(Details { joined: &mut details, extra: &mut self.extra, cx: &mut *cx })?;
            };
        } other keep!(self, map, cx));
        while self.tool_calls.len() > calls {
            cx.spare.keep_call(self.tool_calls.pop());
        }
        // Of the names under which reasoning came, and was not empty, the first counts.
        let name = reasonings.trailing_zeros() as usize;
        match cx.spare.reasonings.get(name) {
            Some((text, halves)) => {
                set_text(&mut self.reasoning_content, text);
                *reasoning_halves = *halves;
            }
            None => self.reasoning_content = None,
        }
        let large = |text: &String| text.capacity() > SMALL;
        for (text, _) in cx
            .spare
            .reasonings
            .iter_mut()
            .filter(|(text, _)| large(text))
        {
            *text = String::new();
        }
        if let Some(details) = details.filter(|_| self.reasoning_content.is_none()) {
            details.into_reasoning_of(self);
        }
        if name != 0 && self.reasoning_content.is_some() {
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

/// Reasoning under one of its names, by number: text that counts if it is not empty. Which names had some is a bit each.
struct Reasoning<'a, 'h>(usize, &'a mut u8, &'a mut Cx<'h>);

impl Field for Reasoning<'_, '_> {
    fn absent(self) {
        *self.1 &= !(1 << self.0);
    }

    fn wrong(self) {
        self.2.note(Deviation::WrongType);
        self.absent();
    }

    fn text(self, text: &str) {
        if text.is_empty() {
            return self.absent();
        }
        let halves = self.2.notes.halves.get();
        if let Some(kept) = self.2.spare.reasonings.get_mut(self.0) {
            *self.1 |= 1 << self.0;
            kept.0.clear();
            kept.0.push_str(text);
            kept.1 = halves;
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
