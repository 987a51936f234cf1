//! What the fields of one value share while it is read.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::RawJson;
use super::json::{Halves, Notes};
use super::reuse::SMALL;
use super::types::{Choice, Delta, FinishReason, Skipped, ToolCallDelta};
use super::usage::Usage;
use crate::{Deviation, DeviationSet, Limits};

/// What the fields of one value share.
#[derive(Debug)]
pub(super) struct Cx<'h> {
    pub(super) deviations: DeviationSet,
    /// Written by our own reader only.
    pub(super) notes: &'h Notes,
    pub(super) limits: &'h Limits,
    pub(super) spare: &'h mut Spare,
    /// Tool calls of the choice being read that are over a limit.
    pub(super) skipped_calls: Skipped,
    /// The part just read has an index over `u32::MAX`.
    pub(super) over_index: bool,
    /// The choice just read has both a delta and a message: which one counts depends on the chunk.
    pub(super) has_both: bool,
    /// Those choices that have both, by their place.
    pub(super) with_both: Vec<usize>,
    /// The first usage inside a choice.
    pub(super) choice_usage: Option<Box<Usage>>,
    pub(super) found: Found,
}

/// What decides whether an object is a chunk, an error, both or neither.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) choices_list: bool,
    /// There is something in the list of choices, whatever it is.
    pub(super) has_choices: bool,
    pub(super) usage_object: bool,
    /// The envelope of the chunk (id, time, model, tier, fingerprint) is not what was there before.
    pub(super) is_new: bool,
    pub(super) hints: Hints,
    /// The error of a choice that was skipped.
    pub(super) skipped_error: Option<RawJson>,
}

/// What is not needed now, and reused.
#[derive(Debug, Clone, Default)]
pub(super) struct Spare {
    /// The key of an unknown field.
    pub(super) key: String,
    /// Reasoning under each of its names: which one counts is known at the end of the delta.
    pub(super) reasonings: [(String, Halves); 4],
    pub(super) choices: Vec<Choice>,
    pub(super) calls: Vec<ToolCallDelta>,
}

impl Found {
    /// A list of choices begins, perhaps for the second time.
    pub(super) fn begin_choices(&mut self) {
        self.choices_list = false;
        self.has_choices = false;
        self.hints.in_choice = false;
        self.skipped_error = None;
    }
}

impl Spare {
    /// Keeps a fragment for later, if it holds no large text.
    pub(super) fn keep_call(&mut self, call: Option<ToolCallDelta>) {
        // One at a time: a vector's first growth would be four.
        self.calls.reserve_exact(1);
        self.calls.extend(call.filter(is_small_call));
    }

    /// Keeps a choice for later, if it holds no large text.
    pub(super) fn keep_choice(&mut self, choice: Option<Choice>) {
        self.choices.reserve_exact(1);
        self.choices.extend(choice.filter(|choice| {
            let Delta {
                role,
                content,
                refusal,
                reasoning_content,
                tool_calls,
                function_call,
                ..
            } = &choice.delta;
            [role, content, refusal, reasoning_content]
                .into_iter()
                .all(is_small)
                && function_call.is_none()
                && !matches!(&choice.finish_reason, Some(FinishReason::Other(text)) if text.len() > SMALL)
                && choice.message.is_none()
                && choice.logprobs.is_none()
                && choice.delta.audio.is_none()
                && choice.delta.annotations.is_none()
                && choice.extra.capacity() <= SMALL
                && choice.delta.extra.capacity() <= SMALL
                && tool_calls.len() <= 1
                && tool_calls.iter().all(is_small_call)
        }));
    }
}

fn is_small(text: &Option<String>) -> bool {
    text.as_ref().is_none_or(|text| text.capacity() <= SMALL)
}

