//! Content that is a list of parts, and reasoning that is a list of details.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess};

use super::context::Cx;
use super::json::Halves;
use super::key::{known, next_key};
use super::lenient::{Field, HalvedText, Lenient};
use super::raw::read_and_keep;
use super::types::Delta;
use super::{Extra, RawJson};
use crate::Deviation;

/// The texts of a list, joined; also the halves of a surrogate pair, where one text ends and the next begins.
#[derive(Default)]
pub(super) struct Joined {
    text: String,
    halves: Halves,
}

impl Joined {
    fn push(&mut self, text: &str, halves: Halves) {
        if text.is_empty() {
            return;
        }
        if self.text.is_empty() {
            self.halves.first = halves.first;
        }
        halves.append(text, &mut self.text, &mut self.halves.last);
    }

    fn push_text(&mut self, text: Option<String>, halves: Halves) {
        self.push(text.as_deref().unwrap_or_default(), halves);
    }

    /// Becomes the reasoning of a delta, if there is any.
    pub(super) fn into_reasoning_of(self, delta: &mut Delta) {
        if !self.text.is_empty() {
            delta.reasoning_content = Some(self.text);
            delta.halves.reasoning = self.halves;
        }
    }
}

/// What the parts of a content list add beside the text.
#[derive(Default)]
pub(super) struct Parts {
    reasoning: Joined,
    /// The parts that are no text, as a list.
    others: Option<RawJson>,
}

/// The content: text, or a list of parts (Mistral).
pub(super) struct Content<'a, 'h> {
    pub(super) text: HalvedText<'a, 'h>,
    /// None if it is no list; in a box because it hardly ever is one.
    pub(super) parts: &'a mut Option<Box<Parts>>,
}

impl Field for Content<'_, '_> {
    fn absent(self) {
        *self.parts = None;
        self.text.absent();
    }

    fn wrong(self) {
        *self.parts = None;
        self.text.wrong();
    }

    fn text(self, text: &str) {
        *self.parts = None;
        self.text.text(text);
    }

    fn list<'de, A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut content = Joined::default();
        let mut parts = Box::<Parts>::default();
        loop {
            let part = Part {
                content: &mut content,
                parts: &mut parts,
                cx: &mut *self.text.cx,
            };
            if seq.next_element_seed(part)?.is_none() {
                break;
            }
        }
        *self.parts = Some(parts);
        self.text.cx.notes.halves.set(content.halves);
        self.text.text(&content.text);
        Ok(())
    }
}

/// One part of a content list.
struct Part<'a, 'h> {
    content: &'a mut Joined,
    parts: &'a mut Parts,
    cx: &'a mut Cx<'h>,
}

impl<'de> DeserializeSeed<'de> for Part<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let Part { content, parts, cx } = self;
        let mut texts = Texts::default();
        let notes = cx.notes;
        let raw = read_and_keep(deserializer, Lenient(Entry(&mut texts, cx)), notes)?;
        let is_thinking = texts.kind.as_deref() == Some("thinking");
        match texts.text {
            _ if is_thinking => {
                let thinking = texts.thinking;
                parts.reasoning.push(&thinking.text, thinking.halves);
            }
            Some(text) => content.push(&text, texts.halves),
            None => parts
                .others
                .get_or_insert_with(|| RawJson::new("[]"))
                .append(raw.as_str()),
        }
        Ok(())
    }
}

impl Parts {
    /// Puts the reasoning and the other parts where they belong.
    pub(super) fn finish(mut self, delta: &mut Delta, cx: &mut Cx<'_>) {
        cx.note(Deviation::ContentParts);
        if !self.reasoning.text.is_empty() {
            let own = delta.reasoning_content.as_deref().unwrap_or_default();
            self.reasoning.push(own, delta.halves.reasoning);
            self.reasoning.into_reasoning_of(delta);
        }
        if let Some(others) = self.others {
            delta.extra.push("content_parts", others.as_str());
        }
    }
}

/// The `reasoning_details` (OpenRouter), which are also kept in `extra`.
pub(super) struct Details<'a, 'h> {
    pub(super) joined: &'a mut Option<Box<Joined>>,
    pub(super) extra: &'a mut Extra,
    pub(super) cx: &'a mut Cx<'h>,
}

