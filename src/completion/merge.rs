//! How unknown fields of many chunks become one, and what that costs.

use alloc::collections::BTreeSet;
use alloc::string::String;

use serde_json::{Map, Value};

use super::ledger::Ledger;
use crate::chunk::{Extra, FIELD, OBJECT, RawJson};

/// Texts under these keys name something and do not carry anything: they are not appended.
const NAMES: [&str; 6] = ["id", "type", "role", "name", "channel", "format"];
/// What a value in a list takes beside its text.
const NODE: usize = 32;

/// The unknown fields of a delta.
pub(super) fn merge_fields(old: &mut Extra, new: &Extra, ledger: &mut Ledger) {
    if new.is_empty() {
        return;
    }
    old.merge_with(|fields| {
        for (key, raw) in new.as_text().entries() {
            if let Some(value) = ledger.decode(raw) {
                merge(fields, key, value, ledger);
            }
        }
    });
}

/// Merges the value of an unknown delta field into what came before: lists append, objects merge, texts append, of
/// others the last wins. Null says nothing.
fn merge(fields: &mut Map<String, Value>, key: &str, new: Value, ledger: &mut Ledger) {
    match (fields.get_mut(key), new) {
        (_, Value::Null) => {}
        (Some(Value::Array(old)), Value::Array(new)) => {
            if ledger.charge(new.iter().map(weight).sum()) {
                old.extend(new);
            }
        }
        (Some(Value::Object(old)), Value::Object(new)) => {
            for (key, value) in new {
                merge(old, &key, value, ledger);
            }
        }
        (Some(Value::String(old)), Value::String(new)) if !NAMES.contains(&key) => {
            if ledger.charge(new.len()) {
                old.push_str(&new);
            }
        }
        (Some(Value::String(old)), Value::String(new)) if new.is_empty() && !old.is_empty() => {}
        (_, new) => replace(fields, key, new, ledger),
    }
}

/// Puts a value in the place of another one; what it weighs more counts.
fn replace(fields: &mut Map<String, Value>, key: &str, new: Value, ledger: &mut Ledger) {
    match fields.get_mut(key) {
        Some(old) => {
            if ledger.exchange(weight(old), weight(&new)) {
                *old = new;
            }
        }
        None => {
            if ledger.charge(key.len() + FIELD + weight(&new)) {
                fields.insert(key.into(), new);
            }
        }
    }
}

/// About how many bytes a value takes.
fn weight(value: &Value) -> usize {
    NODE + match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(weight).sum(),
        Value::Object(fields) => {
            let fields = fields.iter();
            OBJECT
                + fields
                    .map(|(key, value)| key.len() + FIELD + weight(value))
                    .sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// The results of moderation, which are kept as text: those of the input may come before those of the output.
#[derive(Debug, Clone, Default)]
pub(super) struct Moderation {
    /// The keys that have come.
    keys: BTreeSet<String>,
    /// What came last: servers may repeat it in every chunk.
    last: String,
}

impl Moderation {
    /// Adds results. What is in them for the second time replaces the first.
    pub(super) fn add(&mut self, old: &mut Option<RawJson>, new: &RawJson, ledger: &mut Ledger) {
        if self.last == new.as_str() {
            return;
        }
        self.last = new.as_str().into();
        let fields = match ledger.decode(new.as_str()) {
            Some(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        let keys: usize = fields.keys().map(|key| key.len() + FIELD).sum();
        match old {
            // Only new keys: the text is appended.
            Some(old)
                if !fields.is_empty() && fields.keys().all(|key| !self.keys.contains(key)) =>
            {
                if !ledger.charge(new.as_str().len() + keys) {
                    return;
                }
                old.append_members(new);
            }
            // The whole is written anew, and counts anew: so this cannot cost more than the limit allows.
            Some(old) => {
                let Some(Value::Object(mut merged)) = ledger.decode(old.as_str()) else {
                    return;
                };
                merged.extend(
                    fields
                        .clone()
                        .into_iter()
                        .filter(|(_, value)| !value.is_null()),
                );
                let merged = RawJson::from(&Value::Object(merged));
                if !ledger.charge(merged.as_str().len() + keys) {
                    return;
                }
                *old = merged;
            }
            None => {
                if !ledger.charge(new.as_str().len() + keys) {
                    return;
                }
                *old = Some(new.clone());
            }
        }
        self.keys.extend(fields.into_iter().map(|(key, _)| key));
    }
}
