//! JSON that is kept as text, and decoded when somebody asks.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use core::fmt;

use serde::de::{self, DeserializeOwned, DeserializeSeed, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::json::{MAX_DEPTH, Notes, RAW, Reader, Scratch, TWICE, serialize, value};
use super::reuse::is_worth_keeping;
use super::transcode::Transcode;

/// A JSON value, kept as text.
///
/// Half surrogate pairs in it were replaced by U+FFFD, and `NaN`, `Infinity` and numbers out of range by null, so that
/// any JSON reader takes it.
///
/// ```
/// let chunk = chatwire::Chunk::from_json(r#"{"choices":[],"moderation":{"input":null}}"#)?;
/// let moderation = chunk.moderation.unwrap();
/// assert_eq!(moderation.as_str(), r#"{"input":null}"#);
/// assert!(moderation.decode::<serde_json::Value>()?["input"].is_null());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RawJson(String);

/// The text of a [`RawJson`] did not fit the type asked for. The reason is behind `source()`.
#[derive(Debug)]
pub struct DecodeError(serde_json::Error);

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the JSON value is not of the type asked for")
    }
}

impl core::error::Error for DecodeError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl RawJson {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Decodes it as a `T`.
    ///
    /// # Errors
    /// If it is of another shape than `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        serde_json::from_str(&self.0).map_err(DecodeError)
    }

    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Replaces the value, keeping the buffer.
    pub(crate) fn set(slot: &mut Option<Self>, text: &str) {
        match slot {
            Some(raw) if is_worth_keeping(raw.0.capacity(), text.len()) => {
                raw.0.clear();
                raw.0.push_str(text);
            }
            _ => *slot = Some(Self::new(text)),
        }
    }

    /// The text between the brackets of a list; none if this is no list.
    pub(crate) fn elements(&self) -> Option<&str> {
        Some(self.0.trim().strip_prefix('[')?.strip_suffix(']')?.trim())
    }

    /// Appends the elements of another list to this one.
    pub(crate) fn append(&mut self, elements: &str) {
        if self.elements() == Some("") {
            self.0.clear();
            self.0.push('[');
        } else {
            self.0.truncate(self.0.trim_end().len());
            self.0.pop();
            self.0.push(',');
        }
        self.0.push_str(elements);
        self.0.push(']');
    }
}

impl RawJson {
    /// Appends the members of another object, which has some, to this one.
    pub(crate) fn append_members(&mut self, other: &Self) {
        let inner = |text: &str| {
            Some(
                text.trim()
                    .strip_prefix('{')?
                    .strip_suffix('}')?
                    .trim()
                    .len(),
            )
        };
        if matches!(inner(&self.0), None | Some(0)) {
            self.0.clone_from(&other.0);
            return;
        }
        self.0.truncate(self.0.trim_end().len());
        self.0.pop();
        self.0.push(',');
        self.0
            .push_str(other.0.trim().strip_prefix('{').unwrap_or_default());
    }
}

impl From<&Value> for RawJson {
    fn from(value: &Value) -> Self {
        Self(value.to_string())
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
            || matches!((value(&self.0), value(&other.0)), (Some(one), Some(another)) if one == another)
    }
}

impl Default for RawJson {
    fn default() -> Self {
        Self::new("null")
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        capture(deserializer, |text| {
            text.map_or_else(Self::default, Self::new)
        })
    }
}

/// Gives the text of the next value to `take`; none if it is too deep to be kept. Our own reader has the text; of any
/// other one the value is written anew.
pub(super) fn capture<'de, D, T, F>(deserializer: D, take: F) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    F: FnOnce(Option<&str>) -> T,
{
    struct Capture<F>(F);

    impl<'de, T, F: FnOnce(Option<&str>) -> T> Visitor<'de> for Capture<F> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON value")
        }

        fn visit_str<E>(self, text: &str) -> Result<T, E> {
            Ok((self.0)(Some(text)))
        }

        fn visit_unit<E>(self) -> Result<T, E> {
            Ok((self.0)(None))
        }

        fn visit_newtype_struct<D: Deserializer<'de>>(
            self,
            deserializer: D,
        ) -> Result<T, D::Error> {
            let text =
                serde_json::to_string(&Transcode::new(deserializer)).map_err(de::Error::custom)?;
            Ok((self.0)(Some(&text)))
        }
    }

    deserializer.deserialize_newtype_struct(RAW, Capture(take))
}

/// Reads a value by `seed`, which may look at `notes`, and also keeps it.
pub(super) fn read_and_keep<'de, D, S>(
    deserializer: D,
    seed: S,
    notes: &Notes,
) -> Result<RawJson, D::Error>
where
    D: Deserializer<'de>,
    S: for<'any> DeserializeSeed<'any, Value = ()>,
{
    struct Twice<'h, S>(S, &'h Notes);

    impl<'de, S: for<'any> DeserializeSeed<'any, Value = ()>> Visitor<'de> for Twice<'_, S> {
        type Value = RawJson;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON value")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<RawJson, A::Error> {
            seq.next_element_seed(self.0)?;
            seq.next_element().map(Option::unwrap_or_default)
        }

        fn visit_newtype_struct<D: Deserializer<'de>>(
            self,
            deserializer: D,
        ) -> Result<RawJson, D::Error> {
            let raw = RawJson::deserialize(deserializer)?;
            let mut scratch = Scratch::default();
            let mut reader = Reader::new(raw.as_str(), 0, MAX_DEPTH, &mut scratch, self.1);
            read_and_keep(&mut reader, self.0, self.1).map_err(de::Error::custom)
        }
    }

    deserializer.deserialize_newtype_struct(TWICE, Twice(seed, notes))
}
