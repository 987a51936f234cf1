//! The whole answer as plain data: a `chat.completion`, as it would have come without streaming.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Accumulator;
use crate::Limits;
use crate::chunk::{
    Audio, Chunk, Delta, Extra, FinishReason, Logprobs, RawJson, ToolCallDelta, Usage,
};

/// A whole answer: what the same request gives without streaming. It serialises as a `chat.completion`, and
/// deserialises from one by the same lenient rules by which a stream is read.
///
/// ```
/// let json = r#"{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,
///     "message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}"#;
/// let completion: chatwire::ChatCompletion = serde_json::from_str(json)?;
/// assert_eq!(completion.text(), "Hi");
/// assert_eq!(serde_json::to_value(&completion)?, serde_json::from_str::<serde_json::Value>(json)?);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ChatCompletion {
    /// The answer's id: the first that was sent.
    pub id: Option<String>,
    /// When the answer was created, in Unix seconds.
    pub created: Option<u64>,
    /// The model that answered: the last that was sent.
    pub model: Option<String>,
    /// The answers, sorted by index.
    pub choices: Vec<Choice>,
    /// Token counts: the last that were sent.
    pub usage: Option<Usage>,
    /// The tier that served the request.
    pub service_tier: Option<String>,
    /// The backend configuration that answered.
    pub system_fingerprint: Option<String>,
    /// Results of moderating input and output, as sent.
    pub moderation: Option<RawJson>,
    /// Fields that are not OpenAI's: of each the last that was sent.
    pub extra: Extra,
}

/// One of the answers.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Choice {
    /// Which of the `n` answers.
    pub index: u32,
    /// What the model said.
    pub message: Message,
    /// Log probabilities of all tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<Logprobs>,
    /// Why the answer ended; none if no reason came.
    pub finish_reason: Option<FinishReason>,
    /// Fields that are not OpenAI's: of each the last that was sent.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What the model said, ready to go into the messages of the next request.
///
/// ```
/// let mut parser = chatwire::Parser::new();
/// parser.feed(b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n");
/// while parser.next_event().is_some() {}
/// let message = &parser.completion().choices[0].message;
/// assert_eq!(serde_json::to_string(message)?, r#"{"role":"assistant","content":"Hi"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Message {
    /// The first role that was sent; serialised as `assistant` if none was.
    pub role: Option<String>,
    /// The text; none if no delta held a text, not even an empty one.
    pub content: Option<String>,
    /// The refusal's text.
    pub refusal: Option<String>,
    /// The reasoning's text, under whatever name it came.
    pub reasoning_content: Option<String>,
    /// The tool calls, sorted by index, then by arrival.
    pub tool_calls: Vec<ToolCall>,
    /// The legacy function call.
    pub function_call: Option<FunctionCall>,
    /// The audio, its pieces joined.
    pub audio: Option<Audio>,
    /// All annotations: a list.
    pub annotations: Option<RawJson>,
    /// Fields that are not OpenAI's, of all deltas: lists appended, objects merged, texts appended (but for `id`,
    /// `type`, `role`, `name`, `channel` and `format`, which name and do not carry), of others the last.
    pub extra: Extra,
}

/// A tool call. Of a call in progress, what has come of it.
///
/// ```
/// let json = r#"{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}"#;
/// let call: chatwire::ToolCall = serde_json::from_str(json)?;
/// assert_eq!((call.name(), call.arguments()), ("f", "{}"));
/// assert_eq!(serde_json::to_string(&call)?, json);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ToolCall {
    /// The call's id, to be sent back with its result. Some providers send none.
    pub id: Option<String>,
    /// `function` or `custom`; serialised as what it is if none was sent.
    pub r#type: Option<String>,
    /// The function and its arguments; empty for a custom call.
    pub function: FunctionCall,
    /// The custom tool and its input.
    pub custom: Option<CustomCall>,
    /// Fields that are not OpenAI's.
    pub extra: Extra,
}

/// A function and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FunctionCall {
    /// The function's name.
    #[serde(default)]
    pub name: String,
    /// The arguments as JSON text, as sent. `""` where there are none. A model can write anything: check it.
    #[serde(default)]
    pub arguments: String,
}

/// A custom tool and its input.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CustomCall {
    /// The tool's name.
    #[serde(default)]
    pub name: String,
    /// The input, which is free text.
    #[serde(default)]
    pub input: String,
}

impl ChatCompletion {
    /// The text of choice 0; empty if there is none.
    #[must_use]
    pub fn text(&self) -> &str {
        let choice = self.choices.iter().find(|choice| choice.index == 0);
        choice
            .and_then(|choice| choice.message.content.as_deref())
            .unwrap_or_default()
    }
}

impl ToolCall {
    /// The name of the function or custom tool; empty if none has come.
    #[must_use]
    pub fn name(&self) -> &str {
        self.custom
            .as_ref()
            .map_or(&self.function.name, |custom| &custom.name)
    }

