//! Adds chunks to the answer.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::fields::{append_list, append_logprobs, audio, finish_reason};
use super::latest::Latest;
use super::ledger::{Ledger, filled};
use super::merge::{Moderation, merge_fields};
use super::tools::Tools;
use super::types::{ChatCompletion, Choice, Message, ToolCall};
use crate::chunk::{self, Change, Chunk, Delta, MAX_DEPTH, Usage};
use crate::{Deviation, DeviationSet, Limit, Limits};

/// Adds up chunks to a [`ChatCompletion`].
///
/// ```
/// use chatwire::{Chunk, completion::Accumulator};
///
/// let mut accumulator = Accumulator::new();
/// let mut chunk = Chunk::from_json(
///     r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"[1]"}}]},
///         "finish_reason":"tool_calls"}]}"#,
/// )?;
/// accumulator.push(&mut chunk);
/// assert_eq!(chunk.choices[0].delta.tool_calls[0].slot, Some(0));
/// let completed: Vec<_> = accumulator.completed().map(|completed| completed.call.name()).collect();
/// assert_eq!(completed, ["f"]);
/// # Ok::<(), chatwire::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Accumulator {
    completion: ChatCompletion,
    /// Beside `completion.choices`, in the same order.
    states: Vec<State>,
    /// The calls that the last push completed: the position of the choice, and the slot.
    completed: Vec<(usize, u32)>,
    ledger: Ledger,
    limits: Limits,
    exceeded: Vec<Limit>,
    reported: Reported,
    extra: Latest,
    moderation: Moderation,
}

/// The limits that were reported: each is once.
#[derive(Debug, Clone, Copy, Default)]
struct Reported {
    choices: bool,
    index: bool,
    bytes: bool,
}

/// What is known of a choice beside the completion.
#[derive(Debug, Clone, Default)]
struct State {
    tools: Tools,
    /// Content, reasoning, refusal, a call or audio has come: a whole message that comes now is a repetition.
    is_begun: bool,
    high: High,
    extra: Latest,
    calls_reported: bool,
    index_reported: bool,
}

/// High halves of surrogate pairs that the texts end with; 0 if none.
#[derive(Debug, Clone, Copy, Default)]
struct High {
    content: u16,
    refusal: u16,
    reasoning: u16,
    transcript: u16,
}

/// A call that has just become complete.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Completed<'a> {
    /// The index of its choice.
    pub choice: u32,
    /// Its number in the choice, in order of arrival.
    pub slot: u32,
    /// The call.
    pub call: &'a ToolCall,
}

/// Which tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallRef {
    /// The index of its choice.
    pub choice: u32,
    /// Its number in the choice, in order of arrival.
    pub slot: u32,
}

impl Default for Accumulator {
    fn default() -> Self {
        Self::new()
    }
}

impl Accumulator {
    /// An accumulator with the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    /// An accumulator with these limits: of [`Limits`], all but that of the frame count here.
    #[must_use]
    pub fn with_limits(mut limits: Limits) -> Self {
        limits.max_depth = limits.max_depth.min(MAX_DEPTH);
        Self {
            completion: ChatCompletion::default(),
            states: Vec::new(),
            completed: Vec::new(),
            ledger: Ledger {
                deviations: DeviationSet::new(),
                max_tool_calls: limits.max_tool_calls,
                max_depth: limits.max_depth,
                max_bytes: limits.max_completion_bytes,
                left: limits.max_completion_bytes,
                is_full: false,
            },
            limits,
            exceeded: Vec::new(),
            reported: Reported::default(),
            extra: Latest::default(),
            moderation: Moderation::default(),
        }
    }

    /// Adds a chunk. Writes into it: the slot of each tool call fragment, and a whole message that is read in place of
    /// a delta is moved to the delta.
    pub fn push(&mut self, chunk: &mut Chunk) {
        self.begin();
        self.envelope(chunk);
        self.contents(chunk);
    }

