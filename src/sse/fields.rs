//! What lines say: which are fields, what their values are, and those of the block at hand.

use alloc::string::String;

use super::lines::KEPT_CAPACITY;

/// The longest name of a field and its colon.
const NAME: usize = "error:".len();

/// The fields read since the last blank line.
#[derive(Debug, Clone, Default)]
pub(super) struct Block {
    pub(super) start: Option<u64>,
    pub(super) event: String,
    pub(super) data: String,
    pub(super) has_data: bool,
    pub(super) id: String,
    pub(super) has_id: bool,
    pub(super) is_invalid: bool,
}

impl Block {
    pub(super) fn clear(&mut self) {
        self.start = None;
        clear(&mut self.event);
        self.data.clear();
        self.has_data = false;
        clear(&mut self.id);
        self.has_id = false;
        self.is_invalid = false;
    }
}

/// Empties a text, and gives a large buffer back.
pub(super) fn clear(text: &mut String) {
    text.clear();
    text.shrink_to(KEPT_CAPACITY);
}

/// Whether a line, or the head of one, is plainly no field, no comment, and no error of llama.cpp.
pub(super) fn is_stray(line: &[u8]) -> bool {
    let Some(head) = line.get(..NAME) else {
        return false;
    };
    let name = head.split(|byte| *byte == b':').next().unwrap_or_default();
    !matches!(name, b"" | b"data" | b"event" | b"id" | b"retry" | b"error")
}

/// Appends bytes as UTF-8; each invalid sequence as U+FFFD, as the Encoding standard counts them. False if there was one.
/// Those make the text longer: once it is over `max` bytes nothing more is appended.
pub(super) fn push_decoded(text: &mut String, bytes: &[u8], max: usize) -> bool {
    if let Ok(valid) = simdutf8::basic::from_utf8(bytes) {
        text.push_str(valid);
        true
    } else {
        for part in bytes.utf8_chunks() {
            if text.len() > max {
                break;
            }
            text.push_str(part.valid());
            if !part.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        false
    }
}

/// ASCII digits only; a number over u64 is no valid time either.
pub(super) fn milliseconds(value: &[u8]) -> Option<u64> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    core::str::from_utf8(value).ok()?.parse().ok()
}
