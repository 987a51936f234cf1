//! Unknown fields of which the last value counts: those of chunks and choices.

use super::ledger::Ledger;
use crate::chunk::Extra;

/// More than this is not kept to be compared with what comes next, nor looked through to make room: both would add up.
const SMALL: usize = 4 << 10;

/// Adds fields to those of an answer, as the text that they are: most often nobody asks for what came in between.
///
/// What a later value replaces is dropped once it is as much as what counts. Until then it counts against the limit, but
/// where all is small: then what is replaced makes room at once.
#[derive(Debug, Clone, Default)]
pub(super) struct Latest {
    /// The fields that came last: most streams repeat them in every chunk.
    last: Extra,
    /// How much was left when what was replaced was dropped last.
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
            if key != "error" && raw != "null" {
                set(fields, key, raw, ledger);
            }
        }
        let weight = fields.weight();
        if weight > self.tidy.saturating_mul(2).saturating_add(SMALL) {
            fields.drop_replaced();
            self.tidy = fields.weight();
            ledger.exchange(weight, self.tidy);
        }
        if new.capacity() <= SMALL {
            self.last.copy_from(&new);
        }
    }
}

fn set(fields: &mut Extra, key: &str, raw: &str, ledger: &mut Ledger) {
    let weight = Extra::weight_of(key, raw);
    if ledger.has_room(weight) || fields.weight() > SMALL {
        if ledger.charge(weight) {
            fields.push(key, raw);
        }
        return;
    }
    let same = fields.entries().filter(|(name, _)| *name == key);
    let old = same.map(|(_, raw)| Extra::weight_of(key, raw)).sum();
    if ledger.exchange(old, weight) {
        fields.remove(key);
        fields.push(key, raw);
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
        assert!(completion.extra.weight() < 3 * SMALL + 40 * 100);
        assert_eq!(completion.extra.into_map(), expected);
        let choice = completion.choices.into_iter().next();
        assert_eq!(choice.map(|choice| choice.extra.into_map()), Some(expected));
    }

    /// Where the limit is near, what is replaced makes room, and nothing else does.
    #[test]
    fn no_more_is_kept_than_the_limit_allows() {
        let mut limits = Limits::NONE;
        limits.max_completion_bytes = 2_000;
        let mut accumulator = Accumulator::with_limits(limits);
        for nth in 0..100 {
            let value = format!("{nth:0>1000}");
            let json = format!("{{\"x\":\"{value}\",\"y\":{nth},\"choices\":[]}}");
            let mut chunk = serde_json::from_str::<Chunk>(&json).unwrap_or_default();
            accumulator.push(&mut chunk);
            assert!(accumulator.exceeded().is_empty());
            let extra = &accumulator.completion().extra;
            assert!(extra.weight() <= 2_000);
            assert_eq!(extra.get("x"), Some(Value::from(value)));
            assert_eq!(extra.get("y"), Some(Value::from(nth)));
        }
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
