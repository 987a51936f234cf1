//! The reader as serde's `Deserializer`.

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::number::Number;
use super::rewrite::rewrite;
use super::string::Text;
use super::{Failed, OFFERED, Reader, Result};

/// The newtype name under which a visitor asks for the text of a value: it is visited as a string.
pub(in crate::chunk) const RAW: &str = "$chatwire::RawJson";
/// The newtype name under which a visitor asks for the text of an object or a list, compact: that is visited as bytes,
/// as none if it is too deep to be kept, and any other value as what it is.
pub(in crate::chunk) const STRING_OR_RAW: &str = "$chatwire::StringOrRaw";
/// The newtype name under which a visitor asks for a value twice: it is visited as a list of itself and itself.
pub(in crate::chunk) const TWICE: &str = "$chatwire::Twice";

impl<'de> Deserializer<'de> for &mut Reader<'de, '_> {
    type Error = Failed;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.peek_token() {
            Some(b'"') => match self.string()? {
                Text::Plain(text) => visitor.visit_borrowed_str(text),
                Text::Unescaped => visitor.visit_str(self.unescaped()),
            },
            Some(b'{' | b'[') if self.depth >= self.max_depth => {
                self.skip()?;
                visitor.visit_unit()
            }
            Some(b'{') => {
                self.at += 1;
                self.depth += 1;
                visitor.visit_map(Members {
                    reader: self,
                    is_first: true,
                })
            }
            Some(b'[') => {
                self.at += 1;
                self.depth += 1;
                visitor.visit_seq(Members {
                    reader: self,
                    is_first: true,
                })
            }
            Some(b'n') => {
                self.literal("null")?;
                visitor.visit_unit()
            }
            Some(b't') => {
                self.literal("true")?;
                visitor.visit_bool(true)
            }
            Some(b'f') => {
                self.literal("false")?;
                visitor.visit_bool(false)
            }
            _ if self.is_not_finite() => {
                self.not_finite()?;
                visitor.visit_unit()
            }
            Some(b'-' | b'0'..=b'9') => match self.number()? {
                Number::Unsigned(number) => visitor.visit_u64(number),
                Number::Negative(number) => visitor.visit_i64(number),
                Number::Float(number) => visitor.visit_f64(number),
            },
            _ => self.error("a value"),
        }
    }

    /// Hands out the text of the next value, mended if it needs be: what is too deep of it is null.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        let next = self.peek_token();
        if name == STRING_OR_RAW {
            if !matches!(next, Some(b'{' | b'[')) {
                return self.deserialize_any(visitor);
            }
        } else if name == TWICE {
            let start = self.at;
            return visitor.visit_seq(Twice {
                reader: self,
                start,
            });
        } else if name != RAW {
            return visitor.visit_newtype_struct(self);
        }
        let before = core::mem::take(&mut self.tolerated);
        let start = self.at;
        let is_too_deep = self.skip()?;
        let is_clean = self.tolerated.is_empty();
        self.tolerated = self.tolerated.union(before);
        let raw = self.slice(start, self.at);
        if name == RAW && is_clean && !is_too_deep {
            return visitor.visit_borrowed_str(raw);
        }
        if name == STRING_OR_RAW && is_too_deep {
            // Arguments of which a part is missing are not to be taken for whole ones.
            return visitor.visit_none();
        }
        self.raw.clear();
        rewrite(raw, self.max_depth.saturating_sub(self.depth), self.raw);
        if name == RAW {
            visitor.visit_str(self.raw)
        } else {
            visitor.visit_bytes(self.raw.as_bytes())
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.skip()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple tuple_struct map struct enum identifier
    }
}

impl Reader<'_, '_> {
    /// Goes to the next member of the container. False at its end.
    pub(super) fn next_member(&mut self, is_first: &mut bool, end: u8) -> Result<bool> {
        let is_first = core::mem::take(is_first);
        match self.peek_token() {
            Some(byte) if byte == end => {
                self.at += 1;
                Ok(false)
            }
            Some(b',') if !is_first => {
                self.at += 1;
                Ok(true)
            }
            Some(_) if is_first => Ok(true),
            _ => self.error("a comma or the end of a container"),
        }
    }
}

/// A key, which is a string.
struct Name<'a, 'de, 's>(&'a mut Reader<'de, 's>);

impl<'de> Deserializer<'de> for Name<'_, 'de, '_> {
    type Error = Failed;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.string()? {
            Text::Plain(text) => visitor.visit_borrowed_str(text),
            Text::Unescaped => visitor.visit_str(self.0.unescaped()),
        }
    }

    /// Offers the key as it stands: all that is left of the text from its first byte on. The visitor leaves in
    /// [`Notes::key`](super::Notes) how many bytes it takes with its quotes. If it is not taken, it comes once more, and can
    /// be asked for as a string.
    #[inline(always)]
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.0.notes.key.set(OFFERED);
        let rest = self.0.text.as_bytes().get(self.0.at + 1..);
        visitor.visit_borrowed_bytes(rest.unwrap_or_default())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum ignored_any
    }
}

/// The members of the container that the reader is in.
struct Members<'a, 'de, 's> {
    reader: &'a mut Reader<'de, 's>,
    /// There is no comma before what comes next: nothing has come yet, or a key that was not taken.
    is_first: bool,
}

impl<'de> MapAccess<'de> for Members<'_, 'de, '_> {
    type Error = Failed;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if !self.reader.next_member(&mut self.is_first, b'}')? {
            self.reader.depth -= 1;
            return Ok(None);
        }
        if self.reader.peek_token() != Some(b'"') {
            return self.reader.error("a key");
        }
        // If it is not taken it comes once more.
        self.is_first = true;
        seed.deserialize(Name(self.reader)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        self.is_first = false;
        self.reader.at += self.reader.notes.key.take();
        self.reader.colon()?;
        seed.deserialize(&mut *self.reader)
    }
}

impl<'de> SeqAccess<'de> for Members<'_, 'de, '_> {
    type Error = Failed;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if !self.reader.next_member(&mut self.is_first, b']')? {
            self.reader.depth -= 1;
            return Ok(None);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

/// One value, as often as it is asked for.
struct Twice<'a, 'de, 's> {
    reader: &'a mut Reader<'de, 's>,
    start: usize,
}

impl<'de> SeqAccess<'de> for Twice<'_, 'de, '_> {
    type Error = Failed;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        self.reader.at = self.start;
        seed.deserialize(&mut *self.reader).map(Some)
    }
}
