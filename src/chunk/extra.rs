//! The fields that a provider adds: kept as text, decoded when somebody asks.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::RawJson;
use super::json::{serialize, value};
use super::raw::capture;
use super::reuse::is_worth_keeping;

/// What a field weighs beside its text: where it is takes 16 bytes, but more while that grows, or is sorted.
const PLACE: usize = 24;

/// Fields that are not OpenAI's, by name. They serialise beside the known ones.
///
/// Half of all recorded chunks carry some, so they are kept as text; each [`get`](Self::get) decodes anew.
///
/// ```
/// let chunk = chatwire::Chunk::from_json(r#"{"choices":[],"provider":"Acme","cost":[1,2]}"#)?;
/// assert_eq!(chunk.extra.get("provider"), Some("Acme".into()));
/// assert_eq!(chunk.extra.get("other"), None);
/// assert_eq!(chunk.extra.keys().collect::<Vec<_>>(), ["cost", "provider"]);
/// # Ok::<(), chatwire::Error>(())
/// ```
#[derive(Clone)]
pub struct Extra(Repr);

#[derive(Clone)]
enum Repr {
    /// As they came.
    Text(Fields),
    /// Merged of many chunks.
    Map(Map<String, Value>),
}

impl Default for Extra {
    fn default() -> Self {
        Self::new()
    }
}

/// Keys and values, one after the other: `provider"Acme"cost[1,2]`.
#[derive(Clone, Default, PartialEq)]
struct Fields {
    text: String,
    /// Where each key and each value ends in `text`. A key that comes twice is here twice; the last one counts.
    ends: Vec<(usize, usize)>,
}

impl Fields {
    fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut start = 0;
        self.ends.iter().map(move |(key_end, end)| {
            let key = self.text.get(start..*key_end).unwrap_or_default();
            start = *end;
            (key, self.text.get(*key_end..*end).unwrap_or_default())
        })
    }

    fn field(&self, nth: usize) -> (&str, &str) {
        let (_, start) = nth
            .checked_sub(1)
            .and_then(|nth| self.ends.get(nth))
            .copied()
            .unwrap_or_default();
        let (key_end, end) = self.ends.get(nth).copied().unwrap_or_default();
        (
            self.text.get(start..key_end).unwrap_or_default(),
            self.text.get(key_end..end).unwrap_or_default(),
        )
    }

    fn push(&mut self, key: &str, raw: &str) {
        let Self { text, ends } = self;
        text.reserve(key.len() + raw.len());
        text.push_str(key);
        let key_end = text.len();
        text.push_str(raw);
        ends.push((key_end, text.len()));
    }

    fn last_ones(&self) -> BTreeMap<&str, &str> {
        self.iter().collect()
    }
}

impl Extra {
    pub(crate) const fn new() -> Self {
        Self(Repr::Text(Fields {
            text: String::new(),
            ends: Vec::new(),
        }))
    }