    /// The arguments of the function, or the input of the custom tool.
    #[must_use]
    pub fn arguments(&self) -> &str {
        self.custom
            .as_ref()
            .map_or(&self.function.arguments, |custom| &custom.input)
    }
}

impl Serialize for ChatCompletion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Wire<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            id: Option<&'a str>,
            object: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            created: Option<u64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            model: Option<&'a str>,
            choices: &'a [Choice],
            #[serde(skip_serializing_if = "Option::is_none")]
            usage: Option<&'a Usage>,
            #[serde(skip_serializing_if = "Option::is_none")]
            service_tier: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            system_fingerprint: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            moderation: Option<&'a RawJson>,
            #[serde(flatten)]
            extra: &'a Extra,
        }

        Wire {
            id: self.id.as_deref(),
            object: "chat.completion",
            created: self.created,
            model: self.model.as_deref(),
            choices: &self.choices,
            usage: self.usage.as_ref(),
            service_tier: self.service_tier.as_deref(),
            system_fingerprint: self.system_fingerprint.as_deref(),
            moderation: self.moderation.as_ref(),
            extra: &self.extra,
        }
        .serialize(serializer)
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Wire<'a> {
            role: &'a str,
            content: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            refusal: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            reasoning_content: Option<&'a str>,
            #[serde(skip_serializing_if = "<[ToolCall]>::is_empty")]
            tool_calls: &'a [ToolCall],
            #[serde(skip_serializing_if = "Option::is_none")]
            function_call: Option<&'a FunctionCall>,
            #[serde(skip_serializing_if = "Option::is_none")]
            audio: Option<&'a Audio>,
            #[serde(skip_serializing_if = "Option::is_none")]
            annotations: Option<&'a RawJson>,
            #[serde(flatten)]
            extra: &'a Extra,
        }

        Wire {
            role: self.role.as_deref().unwrap_or("assistant"),
            content: self.content.as_deref(),
            refusal: self.refusal.as_deref(),
            reasoning_content: self.reasoning_content.as_deref(),
            tool_calls: &self.tool_calls,
            function_call: self.function_call.as_ref(),
            audio: self.audio.as_ref(),
            annotations: self.annotations.as_ref(),
            extra: &self.extra,
        }
        .serialize(serializer)
    }
}

impl Serialize for ToolCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Wire<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            id: Option<&'a str>,
            r#type: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            function: Option<&'a FunctionCall>,
            #[serde(skip_serializing_if = "Option::is_none")]
            custom: Option<&'a CustomCall>,
            #[serde(flatten)]
            extra: &'a Extra,
        }

        let kind = if self.custom.is_some() {
            "custom"
        } else {
            "function"
        };
        Wire {
            id: self.id.as_deref(),
            r#type: self.r#type.as_deref().unwrap_or(kind),
            function: self.custom.is_none().then_some(&self.function),
            custom: self.custom.as_ref(),
            extra: &self.extra,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ChatCompletion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A whole completion is a chunk whose choices have messages.
        Ok(completion_of(Chunk::deserialize(deserializer)?))
    }
}

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let choice = crate::chunk::Choice::deserialize(deserializer)?;
        let completion = completion_of(Chunk {
            choices: [choice].into(),
            ..Chunk::default()
        });
        completion
            .choices
            .into_iter()
            .next()
            .ok_or_else(|| D::Error::custom("a choice was expected"))
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let delta = Delta::deserialize(deserializer)?;
        let choice = crate::chunk::Choice {
            message: Some(Box::new(delta)),
            ..crate::chunk::Choice::default()
        };
        let completion = completion_of(Chunk {
            choices: [choice].into(),
            ..Chunk::default()
        });
        completion
            .choices
            .into_iter()
            .next()
            .map(|choice| choice.message)
            .ok_or_else(|| D::Error::custom("a message"))
    }
}

impl<'de> Deserialize<'de> for ToolCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let call = ToolCallDelta::deserialize(deserializer)?;
        let delta = Delta {
            tool_calls: [call].into(),
            ..Delta::default()
        };
        let choice = crate::chunk::Choice {
            delta,
            ..crate::chunk::Choice::default()
        };
        let completion = completion_of(Chunk {
            choices: [choice].into(),
            ..Chunk::default()
        });
        let message = completion
            .choices
            .into_iter()
            .next()
            .map(|choice| choice.message);
        let call = message.and_then(|message| message.tool_calls.into_iter().next());
        call.ok_or_else(|| D::Error::custom("a tool call was expected"))
    }
}

fn completion_of(mut chunk: Chunk) -> ChatCompletion {
    let mut accumulator = Accumulator::with_limits(Limits::NONE);
    accumulator.push(&mut chunk);
    accumulator.into_completion()
}
