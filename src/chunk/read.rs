//! Reads chunks into structs that are there already: each struct says what it makes of each key.

use alloc::string::String;
use core::cell::Cell;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess};
use serde::{Deserialize, Deserializer};

use super::content::{Content, Parts, text_of_details};
use super::extra;
use super::json::Halves;
use super::lenient::{
    Arguments, Count, Cx, Field, HalvedText, Index, IndexValue, Key, Lenient, Raw, RawList, Reason, Spare, Text,
    count_in,
};
use super::types::{
    Audio, Choice, Chunk, CompletionTokensDetails, CustomDelta, Delta, DeltaHalves, FunctionDelta, Logprobs,
    PromptTokensDetails, Skipped, ToolCallDelta, Usage,
};
use crate::{Deviation, Limits};

/// A struct that is read from an object, whatever it held before.
pub(super) trait Refill {
    fn refill<'de, A: MapAccess<'de>>(&mut self, map: A, cx: &mut Cx<'_>) -> Result<(), A::Error>;
}

/// An object that may be absent.
struct Object<'a, 'h, T>(&'a mut Option<T>, &'a mut Cx<'h>);

impl<T: Refill + Default> Field for Object<'_, '_, T> {
    fn absent(self) {
        *self.0 = None;
    }

    fn wrong(self) {
        self.1.note(Deviation::WrongType);
        self.absent();
    }

    fn object<'de, A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.0.get_or_insert_default().refill(map, self.1)
    }
}

impl<T: Refill> Refill for alloc::boxed::Box<T> {
    fn refill<'de, A: MapAccess<'de>>(&mut self, map: A, cx: &mut Cx<'_>) -> Result<(), A::Error> {
        (**self).refill(map, cx)
    }
}

/// An object that is read in place. Says whether it was one.
pub(super) struct InPlace<'a, 'h, T> {
    pub(super) target: &'a mut T,
    pub(super) is_object: &'a mut bool,
    pub(super) cx: &'a mut Cx<'h>,
}

impl<T: Refill> Field for InPlace<'_, '_, T> {
    fn absent(self) {
        *self.is_object = false;
    }

    fn wrong(self) {
        self.cx.note(Deviation::WrongType);
        self.absent();
    }

    fn object<'de, A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        *self.is_object = true;
        self.target.refill(map, self.cx)
    }
}

/// Which of a struct's fields have come.
#[derive(Default)]
struct Seen(u32);

impl Seen {
    fn mark(&mut self, bit: u32, cx: &mut Cx<'_>) {
        if self.has(bit) {
            cx.note(Deviation::DuplicateKey);
        }
        self.0 |= 1 << bit;
    }

    const fn has(&self, bit: u32) -> bool {
        self.0 & 1 << bit != 0
    }
}

/// The loop over an object's keys. `fields` are read into the field of that name by the seed named, and are none if
/// they do not come; `keys` are read by their own arm; `other` gets the rest.
macro_rules! refill {
    ($this:ident, $map:ident, $name:ident, ($slot:ident, $cx:ident), fields { $($key:literal => $field:ident by $seed:expr;)* }
        keys { $($own:pat => $arm:expr;)* } other $other:expr) => {{
        #[allow(non_camel_case_types)]
        enum Bit { $($field,)* }
        let mut seen = Seen::default();
        while let Some(key) = $map.next_key_seed(Key)? {
            match key.as_ref() {
                $($key => {
                    seen.mark(Bit::$field as u32, $cx);
                    let $slot = &mut $this.$field;
                    $map.next_value_seed($seed)?;
                })*
                $($own => { let $name = key.as_ref(); $arm })*
                $name => $other,
            }
        }
        $(if !seen.has(Bit::$field as u32) {
            $this.$field = None;
        })*
    }};
}

/// The unknown field goes to `extra`.
macro_rules! keep {
    ($this:ident, $map:ident, $key:ident) => {
        $map.next_value_seed(extra::Field { extra: &mut $this.extra, key: $key })?
    };
}

fn text<'a, 'h>(slot: &'a mut Option<String>, cx: &'a mut Cx<'h>) -> Lenient<Text<'a, 'h>> {
    Lenient(Text(slot, cx))
}