    /// The value of a field, decoded; none if there is no such field.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Value> {
        match &self.0 {
            Repr::Text(_) => value(self.raw(key)?),
            Repr::Map(map) => map.get(key).cloned(),
        }
    }

    /// The names of the fields, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        let names: Vec<&str> = match &self.0 {
            Repr::Text(fields) => fields.last_ones().into_keys().collect(),
            Repr::Map(map) => map.keys().map(String::as_str).collect(),
        };
        names.into_iter()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Repr::Text(fields) => fields.ends.is_empty(),
            Repr::Map(map) => map.is_empty(),
        }
    }

    /// All fields, decoded.
    ///
    /// ```
    /// let chunk = chatwire::Chunk::from_json(r#"{"choices":[],"cost":0.25}"#)?;
    /// let map = chunk.extra.into_map();
    /// assert_eq!(map["cost"], 0.25);
    /// assert!(!chatwire::Extra::from(map).is_empty());
    /// # Ok::<(), chatwire::Error>(())
    /// ```
    #[must_use]
    pub fn into_map(self) -> Map<String, Value> {
        match self.0 {
            Repr::Text(fields) => {
                let decoded = |(key, raw): (&str, &str)| Some((String::from(key), value(raw)?));
                fields.iter().filter_map(decoded).collect()
            }
            Repr::Map(map) => map,
        }
    }

    /// The text of a field's value, as it came.
    pub(crate) fn raw(&self, key: &str) -> Option<&str> {
        self.entries()
            .filter(|(name, _)| *name == key)
            .last()
            .map(|(_, raw)| raw)
    }

    /// All fields as they came, in their order, also those that come again later.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        let fields = if let Repr::Text(fields) = &self.0 {
            Some(fields)
        } else {
            None
        };
        fields.into_iter().flat_map(Fields::iter)
    }

    pub(super) fn clear(&mut self) {
        match &mut self.0 {
            Repr::Text(Fields { text, ends }) if is_worth_keeping(text.capacity(), text.len()) => {
                text.clear();
                ends.clear();
            }
            Repr::Text(_) | Repr::Map(_) => *self = Self::default(),
        }
    }

    pub(crate) fn push(&mut self, key: &str, raw: &str) {
        match &mut self.0 {
            Repr::Text(fields) => fields.push(key, raw),
            Repr::Map(map) => {
                map.extend(value(raw).map(|value| (key.into(), value)));
            }
        }
    }

    /// The fields as text: only then they have entries.
    pub(crate) fn as_text(&self) -> Cow<'_, Self> {
        let Repr::Map(map) = &self.0 else {
            return Cow::Borrowed(self);
        };
        let mut text = Self::new();
        for (key, value) in map {
            text.push(key, RawJson::from(value).as_str());
        }
        Cow::Owned(text)
    }

    /// Drops the values that are not the last of their field. What it needs for that, and what its buffers have grown by,
    /// is no more than three times the `weight`.
    pub(crate) fn drop_replaced(&mut self) {
        let Repr::Text(fields) = &mut self.0 else {
            return;
        };
        let mut order = Vec::with_capacity(fields.ends.len());
        order.extend(0..fields.ends.len());
        // Of those with the same key the last one stays behind the others. Most are in order since the last time.
        order.sort_by(|one, other| fields.field(*one).0.cmp(fields.field(*other).0));
        order.dedup_by(|later, kept| {
            let is_same = fields.field(*later).0 == fields.field(*kept).0;
            if is_same {
                *kept = *later;
            }
            is_same
        });
        let len = |nth: &usize| fields.field(*nth).0.len() + fields.field(*nth).1.len();
        let mut left = Fields {
            text: String::with_capacity(order.iter().map(len).sum()),
            ends: Vec::with_capacity(order.len()),
        };
        for nth in order {
            let (key, raw) = fields.field(nth);
            left.push(key, raw);
        }
        *fields = left;
    }

    /// Merges others into the fields, as values.
    pub(crate) fn merge_with(&mut self, merge: impl FnOnce(&mut Map<String, Value>)) {
        let mut map = core::mem::take(self).into_map();
        merge(&mut map);
        self.0 = Repr::Map(map);
    }

    /// How much it keeps.
    pub(crate) fn capacity(&self) -> usize {
        match &self.0 {
            Repr::Text(Fields { text, ends }) => {
                text.capacity() + ends.capacity() * size_of::<(usize, usize)>()
            }
            Repr::Map(_) => usize::MAX,
        }
    }

    /// How much a field adds to the `weight`.
    pub(crate) const fn weight_of(key: &str, raw: &str) -> usize {
        key.len() + raw.len() + PLACE
    }

    /// How much a copy of it keeps; of what came from no text that is not known.
    pub(crate) fn weight(&self) -> usize {
        match &self.0 {
            Repr::Text(Fields { text, ends }) => text.len() + ends.len() * PLACE,
            Repr::Map(_) => 0,
        }
    }

    /// Whether the same text came in the same order: then it says the same.
    pub(crate) fn is_same_text(&self, other: &Self) -> bool {
        matches!((&self.0, &other.0), (Repr::Text(one), Repr::Text(another)) if one == another)
    }

    /// Becomes as `other`, keeping its buffers.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.clear();
        other.entries().for_each(|(key, raw)| self.push(key, raw));
    }
}

impl From<Map<String, Value>> for Extra {
    fn from(map: Map<String, Value>) -> Self {
        Self(Repr::Map(map))
    }
}

impl fmt::Debug for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Text(fields) => f.debug_map().entries(fields.last_ones()).finish(),
            Repr::Map(map) => f.debug_map().entries(map).finish(),
        }
    }
}

impl PartialEq for Extra {
    fn eq(&self, other: &Self) -> bool {
        self.is_same_text(other) || self.clone().into_map() == other.clone().into_map()
    }
}

impl Serialize for Extra {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Text<'a>(&'a str);

        impl Serialize for Text<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serialize(self.0, serializer)
            }
        }

        match &self.0 {
            Repr::Text(fields) => serializer.collect_map(
                fields
                    .last_ones()
                    .into_iter()
                    .map(|(key, raw)| (key, Text(raw))),
            ),
            Repr::Map(map) => map.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Extra {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Extra;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Extra, A::Error> {
                let mut extra = Extra::default();
                while let Some(key) = map.next_key::<String>()? {
                    map.next_value_seed(Field {
                        extra: &mut extra,
                        key: &key,
                    })?;
                }
                Ok(extra)
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

/// Reads the value of an unknown field into `extra`.
pub(super) struct Field<'a> {
    pub(super) extra: &'a mut Extra,
    pub(super) key: &'a str,
}

impl<'de> serde::de::DeserializeSeed<'de> for Field<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let Field { extra, key } = self;
        capture(deserializer, |raw| {
            if let Some(raw) = raw {
                extra.push(key, raw);
            }
        })
    }
}
