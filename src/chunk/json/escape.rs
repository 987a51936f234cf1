//! What the escapes of a string stand for.

/// What each escape of one byte stands for; 0 for what is none. A table, because which one comes is not foreseeable.
#[expect(clippy::indexing_slicing, reason = "at compile time")]
const UNESCAPED: [u8; 256] = {
    let mut table = [0; 256];
    let escapes = *b"\"\"\\\\//b\x08f\x0Cn\nr\rt\t";
    let mut at = 0;
    while at < escapes.len() {
        table[escapes[at] as usize] = escapes[at + 1];
        at += 2;
    }
    table
};

/// What an escape of one byte stands for.
#[inline(always)]
pub(crate) fn unescaped(escape: u8) -> Option<u8> {
    UNESCAPED
        .get(usize::from(escape))
        .copied()
        .filter(|byte| *byte != 0)
}

/// Reads four hexadecimal digits: a unit of UTF-16. Or says what was expected.
pub(super) fn hex4(bytes: &[u8], at: &mut usize) -> Result<u16, &'static str> {
    let mut unit = 0;
    for _ in 0..4 {
        let digit = match bytes.get(*at) {
            Some(digit @ b'0'..=b'9') => digit - b'0',
            Some(digit @ b'a'..=b'f') => digit - b'a' + 10,
            Some(digit @ b'A'..=b'F') => digit - b'A' + 10,
            _ => return Err("four hexadecimal digits"),
        };
        unit = unit << 4 | u16::from(digit);
        *at += 1;
    }
    Ok(unit)
}
