//! An answer, split into a stream and read, is the same answer.
//!
//! The body of the input is a JSON value in bytes that cannot be malformed: a byte whose low three bits are the kind, and
//! whose others are the count.
//!
//! | kind | what follows |
//! |---|---|
//! | 0 | nothing: null |
//! | 1 | nothing: true if the count is odd, else false |
//! | 2 | a byte: a small number |
//! | 3 | a byte: a signed number of quarters |
//! | 4 | if the count is 31 a byte that is the count: so many bytes of text |
//! | 5 | so many values: a list |
//! | 6 | so many times a byte, which is a key of [`KEYS`], or 255 and a text; and a value: an object |
//! | 7 | eight bytes: a large number |
//!
//! What is no field of an answer is then dropped, and what is of a wrong type (see [`answer`]): so any bytes are an answer,
//! and the promise holds for all of them.

use std::collections::BTreeSet;

use arbitrary::{Arbitrary, Result, Unstructured};
use chatwire::{ChatCompletion, Event, Options};
use serde_json::{Map, Value, json};

use crate::Input;
use crate::common::{End, check_completed, read_with};
use crate::split::{difference, normal, stream_of};

/// Keys by number: OpenAI's, and some that are not.
const KEYS: &[&str] = &[
    "id",
    "created",
    "model",
    "choices",
    "usage",
    "service_tier",
    "system_fingerprint",
    "moderation",
    "index",
    "message",
    "finish_reason",
    "logprobs",
    "role",
    "content",
    "refusal",
    "reasoning_content",
    "tool_calls",
    "function_call",
    "audio",
    "annotations",
    "type",
    "function",
    "custom",
    "name",
    "arguments",
    "input",
    "data",
    "expires_at",
    "transcript",
    "token",
    "bytes",
    "logprob",
    "top_logprobs",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "prompt_tokens_details",
    "completion_tokens_details",
    "cached_tokens",
    "reasoning_tokens",
    "audio_tokens",
    "url_citation",
    "start_index",
    "end_index",
    "title",
    "url",
    "results",
    "flagged",
    "provider",
    "citations",
    "cost",
    "x",
    "é",
    "format",
    "channel",
    "reasoning_details",
    "text",
    "summary",
    "output",
    "native_finish_reason",
];
const MAX_DEPTH: usize = 8;

/// A JSON value, written as said above.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Json(pub(crate) Value);

impl<'a> Arbitrary<'a> for Json {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        value(u, 0).map(Self)
    }
}

fn value(u: &mut Unstructured<'_>, depth: usize) -> Result<Value> {
    let head: u8 = u.arbitrary()?;
    let count = usize::from(head >> 3);
    Ok(match head & 7 {
        0 => Value::Null,
        1 => Value::Bool(count % 2 == 1),
        2 => u.arbitrary::<u8>()?.into(),
        3 => (f64::from(u.arbitrary::<i8>()?) / 4.0).into(),
        4 => text(u, count)?.into(),
        5 | 6 if depth >= MAX_DEPTH => Value::Null,
        5 => {
            let mut items = Vec::new();
            while items.len() < count && !u.is_empty() {
                items.push(value(u, depth + 1)?);
            }
            items.into()
        }
        6 => {
            let mut fields = Map::new();
            for _ in 0..count {
                if u.is_empty() {
                    break;
                }
                let key = match usize::from(u.arbitrary::<u8>()?) {
                    255 => text(u, 31)?,
                    nth => KEYS[nth % KEYS.len()].to_owned(),
                };
                fields.insert(key, value(u, depth + 1)?);
            }
            fields.into()
        }
        _ => u64::from_le_bytes(u.arbitrary()?).into(),
    })
}

fn text(u: &mut Unstructured<'_>, count: usize) -> Result<String> {
    let len = if count == 31 {
        usize::from(u.arbitrary::<u8>()?)
    } else {
        count
    };
    Ok(String::from_utf8_lossy(u.bytes(len.min(u.len()))?).into_owned())
}

impl Json {
    /// The bytes that are read as this value; long texts and lists are cut to what there is room for.
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        write(&self.0, bytes);
    }
}