fn count<'a, 'h>(slot: &'a mut Option<u64>, cx: &'a mut Cx<'h>) -> Lenient<Count<'a, 'h>> {
    Lenient(Count(slot, cx))
}

fn object<'a, 'h, T>(slot: &'a mut Option<T>, cx: &'a mut Cx<'h>) -> Lenient<Object<'a, 'h, T>> {
    Lenient(Object(slot, cx))
}

impl Refill for Chunk {
    fn refill<'de, A: MapAccess<'de>>(&mut self, mut map: A, cx: &mut Cx<'_>) -> Result<(), A::Error> {
        self.extra.clear();
        self.skipped = Skipped::default();
        let mut choices = 0;
        refill!(self, map, key, (slot, cx), fields {
            "id" => id by text(slot, cx);
            "object" => object by text(slot, cx);
            "created" => created by count(slot, cx);
            "model" => model by text(slot, cx);
            "service_tier" => service_tier by text(slot, cx);
            "system_fingerprint" => system_fingerprint by text(slot, cx);
            "obfuscation" => obfuscation by text(slot, cx);
            "moderation" => moderation by Raw(slot);
            "usage" => usage by object(slot, cx);
        } keys {
            "choices" => {
                map.next_value_seed(Lenient(Choices { chunk: self, filled: &mut choices, cx: &mut *cx }))?;
            };
        } other {
            cx.found.hints.insert(key);
            keep!(self, map, key);
        });
        while self.choices.len() > choices {
            cx.spare.choices.extend(self.choices.pop());
        }
        cx.found.usage_object = self.usage.is_some();
        if self.usage.as_ref().is_none_or(Usage::is_empty) {
            self.usage_elsewhere(cx);
        }
        if self.usage.as_ref().is_some_and(Usage::is_empty) {
            cx.note(Deviation::UsageEmpty);
        }
        Ok(())
    }
}

impl Chunk {
    /// Moonshot has the usage in a choice, Groq in `x_groq`.
    fn usage_elsewhere(&mut self, cx: &mut Cx<'_>) {
        if let Some(usage) = cx.choice_usage.take() {
            cx.note(Deviation::UsageInChoice);
            self.usage = Some(usage);
        } else if let Some(raw) = self.extra.raw("x_groq") {
            #[derive(Deserialize)]
            struct XGroq {
                #[serde(default)]
                usage: Option<Usage>,
            }

            let usage = serde_json::from_str(raw).ok().and_then(|XGroq { usage }| usage);
            if let Some(usage) = usage.filter(|usage| !usage.is_empty()) {
                cx.note(Deviation::UsageInXGroq);
                self.usage = Some(usage);
            }
        }
    }
}

/// The list of choices.
struct Choices<'a, 'h> {
    chunk: &'a mut Chunk,
    filled: &'a mut usize,
    cx: &'a mut Cx<'h>,
}

impl Field for Choices<'_, '_> {
    fn absent(self) {
        *self.filled = 0;
    }

    fn wrong(self) {
        self.cx.note(Deviation::WrongType);
        self.absent();
    }

    fn list<'de, A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Choices { chunk, filled, cx } = self;
        *filled = 0;
        cx.found.choices_list = true;
        for position in 0_u32.. {
            if *filled >= cx.limits.max_choices {
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    chunk.skipped.count = true;
                }
                break;
            }
            if chunk.choices.len() == *filled {
                // One at a time: most streams have one choice, and a vector's first growth would be four.
                chunk.choices.reserve_exact(1);
                chunk.choices.push(cx.spare.choices.pop().unwrap_or_default());
            }
            let Some(target) = chunk.choices.get_mut(*filled) else {
                break;
            };
            target.index = position;
            let mut is_object = false;
            let seed = Lenient(InPlace { target, is_object: &mut is_object, cx: &mut *cx });
            if seq.next_element_seed(seed)?.is_none() {
                break;
            }
            let is_over = core::mem::take(&mut cx.over_index);
            chunk.skipped.index |= is_over;
            *filled += usize::from(is_object && !is_over);
        }
        Ok(())
    }
}

