//! How a field is read whatever type its value has: one adapter to serde, one small type for each kind of field.

use alloc::string::{String, ToString};
use core::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::RawJson;
use super::context::Cx;
use super::json::{Halves, STRING_OR_RAW};
use super::raw::capture;
use super::reuse::set_text;
use super::transcode::Transcode;
use super::types::FinishReason;
use crate::Deviation;

/// A field's reading: what it makes of each type of value. A type it does not name costs the field.
pub(super) trait Field: Sized {
    /// The value is null, or the field is to be as if it were.
    fn absent(self);

    /// The value has a type that means nothing here.
    fn wrong(self);

    fn bool(self, _: bool) {
        self.wrong();
    }

    fn unsigned(self, _: u64) {
        self.wrong();
    }

    /// A negative number, or one with a fraction, or out of range: infinite.
    fn number(self, _: f64) {
        self.wrong();
    }

    fn text(self, _: &str) {
        self.wrong();
    }

    fn list<'de, A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        self.wrong();
        Ok(())
    }

    fn object<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.wrong();
        Ok(())
    }
}

/// A field as serde's seed and visitor.
pub(super) struct Lenient<F>(pub(super) F);

impl<'de, F: Field> DeserializeSeed<'de> for Lenient<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: Field> Visitor<'de> for Lenient<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.absent();
        Ok(())
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.0.bool(value);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.0.unsigned(value);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        match u64::try_from(value) {
            Ok(value) => self.0.unsigned(value),
            #[expect(clippy::cast_precision_loss, reason = "only its sign counts")]
            Err(_) => self.0.number(value as f64),
        }
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.0.number(value);
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.0.text(value);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        self.0.list(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.0.object(map)
    }
}

/// Text.
pub(super) struct Text<'a, 'h>(pub(super) &'a mut Option<String>, pub(super) &'a mut Cx<'h>);

impl Field for Text<'_, '_> {
    fn absent(self) {
        *self.0 = None;
    }

    fn wrong(self) {
        self.1.note(Deviation::WrongType);
        self.absent();
    }

    fn text(self, text: &str) {
        set_text(self.0, text);
    }
}

/// Text that most chunks repeat.
pub(super) struct Steady<'a, 'h>(pub(super) &'a mut Option<String>, pub(super) &'a mut Cx<'h>);

impl Field for Steady<'_, '_> {
    fn absent(self) {
        Text(self.0, self.1).absent();
    }

    fn wrong(self) {
        Text(self.0, self.1).wrong();
    }

    fn text(self, text: &str) {
        if self.0.as_deref() != Some(text) {
            self.1.found.is_new = true;
            Text(self.0, self.1).text(text);
        }
    }
}

/// Text that may be cut in the middle of a surrogate pair.
pub(super) struct HalvedText<'a, 'h> {
    pub(super) slot: &'a mut Option<String>,
    pub(super) halves: &'a mut Halves,
    pub(super) cx: &'a mut Cx<'h>,
}

impl Field for HalvedText<'_, '_> {
    fn absent(self) {
        *self.slot = None;
        *self.halves = Halves::default();
    }

    fn wrong(self) {
        self.cx.note(Deviation::WrongType);
        self.absent();
    }

    fn text(self, text: &str) {
        set_text(self.slot, text);
        *self.halves = self.cx.notes.halves.get();
    }
}

/// A count or a time: a number that is not negative. Text that is one, or a fraction, is read too.
pub(super) struct Count<'a, 'h>(pub(super) &'a mut Option<u64>, pub(super) &'a mut Cx<'h>);

impl Field for Count<'_, '_> {
    fn absent(self) {
        *self.0 = None;
    }

    fn wrong(self) {
        self.1.note(Deviation::WrongType);
        self.absent();
    }

    fn unsigned(self, value: u64) {
        *self.0 = Some(value);
    }

    fn number(self, value: f64) {
        match whole(value) {
            Some(count) => {
                self.1.note(Deviation::CountNotInteger);
                *self.0 = Some(count);
            }
            None => self.wrong(),
        }
    }

    fn text(self, text: &str) {
        match digits(text) {
            Some(count) => {
                self.1.note(Deviation::CountNotInteger);
                *self.0 = Some(count);
            }
            None => self.wrong(),
        }
    }
}

/// 2 to the power of 64.
const U64_END: f64 = 18_446_744_073_709_551_616.0;

/// The whole part of a number that can be a count.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is in the range of a count"
)]
pub(super) fn whole(value: f64) -> Option<u64> {
    (0.0..U64_END).contains(&value).then_some(value as u64)
}

/// A number written in ASCII digits only.
pub(super) fn digits(text: &str) -> Option<u64> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

/// What an index turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IndexValue {
    Missing,
    Valid(u32),
    /// Over `u32::MAX`: its part is skipped.
    Over,
}

