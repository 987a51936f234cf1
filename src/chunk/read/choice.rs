//! A chunk and its choices.

use alloc::boxed::Box;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, SeqAccess};

use super::{Element, InPlace, Object, Refill, Seen, count, object, text};
use crate::Deviation;
use crate::chunk::context::Cx;
use crate::chunk::json::value;
use crate::chunk::lenient::{Field, Index, IndexValue, Lenient, Raw, Reason, Steady};
use crate::chunk::types::{Choice, Chunk, Skipped};
use crate::chunk::usage::Usage;
use crate::chunk::weight::is_heavy;
use crate::chunk::{RawJson, extra};

impl Refill for Chunk {
    fn refill<'de, A: MapAccess<'de>>(
        &mut self,
        mut map: A,
        cx: &mut Cx<'_>,
    ) -> Result<(), A::Error> {
        self.extra.clear();
        self.skipped = Skipped::default();
        let before = (self.created, self.steady());
        let mut choices = 0;
        refill!(self, map, (slot, cx), fields {
            "id" => id by Lenient(Steady(slot, cx));
            "object" => object by text(slot, cx);
            "created" => created by count(slot, cx);
            "model" => model by Lenient(Steady(slot, cx));
            "service_tier" => service_tier by Lenient(Steady(slot, cx));
            "system_fingerprint" => system_fingerprint by Lenient(Steady(slot, cx));
            "obfuscation" => obfuscation by text(slot, cx);
            "moderation" => moderation by Raw(slot);
            "usage" => usage by object(slot, cx);
        } keys {
            "choices" as choices => {
                map.next_value_seed(Lenient(Choices { chunk: self, filled: &mut choices, cx: &mut *cx }))?;
            };
        } other {
            cx.found.hints.insert(&cx.spare.key);
            keep!(self, map, cx);
        });
        // A text that did not come is gone; one that came and is another one was seen.
        cx.found.is_new |= before != (self.created, self.steady());
        while self.choices.len() > choices {
            cx.spare.keep_choice(self.choices.pop());
        }
        if !cx.with_both.is_empty() {
            self.delta_or_message(cx);
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
    /// Which of the texts are there that most chunks repeat.
    fn steady(&self) -> [bool; 4] {
        [
            &self.id,
            &self.model,
            &self.service_tier,
            &self.system_fingerprint,
        ]
        .map(Option::is_some)
    }

    /// Perplexity sends both. In a stream the message is a running total of the deltas, which would double the text; in a
    /// whole answer the delta is an empty stub.
    fn delta_or_message(&mut self, cx: &mut Cx<'_>) {
        let is_whole = self.object.as_deref() == Some("chat.completion");
        for at in core::mem::take(&mut cx.with_both) {
            let Some(choice) = self.choices.get_mut(at) else {
                continue;
            };
            if is_whole && choice.delta.is_silent() && choice.message.is_some() {
                choice.delta.clear(cx);
            } else {
                choice.message = None;
            }
        }
    }

    /// Moonshot has the usage in a choice, Groq in `x_groq`.
    fn usage_elsewhere(&mut self, cx: &mut Cx<'_>) {
        if let Some(usage) = cx.choice_usage.take() {
            cx.note(Deviation::UsageInChoice);
            self.usage = Some(*usage);
        } else if cx.found.hints.any() {
            let Some(raw) = self.extra.raw("x_groq").filter(|raw| !is_heavy(raw)) else {
                return;
            };
            let usage = value(raw).and_then(|x_groq| Usage::deserialize(x_groq.get("usage")?).ok());
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

impl Choices<'_, '_> {
    /// Forgets what an earlier list said, under the same key.
    fn begin(&mut self) {
        *self.filled = 0;
        self.chunk.skipped = Skipped::default();
        self.cx.choice_usage = None;
        self.cx.with_both.clear();
        self.cx.found.begin_choices();
    }
}

impl Field for Choices<'_, '_> {
    fn absent(mut self) {
        self.begin();
    }

    fn wrong(self) {
        self.cx.note(Deviation::WrongType);
        self.absent();
    }

    fn list<'de, A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        self.begin();
        let Choices { chunk, filled, cx } = self;
        cx.found.choices_list = true;
        for position in 0.. {
            if *filled >= cx.limits.max_choices {
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    chunk.skipped.count = true;
                }
                break;
            }
            let element = Element {
                list: &mut chunk.choices,
                at: *filled,
                spare: |cx| cx.spare.choices.pop(),
                prepare: |choice, position| {
                    choice.index = u32::try_from(position).unwrap_or(u32::MAX)
                },
                position,
                cx: &mut *cx,
            };
            let Some(is_object) = seq.next_element_seed(element)? else {
                break;
            };
            cx.found.has_choices = true;
            let is_over = core::mem::take(&mut cx.over_index);
            chunk.skipped.index |= is_over;
            if is_over && cx.found.skipped_error.is_none() {
                let skipped = chunk
                    .choices
                    .get(*filled)
                    .and_then(|choice| choice.extra.raw("error"));
                cx.found.skipped_error = skipped.map(RawJson::new);
            }
            let has_both = core::mem::take(&mut cx.has_both);
            if is_object && !is_over {
                if has_both {
                    cx.with_both.push(*filled);
                }
                *filled += 1;
            }
        }
        Ok(())
    }
}

impl Refill for Choice {
    /// `index` holds the position in the list.
    fn refill<'de, A: MapAccess<'de>>(
        &mut self,
        mut map: A,
        cx: &mut Cx<'_>,
    ) -> Result<(), A::Error> {
        self.extra.clear();
        cx.skipped_calls = Skipped::default();
        let mut index = IndexValue::Missing;
        let mut has_delta = false;
        let mut renamed_reason = None;
        let mut usage: Option<Box<Usage>> = None;
        refill!(self, map, (slot, cx), fields {
            "finish_reason" => finish_reason by Lenient(Reason(slot, cx));
            "logprobs" => logprobs by object(slot, cx);
            "message" => message by object(slot, cx);
        } keys {
            "index" as index => map.next_value_seed(Lenient(Index(&mut index, &mut *cx)))?;
            "delta" as delta => {
                let is_object = &mut has_delta;
                map.next_value_seed(Lenient(InPlace { target: &mut self.delta, is_object, cx: &mut *cx }))?;
            };
            "finishReason" as finish_reason_renamed => map.next_value_seed(Lenient(Reason(&mut renamed_reason, &mut *cx)))?;
            "usage" as usage => map.next_value_seed(Lenient(Object(&mut usage, &mut *cx)))?;
        } other {
            cx.found.hints.insert_of_choice(&cx.spare.key);
            keep!(self, map, cx);
        });
        match index {
            IndexValue::Valid(index) => self.index = index,
            IndexValue::Missing => cx.note(Deviation::ChoiceIndexMissing),
            IndexValue::Over => cx.over_index = true,
        }
        match (has_delta, &self.message) {
            (true, Some(_)) => cx.has_both = true,
            (true, None) => {}
            (false, Some(_)) => self.delta.clear(cx),
            (false, None) => {
                self.delta.clear(cx);
                cx.note(Deviation::DeltaMissing);
            }
        }
        if self.message.is_some() {
            cx.note(Deviation::MessageInPlaceOfDelta);
        }
        if self.finish_reason.is_none() && renamed_reason.is_some() {
            cx.note(Deviation::FinishReasonRenamed);
            self.finish_reason = renamed_reason;
        }
        if cx.choice_usage.is_none() && !cx.over_index {
            cx.choice_usage = usage.filter(|usage| !Usage::is_empty(usage));
        }
        self.skipped = core::mem::take(&mut cx.skipped_calls);
        Ok(())
    }
}