    /// Adds what a chunk has beside its envelope.
    fn contents(&mut self, chunk: &mut Chunk) {
        if let Some(moderation) = &chunk.moderation {
            self.moderation.add(
                &mut self.completion.moderation,
                moderation,
                &mut self.ledger,
            );
        }
        self.extra
            .add(&mut self.completion.extra, &chunk.extra, &mut self.ledger);
        if chunk.skipped.index && !core::mem::replace(&mut self.reported.index, true) {
            self.exceeded.push(Limit::Index);
        }
        if chunk.skipped.count {
            self.too_many_choices();
        }
        for choice in &mut chunk.choices {
            match self.position(choice.index) {
                Some(at) => self.choice(at, choice),
                None => self.too_many_choices(),
            }
        }
        if let Some(usage) = chunk.usage.as_ref().filter(|usage| !usage.is_empty()) {
            self.usage(usage);
        }
        self.report_full();
    }

    /// As `push`, for a chunk of which only so much may differ from what came before: the rest is not looked at again.
    pub(crate) fn push_change(&mut self, chunk: &mut Chunk, change: Change) {
        // An id that is not the first is noted each time.
        if change == Change::Any || self.ledger.deviations.contains(Deviation::IdChanged) {
            return self.push(chunk);
        }
        let ([new], true) = (chunk.choices.as_mut_slice(), change.is_in_delta()) else {
            self.begin();
            return self.contents(chunk);
        };
        let choices = &mut self.completion.choices;
        let at = match choices.as_slice() {
            [only] if only.index == new.index => Ok(0),
            many => many.binary_search_by_key(&new.index, |choice| choice.index),
        };
        let known = at
            .ok()
            .and_then(|at| choices.get_mut(at).zip(self.states.get_mut(at)));
        let Some((choice, state)) = known else {
            return self.push(chunk);
        };
        if choice.finish_reason.is_some() {
            return self.push(chunk);
        }
        self.ledger.deviations = DeviationSet::new();
        self.completed.clear();
        self.exceeded.clear();
        let (message, ledger) = (&mut choice.message, &mut self.ledger);
        let is_added = match (change, new.delta.tool_calls.as_mut_slice()) {
            (Change::Texts, _) => {
                state.texts(message, &new.delta, ledger);
                true
            }
            (Change::Arguments, [call]) => state.tools.add_arguments(message, call, ledger),
            _ => false,
        };
        if !is_added && state.delta(message, &mut new.delta, false, ledger) {
            state.too_many_calls(&mut self.exceeded);
        }
        if let Some(new) = &new.logprobs {
            append_logprobs(choice.logprobs.get_or_insert_default(), new, ledger);
        }
        self.report_full();
    }

    /// Whether the last push completed no call, exceeded no limit, and tolerated nothing.
    pub(crate) fn is_quiet(&self) -> bool {
        self.completed.is_empty() && self.exceeded.is_empty() && self.ledger.deviations.is_empty()
    }

    /// The stream ended well: by its end marker, or cleanly with every choice finished. Completes the calls that waited
    /// for it.
    ///
    /// ```
    /// use chatwire::{Chunk, completion::Accumulator};
    /// let mut accumulator = Accumulator::new();
    /// accumulator.push(&mut Chunk::from_json(
    ///     r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"now","arguments":""}}]},
    ///         "finish_reason":"tool_calls"}]}"#,
    /// )?);
    /// assert_eq!(accumulator.completed().count(), 0);
    /// accumulator.finish();
    /// assert_eq!(accumulator.completed().count(), 1);
    /// # Ok::<(), chatwire::Error>(())
    /// ```
    pub fn finish(&mut self) {
        self.begin();
        for (at, (choice, state)) in self
            .completion
            .choices
            .iter()
            .zip(&mut self.states)
            .enumerate()
        {
            let completed = |slot| self.completed.push((at, slot));
            let reason = choice.finish_reason.as_ref();
            state
                .tools
                .complete_rest(&choice.message, reason, self.limits.max_depth, completed);
        }
    }