/// An index: an integer that is not negative, or digits.
pub(super) struct Index<'a, 'h>(pub(super) &'a mut IndexValue, pub(super) &'a mut Cx<'h>);

impl Field for Index<'_, '_> {
    fn absent(self) {
        *self.0 = IndexValue::Missing;
    }

    fn wrong(self) {
        self.1.note(Deviation::IndexInvalid);
        self.absent();
    }

    fn unsigned(self, value: u64) {
        *self.0 = u32::try_from(value).map_or(IndexValue::Over, IndexValue::Valid);
    }

    fn number(self, value: f64) {
        if value > f64::from(u32::MAX) {
            *self.0 = IndexValue::Over;
        } else {
            self.wrong();
        }
    }

    fn text(self, text: &str) {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return self.wrong();
        }
        self.1.note(Deviation::IndexAsText);
        *self.0 = text.parse().map_or(IndexValue::Over, IndexValue::Valid);
    }
}

/// A finish reason.
pub(super) struct Reason<'a, 'h>(
    pub(super) &'a mut Option<FinishReason>,
    pub(super) &'a mut Cx<'h>,
);

impl Field for Reason<'_, '_> {
    fn absent(self) {
        *self.0 = None;
    }

    fn wrong(self) {
        self.1.note(Deviation::WrongType);
        self.absent();
    }

    fn text(self, text: &str) {
        if text.is_empty() {
            self.1.note(Deviation::FinishReasonEmpty);
            return self.absent();
        }
        let reason = FinishReason::from(text);
        if matches!(reason, FinishReason::Other(_)) {
            self.1.note(Deviation::FinishReasonUnknown);
        }
        *self.0 = Some(reason);
    }
}

/// Any value but null, kept as text.
pub(super) struct Raw<'a>(pub(super) &'a mut Option<RawJson>);

impl<'de> DeserializeSeed<'de> for Raw<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        capture(deserializer, |text| match text {
            None | Some("null") => *self.0 = None,
            Some(text) => RawJson::set(self.0, text),
        })
    }
}

/// A list, kept as text.
pub(super) struct RawList<'a, 'h>(
    pub(super) &'a mut Option<RawJson>,
    pub(super) &'a mut Cx<'h>,
);

impl<'de> DeserializeSeed<'de> for RawList<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        Raw(self.0).deserialize(deserializer)?;
        if self.0.as_ref().is_some_and(|raw| raw.elements().is_none()) {
            self.1.note(Deviation::WrongType);
            *self.0 = None;
        }
        Ok(())
    }
}

/// The arguments of a call: text, or an object or a list, which is written as text.
pub(super) struct Arguments<'a, 'h>(pub(super) HalvedText<'a, 'h>);

impl Arguments<'_, '_> {
    fn json(self, json: &str) {
        self.0.cx.note(Deviation::ArgumentsNotText);
        set_text(self.0.slot, json);
        *self.0.halves = Halves::default();
    }
}

impl<'de> DeserializeSeed<'de> for Arguments<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_newtype_struct(STRING_OR_RAW, self)
    }
}

impl<'de> Visitor<'de> for Arguments<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("arguments")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.text(text);
        Ok(())
    }

    fn visit_bytes<E>(self, json: &[u8]) -> Result<(), E> {
        self.json(&String::from_utf8_lossy(json));
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.absent();
        Ok(())
    }

    fn visit_none<E>(self) -> Result<(), E> {
        *self.0.slot = None;
        self.0.halves.is_lost = true;
        Ok(())
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let json = serde_json::to_string(&Transcode::new(deserializer)).map_err(Error::custom)?;
        match serde_json::from_str(&json) {
            Ok(Value::Null) => self.0.absent(),
            Ok(Value::String(text)) => self.0.text(&text),
            Ok(Value::Object(_) | Value::Array(_)) => self.json(&json),
            _ => self.0.wrong(),
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.0.wrong();
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.0.wrong();
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        self.0.wrong();
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.0.wrong();
        Ok(())
    }
}

/// The token count in a field that was kept as text.
pub(super) fn count_in(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_f64().and_then(whole))
        .or_else(|| value.as_str().and_then(digits))
}

/// A value as text: a string as it says, a number as it is written. For codes, which come as both.
pub(super) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