fn write(value: &Value, bytes: &mut Vec<u8>) {
    let head = |kind: u8, count: usize| u8::try_from(count.min(31)).unwrap_or(31) << 3 | kind;
    match value {
        Value::Null => bytes.push(0),
        Value::Bool(bool) => bytes.push(head(1, usize::from(*bool))),
        Value::Number(number) => match number.as_u64() {
            Some(small @ 0..=255) => bytes.extend([2, small.to_le_bytes()[0]]),
            Some(large) => {
                bytes.push(7);
                bytes.extend(large.to_le_bytes());
            }
            None => {
                let quarters = (number.as_f64().unwrap_or_default() * 4.0) as i8;
                bytes.extend([3, quarters.to_le_bytes()[0]]);
            }
        },
        Value::String(text) if text.len() < 31 => {
            bytes.push(head(4, text.len()));
            bytes.extend_from_slice(text.as_bytes());
        }
        Value::String(text) => {
            bytes.push(head(4, 31));
            write_text(text, bytes);
        }
        Value::Array(items) => {
            bytes.push(head(5, items.len()));
            items.iter().take(31).for_each(|item| write(item, bytes));
        }
        Value::Object(fields) => {
            bytes.push(head(6, fields.len()));
            for (key, value) in fields.iter().take(31) {
                match KEYS
                    .iter()
                    .position(|known| known == key)
                    .and_then(|nth| u8::try_from(nth).ok())
                {
                    Some(nth) => bytes.push(nth),
                    None => {
                        bytes.push(255);
                        write_text(key, bytes);
                    }
                }
                write(value, bytes);
            }
        }
    }
}

fn write_text(text: &str, bytes: &mut Vec<u8>) {
    let mut end = text.len().min(255);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    bytes.push(u8::try_from(end).unwrap_or_default());
    bytes.extend_from_slice(&text.as_bytes()[..end]);
}

/// The fields of an object that `keep` keeps.
fn fields(
    value: &Value,
    mut keep: impl FnMut(&str, &Value) -> Option<Value>,
) -> Map<String, Value> {
    let fields = value.as_object().into_iter().flatten();
    fields
        .filter_map(|(key, value)| Some((key.clone(), keep(key, value)?)))
        .collect()
}

/// Text; an empty one is absent.
fn filled(value: &Value) -> Option<Value> {
    value
        .as_str()
        .filter(|text| !text.is_empty())
        .map(Value::from)
}

fn count(value: &Value) -> Option<Value> {
    value.as_u64().map(Value::from)
}

/// A field that is not OpenAI's; those that would be something else, anywhere, are dropped.
fn extra(key: &str, value: &Value) -> Option<Value> {
    let means_something = KEYS[..41].contains(&key)
        || matches!(
            key,
            "object"
                | "obfuscation"
                | "delta"
                | "finishReason"
                | "reasoning"
                | "reasoning_text"
                | "thinking"
                | "reasoning_details"
                | "content_parts"
                | "input_tokens"
                | "output_tokens"
                | "error"
                | "errors"
                | "error_msg"
                | "error_message"
                | "base_resp"
                | "header"
                | "x_groq"
                | "detail"
                | "code"
                | "slot"
        );
    (!means_something && !value.is_null()).then(|| value.clone())
}

/// A well-formed answer with what of it there is in `value`.
fn answer(value: &Value) -> Value {
    let mut answer = fields(value, |key, value| match key {
        "id" | "model" | "service_tier" | "system_fingerprint" => filled(value),
        "created" => count(value),
        "moderation" => Some(value.clone()).filter(|value| !value.is_null()),
        "usage" => usage(value),
        "choices" => None,
        key => extra(key, value),
    });
    let mut indices = BTreeSet::new();
    let mut choices = Vec::new();
    for (position, value) in value
        .get("choices")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
    {
        let given = value
            .get("index")
            .and_then(Value::as_u64)
            .and_then(|index| u32::try_from(index).ok());
        let index = given
            .or_else(|| u32::try_from(position).ok())
            .unwrap_or_default();
        if value.is_object() && indices.insert(index) {
            choices.push(choice(index, value));
        }
    }
    choices.sort_by_key(|choice| choice["index"].as_u64());
    answer.insert("choices".into(), choices.into());
    answer.into()
}

fn usage(value: &Value) -> Option<Value> {
    const COUNTS: [&str; 3] = ["prompt_tokens", "completion_tokens", "total_tokens"];
    let details = |value: &Value| {
        let details = fields(value, |key, value| match key {
            "cached_tokens"
            | "cache_write_tokens"
            | "audio_tokens"
            | "text_tokens"
            | "image_tokens"
            | "reasoning_tokens"
            | "accepted_prediction_tokens"
            | "rejected_prediction_tokens" => count(value),
            key => extra(key, value),
        });
        value.is_object().then(|| details.into())
    };
    let usage = fields(value, |key, value| match key {
        key if COUNTS.contains(&key) => count(value),
        "prompt_tokens_details" | "completion_tokens_details" => details(value),
        key => extra(key, value),
    });
    COUNTS
        .iter()
        .any(|key| usage.contains_key(*key))
        .then(|| usage.into())
}

