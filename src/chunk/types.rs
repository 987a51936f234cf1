//! A chunk as plain data: the fields that OpenAI documents, named as on the wire.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::json::Halves;
use super::usage::Usage;
use super::{Extra, RawJson};

/// One `chat.completion.chunk`.
///
/// Every field may be absent: providers leave out what they like. Unknown fields are in [`extra`](Self::extra).
///
/// ```
/// let chunk = chatwire::Chunk::from_json(
///     r#"{"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}"#,
/// )?;
/// assert_eq!(chunk.id.as_deref(), Some("c1"));
/// assert_eq!(chunk.text(), "Hi");
/// # Ok::<(), chatwire::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Chunk {
    /// The answer's id; the same in all its chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `chat.completion.chunk`, or `chat.completion` where the server did not stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// When the answer was created, in Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<u64>,
    /// The model that answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The choices that this chunk adds to, in the order sent. Empty in a chunk that only carries usage.
    pub choices: Vec<Choice>,
    /// Token counts: in the last chunk, or as a running total in each. Also read from a choice (Moonshot) and from
    /// `x_groq` (Groq).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The tier that served the request: `auto`, `default`, `flex`, `scale`, `priority`, `fast` or another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// The backend configuration that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_fingerprint: Option<String>,
    /// Random padding that hides the length of the text from who watches the wire. Never in the completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
    /// Results of moderating input and output, as sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moderation: Option<RawJson>,
    /// Fields that are not OpenAI's.
    #[serde(flatten)]
    pub extra: Extra,
    #[serde(skip)]
    pub(crate) skipped: Skipped,
}

/// Parts of a chunk that were over a limit, and so are not in it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Skipped {
    /// A part whose index is over `u32::MAX`.
    pub(crate) index: bool,
    /// Parts that were more than the limit.
    pub(crate) count: bool,
    /// A part was skipped after the last one that is there.
    pub(crate) is_last: bool,
}

/// What was skipped is no part of a value.
impl PartialEq for Skipped {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What a chunk adds to one choice.
///
/// ```
/// use chatwire::{Chunk, FinishReason};
/// let chunk = Chunk::from_json(r#"{"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}"#)?;
/// assert_eq!(chunk.choices[0].index, 1);
/// assert_eq!(chunk.choices[0].finish_reason, Some(FinishReason::Length));
/// # Ok::<(), chatwire::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Choice {
    /// Which of the `n` answers. Where the wire has none, the position in the list.
    pub index: u32,
    /// What is added; empty where the wire has none.
    pub delta: Delta,
    /// A whole message where a delta belongs: the server did not stream, or repeats the message at the end.
    /// [`Accumulator::push`](crate::completion::Accumulator::push) moves it to [`delta`](Self::delta) if nothing came
    /// before it for this choice.
    pub message: Option<Box<Delta>>,
    /// Why the answer ended; none while it goes on.
    pub finish_reason: Option<FinishReason>,
    /// Log probabilities of the tokens in this chunk.
    pub logprobs: Option<Logprobs>,
    /// Fields that are not OpenAI's.
    pub extra: Extra,
    pub(crate) skipped: Skipped,
}

/// What is added to a message.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Delta {
    /// Who speaks: `assistant`, or `developer`, `system`, `user`, `tool` or another. In the first delta only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Text of the answer. Of a list of parts (Mistral): the text parts joined; parts of other types are in
    /// [`extra`](Self::extra) as `content_parts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Text of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Text of the model's reasoning. The wire may call it `reasoning`, `reasoning_text` or `thinking`, or have it in
    /// `reasoning_details`, `thinking` content parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// Fragments of tool calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCallDelta>,
    /// A fragment of a legacy function call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function_call: Option<FunctionDelta>,
    /// A piece of spoken audio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio: Option<Audio>,
    /// Annotations such as citations: a list, as sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<RawJson>,
    /// Fields that are not OpenAI's.
    #[serde(flatten)]
    pub extra: Extra,
    #[serde(skip)]
    pub(crate) halves: DeltaHalves,
}

