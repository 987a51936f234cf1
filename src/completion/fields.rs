//! How the fields of the chunks become those of the answer, each by its rule.

use super::ledger::Ledger;
use super::merge::merge_fields;
use crate::Deviation;
use crate::chunk::{Audio, FinishReason, Logprobs, RawJson};

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
            if *new != FinishReason::Stop && ledger.exchange(weight_of(old), weight_of(new)) {
                *old = new.clone();
            }
        }
        None if weight_of(new) == 0 || ledger.charge(weight_of(new)) => *old = Some(new.clone()),
        None => {}
    }
}

/// Only a reason that is not known is kept as text.
fn weight_of(reason: &FinishReason) -> usize {
    if let FinishReason::Other(text) = reason {
        text.len()
    } else {
        0
    }
}

pub(super) fn audio(old: &mut Audio, new: &Audio, high: &mut u16, ledger: &mut Ledger) {
    ledger.keep_first(&mut old.id, &new.id);
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