fn choice(index: u32, value: &Value) -> Value {
    let mut choice = fields(value, |key, value| match key {
        "message" => None,
        "finish_reason" => filled(value),
        "logprobs" => {
            let logprobs = fields(value, |key, value| match key {
                "content" | "refusal" => Some(value.clone())
                    .filter(|value| value.as_array().is_some_and(|list| !list.is_empty())),
                key => extra(key, value),
            });
            let says_something = logprobs.values().any(|value| *value != json!([]));
            says_something.then(|| logprobs.into())
        }
        key => extra(key, value),
    });
    choice.insert("index".into(), index.into());
    choice.insert(
        "message".into(),
        message(value.get("message").unwrap_or(&Value::Null)),
    );
    choice.into()
}

fn message(value: &Value) -> Value {
    let message = fields(value, |key, value| match key {
        "content" => value.as_str().map(Value::from),
        "role" | "refusal" | "reasoning_content" => filled(value),
        "tool_calls" => {
            let calls = value.as_array()?.iter().enumerate();
            Some(
                calls
                    .filter_map(|(nth, call)| tool_call(nth, call))
                    .collect(),
            )
        }
        "function_call" => named(value, "arguments"),
        "audio" => {
            let audio = fields(value, |key, value| match key {
                "id" | "data" | "transcript" => filled(value),
                "expires_at" => count(value),
                key => extra(key, value),
            });
            (!audio.is_empty()).then(|| audio.into())
        }
        "annotations" => Some(value.clone()).filter(Value::is_array),
        key => extra(key, value),
    });
    message.into()
}

/// A function or a custom tool: its name, and a text.
fn named(value: &Value, key: &str) -> Option<Value> {
    let name = filled(value.get("name")?)?;
    let text = value.get(key).and_then(Value::as_str).unwrap_or_default();
    // It would be sent in pieces of 7: the second one, the same as the first, would be the whole sent again.
    let pieces: Vec<char> = text.chars().collect();
    let is_repeated = pieces.len() >= 14 && pieces[..7] == pieces[7..14];
    (!is_repeated).then(|| json!({"name": name, key: text}))
}

fn tool_call(nth: usize, value: &Value) -> Option<Value> {
    let custom = value
        .get("custom")
        .and_then(|custom| named(custom, "input"));
    let function = value
        .get("function")
        .and_then(|function| named(function, "arguments"));
    let mut call = fields(value, extra);
    let id = value.get("id").and_then(Value::as_str).unwrap_or_default();
    call.insert("id".into(), format!("{nth}{id}").into());
    let (kind, body) = match (function, custom) {
        (Some(function), _) => ("function", function),
        (None, custom) => ("custom", custom?),
    };
    call.insert("type".into(), kind.into());
    call.insert(kind.into(), body);
    Some(call.into())
}

/// The target.
pub fn roundtrip(data: &[u8]) {
    let input = Input::of(data);
    let Ok(Json(value)) = Json::arbitrary(&mut Unstructured::new(input.body)) else {
        return;
    };
    let answer = answer(&value);
    let want = normal(&answer);
    let same = |completion: &ChatCompletion, how: &str| {
        let got = normal(&serde_json::to_value(completion).unwrap());
        assert!(
            got == want,
            "{how}{}\n{answer}",
            difference("", &want, &got)
        );
    };
    let stream = stream_of(&answer);
    let outcome = read_with(
        Options::default(),
        input.cut(stream.as_bytes()),
        End::Finish,
    );
    same(&outcome.completion, "split and joined");
    assert!(
        outcome.items.iter().all(Result::is_ok),
        "{:?}",
        outcome.items
    );
    check_completed(&outcome);
    let calls: usize = outcome
        .completion
        .choices
        .iter()
        .map(|choice| {
            choice.message.tool_calls.len() + usize::from(choice.message.function_call.is_some())
        })
        .sum();
    let Some(Ok(Event::Done(done))) = outcome.items.last() else {
        panic!("no end")
    };
    assert_eq!(
        outcome.completed().len() + done.incomplete_calls().len(),
        calls
    );

    let whole: ChatCompletion = serde_json::from_value(answer.clone()).unwrap();
    same(&whole, "deserialised");
    let text = serde_json::to_string(&outcome.completion).unwrap();
    let again: ChatCompletion = serde_json::from_str(&text).unwrap();
    same(&again, "serialised and deserialised");
}
