//! How the fields of the chunks become those of the answer, each by its rule.

use alloc::string::String;

use serde_json::Value;

use super::ledger::{Ledger, filled};
use super::merge::{merge, weight};
use crate::Deviation;
use crate::chunk::{Audio, Extra, FinishReason, Logprobs, RawJson};

/// A text of which the last one counts.
pub(super) fn replace(old: &mut Option<String>, new: &Option<String>) {
    if filled(new).is_some() && old != new {
        old.clone_from(new);
    }
}

/// A later plain `stop` never replaces another reason; else the last one counts.
pub(super) fn finish_reason(
    old: &mut Option<FinishReason>,
    new: &FinishReason,
    ledger: &mut Ledger,
) {
    match old {
        Some(old) if old == new => {}
        Some(old) => {
            ledger.note(Deviation::FinishReasonChanged);
            if *new != FinishReason::Stop {
                *old = new.clone();
            }
        }
        None => *old = Some(new.clone()),
    }
}

pub(super) fn audio(old: &mut Audio, new: &Audio, high: &mut u16, ledger: &mut Ledger) {
    if old.id.is_none() {
        old.id = filled(&new.id).map(String::from);
    }
    if let Some(data) = &new.data {
        if ledger.charge(data.len()) {
            old.data.get_or_insert_default().push_str(data);
        }
    }
    if let Some(transcript) = &new.transcript {
        ledger.append(
            old.transcript.get_or_insert_default(),
            transcript,
            new.halves,
            high,
        );
    }
    old.expires_at = new.expires_at.or(old.expires_at);
    merge_fields(&mut old.extra, &new.extra, ledger);
}

pub(super) fn append_logprobs(old: &mut Logprobs, new: &Logprobs, ledger: &mut Ledger) {
    append_list(&mut old.content, &new.content, ledger);
    append_list(&mut old.refusal, &new.refusal, ledger);
    merge_fields(&mut old.extra, &new.extra, ledger);
}

/// Appends the elements of a list.
pub(super) fn append_list(old: &mut Option<RawJson>, new: &Option<RawJson>, ledger: &mut Ledger) {
    let Some(elements) = new.as_ref().and_then(RawJson::elements) else {
        return;
    };
    if !ledger.charge(elements.len() + 1) {
        return;
    }
    let old = old.get_or_insert_with(|| RawJson::new("[]"));
    if !elements.is_empty() {
        old.append(elements);
    }
}

/// Merges the unknown fields of a delta.
pub(super) fn merge_fields(old: &mut Extra, new: &Extra, ledger: &mut Ledger) {
    if new.is_empty() {
        return;
    }
    old.merge_with(|fields| {
        for (key, raw) in new.entries() {
            let Ok(value) = serde_json::from_str::<Value>(raw) else {
                continue;
            };
            if ledger.charge(weight(&value)) {
                merge(fields, key, value);
            }
        }
    });
}

/// The unknown fields of a chunk or a choice: of each the last counts. Errors are no part of the answer.
pub(super) fn keep_last(old: &mut Extra, new: &Extra, last: &mut Extra, ledger: &mut Ledger) {
    if new.is_empty() || new.is_same_text(last) {
        return;
    }
    last.copy_from(new);
    old.merge_with(|fields| {
        for (key, raw) in new.entries().filter(|(key, _)| *key != "error") {
            let Ok(value) = serde_json::from_str::<Value>(raw) else {
                continue;
            };
            if value.is_null() {
                continue;
            }
            let new = weight(&value);
            match fields.get_mut(key) {
                Some(old) if ledger.charge(new.saturating_sub(weight(old))) => *old = value,
                None if ledger.charge(new + key.len()) => {
                    fields.insert(key.into(), value);
                }
                _ => {}
            }
        }
    });
}

/// Moderation of the input may come before that of the output.
pub(super) fn merge_raw(old: &mut Option<RawJson>, new: &RawJson, ledger: &mut Ledger) {
    let decoded = |raw: &RawJson| raw.decode::<Value>().ok();
    let merged = match (old.as_ref().and_then(decoded), decoded(new)) {
        (Some(Value::Object(mut old)), Some(Value::Object(new))) => {
            old.extend(new.into_iter().filter(|(_, value)| !value.is_null()));
            RawJson::from(&Value::Object(old))
        }
        _ => new.clone(),
    };
    if ledger.charge(merged.as_str().len()) {
        *old = Some(merged);
    }
}
