//! How the keys of an object are told from each other, as they stand in the text: they are not searched for their ends.

use alloc::string::String;
use core::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, Unexpected, Visitor};

use super::context::Cx;
use super::json::OFFERED;

/// What a key stands for that bytes begin with, up to its quote, and how many bytes it takes with both its quotes.
type Known<T> = fn(&[u8]) -> Option<(T, usize)>;

/// The next key of an object, as what `known` makes of it. One that it does not know is none, and left in `cx.spare.key`.
///
/// `here` is `known` too, to be compiled into the loop over the keys: then there is one jump for each, not two.
#[inline(always)]
pub(super) fn next_key<'de, A: MapAccess<'de>, T>(
    map: &mut A,
    here: impl FnOnce(&[u8]) -> Option<(T, usize)>,
    known: Known<T>,
    cx: &mut Cx<'_>,
) -> Result<Option<Option<T>>, A::Error> {
    let cx = &mut *cx;
    match map.next_key_seed(Key { here, known, cx })? {
        None => Ok(None),
        Some(Met::Known(key)) => Ok(Some(Some(key))),
        Some(Met::Other) => Ok(Some(None)),
        Some(Met::Open) => {
            let text = map.next_key_seed(KeyText(&mut *cx))?;
            Ok(text.map(|()| known_text(known, cx)))
        }
    }
}

/// A key as it was met.
enum Met<T> {
    Known(T),
    /// It is in `cx.spare.key`.
    Other,
    /// It was not read: it is not known as it stands, but there may be escapes in it.
    Open,
}

struct Key<'a, 'h, T, F> {
    here: F,
    known: Known<T>,
    cx: &'a mut Cx<'h>,
}

impl<'de, T, F: FnOnce(&[u8]) -> Option<(T, usize)>> DeserializeSeed<'de> for Key<'_, '_, T, F> {
    type Value = Met<T>;

    #[inline(always)]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Met<T>, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<'de, T, F: FnOnce(&[u8]) -> Option<(T, usize)>> Visitor<'de> for Key<'_, '_, T, F> {
    type Value = Met<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    /// Our own reader offers the key so; to anybody else's bytes it is no key.
    #[inline(always)]
    fn visit_borrowed_bytes<E: Error>(self, rest: &'de [u8]) -> Result<Met<T>, E> {
        let offered = &self.cx.notes.key;
        if offered.take() != OFFERED {
            return Err(E::invalid_type(Unexpected::Bytes(rest), &self));
        }
        Ok(match (self.here)(rest) {
            Some((key, len)) => {
                offered.set(len);
                Met::Known(key)
            }
            None => Met::Open,
        })
    }

    fn visit_str<E>(self, key: &str) -> Result<Met<T>, E> {
        set(&mut self.cx.spare.key, key);
        Ok(known_text(self.known, self.cx).map_or(Met::Other, Met::Known))
    }
}

/// A key, left in `cx.spare.key`.
struct KeyText<'a, 'h>(&'a mut Cx<'h>);

impl<'de> DeserializeSeed<'de> for KeyText<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

/// Of our own reader.
impl Visitor<'_> for KeyText<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<(), E> {
        set(&mut self.0.spare.key, key);
        Ok(())
    }
}

fn set(text: &mut String, new: &str) {
    text.clear();
    text.push_str(new);
}

/// What the key in `cx.spare.key` stands for.
fn known_text<T>(known: Known<T>, cx: &mut Cx<'_>) -> Option<T> {
    let key = &mut cx.spare.key;
    key.push('"');
    // All of it: there may be quotes in a key.
    let found = known(key.as_bytes()).filter(|(_, len)| *len == key.len() + 1);
    key.pop();
    found.map(|(key, _)| key)
}

/// The byte by which a key is told from others: nearly always it is the only one that has it.
pub(super) const fn third(key: &str) -> u8 {
    match key.as_bytes() {
        [_, _, third, ..] => *third,
        bytes => {
            assert!(bytes.len() == 2, "no key is shorter");
            b'"'
        }
    }
}

/// Which of some keys bytes begin with, up to its quote, and how many it takes with both its quotes.
macro_rules! known {
    ($bytes:expr, $($key:literal as $name:ident => $known:expr,)*) => {{
        $(#[allow(non_upper_case_globals)]
        const $name: u8 = $crate::chunk::key::third($key);)*
        #[allow(non_upper_case_globals)]
        let found = match $bytes.get(2).copied() {
            $(Some($name) if $bytes.starts_with(concat!($key, "\"").as_bytes()) => {
                Some(($known, $key.len() + 2))
            })*
            _ => None,
        };
        found
    }};
}
pub(super) use known;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::format;
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;

    use serde::Deserialize;
    use serde::de::value::{self, BorrowedBytesDeserializer, MapDeserializer};

    use crate::Chunk;

    /// Read here, and by serde_json, which knows keys as texts only.
    #[test]
    fn a_key_is_known_however_it_is_written_and_only_whole() {
        for (key, is_known) in [
            ("model", true),
            (r"mode\u006c", true),
            (r"\u006dodel", true),
            ("Model", false),
            ("mode", false),
            ("models", false),
            (r#"model\""#, false),
            (r#"model\"x"#, false),
            (r"model\\", false),
            ("moderation ", false),
            ("mo", false),
            ("m", false),
            ("", false),
            (r#"\""#, false),
            ("modèl", false),
        ] {
            for between in ["", " ", "\n\t"] {
                let json = format!("{{\"{key}\"{between}:{between}\"x\",\"choices\":[]}}");
                let name: String = serde_json::from_str(&format!("\"{key}\"")).unwrap();
                let names: Vec<_> = [name.as_str()].into_iter().filter(|_| !is_known).collect();
                for chunk in [
                    Chunk::from_json(&json).unwrap(),
                    serde_json::from_str(&json).unwrap(),
                    serde_json::from_value(serde_json::from_str(&json).unwrap()).unwrap(),
                ] {
                    assert_eq!(chunk.model.as_deref(), is_known.then_some("x"), "{json}");
                    assert_eq!(chunk.extra.keys().collect::<Vec<_>>(), names, "{json}");
                }
            }
        }
    }

    #[test]
    fn bytes_of_another_format_are_no_key() {
        for key in [&b"model"[..], b"model\"", b"other", b""] {
            let key = BorrowedBytesDeserializer::<value::Error>::new(key);
            let map = MapDeserializer::new([(key, "x"), (key, "y")].into_iter());
            let error = Chunk::deserialize(map).unwrap_err();
            assert!(error.to_string().contains("expected a key"), "{error}");
        }
    }

    #[test]
    fn what_breaks_off_in_or_after_a_key_is_no_json() {
        let json = r#"{"model":"x","other":"y","choices":[]}"#;
        for len in 1..json.len() {
            let cut = json.get(..len).unwrap();
            assert!(Chunk::from_json(cut).is_err(), "{cut}");
        }
        for json in [
            r#"{"model""x"}"#,
            r#"{"model","x"}"#,
            r#"{"model":}"#,
            r#"{"model":"x""id":"y"}"#,
        ] {
            assert!(Chunk::from_json(json).is_err(), "{json}");
        }
    }
}