impl Refill for Choice {
    /// `index` holds the position in the list.
    fn refill<'de, A: MapAccess<'de>>(&mut self, mut map: A, cx: &mut Cx<'_>) -> Result<(), A::Error> {
        self.extra.clear();
        cx.skipped_calls = Skipped::default();
        let mut index = IndexValue::Missing;
        let mut has_index = false;
        let mut has_delta = false;
        let mut renamed_reason = None;
        let mut usage = None;
        refill!(self, map, key, (slot, cx), fields {
            "finish_reason" => finish_reason by Lenient(Reason(slot, cx));
            "logprobs" => logprobs by object(slot, cx);
            "message" => message by object(slot, cx);
        } keys {
            "index" => {
                if core::mem::replace(&mut has_index, true) {
                    cx.note(Deviation::DuplicateKey);
                }
                map.next_value_seed(Lenient(Index(&mut index, &mut *cx)))?;
            };
            "delta" => {
                if has_delta {
                    cx.note(Deviation::DuplicateKey);
                }
                let is_object = &mut has_delta;
                map.next_value_seed(Lenient(InPlace { target: &mut self.delta, is_object, cx: &mut *cx }))?;
            };
            "finishReason" => map.next_value_seed(Lenient(Reason(&mut renamed_reason, &mut *cx)))?;
            "usage" => map.next_value_seed(Lenient(Object(&mut usage, &mut *cx)))?;
        } other {
            cx.found.hints.insert_of_choice(key);
            keep!(self, map, key);
        });
        match index {
            IndexValue::Valid(index) => self.index = index,
            IndexValue::Missing => cx.note(Deviation::ChoiceIndexMissing),
            IndexValue::Over => cx.over_index = true,
        }
        if has_delta {
            if self.message.take().is_some() {
                // The message is a running total of the deltas: it would double the text.
                cx.note(Deviation::MessageInPlaceOfDelta);
            }
        } else {
            self.delta.clear(cx);
            let deviation =
                if self.message.is_some() { Deviation::MessageInPlaceOfDelta } else { Deviation::DeltaMissing };
            cx.note(deviation);
        }
        if self.finish_reason.is_none() && renamed_reason.is_some() {
            cx.note(Deviation::FinishReasonRenamed);
            self.finish_reason = renamed_reason;
        }
        if cx.choice_usage.is_none() {
            cx.choice_usage = usage.filter(|usage: &Usage| !usage.is_empty());
        }
        self.skipped = core::mem::take(&mut cx.skipped_calls);
        Ok(())
    }
}

/// The names under which reasoning comes; the first that is not empty counts.
const REASONING: [&str; 4] = ["reasoning_content", "reasoning", "reasoning_text", "thinking"];

impl Refill for Delta {
    fn refill<'de, A: MapAccess<'de>>(&mut self, mut map: A, cx: &mut Cx<'_>) -> Result<(), A::Error> {
        self.extra.clear();
        self.halves = DeltaHalves::default();
        let mut calls = 0;
        let mut parts = Parts::default();
        let mut rank = REASONING.len();
        let mut has_details = false;
        let DeltaHalves { content: content_halves, refusal: refusal_halves, reasoning: reasoning_halves } =
            &mut self.halves;
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
            "reasoning_content" | "reasoning" | "reasoning_text" | "thinking" => {
                let halves = &mut *reasoning_halves;
                let text = HalvedText { slot: &mut self.reasoning_content, halves, cx: &mut *cx };
                map.next_value_seed(Lenient(Reasoning { text, name: key, rank: &mut rank }))?;
            };
        } other {
            has_details |= key == "reasoning_details";
            keep!(self, map, key);
        });
        while self.tool_calls.len() > calls {
            cx.spare.calls.extend(self.tool_calls.pop());
        }
        if rank == REASONING.len() {
            self.reasoning_content = None;
        }
        if has_details && self.reasoning_content.is_none() {
            self.reasoning_content = self.extra.raw("reasoning_details").and_then(text_of_details);
        }
        if rank != 0 && self.reasoning_content.is_some() {
            cx.note(Deviation::ReasoningRenamed);
        }
        parts.finish(self, cx);
        Ok(())
    }
}

impl Delta {
    fn clear(&mut self, cx: &mut Cx<'_>) {
        cx.spare.calls.append(&mut self.tool_calls);
        let mut extra = core::mem::take(&mut self.extra);
        extra.clear();
        *self = Self { extra, ..Self::default() };
    }
}

