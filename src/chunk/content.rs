//! Content that is a list of parts, and reasoning that is a list of details.

use alloc::string::String;

use serde::de::SeqAccess;
use serde_json::Value;

use super::RawJson;
use super::context::Cx;
use super::json::value;
use super::lenient::{Field, HalvedText};
use super::types::Delta;
use crate::Deviation;

/// What the parts of a content list add beside the text.
#[derive(Default)]
pub(super) struct Parts {
    is_list: bool,
    reasoning: String,
    /// The parts that are no text, as a list.
    others: Option<RawJson>,
}

/// The content: text, or a list of parts (Mistral).
pub(super) struct Content<'a, 'h> {
    pub(super) text: HalvedText<'a, 'h>,
    pub(super) parts: &'a mut Parts,
}

impl Field for Content<'_, '_> {
    fn absent(self) {
        *self.parts = Parts::default();
        self.text.absent();
    }

    fn wrong(self) {
        *self.parts = Parts::default();
        self.text.wrong();
    }

    fn text(self, text: &str) {
        *self.parts = Parts::default();
        self.text.text(text);
    }

    fn list<'de, A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut content = String::new();
        *self.parts = Parts {
            is_list: true,
            ..Parts::default()
        };
        while let Some(part) = seq.next_element::<RawJson>()? {
            self.parts.part(&part, &mut content);
        }
        self.text.text(&content);
        Ok(())
    }
}

impl Parts {
    fn part(&mut self, raw: &RawJson, content: &mut String) {
        let Some(part) = value(raw.as_str()) else {
            return;
        };
        if let Some(text) = part.as_str() {
            content.push_str(text);
        } else if part.get("type").and_then(Value::as_str) == Some("thinking") {
            match part.get("thinking") {
                Some(Value::String(text)) => self.reasoning.push_str(text),
                Some(Value::Array(pieces)) => {
                    let texts = pieces
                        .iter()
                        .filter_map(|piece| piece.get("text")?.as_str());
                    texts.for_each(|text| self.reasoning.push_str(text));
                }
                _ => {}
            }
        } else if let Some(text) = part.get("text").and_then(Value::as_str) {
            content.push_str(text);
        } else {
            self.others
                .get_or_insert_with(|| RawJson::new("[]"))
                .append(raw.as_str());
        }
    }

    /// Puts the reasoning and the other parts where they belong.
    pub(super) fn finish(mut self, delta: &mut Delta, cx: &mut Cx<'_>) {
        if !self.is_list {
            return;
        }
        cx.note(Deviation::ContentParts);
        if !self.reasoning.is_empty() {
            self.reasoning
                .push_str(delta.reasoning_content.as_deref().unwrap_or_default());
            delta.reasoning_content = Some(self.reasoning);
        }
        if let Some(others) = self.others {
            delta.extra.push("content_parts", others.as_str());
        }
    }
}

/// The text or summary of each of the `reasoning_details` (OpenRouter), joined; none if it is empty.
pub(super) fn text_of_details(raw: &str) -> Option<String> {
    let details = value(raw)?;
    let text_of = |detail: &Value| {
        let text = |key| {
            detail
                .get(key)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
                .map(String::from)
        };
        text("text").or_else(|| text("summary"))
    };
    let text: String = details.as_array()?.iter().filter_map(text_of).collect();
    Some(text).filter(|text| !text.is_empty())
}
