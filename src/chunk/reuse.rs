//! Buffers that are used again: for what, and how large they may be.

use alloc::string::String;

/// Writes text into a field, keeping its buffer.
#[inline]
pub(super) fn set_text(slot: &mut Option<String>, text: &str) {
    match slot {
        Some(old) if is_worth_keeping(old.capacity(), text.len()) => {
            old.clear();
            old.push_str(text);
        }
        _ => *slot = Some(with_room(text)),
    }
}

/// A text in a buffer of its own, with room for those that come next.
#[inline(never)]
fn with_room(text: &str) -> String {
    let mut new = String::with_capacity(text.len().max(32));
    new.push_str(text);
    new
}

/// Whether a buffer is to be kept for so much: a large one that is hardly used is not.
pub(super) const fn is_worth_keeping(capacity: usize, needed: usize) -> bool {
    capacity <= SMALL || capacity / 4 <= needed
}

/// A buffer that may be kept in any case.
pub(super) const SMALL: usize = 1024;
