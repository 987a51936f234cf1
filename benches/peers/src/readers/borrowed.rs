//! The fastest that serde_json gives: only the keys that are needed, borrowed from the text where it has no escapes.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Fragment, push_call};
use crate::session::Reader;
use crate::streams::Answer;

#[derive(Deserialize)]
pub struct Chunk<'a> {
    #[serde(borrow)]
    pub choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
pub struct Choice<'a> {
    #[serde(borrow)]
    pub delta: Delta<'a>,
    #[serde(borrow)]
    pub finish_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub struct Delta<'a> {
    #[serde(borrow)]
    pub content: Option<Text<'a>>,
    #[serde(borrow)]
    pub reasoning_content: Option<Text<'a>>,
    #[serde(borrow)]
    pub tool_calls: Option<Vec<ToolCall<'a>>>,
}

#[derive(Deserialize)]
pub struct ToolCall<'a> {
    pub index: usize,
    #[serde(borrow)]
    pub id: Option<Text<'a>>,
    #[serde(borrow)]
    pub function: Option<Function<'a>>,
}

#[derive(Deserialize)]
pub struct Function<'a> {
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    #[serde(borrow)]
    pub arguments: Option<Text<'a>>,
}

/// An `Option<Cow<str>>` under `#[serde(borrow)]` never borrows; this does.
pub struct Text<'a>(Cow<'a, str>);

impl Text<'_> {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;

        impl<'de> Visitor<'de> for Borrowing {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(Borrowing)
    }
}

#[derive(Default)]
pub struct Borrowed {
    answer: Answer,
    finish_reason: Option<String>,
}

impl Reader for Borrowed {
    fn payload(&mut self, text: &str) -> bool {
        let Ok(chunk) = serde_json::from_str::<Chunk<'_>>(text) else {
            return false;
        };
        for Choice {
            delta,
            finish_reason,
        } in chunk.choices
        {
            if let Some(content) = &delta.content {
                self.answer.content.push_str(content.as_str());
            }
            if let Some(reasoning) = &delta.reasoning_content {
                self.answer.reasoning.push_str(reasoning.as_str());
            }
            for call in delta.tool_calls.iter().flatten() {
                push_call(&mut self.answer, &fragment(call));
            }
            if let Some(reason) = finish_reason {
                self.finish_reason = Some(reason.0.into_owned());
            }
        }
        true
    }

    fn finish(self) -> Answer {
        self.answer
    }
}

pub fn fragment<'a>(call: &'a ToolCall<'_>) -> Fragment<'a> {
    let function = call.function.as_ref();
    let text = |text: &'a Option<Text<'_>>| text.as_ref().map(Text::as_str);
    Fragment {
        index: call.index,
        id: text(&call.id),
        name: function.and_then(|function| text(&function.name)),
        arguments: function.and_then(|function| text(&function.arguments)),
    }
}
