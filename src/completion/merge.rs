//! How unknown fields of many deltas become one.

use alloc::string::String;
use serde_json::{Map, Value};

/// Texts under these keys name something and do not carry anything: they are not appended.
const NAMES: [&str; 6] = ["id", "type", "role", "name", "channel", "format"];

/// Merges the value of an unknown delta field into what came before: lists append, objects merge, texts append, of
/// others the last wins. Null says nothing.
pub(super) fn merge(fields: &mut Map<String, Value>, key: &str, new: Value) {
    let Some(old) = fields.get_mut(key) else {
        if !new.is_null() {
            fields.insert(key.into(), new);
        }
        return;
    };
    match (old, new) {
        (_, Value::Null) => {}
        (Value::Array(old), Value::Array(new)) => old.extend(new),
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in new {
                merge(old, &key, value);
            }
        }
        (Value::String(old), Value::String(new)) if !NAMES.contains(&key) => old.push_str(&new),
        (Value::String(old), Value::String(new)) if new.is_empty() && !old.is_empty() => {}
        (old, new) => *old = new,
    }
}

/// About how many bytes a value takes.
pub(super) fn weight(value: &Value) -> usize {
    const NODE: usize = 32;
    NODE + match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(weight).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| key.len() + NODE + weight(value))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
