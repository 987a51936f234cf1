//! Serialises what a deserializer reads, value by value, keys in their own order.

use core::cell::Cell;
use core::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::ser::{self, SerializeMap, SerializeSeq};
use serde::{Deserializer, Serialize, Serializer};

/// Serialises as the value that the deserializer is at. It can be serialised once.
pub(super) struct Transcode<D>(Cell<Option<D>>);

impl<D> Transcode<D> {
    pub(super) const fn new(deserializer: D) -> Self {
        Self(Cell::new(Some(deserializer)))
    }
}

impl<'de, D: Deserializer<'de>> Serialize for Transcode<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let deserializer = self
            .0
            .take()
            .ok_or_else(|| ser::Error::custom("serialised twice"))?;
        deserializer
            .deserialize_any(Into(serializer))
            .map_err(ser::Error::custom)
    }
}

/// Puts what it visits into a serializer.
struct Into<S>(S);

impl<'de, S: Serializer> Visitor<'de> for Into<S> {
    type Value = S::Ok;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<S::Ok, E> {
        self.0.serialize_bool(value).map_err(de::Error::custom)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<S::Ok, E> {
        self.0.serialize_i64(value).map_err(de::Error::custom)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<S::Ok, E> {
        self.0.serialize_u64(value).map_err(de::Error::custom)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<S::Ok, E> {
        self.0.serialize_f64(value).map_err(de::Error::custom)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<S::Ok, E> {
        self.0.serialize_str(value).map_err(de::Error::custom)
    }

    fn visit_unit<E: de::Error>(self) -> Result<S::Ok, E> {
        self.0.serialize_unit().map_err(de::Error::custom)
    }

    fn visit_none<E: de::Error>(self) -> Result<S::Ok, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Ok, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<S::Ok, A::Error> {
        let mut out = self.0.serialize_seq(None).map_err(de::Error::custom)?;
        while seq.next_element_seed(Element(&mut out))?.is_some() {}
        out.end().map_err(de::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<S::Ok, A::Error> {
        let mut out = self.0.serialize_map(None).map_err(de::Error::custom)?;
        while map.next_key_seed(Key(&mut out))?.is_some() {
            map.next_value_seed(Member(&mut out))?;
        }
        out.end().map_err(de::Error::custom)
    }
}

struct Element<'a, S>(&'a mut S);
struct Key<'a, S>(&'a mut S);
struct Member<'a, S>(&'a mut S);

impl<'de, S: SerializeSeq> DeserializeSeed<'de> for Element<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0
            .serialize_element(&Transcode::new(deserializer))
            .map_err(de::Error::custom)
    }
}

impl<'de, S: SerializeMap> DeserializeSeed<'de> for Key<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0
            .serialize_key(&Transcode::new(deserializer))
            .map_err(de::Error::custom)
    }
}

impl<'de, S: SerializeMap> DeserializeSeed<'de> for Member<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0
            .serialize_value(&Transcode::new(deserializer))
            .map_err(de::Error::custom)
    }
}