/// Reasoning: text that counts if it is not empty and no better name had some.
struct Reasoning<'a, 'h> {
    text: HalvedText<'a, 'h>,
    name: &'a str,
    rank: &'a mut usize,
}

impl Field for Reasoning<'_, '_> {
    fn absent(self) {}

    fn wrong(self) {
        self.text.cx.note(Deviation::WrongType);
    }

    fn text(self, text: &str) {
        let rank = REASONING.iter().position(|name| *name == self.name).unwrap_or(REASONING.len());
        if !text.is_empty() && rank <= *self.rank {
            *self.rank = rank;
            self.text.text(text);
        }
    }
}

/// The list of tool call fragments; or one alone.
struct ToolCalls<'a, 'h> {
    calls: &'a mut alloc::vec::Vec<ToolCallDelta>,
    filled: &'a mut usize,
    cx: &'a mut Cx<'h>,
}

impl ToolCalls<'_, '_> {
    /// The struct that the next fragment is read into.
    fn target(&mut self) -> Option<&mut ToolCallDelta> {
        if self.calls.len() == *self.filled {
            self.calls.reserve_exact(1);
            self.calls.push(self.cx.spare.calls.pop().unwrap_or_default());
        }
        self.calls.get_mut(*self.filled)
    }
}

impl Field for ToolCalls<'_, '_> {
    fn absent(self) {
        *self.filled = 0;
    }

    fn wrong(self) {
        self.cx.note(Deviation::WrongType);
        self.absent();
    }

    fn object<'de, A: MapAccess<'de>>(mut self, map: A) -> Result<(), A::Error> {
        *self.filled = 0;
        self.target();
        let Some(target) = self.calls.first_mut() else {
            return Ok(());
        };
        self.cx.note(Deviation::ToolCallsNotList);
        target.refill(map, self.cx)?;
        let is_over = core::mem::take(&mut self.cx.over_index);
        self.cx.skipped_calls.index |= is_over;
        *self.filled = usize::from(!is_over);
        Ok(())
    }

    fn list<'de, A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        *self.filled = 0;
        loop {
            if *self.filled >= self.cx.limits.max_tool_calls {
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    self.cx.skipped_calls.count = true;
                }
                return Ok(());
            }
            self.target();
            let Some(target) = self.calls.get_mut(*self.filled) else {
                return Ok(());
            };
            let mut is_object = false;
            let seed = Lenient(InPlace { target, is_object: &mut is_object, cx: &mut *self.cx });
            if seq.next_element_seed(seed)?.is_none() {
                return Ok(());
            }
            let is_over = core::mem::take(&mut self.cx.over_index);
            self.cx.skipped_calls.index |= is_over;
            *self.filled += usize::from(is_object && !is_over);
        }
    }
}

impl Refill for ToolCallDelta {
    fn refill<'de, A: MapAccess<'de>>(&mut self, mut map: A, cx: &mut Cx<'_>) -> Result<(), A::Error> {
        self.extra.clear();
        self.slot = None;
        let mut index = IndexValue::Missing;
        refill!(self, map, key, (slot, cx), fields {
            "id" => id by text(slot, cx);
            "type" => r#type by text(slot, cx);
            "function" => function by object(slot, cx);
            "custom" => custom by object(slot, cx);
        } keys {
            "index" => map.next_value_seed(Lenient(Index(&mut index, &mut *cx)))?;
        } other keep!(self, map, key));
        self.index = if let IndexValue::Valid(index) = index { Some(index) } else { None };
        cx.over_index = index == IndexValue::Over;
        Ok(())
    }
}

impl Refill for FunctionDelta {
    fn refill<'de, A: MapAccess<'de>>(&mut self, mut map: A, cx: &mut Cx<'_>) -> Result<(), A::Error> {
        self.halves = Halves::default();
        let halves = &mut self.halves;
        refill!(self, map, key, (slot, cx), fields {
            "name" => name by text(slot, cx);
            "arguments" => arguments by Arguments(HalvedText { slot, halves: &mut *halves, cx: &mut *cx });
        } keys {} other { map.next_value::<IgnoredAny>()?; });
        Ok(())
    }
}