/// Half surrogate pairs at the ends of a delta's texts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct DeltaHalves {
    pub(crate) content: Halves,
    pub(crate) refusal: Halves,
    pub(crate) reasoning: Halves,
}

/// A fragment of a tool call.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct ToolCallDelta {
    /// The call's index as sent; none if it is missing or no index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The call's id: in its first fragment, in some dialects in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `function` or `custom`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// A fragment of a function call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<FunctionDelta>,
    /// A fragment of a call of a custom tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom: Option<CustomDelta>,
    /// Which call of its choice this fragment belongs to, in order of arrival, by the rules of
    /// [`completion`](crate::completion). Written by
    /// [`Accumulator::push`](crate::completion::Accumulator::push); none before, and for a fragment that was dropped.
    #[serde(skip)]
    pub slot: Option<u32>,
    /// A fragment before this one was over a limit: what has no index does not belong to the call before that.
    #[serde(skip)]
    pub(crate) after_skipped: Skipped,
    /// Fields that are not OpenAI's.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A fragment of a function call.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct FunctionDelta {
    /// The function's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A piece of the arguments' JSON text. Arguments sent as an object are written as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    #[serde(skip)]
    pub(crate) halves: Halves,
}

/// A fragment of a call of a custom tool.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct CustomDelta {
    /// The tool's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A piece of the input, which is free text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    #[serde(skip)]
    pub(crate) halves: Halves,
}

/// Spoken audio, or a piece of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Audio {
    /// Its id, to refer to it in the next request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The audio, base64. The pieces joined are the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Until when the server knows the id, in Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// What is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// Fields that are not OpenAI's.
    #[serde(flatten)]
    pub extra: Extra,
    #[serde(skip)]
    pub(crate) halves: Halves,
}

/// Log probabilities: lists of [`TokenLogprob`], kept as text.
///
/// ```
/// use chatwire::chunk::{Chunk, TokenLogprob};
/// let chunk = Chunk::from_json(
///     r#"{"choices":[{"index":0,"logprobs":{"content":[{"token":"a","logprob":-0.5,"bytes":[97],"top_logprobs":[]}]}}]}"#,
/// )?;
/// let content = chunk.choices[0].logprobs.as_ref().unwrap().content.as_ref().unwrap();
/// let tokens: Vec<TokenLogprob> = content.decode()?;
/// assert_eq!((tokens[0].token.as_str(), tokens[0].logprob), ("a", Some(-0.5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Logprobs {
    /// Of the tokens of the content.
    pub content: Option<RawJson>,
    /// Of the tokens of the refusal.
    pub refusal: Option<RawJson>,
    /// Fields that are not OpenAI's.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One token and its probability, for [`RawJson::decode`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenLogprob {
    /// The token.
    #[serde(default)]
    pub token: String,
    /// Its bytes as UTF-8, which may be a part of a character; null where it has no bytes.
    #[serde(default)]
    pub bytes: Option<Vec<u8>>,
    /// The natural logarithm of its probability; none where the server sent minus infinity.
    #[serde(default)]
    pub logprob: Option<f64>,
    /// The most likely tokens in its place; empty in those themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_logprobs: Option<Vec<Self>>,
}

/// Why an answer ended.
///
/// Providers send others than OpenAI's five; a closed enum would lose the chunk, so there is [`Other`](Self::Other).
///
/// ```
/// use chatwire::FinishReason;
/// assert_eq!(FinishReason::from("stop"), FinishReason::Stop);
/// assert_eq!(FinishReason::from("eos_token").as_str(), "eos_token");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FinishReason {
    /// `stop`: the model was done, or came upon a stop sequence.
    Stop,
    /// `length`: the token limit was reached; the text is cut.
    Length,
    /// `tool_calls`: the model calls tools.
    ToolCalls,
    /// `content_filter`: text was left out.
    ContentFilter,
    /// `function_call`: the model calls a function, by the legacy API.
    FunctionCall,
    /// Another one, as sent; never empty.
    Other(String),
}

impl FinishReason {
    /// The reason as on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::FunctionCall => "function_call",
            Self::Other(other) => other,
        }
    }
}