impl<'de> DeserializeSeed<'de> for Details<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let notes = self.cx.notes;
        let joined = self.joined.get_or_insert_default();
        let details = Lenient(DetailList(joined, self.cx));
        let raw = read_and_keep(deserializer, details, notes)?;
        self.extra.push("reasoning_details", raw.as_str());
        Ok(())
    }
}

/// A list of objects with text or a summary each.
struct DetailList<'a, 'h>(&'a mut Joined, &'a mut Cx<'h>);

impl Field for DetailList<'_, '_> {
    fn absent(self) {
        *self.0 = Joined::default();
    }

    fn wrong(self) {
        self.absent();
    }

    fn list<'de, A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        *self.0 = Joined::default();
        each_object(&mut seq, self.1, |texts| {
            if texts.text.as_deref().is_some_and(|text| !text.is_empty()) {
                self.0.push_text(texts.text, texts.halves);
            } else {
                self.0.push_text(texts.summary, texts.summary_halves);
            }
        })
    }
}

/// What the object of a list says, or the string.
#[derive(Default)]
struct Texts {
    is_object: bool,
    kind: Option<String>,
    text: Option<String>,
    halves: Halves,
    summary: Option<String>,
    summary_halves: Halves,
    thinking: Joined,
}

/// What of an object in a list counts.
enum Known {
    Type,
    Text,
    Summary,
    Thinking,
}

impl Known {
    fn of(bytes: &[u8]) -> Option<(Self, usize)> {
        known!(bytes,
            "type" as r#type => Self::Type,
            "text" as text => Self::Text,
            "summary" as summary => Self::Summary,
            "thinking" as thinking => Self::Thinking,
        )
    }
}

/// An entry of a list: what it says.
struct Entry<'a, 'h>(&'a mut Texts, &'a mut Cx<'h>);

impl Field for Entry<'_, '_> {
    fn absent(self) {}

    fn wrong(self) {}

    fn text(self, text: &str) {
        self.0.text = Some(text.to_owned());
        self.0.halves = self.1.notes.halves.get();
    }

    fn object<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Entry(texts, cx) = self;
        texts.is_object = true;
        let kind_halves = &mut Halves::default();
        while let Some(key) = next_key(&mut map, Known::of, Known::of, cx)? {
            let (slot, halves) = match key {
                Some(Known::Type) => (&mut texts.kind, &mut *kind_halves),
                Some(Known::Text) => (&mut texts.text, &mut texts.halves),
                Some(Known::Summary) => (&mut texts.summary, &mut texts.summary_halves),
                Some(Known::Thinking) => {
                    let thinking = Thinking(&mut texts.thinking, &mut *cx);
                    map.next_value_seed(Lenient(thinking))?;
                    continue;
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            map.next_value_seed(Lenient(OnlyText { slot, halves, cx }))?;
        }
        Ok(())
    }
}

/// Reads a list, and hands out what each of its objects says.
fn each_object<'de, A: SeqAccess<'de>>(
    seq: &mut A,
    cx: &mut Cx<'_>,
    mut then: impl FnMut(Texts),
) -> Result<(), A::Error> {
    loop {
        let mut texts = Texts::default();
        let entry = Lenient(Entry(&mut texts, &mut *cx));
        if seq.next_element_seed(entry)?.is_none() {
            return Ok(());
        }
        if texts.is_object {
            then(texts);
        }
    }
}

/// The thinking of a part: text, or a list of objects with text.
struct Thinking<'a, 'h>(&'a mut Joined, &'a mut Cx<'h>);

impl Field for Thinking<'_, '_> {
    fn absent(self) {
        *self.0 = Joined::default();
    }

    fn wrong(self) {
        self.absent();
    }

    fn text(self, text: &str) {
        *self.0 = Joined::default();
        self.0.push(text, self.1.notes.halves.get());
    }

    fn list<'de, A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        *self.0 = Joined::default();
        each_object(&mut seq, self.1, |texts| {
            self.0.push_text(texts.text, texts.halves);
        })
    }
}

/// Text; a value of another type is as none.
struct OnlyText<'a, 'h> {
    slot: &'a mut Option<String>,
    halves: &'a mut Halves,
    cx: &'a Cx<'h>,
}

impl Field for OnlyText<'_, '_> {
    fn absent(self) {
        *self.slot = None;
    }

    fn wrong(self) {
        self.absent();
    }

    fn text(self, text: &str) {
        *self.slot = Some(text.to_owned());
        *self.halves = self.cx.notes.halves.get();
    }
}
