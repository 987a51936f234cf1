//! Unknown fields of which the last value counts: those of chunks and choices.

use super::ledger::Ledger;
use crate::chunk::Extra;

/// More than this is not kept to be compared with what comes next: it would cost memory for each choice.
const COMPARED: usize = 4 << 10;
/// So much may be there that was replaced, beside as much as there was after the last time.
const SLACK: usize = 4 << 10;

/// Adds fields to those of an answer, as the text that they are: most often nobody asks for what came in between.
///
/// What was replaced is dropped where it may be more than half, and where the limit is near. Until then it counts.
#[derive(Debug, Clone, Default)]
pub(super) struct Latest {
    /// The fields that came last, if they are few: most streams repeat them in every chunk.
    last: Extra,
    /// How much there was when what was replaced had been dropped.
    tidy: usize,
}

impl Latest {
    /// Adds the fields of a chunk or a choice. Errors are no part of the answer, and null says nothing.
    pub(super) fn add(&mut self, fields: &mut Extra, new: &Extra, ledger: &mut Ledger) {
        if new.is_empty() || new.is_same_text(&self.last) {
            return;
        }
        let new = new.as_text();
        for (key, raw) in new.entries() {
            if key == "error" || raw == "null" {
                continue;
            }
            let weight = Extra::weight_of(key, raw);
            if ledger.would_fill(weight) {
                self.drop_replaced(fields, ledger, self.tidy / 4);
            }
            if ledger.charge(weight) {
                fields.push(key, raw);
            }
        }
        self.drop_replaced(fields, ledger, self.tidy.saturating_add(SLACK));
        if new.capacity() <= COMPARED {
            self.last.copy_from(&new);
        } else {
            self.last = Extra::default();
        }
    }

    /// Drops what was replaced if more than so much has come since the last time: that pays for it, as for a buffer that
    /// grows.
    fn drop_replaced(&mut self, fields: &mut Extra, ledger: &mut Ledger, more_than: usize) {
        let weight = fields.weight();
        if weight.saturating_sub(self.tidy) > more_than {
            fields.drop_replaced();
            self.tidy = fields.weight();
            ledger.exchange(weight, self.tidy);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use serde_json::{Map, Value};

    use super::super::Accumulator;
    use super::*;
    use crate::Limits;
    use crate::chunk::Chunk;

    /// Beside a map that is simply overwritten; fields come, change, come twice in one chunk, and are null.
    #[test]
    fn of_each_field_the_last_value_counts_however_many_came() {
        let mut accumulator = Accumulator::with_limits(Limits::NONE);
        let mut expected = Map::new();
        for nth in 0..3_000_u64 {
            let mut json = String::new();
            for field in 0..nth % 4 {
                let key = format!("k{}", nth.wrapping_mul(2_654_435_761) % (7 + field * 40));
                let value = match nth % 7 {
                    0 => Value::Null,
                    1 => Value::from(alloc::vec![nth; 20]),
                    _ => Value::from(nth),
                };
                json += &format!("\"{key}\":{value},");
                if !value.is_null() {
                    expected.insert(key, value);
                }
            }
            let json = format!("{{{json}\"error\":{nth},\"choices\":[{{{json}\"error\":{nth}}}]}}");
            let mut chunk = serde_json::from_str::<Chunk>(&json).unwrap_or_default();
            accumulator.push(&mut chunk);
        }
        let completion = accumulator.into_completion();
        assert!(completion.extra.weight() < 3 * SLACK + 40 * 100);
        assert_eq!(completion.extra.into_map(), expected);
        let choice = completion.choices.into_iter().next();
        assert_eq!(choice.map(|choice| choice.extra.into_map()), Some(expected));
    }

    /// Where the limit is near, what was replaced makes room, and nothing else does.
    #[test]
    fn no_more_is_kept_than_the_limit_allows() {
        let mut limits = Limits::NONE;
        limits.max_completion_bytes = 3_500;
        let mut accumulator = Accumulator::with_limits(limits);
        for nth in 0..100 {
            let value = format!("{nth:0>1000}");
            let json = format!("{{\"x\":\"{value}\",\"y\":{nth},\"choices\":[]}}");
            let mut chunk = serde_json::from_str::<Chunk>(&json).unwrap_or_default();
            accumulator.push(&mut chunk);
            assert!(accumulator.exceeded().is_empty());
            let extra = &accumulator.completion().extra;
            assert!(extra.weight() <= 3_500);
            assert_eq!(extra.get("x"), Some(Value::from(value)));
            assert_eq!(extra.get("y"), Some(Value::from(nth)));
        }
    }

    #[test]
    fn what_is_too_large_to_be_compared_is_no_repetition() {
        let mut accumulator = Accumulator::new();
        let large = "y".repeat(2 * COMPARED);
        for json in [
            String::from(r#"{"x":1,"choices":[]}"#),
            format!(r#"{{"x":2,"large":"{large}","choices":[]}}"#),
            String::from(r#"{"x":1,"choices":[]}"#),
        ] {
            accumulator.push(&mut serde_json::from_str::<Chunk>(&json).unwrap_or_default());
        }
        let extra = &accumulator.completion().extra;
        assert_eq!(extra.get("x"), Some(Value::from(1)));
        assert_eq!(extra.get("large"), Some(Value::from(large)));
    }

    #[test]
    fn fields_that_came_from_no_text_count_too() {
        let fields: Map<_, _> = [(String::from("k"), Value::from("v"))]
            .into_iter()
            .collect();
        let mut chunk = Chunk::default();
        chunk.extra = Extra::from(fields.clone());
        chunk.choices = [crate::chunk::Choice::default()].into();
        for choice in &mut chunk.choices {
            choice.extra = Extra::from(fields.clone());
            choice.delta.extra = Extra::from(fields.clone());
        }
        let mut accumulator = Accumulator::new();
        accumulator.push(&mut chunk);
        let completion = accumulator.into_completion();
        assert_eq!(completion.extra.into_map(), fields);
        for choice in completion.choices {
            assert_eq!(choice.extra.into_map(), fields);
            assert_eq!(choice.message.extra.into_map(), fields);
        }
    }
}
