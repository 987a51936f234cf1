//! What adding to the answer has cost, and what was tolerated in doing so.

use alloc::string::String;

use serde_json::Value;

use crate::chunk::{Halves, overhead, value};
use crate::{Deviation, DeviationSet};

/// What is to be known, and noted, about the stream.
#[derive(Debug, Clone)]
pub(super) struct Ledger {
    pub(super) deviations: DeviationSet,
    pub(super) max_tool_calls: usize,
    pub(super) max_depth: usize,
    pub(super) max_bytes: usize,
    /// How many more bytes the completion may grow by.
    pub(super) left: usize,
    /// It would have grown by more: it grows no further.
    pub(super) is_full: bool,
}

impl Ledger {
    /// Whether the completion would be full with so many bytes more, and is not yet.
    pub(super) const fn would_fill(&self, bytes: usize) -> bool {
        !self.is_full && bytes > self.left
    }

    /// Whether the completion may grow by so many bytes.
    pub(super) fn charge(&mut self, bytes: usize) -> bool {
        self.is_full |= bytes > self.left;
        if !self.is_full {
            self.left -= bytes;
        }
        !self.is_full
    }

    /// Whether what takes `old` bytes may be replaced by what takes `new`: what it takes more counts, what it takes less
    /// counts no longer. What takes no more may always.
    pub(super) fn exchange(&mut self, old: usize, new: usize) -> bool {
        if new > old {
            return self.charge(new - old);
        }
        self.left = self.left.saturating_add(old - new).min(self.max_bytes);
        true
    }

    /// Decodes a value, if the completion could ever hold it: a text may become hundreds of times as large.
    pub(super) fn decode(&mut self, raw: &str) -> Option<Value> {
        if raw.len().saturating_add(overhead(raw)) > self.max_bytes {
            self.is_full = true;
            return None;
        }
        value(raw)
    }

    /// A text of which the first counts that is not empty.
    pub(super) fn keep_first(&mut self, old: &mut Option<String>, new: &Option<String>) {
        if old.is_none() {
            *old = filled(new)
                .filter(|new| self.charge(new.len()))
                .map(String::from);
        }
    }

    /// A text of which the last counts that is not empty.
    pub(super) fn keep_last(&mut self, old: &mut Option<String>, new: &Option<String>) {
        let len = old.as_ref().map_or(0, String::len);
        if let Some(new) = filled(new).filter(|new| old.as_deref() != Some(new)) {
            if self.exchange(len, new.len()) {
                // Not into the old buffer: it may be larger.
                *old = Some(new.into());
            }
        }
    }

    pub(super) const fn note(&mut self, deviation: Deviation) {
        self.deviations.insert(deviation);
    }

    pub(super) const fn note_if(&mut self, is_so: bool, deviation: Deviation) {
        if is_so {
            self.note(deviation);
        }
    }

    /// Appends a text that may begin or end in the middle of a surrogate pair. False if it would be too much.
    #[inline]
    pub(super) fn append(
        &mut self,
        target: &mut String,
        text: &str,
        halves: Halves,
        high: &mut u16,
    ) -> bool {
        if text.is_empty() {
            return true;
        }
        if !self.charge(text.len()) {
            return false;
        }
        halves.append(text, target, high);
        true
    }
}

/// A text that is there.
pub(super) fn filled(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_decoded_if_the_completion_could_hold_it() {
        for (max_bytes, raw, fits) in [
            (4, "1234", true),
            (3, "1234", false),
            (10_000, "[1,2]", true),
            (100, "[1,2]", false),
        ] {
            let mut ledger = Ledger {
                deviations: DeviationSet::new(),
                max_tool_calls: 0,
                max_depth: 0,
                max_bytes,
                left: 0,
                is_full: false,
            };
            assert_eq!(ledger.decode(raw).is_some(), fits, "{raw}");
            assert_eq!(ledger.is_full, !fits, "{raw}");
        }
    }
}
