//! How fast the answer came: when the first of it, and how much in a second.

use std::collections::BTreeSet;
use std::time::Duration;

use chatwire::chunk::Choice;
use chatwire::{Chunk, Usage};

/// In less than this there is no telling how fast.
const SHORTEST: Duration = Duration::from_millis(1);

#[derive(Default)]
pub(crate) struct Pace {
    /// What came of each choice.
    begun: BTreeSet<(u32, &'static str)>,
    first: Option<Duration>,
    last: Duration,
}

impl Pace {
    /// Gives what came in this chunk for the first time: the choice, and a name.
    pub(crate) fn chunk(&mut self, chunk: &Chunk, at: Duration) -> Vec<(u32, &'static str)> {
        let of_choice = |choice: &Choice| tokens(choice).map(|name| (choice.index, name)).collect();
        let came: Vec<_> = chunk
            .choices
            .iter()
            .flat_map::<Vec<_>, _>(of_choice)
            .collect();
        if !came.is_empty() {
            self.first.get_or_insert(at);
            self.last = at;
        }
        let new = came.into_iter().filter(|came| self.begun.insert(*came));
        new.collect()
    }

    /// When the first of the answer came.
    pub(crate) fn first(&self) -> String {
        self.first.map_or_else(String::new, |first| {
            format!("after {:.3} s", first.as_secs_f64())
        })
    }

    /// Tokens per second, without the first: what came before it was waiting.
    pub(crate) fn speed(&self, usage: Option<&Usage>) -> String {
        let took = self.last.saturating_sub(self.first.unwrap_or_default());
        let Some(count) = usage.and_then(|usage| self.seen(usage)) else {
            return String::new();
        };
        if took < SHORTEST || count < 2 {
            return String::new();
        }
        let (took, count) = (took.as_secs_f64(), count - 1);
        let speed = count as f64 / took;
        format!("{speed:.1} tokens per second ({count} in {took:.3} s after the first)")
    }

    /// The tokens that were written, without reasoning that is counted and not shown.
    fn seen(&self, usage: &Usage) -> Option<u64> {
        let all = usage.completion_tokens?;
        if self.begun.iter().any(|(_, name)| *name == "reasoning") {
            return Some(all);
        }
        let details = usage.completion_tokens_details.as_ref();
        let hidden = details.and_then(|details| details.reasoning_tokens);
        Some(all.saturating_sub(hidden.unwrap_or_default()))
    }
}

/// What a choice brings of the answer.
fn tokens(choice: &Choice) -> impl Iterator<Item = &'static str> {
    let delta = &choice.delta;
    let has = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    [
        ("reasoning", has(&delta.reasoning_content)),
        ("text", has(&delta.content)),
        ("refusal", has(&delta.refusal)),
        (
            "tool call",
            !delta.tool_calls.is_empty() || delta.function_call.is_some(),
        ),
        ("audio", delta.audio.is_some()),
    ]
    .into_iter()
    .filter_map(|(name, is_there)| is_there.then_some(name))
}
