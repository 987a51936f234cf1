//! What a JSON text takes once it is decoded: a few bytes of it may become a map of a kilobyte.

/// An object: the node of a map that has room for eleven fields.
pub(crate) const OBJECT: usize = 640;
/// A field of an object: the nodes of a map whose keys come in order are half empty.
pub(crate) const FIELD: usize = 112;
/// A list: room for the first four values.
const LIST: usize = 128;

/// More than any field has that is looked into while it is read.
pub(super) const HEAVY: usize = 1 << 20;

/// No less than the memory that a JSON value takes beside its text once it is decoded.
pub(crate) fn overhead(json: &str) -> usize {
    let (mut bytes, mut sum) = (json.bytes(), 0_usize);
    while let Some(byte) = bytes.next() {
        sum = sum.saturating_add(match byte {
            b',' => FIELD,
            b'{' => OBJECT,
            b'[' => LIST,
            b'"' => {
                loop {
                    match bytes.next() {
                        Some(b'\\') => _ = bytes.next(),
                        Some(b'"') | None => break,
                        Some(_) => {}
                    }
                }
                0
            }
            _ => 0,
        });
    }
    sum
}

/// Whether a value is not to be decoded in passing.
pub(super) fn is_heavy(json: &str) -> bool {
    json.len() > HEAVY / OBJECT && overhead(json) > HEAVY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_strings_has_no_weight() {
        assert_eq!(overhead(r#""a,[{\"\\""#), 0);
        assert_eq!(overhead(r#""a\\",["#), FIELD + LIST);
        assert_eq!(overhead(r#"{"a{":[1,2]}"#), OBJECT + LIST + FIELD);
        assert_eq!(overhead(r#""cut off\"#), 0);
    }

    #[test]
    fn a_value_is_heavy_by_what_is_in_it_and_not_by_its_text() {
        let list = |len: usize| alloc::format!("[{}0]", "0,".repeat(len));
        let most = (HEAVY - LIST) / FIELD;
        assert!(!is_heavy(&list(most)));
        assert!(is_heavy(&list(most + 1)));
        assert!(!is_heavy(&alloc::format!("\"{}\"", ",".repeat(2 * HEAVY))));
    }
}
