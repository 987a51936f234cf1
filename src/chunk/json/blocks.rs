//! Long strings with many escapes, sixty-four bytes at a time.
//!
//! Where the escapes are is not foreseeable, and a wrong guess of the processor costs more than all that is done for one. So
//! all of a block are found first, without a branch, and then taken one after the other.

use alloc::vec::Vec;

use super::escape::unescaped;

const BLOCK: usize = 64;
/// So much of a run of plain text is copied in always the same steps.
const RUN: usize = 32;

/// A bit for each byte of a block that is a quote, a backslash or a control byte.
#[inline(never)]
fn specials(block: &[u8; BLOCK]) -> u64 {
    let mut marks = [0; BLOCK];
    for (mark, byte) in marks.iter_mut().zip(block) {
        *mark = u8::from(*byte == b'"') | u8::from(*byte == b'\\') | u8::from(*byte < 0x20);
    }
    let mut bits = 0;
    let mut at = 0;
    while let Some(eight) = marks.get(at..).and_then(|marks| marks.first_chunk::<8>()) {
        // The product has the lowest bits of the eight bytes next to each other in its highest byte.
        bits |= (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << at;
        at += 8;
    }
    bits
}

/// A block, and as much after it as may be copied too much.
type Window = [u8; BLOCK + RUN];

fn window(bytes: &[u8], at: usize) -> Option<&Window> {
    bytes.get(at..).and_then(|rest| rest.first_chunk())
}

/// Goes through a block of the inside of a string, up to anything but plain text and escapes of one byte. `piece` is given
/// where a run of plain text begins, its length, and what the escape after it stands for, if one comes. Gives how far it went,
/// and whether another block may be next.
#[inline(always)]
fn block(window: &Window, mut piece: impl FnMut(usize, usize, Option<u8>)) -> (usize, bool) {
    let Some(block) = window.first_chunk() else {
        return (0, false);
    };
    let mut specials = specials(block);
    let mut from = 0;
    while specials != 0 {
        let special = specials.trailing_zeros() as usize;
        let is_escape = block.get(special) == Some(&b'\\');
        let escape = block.get(special + 1).copied().and_then(unescaped);
        if !is_escape || escape.is_none() {
            piece(from, special - from, None);
            // An escape that the end of the block cuts begins the next one.
            return (special, is_escape && special + 1 == BLOCK);
        }
        piece(from, special - from, escape);
        from = special + 2;
        // Neither the backslash nor what it escapes.
        specials &= !(3 << special);
    }
    piece(from, BLOCK - from, None);
    (BLOCK, true)
}

/// Copies so many bytes. There are as many: a run that is longer begins earlier in its block.
#[inline(always)]
fn copy<const LEN: usize>(window: &Window, from: usize, room: &mut Window, to: usize) {
    if let (Some(run), Some(target)) = (window.get(from..from + LEN), room.get_mut(to..to + LEN)) {
        target.copy_from_slice(run);
    }
}

/// Appends what the inside of a string says from `at` to `out`, for as long as there are whole blocks of plain text and
/// escapes of one byte.
#[inline(never)]
pub(super) fn unescape(bytes: &[u8], at: &mut usize, out: &mut Vec<u8>) {
    while let Some(window) = window(bytes, *at) {
        let start = out.len();
        out.extend_from_slice(&[0; BLOCK + RUN]);
        let Some(room) = out.get_mut(start..).and_then(<[u8]>::first_chunk_mut) else {
            return;
        };
        let mut to = 0;
        let (len, goes_on) = block(window, |from, len, escaped| {
            if len <= RUN {
                copy::<RUN>(window, from, room, to);
            } else {
                copy::<BLOCK>(window, from, room, to);
            }
            to += len;
            if let (Some(target), Some(byte)) = (room.get_mut(to), escaped) {
                *target = byte;
                to += 1;
            }
        });
        out.truncate(start + to);
        *at += len;
        if !goes_on {
            return;
        }
    }
}

/// As `unescape`, without keeping anything.
#[inline(never)]
pub(super) fn skip(bytes: &[u8], at: &mut usize) {
    while let Some(window) = window(bytes, *at) {
        let (len, goes_on) = block(window, |_, _, _| {});
        *at += len;
        if !goes_on {
            return;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::string::String;

    use super::super::{Notes, Reader, Scratch};
    use super::*;

    /// Pieces of strings, so that each comes at each place of a block, and some that no string has.
    const PIECES: [&str; 16] = [
        r"\n",
        r#"\""#,
        r"\\",
        r"\/",
        r"\t\n",
        r"\u00e9",
        r"\ud83d\ude00",
        "plain",
        "a",
        "ü",
        "日本",
        r"\\\\\\",
        "a run of more than thirty-two bytes, to be copied at once",
        r"\x",
        "\u{1}",
        r"\u12",
    ];

    #[test]
    fn a_long_string_is_read_and_skipped_as_serde_json_reads_it() {
        let mut seed = 1_u32;
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12345);
            (seed >> 16) as usize % below
        };
        let (mut good, mut bad) = (0, 0);
        for _ in 0..20_000 {
            let mut text = String::from("\"");
            // One of two has no piece that is wrong, so that there are long ones.
            let pieces = PIECES.len() - 3 * next(2);
            for _ in 0..next(80) {
                text += PIECES.get(next(pieces)).unwrap();
            }
            text += ["\"", "", "\" "].get(next(3)).unwrap();
            let expected = serde_json::from_str::<String>(&text).ok();
            let (mut scratch, notes) = (Scratch::default(), Notes::default());
            let mut reader = Reader::new(&text, 0, 100, &mut scratch, &notes);
            let read = reader.string().ok().map(|string| match string {
                super::super::string::Text::Plain(text) => String::from(text),
                super::super::string::Text::Unescaped => String::from(reader.unescaped()),
            });
            assert_eq!(read, expected, "{text}");
            let end = reader.at();
            let mut reader = Reader::new(&text, 0, 100, &mut scratch, &notes);
            let skipped = reader.skip_string().is_ok();
            assert_eq!(skipped, expected.is_some(), "{text}");
            assert!(!skipped || reader.at() == end, "{text}");
            *if skipped { &mut good } else { &mut bad } += 1;
        }
        assert!(good > 5000 && bad > 5000, "{good} {bad}");
    }

    #[test]
    fn a_special_byte_is_found_at_each_place_of_a_block() {
        for at in 0..BLOCK {
            for byte in 0..=u8::MAX {
                let mut block = [b'x'; BLOCK];
                *block.get_mut(at).unwrap() = byte;
                let is_special = matches!(byte, b'"' | b'\\' | 0..=0x1F);
                assert_eq!(specials(&block), u64::from(is_special) << at);
            }
        }
        assert_eq!(specials(&[b'"'; BLOCK]), u64::MAX);
    }
}