fn is_small_call(call: &ToolCallDelta) -> bool {
    let function = call.function.as_ref();
    is_small(&call.id)
        && is_small(&call.r#type)
        && call.custom.is_none()
        && call.extra.capacity() <= SMALL
        && function.is_none_or(|function| is_small(&function.name) && is_small(&function.arguments))
}

impl<'h> Cx<'h> {
    pub(super) fn new(notes: &'h Notes, limits: &'h Limits, spare: &'h mut Spare) -> Self {
        Self {
            deviations: DeviationSet::new(),
            notes,
            limits,
            spare,
            skipped_calls: Skipped::default(),
            over_index: false,
            has_both: false,
            with_both: Vec::new(),
            choice_usage: None,
            found: Found::default(),
        }
    }

    pub(super) const fn note(&mut self, deviation: Deviation) {
        self.deviations.insert(deviation);
    }
}

/// Whether keys were seen under which errors come. Without any nothing is looked for.
#[derive(Debug, Default)]
pub(super) struct Hints {
    in_chunk: bool,
    in_choice: bool,
}

impl Hints {
    pub(super) fn insert(&mut self, key: &str) {
        self.in_chunk |= matches!(
            key,
            "error"
                | "errors"
                | "error_msg"
                | "error_message"
                | "base_resp"
                | "header"
                | "x_groq"
                | "type"
                | "detail"
                | "code"
        );
    }

    /// Whether the chunk has any such key; `x_groq` is one.
    pub(super) const fn any(&self) -> bool {
        self.in_chunk
    }

    /// Whether the chunk or one of its choices has any such key.
    pub(super) const fn any_at_all(&self) -> bool {
        self.in_chunk || self.in_choice
    }

    pub(super) fn insert_of_choice(&mut self, key: &str) {
        self.in_choice |= key == "error";
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::super::types::{Audio, CustomDelta, FunctionDelta, Logprobs};
    use super::*;

    #[test]
    fn what_holds_large_text_is_not_kept_for_later() {
        let large = || Some("x".repeat(SMALL + 1));
        let call = |change: fn(&mut ToolCallDelta, Option<String>)| {
            let mut call = ToolCallDelta {
                id: Some("x".repeat(SMALL)),
                r#type: Some("function".into()),
                function: Some(FunctionDelta::default()),
                ..ToolCallDelta::default()
            };
            change(&mut call, large());
            call
        };
        let function = |change: fn(&mut FunctionDelta, Option<String>)| {
            let mut call = call(|_, _| {});
            change(call.function.get_or_insert_default(), large());
            call
        };
        let calls = [
            call(|call, large| call.id = large),
            call(|call, large| call.r#type = large),
            call(|call, _| call.custom = Some(CustomDelta::default())),
            call(|call, large| call.extra.push("k", &large.unwrap_or_default())),
            function(|function, large| function.name = large),
            function(|function, large| function.arguments = large),
        ];
        let mut spare = Spare::default();
        for call in calls.clone() {
            spare.keep_call(Some(call));
        }
        spare.keep_call(None);
        assert!(spare.calls.is_empty());
        spare.keep_call(Some(call(|_, _| {})));
        assert_eq!(spare.calls.len(), 1);

        let choice = |change: fn(&mut Choice, Option<String>)| {
            let mut choice = Choice::default();
            choice.delta.content = Some("x".repeat(SMALL));
            choice.delta.tool_calls = vec![call(|_, _| {})];
            choice.finish_reason = Some(FinishReason::Other("x".repeat(SMALL)));
            change(&mut choice, large());
            choice
        };
        let mut choices = vec![
            choice(|choice, large| choice.delta.role = large),
            choice(|choice, large| choice.delta.content = large),
            choice(|choice, large| choice.delta.refusal = large),
            choice(|choice, large| choice.delta.reasoning_content = large),
            choice(|choice, _| choice.delta.function_call = Some(FunctionDelta::default())),
            choice(|choice, large| choice.finish_reason = large.map(FinishReason::Other)),
            choice(|choice, _| choice.message = Some(Box::default())),
            choice(|choice, _| choice.logprobs = Some(Logprobs::default())),
            choice(|choice, _| choice.delta.audio = Some(Audio::default())),
            choice(|choice, _| choice.delta.annotations = Some(RawJson::new("[]"))),
            choice(|choice, large| choice.extra.push("k", &large.unwrap_or_default())),
            choice(|choice, large| choice.delta.extra.push("k", &large.unwrap_or_default())),
            choice(|choice, _| choice.delta.tool_calls.push(ToolCallDelta::default())),
        ];
        choices.extend(calls.map(|call| {
            let mut choice = choice(|_, _| {});
            choice.delta.tool_calls = vec![call];
            choice
        }));
        for (nth, choice) in choices.into_iter().enumerate() {
            spare.keep_choice(Some(choice));
            assert!(spare.choices.is_empty(), "{nth}");
        }
        spare.keep_choice(None);
        spare.keep_choice(Some(choice(|_, _| {})));
        assert_eq!(spare.choices.len(), 1);
    }
}