impl From<&str> for FinishReason {
    fn from(reason: &str) -> Self {
        match reason {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "tool_calls" => Self::ToolCalls,
            "content_filter" => Self::ContentFilter,
            "function_call" => Self::FunctionCall,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for FinishReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for FinishReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reason;

        impl Visitor<'_> for Reason {
            type Value = FinishReason;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a finish reason")
            }

            fn visit_str<E: de::Error>(self, reason: &str) -> Result<FinishReason, E> {
                Ok(reason.into())
            }
        }

        deserializer.deserialize_str(Reason)
    }
}

/// A choice always carries its index, its delta or its message, and its finish reason.
impl Serialize for Choice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Wire<'a> {
            index: u32,
            #[serde(skip_serializing_if = "Option::is_none")]
            delta: Option<&'a Delta>,
            #[serde(skip_serializing_if = "Option::is_none")]
            message: Option<&'a Delta>,
            #[serde(skip_serializing_if = "Option::is_none")]
            logprobs: Option<&'a Logprobs>,
            finish_reason: Option<&'a FinishReason>,
            #[serde(flatten)]
            extra: &'a Extra,
        }

        Wire {
            index: self.index,
            // Where both stand, the delta counts: an empty one would hide the message.
            delta: Some(&self.delta)
                .filter(|delta| self.message.is_none() || **delta != Delta::default()),
            message: self.message.as_deref(),
            logprobs: self.logprobs.as_ref(),
            finish_reason: self.finish_reason.as_ref(),
            extra: &self.extra,
        }
        .serialize(serializer)
    }
}

impl Delta {
    /// Whether it says nothing: at most a role and an empty text.
    pub(crate) fn is_silent(&self) -> bool {
        [&self.content, &self.refusal, &self.reasoning_content]
            .into_iter()
            .all(is_empty)
            && self.tool_calls.is_empty()
            && self.function_call.is_none()
            && self.audio.is_none()
    }

    /// Whether there is nothing in it but content and reasoning.
    pub(crate) fn is_texts(&self) -> bool {
        self.tool_calls.is_empty() && self.has_no_more()
    }

    /// Whether there is nothing in it but arguments of one tool call.
    pub(crate) fn is_arguments(&self) -> bool {
        let [call] = self.tool_calls.as_slice() else {
            return false;
        };
        let name = call.function.as_ref().map(|function| &function.name);
        call.index.is_some()
            && name.is_some_and(is_empty)
            && [&call.id, &call.r#type].into_iter().all(is_empty)
            && call.custom.is_none()
            && call.extra.is_empty()
            && [&self.content, &self.reasoning_content]
                .into_iter()
                .all(is_empty)
            && self.has_no_more()
    }

    /// Whether there is nothing in it beside content, reasoning and tool calls.
    fn has_no_more(&self) -> bool {
        [&self.role, &self.refusal].into_iter().all(is_empty)
            && self.function_call.is_none()
            && self.audio.is_none()
            && self.annotations.is_none()
            && self.extra.is_empty()
    }
}

fn is_empty(text: &Option<String>) -> bool {
    text.as_deref().is_none_or(str::is_empty)
}

impl Chunk {
    /// How many choices and tool calls there are.
    pub(super) fn parts(&self) -> usize {
        let parts = |choice: &Choice| {
            let message = choice.message.as_ref();
            let in_message = message.map_or(0, |message| message.tool_calls.len());
            1 + choice.delta.tool_calls.len() + in_message
        };
        self.choices.iter().map(parts).sum()
    }

    /// The text that this chunk adds to choice 0, never to others; empty if none.
    ///
    /// ```
    /// let chunk = chatwire::Chunk::from_json(r#"{"choices":[{"index":1,"delta":{"content":"other"}}]}"#)?;
    /// assert_eq!(chunk.text(), "");
    /// # Ok::<(), chatwire::Error>(())
    /// ```
    #[must_use]
    pub fn text(&self) -> &str {
        self.choices
            .iter()
            .find(|choice| choice.index == 0)
            .and_then(|choice| choice.delta.content.as_deref())
            .unwrap_or_default()
    }
}