impl Refill for CustomDelta {
    fn refill<'de, A: MapAccess<'de>>(&mut self, mut map: A, cx: &mut Cx<'_>) -> Result<(), A::Error> {
        self.halves = Halves::default();
        let halves = &mut self.halves;
        refill!(self, map, key, (slot, cx), fields {
            "name" => name by text(slot, cx);
            "input" => input by Arguments(HalvedText { slot, halves: &mut *halves, cx: &mut *cx });
        } keys {} other { map.next_value::<IgnoredAny>()?; });
        Ok(())
    }
}

impl Refill for Audio {
    fn refill<'de, A: MapAccess<'de>>(&mut self, mut map: A, cx: &mut Cx<'_>) -> Result<(), A::Error> {
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
    fn refill<'de, A: MapAccess<'de>>(&mut self, mut map: A, cx: &mut Cx<'_>) -> Result<(), A::Error> {
        self.extra.clear();
        refill!(self, map, key, (slot, cx), fields {
            "content" => content by RawList(slot, cx);
            "refusal" => refusal by RawList(slot, cx);
        } keys {} other keep!(self, map, key));
        Ok(())
    }
}

impl Refill for Usage {
    fn refill<'de, A: MapAccess<'de>>(&mut self, mut map: A, cx: &mut Cx<'_>) -> Result<(), A::Error> {
        self.extra.clear();
        refill!(self, map, key, (slot, cx), fields {
            "prompt_tokens" => prompt_tokens by count(slot, cx);
            "completion_tokens" => completion_tokens by count(slot, cx);
            "total_tokens" => total_tokens by count(slot, cx);
            "prompt_tokens_details" => prompt_tokens_details by object(slot, cx);
            "completion_tokens_details" => completion_tokens_details by object(slot, cx);
        } keys {} other keep!(self, map, key));
        for (count, name) in [(&mut self.prompt_tokens, "input_tokens"), (&mut self.completion_tokens, "output_tokens")]
        {
            if count.is_none() {
                *count = self.extra.get(name).as_ref().and_then(count_in);
                if count.is_some() {
                    cx.note(Deviation::UsageRenamed);
                }
            }
        }
        Ok(())
    }
}

impl Refill for PromptTokensDetails {
    fn refill<'de, A: MapAccess<'de>>(&mut self, mut map: A, cx: &mut Cx<'_>) -> Result<(), A::Error> {
        self.extra.clear();
        refill!(self, map, key, (slot, cx), fields {
            "cached_tokens" => cached_tokens by count(slot, cx);
            "cache_write_tokens" => cache_write_tokens by count(slot, cx);
            "audio_tokens" => audio_tokens by count(slot, cx);
            "text_tokens" => text_tokens by count(slot, cx);
            "image_tokens" => image_tokens by count(slot, cx);
        } keys {} other keep!(self, map, key));
        Ok(())
    }
}

impl Refill for CompletionTokensDetails {
    fn refill<'de, A: MapAccess<'de>>(&mut self, mut map: A, cx: &mut Cx<'_>) -> Result<(), A::Error> {
        self.extra.clear();
        refill!(self, map, key, (slot, cx), fields {
            "reasoning_tokens" => reasoning_tokens by count(slot, cx);
            "audio_tokens" => audio_tokens by count(slot, cx);
            "text_tokens" => text_tokens by count(slot, cx);
            "accepted_prediction_tokens" => accepted_prediction_tokens by count(slot, cx);
            "rejected_prediction_tokens" => rejected_prediction_tokens by count(slot, cx);
        } keys {} other keep!(self, map, key));
        Ok(())
    }
}

/// Any deserializer reads these types as the decoder does: leniently.
macro_rules! deserialize {
    ($($type:ty),*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let (halves, mut spare, mut target) = (Cell::default(), Spare::default(), Self::default());
                let mut cx = Cx::new(&halves, &Limits::NONE, &mut spare);
                let mut is_object = false;
                Lenient(InPlace { target: &mut target, is_object: &mut is_object, cx: &mut cx })
                    .deserialize(deserializer)?;
                if is_object { Ok(target) } else { Err(serde::de::Error::custom("not an object")) }
            }
        }
    )*};
}

deserialize!(
    Chunk,
    Choice,
    Delta,
    ToolCallDelta,
    FunctionDelta,
    CustomDelta,
    Audio,
    Logprobs,
    Usage,
    PromptTokensDetails,
    CompletionTokensDetails
);