    /// The calls that the last [`push`](Self::push) or [`finish`](Self::finish) completed, in order.
    pub fn completed(&self) -> impl Iterator<Item = Completed<'_>> {
        (0..self.completed.len()).filter_map(|nth| self.nth_completed(nth))
    }

    pub(crate) fn completed_len(&self) -> usize {
        self.completed.len()
    }

    pub(crate) fn nth_completed(&self, nth: usize) -> Option<Completed<'_>> {
        let (at, slot) = *self.completed.get(nth)?;
        let choice = self.completion.choices.get(at)?;
        let call = self.states.get(at)?.tools.call(slot, &choice.message)?;
        Some(Completed {
            choice: choice.index,
            slot,
            call,
        })
    }

    /// The limits that the last [`push`](Self::push) exceeded for the first time. The parts over them are not in the
    /// completion.
    #[must_use]
    pub fn exceeded(&self) -> &[Limit] {
        &self.exceeded
    }

    /// What the last [`push`](Self::push) tolerated.
    #[must_use]
    pub fn deviations(&self) -> DeviationSet {
        self.ledger.deviations
    }

    /// The answer so far.
    #[must_use]
    pub fn completion(&self) -> &ChatCompletion {
        &self.completion
    }

    /// The answer.
    #[must_use]
    pub fn into_completion(self) -> ChatCompletion {
        self.completion
    }

    /// Takes the answer out, and begins a new one.
    pub fn take_completion(&mut self) -> ChatCompletion {
        core::mem::replace(self, Self::with_limits(self.limits)).completion
    }

    /// The indices of the choices that have no finish reason, ascending.
    pub fn unfinished(&self) -> impl Iterator<Item = u32> + '_ {
        self.completion
            .choices
            .iter()
            .filter(|choice| choice.finish_reason.is_none())
            .map(|choice| choice.index)
    }

    /// The calls that are not complete.
    pub fn incomplete_calls(&self) -> impl Iterator<Item = CallRef> + '_ {
        let choices = self.completion.choices.iter().zip(&self.states);
        choices.flat_map(|(choice, state)| {
            let choice = choice.index;
            state
                .tools
                .incomplete()
                .map(move |slot| CallRef { choice, slot })
        })
    }

    fn begin(&mut self) {
        self.ledger.deviations = DeviationSet::new();
        self.completed.clear();
        self.exceeded.clear();
    }

    /// What a chunk says of the answer as a whole.
    fn envelope(&mut self, chunk: &Chunk) {
        let answer = &mut self.completion;
        match (&answer.id, filled(&chunk.id)) {
            (None, _) => self.ledger.keep_first(&mut answer.id, &chunk.id),
            (Some(first), Some(id)) if first != id => self.ledger.note(Deviation::IdChanged),
            _ => {}
        }
        answer.created = answer.created.or(chunk.created);
        self.ledger.keep_last(&mut answer.model, &chunk.model);
        self.ledger
            .keep_last(&mut answer.service_tier, &chunk.service_tier);
        self.ledger
            .keep_last(&mut answer.system_fingerprint, &chunk.system_fingerprint);
    }

    /// The place of a choice; a new one where it belongs. None if it would be one too many.
    fn position(&mut self, index: u32) -> Option<usize> {
        match self
            .completion
            .choices
            .binary_search_by_key(&index, |choice| choice.index)
        {
            Ok(at) => Some(at),
            Err(_) if self.states.len() >= self.limits.max_choices => None,
            Err(at) => {
                // One at a time: a vector's first growth would be four.
                self.completion.choices.reserve_exact(1);
                self.states.reserve_exact(1);
                self.completion.choices.insert(
                    at,
                    Choice {
                        index,
                        ..Choice::default()
                    },
                );
                self.states.insert(at, State::default());
                for (completed, _) in self
                    .completed
                    .iter_mut()
                    .filter(|(completed, _)| *completed >= at)
                {
                    *completed += 1;
                }
                Some(at)
            }
        }
    }

    fn report_full(&mut self) {
        if self.ledger.is_full && !core::mem::replace(&mut self.reported.bytes, true) {
            self.exceeded.push(Limit::CompletionBytes);
        }
    }

    fn too_many_choices(&mut self) {
        if !core::mem::replace(&mut self.reported.choices, true) {
            self.exceeded.push(Limit::Choices);
        }
    }

    fn choice(&mut self, at: usize, new: &mut chunk::Choice) {
        let (Some(choice), Some(state)) =
            (self.completion.choices.get_mut(at), self.states.get_mut(at))
        else {
            return;
        };
        let ledger = &mut self.ledger;
        let mut is_message = false;
        if !state.is_begun {
            if let Some(message) = new.message.take() {
                new.delta = *message;
                is_message = true;
            }
        }
        // The last piece of audio comes after the finish reason with OpenAI too.
        if choice.finish_reason.is_some() && new.delta.audio.is_none() && !new.delta.is_silent() {
            ledger.note(Deviation::DeltaAfterFinish);
        }
        if state.delta(&mut choice.message, &mut new.delta, is_message, ledger) {
            new.skipped.count = true;
        }
        if new.skipped.count {
            state.too_many_calls(&mut self.exceeded);
        }
        if new.skipped.index && !core::mem::replace(&mut state.index_reported, true) {
            self.exceeded.push(Limit::Index);
        }
        if new.skipped.is_last {
            state.tools.skipped();
        }
        if let Some(new) = &new.logprobs {
            append_logprobs(choice.logprobs.get_or_insert_default(), new, ledger);
        }
        if let Some(new) = &new.finish_reason {
            finish_reason(&mut choice.finish_reason, new, ledger);
        }
        state.extra.add(&mut choice.extra, &new.extra, ledger);
        if choice.finish_reason.is_some() && !state.tools.is_empty() {
            let completed = |slot| self.completed.push((at, slot));
            state
                .tools
                .complete_finished(&choice.message, self.limits.max_depth, completed);
        }
    }

    /// A snapshot, never a sum: the last one counts, but nothing does not replace something.
    fn usage(&mut self, new: &Usage) {
        if self.completion.usage.is_some() {
            self.ledger.note(Deviation::UsageRepeated);
        }
        match &mut self.completion.usage {
            Some(old) if new.is_zero() && !old.is_zero() => {
                self.ledger.note(Deviation::UsageZeroed)
            }
            Some(old) if old.is_same_text(new) => {}
            old => {
                // Counts cost nothing; what else is in it may be too much.
                let weight = old.as_ref().map_or(0, Usage::weight);
                *old = Some(if self.ledger.exchange(weight, new.weight()) {
                    new.clone()
                } else {
                    new.without_extra()
                });
            }
        }
    }
}

