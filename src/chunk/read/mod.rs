//! Reads chunks into structs that are there already: each struct says what it makes of each key.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::de::{DeserializeSeed, MapAccess};
use serde::{Deserialize, Deserializer};

use super::context::{Cx, Spare};
use super::json::Notes;
use super::lenient::{Count, Field, Lenient, Text};
use super::types::{
    Audio, Choice, Chunk, CustomDelta, Delta, FunctionDelta, Logprobs, ToolCallDelta,
};
use super::usage::{CompletionTokensDetails, PromptTokensDetails, Usage};
use crate::{Deviation, Limits};

/// A struct that is read from an object, whatever it held before.
pub(in crate::chunk) trait Refill {
    fn refill<'de, A: MapAccess<'de>>(&mut self, map: A, cx: &mut Cx<'_>) -> Result<(), A::Error>;
}

/// An object that may be absent.
struct Object<'a, 'h, T>(&'a mut Option<T>, &'a mut Cx<'h>);

impl<T: Refill + Default> Field for Object<'_, '_, T> {
    fn absent(self) {
        *self.0 = None;
    }

    fn wrong(self) {
        self.1.note(Deviation::WrongType);
        self.absent();
    }

    fn object<'de, A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.0.get_or_insert_default().refill(map, self.1)
    }
}

impl<T: Refill> Refill for Box<T> {
    fn refill<'de, A: MapAccess<'de>>(&mut self, map: A, cx: &mut Cx<'_>) -> Result<(), A::Error> {
        (**self).refill(map, cx)
    }
}

/// An object that is read in place. Says whether it was one.
pub(in crate::chunk) struct InPlace<'a, 'h, T> {
    pub(in crate::chunk) target: &'a mut T,
    pub(in crate::chunk) is_object: &'a mut bool,
    pub(in crate::chunk) cx: &'a mut Cx<'h>,
}

impl<T: Refill> Field for InPlace<'_, '_, T> {
    fn absent(self) {
        *self.is_object = false;
    }

    fn wrong(self) {
        self.cx.note(Deviation::WrongType);
        self.absent();
    }

    fn object<'de, A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        *self.is_object = true;
        self.target.refill(map, self.cx)
    }
}

/// An element of a list, read into a struct that is only asked for once it is known that there is an element.
struct Element<'a, 'h, T> {
    list: &'a mut Vec<T>,
    at: usize,
    spare: fn(&mut Cx<'_>) -> Option<T>,
    prepare: fn(&mut T, usize),
    position: usize,
    cx: &'a mut Cx<'h>,
}

impl<'de, T: Refill + Default> DeserializeSeed<'de> for Element<'_, '_, T> {
    /// Whether it was an object.
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        if self.list.len() <= self.at {
            // One at a time: most lists have one element, and a vector's first growth would be four.
            self.list.reserve_exact(1);
            self.list.push((self.spare)(self.cx).unwrap_or_default());
        }
        let mut is_object = false;
        if let Some(target) = self.list.get_mut(self.at) {
            (self.prepare)(target, self.position);
            Lenient(InPlace {
                target,
                is_object: &mut is_object,
                cx: self.cx,
            })
            .deserialize(deserializer)?;
        }
        Ok(is_object)
    }
}

/// Which of a struct's fields have come.
#[derive(Default)]
struct Seen(u32);

impl Seen {
    fn mark(&mut self, bit: u32, cx: &mut Cx<'_>) {
        if self.has(bit) {
            cx.note(Deviation::DuplicateKey);
        }
        self.0 |= 1 << bit;
    }

    const fn has(&self, bit: u32) -> bool {
        self.0 & 1 << bit != 0
    }
}

/// The loop over an object's keys. `fields` are read into the field of that name by the seed named, and are none if
/// they do not come; `keys` are read by their own arm; `other` gets the rest, whose key is in `cx.spare.key`.
macro_rules! refill {
    ($this:ident, $map:ident, ($slot:ident, $cx:ident), fields { $($key:literal => $field:ident by $seed:expr;)* }
        keys { $($own_key:literal as $own:ident => $arm:expr;)* } other $other:expr) => {{
        #[allow(non_camel_case_types)]
        enum Known { $($field,)* $($own,)* }
        let mut seen = Seen::default();
        #[inline(always)]
        fn known(bytes: &[u8]) -> Option<(Known, usize)> {
            $crate::chunk::key::known!(bytes,
                $($key as $field => Known::$field,)*
                $($own_key as $own => Known::$own,)*
            )
        }
        while let Some(key) = $crate::chunk::key::next_key(&mut $map, |bytes: &[u8]| known(bytes), known, $cx)? {
            match key {
                $(Some(Known::$field) => {
                    seen.mark(Known::$field as u32, $cx);
                    let $slot = &mut $this.$field;
                    $map.next_value_seed($seed)?;
                })*
                $(Some(Known::$own) => {
                    seen.mark(Known::$own as u32, $cx);
                    $arm
                })*
                None => $other,
            }
        }
        $(if !seen.has(Known::$field as u32) {
            $this.$field = None;
        })*
    }};
}

/// The unknown field goes to `extra`.
macro_rules! keep {
    ($this:ident, $map:ident, $cx:ident) => {
        $map.next_value_seed(extra::Field {
            extra: &mut $this.extra,
            key: &$cx.spare.key,
        })?
    };
}

fn text<'a, 'h>(slot: &'a mut Option<String>, cx: &'a mut Cx<'h>) -> Lenient<Text<'a, 'h>> {
    Lenient(Text(slot, cx))
}

fn count<'a, 'h>(slot: &'a mut Option<u64>, cx: &'a mut Cx<'h>) -> Lenient<Count<'a, 'h>> {
    Lenient(Count(slot, cx))
}

fn object<'a, 'h, T>(slot: &'a mut Option<T>, cx: &'a mut Cx<'h>) -> Lenient<Object<'a, 'h, T>> {
    Lenient(Object(slot, cx))
}

mod calls;
mod choice;
mod delta;
mod usage;

/// Any deserializer reads these types as the decoder does: leniently.
macro_rules! deserialize {
    ($($type:ty),*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let (notes, mut spare, mut target) = (Notes::default(), Spare::default(), Self::default());
                let mut cx = Cx::new(&notes, &Limits::NONE, &mut spare);
                let mut is_object = false;
                Lenient(InPlace { target: &mut target, is_object: &mut is_object, cx: &mut cx })
                    .deserialize(deserializer)?;
                if is_object { Ok(target) } else { Err(serde::de::Error::custom("not an object")) }
            }
        }
    )*};
}

deserialize!(
    Chunk,
    Choice,
    Delta,
    ToolCallDelta,
    FunctionDelta,
    CustomDelta,
    Audio,
    Logprobs,
    Usage,
    PromptTokensDetails,
    CompletionTokensDetails
);
