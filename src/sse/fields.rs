//! What lines say: which are fields, and what their values are.

use alloc::string::String;

/// The longest name of a field and its colon.
const NAME: usize = "error:".len();

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