impl State {
    /// A call was one too many: it is skipped.
    fn too_many_calls(&mut self, exceeded: &mut Vec<Limit>) {
        if !core::mem::replace(&mut self.calls_reported, true) {
            exceeded.push(Limit::ToolCalls);
        }
    }

    /// Adds content and reasoning to the message.
    #[inline]
    fn texts(&mut self, message: &mut Message, delta: &Delta, ledger: &mut Ledger) {
        let (high, halves) = (&mut self.high, &delta.halves);
        if let Some(text) = &delta.content {
            let content = message.content.get_or_insert_default();
            self.is_begun |= !text.is_empty();
            ledger.append(content, text, halves.content, &mut high.content);
        }
        if let Some(text) = filled(&delta.reasoning_content) {
            self.is_begun = true;
            let reasoning = message.reasoning_content.get_or_insert_default();
            ledger.append(reasoning, text, halves.reasoning, &mut high.reasoning);
        }
    }

    /// Adds a delta to the message. True if a tool call in it was one too many.
    fn delta(
        &mut self,
        message: &mut Message,
        delta: &mut Delta,
        is_message: bool,
        ledger: &mut Ledger,
    ) -> bool {
        match (&message.role, filled(&delta.role)) {
            (None, _) => ledger.keep_first(&mut message.role, &delta.role),
            (Some(_), Some(_)) => ledger.note(Deviation::RoleRepeated),
            _ => {}
        }
        self.texts(message, delta, ledger);
        let (high, halves) = (&mut self.high, delta.halves);
        if let Some(text) = filled(&delta.refusal) {
            self.is_begun = true;
            ledger.append(
                message.refusal.get_or_insert_default(),
                text,
                halves.refusal,
                &mut high.refusal,
            );
        }
        let mut is_too_many = false;
        for call in &mut delta.tool_calls {
            self.is_begun = true;
            if call.after_skipped.is_last {
                self.tools.skipped();
            }
            // The calls of a whole message have no index.
            if call.index.is_none() && !is_message {
                ledger.note(Deviation::ToolIndexMissing);
            }
            is_too_many |= self.tools.add(message, call, is_message, ledger).is_err();
        }
        if let Some(call) = &delta.function_call {
            self.is_begun = true;
            is_too_many |= self.tools.add_legacy(message, call, ledger).is_err();
        }
        if let Some(new) = &delta.audio {
            self.is_begun = true;
            audio(
                message.audio.get_or_insert_default(),
                new,
                &mut high.transcript,
                ledger,
            );
        }
        append_list(&mut message.annotations, &delta.annotations, ledger);
        merge_fields(&mut message.extra, &delta.extra, ledger);
        is_too_many
    }
}
