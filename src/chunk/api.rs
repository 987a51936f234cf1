//! The server's errors inside a 200, in all the shapes they come in.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use core::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::context::Found;
use super::json::value;
use super::lenient::{count_in, text_of};
use super::weight::{FIELD, HEAVY, is_heavy, overhead};
use super::{Chunk, Decoder, Extra, Payload};

/// An error that the server sent in the stream.
///
/// ```
/// use chatwire::ApiError;
/// let error = ApiError::from_payload(r#"{"error":{"message":"slow down","type":"rate_limit","code":429}}"#).unwrap();
/// assert_eq!(error.message, "slow down");
/// assert_eq!((error.code.as_deref(), error.status), (Some("429"), Some(429)));
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApiError {
    /// What the server says. Where it says nothing in words, or its error object has thousands of values: that object, as
    /// JSON.
    pub message: String,
    /// The error's code, as text also where the wire has a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The error's type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// The request parameter that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    /// The HTTP status that the error would have had, 400 to 599, where it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The other fields of the error object.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ApiError {
    /// The error in a payload; none if it carries none. For those with chunk types of their own.
    ///
    /// ```
    /// use chatwire::ApiError;
    /// assert_eq!(ApiError::from_payload(r#"{"choices":[],"error":null}"#), None);
    /// assert_eq!(ApiError::from_payload(r#"{"detail":"Not Found"}"#).unwrap().message, "Not Found");
    /// ```
    #[must_use]
    pub fn from_payload(payload: &str) -> Option<Self> {
        let mut decoder = Decoder::new();
        let mut payloads = decoder.payloads(payload);
        while let Some(item) = payloads.next_payload() {
            if let Ok(Payload::Api(error)) = item {
                return Some(error);
            }
        }
        None
    }

    /// The error in the text of an error object.
    pub(crate) fn from_json(json: &str) -> Option<Self> {
        if is_heavy(json) {
            // What is so much and no object says nothing.
            return json.starts_with('{').then(|| Self::from_text(json));
        }
        Self::from_value(value(json)?)
    }

    /// An error of which only the text is known.
    pub(super) fn from_text(message: &str) -> Self {
        Self {
            message: message.to_owned(),
            ..Self::default()
        }
    }

    /// The error in an error object, or in an error text; none if it is null, empty or all zero.
    pub(crate) fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::String(text) => (!text.is_empty()).then(|| Self::from_text(&text)),
            Value::Object(fields) => {
                let words = ["message", "msg", "error_msg", "detail"]
                    .into_iter()
                    .find_map(|key| words(&fields, key));
                let message = match words {
                    Some(message) => message,
                    None if fields.values().any(is_something) => {
                        Value::Object(fields.clone()).to_string()
                    }
                    None => return None,
                };
                Some(Self::with(message, fields))
            }
            _ => None,
        }
    }

    /// An error with this message and the details in these fields.
    fn with(message: String, mut fields: Map<String, Value>) -> Self {
        let code = fields.remove("code").as_ref().and_then(text_of);
        let named = ["status", "status_code", "http_status"]
            .into_iter()
            .filter_map(|key| fields.get(key));
        let numbers = code
            .as_deref()
            .map(Value::from)
            .into_iter()
            .chain(named.cloned());
        let status = numbers
            .filter_map(|number| u16::try_from(count_in(&number)?).ok())
            .find(|status| (400..600).contains(status));
        fields.remove("message");
        Self {
            message,
            code,
            r#type: fields.remove("type").as_ref().and_then(text_of),
            param: fields.remove("param").as_ref().and_then(text_of),
            status,
            extra: fields.into(),
        }
    }

    /// Code and type, for a log: not the message, which may quote the request.
    pub(crate) fn fmt_codes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.code, &self.r#type) {
            (Some(code), Some(r#type)) => write!(f, " (code {code}, type {})", r#type),
            (Some(code), None) => write!(f, " (code {code})"),
            (None, Some(r#type)) => write!(f, " (type {})", r#type),
            (None, None) => Ok(()),
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for ApiError {}

/// The error that a payload carries. The order is that of DESIGN's rule: what counts beside an answer comes first, then
/// what counts beside a usage, then what only counts alone.
pub(super) fn find(chunk: &Chunk, found: &Found, is_error_event: bool) -> Option<ApiError> {
    let is_error_object = chunk.object.as_deref() == Some("error");
    if !(found.hints.any_at_all() || is_error_object || is_error_event) {
        return None;
    }
    let raw = |key| chunk.extra.raw(key);
    let get = |key| raw(key).filter(|raw| !is_heavy(raw)).and_then(value);
    let beside_an_answer = raw("error")
        .and_then(ApiError::from_json)
        .or_else(|| base_resp(get("base_resp")?))
        .or_else(|| {
            get("error_msg")
                .filter(Value::is_string)
                .and_then(ApiError::from_value)
        })
        .or_else(|| {
            get("error_message")
                .filter(Value::is_string)
                .and_then(ApiError::from_value)
        })
        .or_else(|| {
            chunk
                .choices
                .iter()
                .find_map(|choice| ApiError::from_json(choice.extra.raw("error")?))
        })
        .or_else(|| ApiError::from_json(found.skipped_error.as_ref()?.as_str()))
        .or_else(|| ApiError::from_value(get("x_groq")?.get_mut("error")?.take()));
    if beside_an_answer.is_some() || found.has_choices {
        return beside_an_answer;
    }
    let beside_usage = get("errors")
        .and_then(|errors| first(errors).and_then(ApiError::from_value))
        .or_else(|| header(get("header")?));
    if beside_usage.is_some() || found.usage_object {
        return beside_usage;
    }
    if is_error_object || is_error_event || get("type").is_some_and(|r#type| r#type == "error") {
        let fields = light_fields(chunk);
        return ApiError::from_value(Value::Object(fields))
            .or_else(|| Some(ApiError::from_text("error")));
    }
    get("detail")
        .and_then(detail)
        .or_else(|| coded_message(chunk, &get("code")?))
}

/// MiniMax: `base_resp: {status_code, status_msg}`.
fn base_resp(value: Value) -> Option<ApiError> {
    let Value::Object(mut fields) = value else {
        return None;
    };
    let code = fields.remove("status_code").filter(is_something)?;
    let message = fields
        .remove("status_msg")
        .as_ref()
        .and_then(text_of)
        .unwrap_or_else(|| "error".to_owned());
    fields.insert("code".to_owned(), code);
    Some(ApiError::with(message, fields))
}

/// Spark: `header: {code, message, ...}`.
fn header(value: Value) -> Option<ApiError> {
    value.get("code").filter(|code| is_something(code))?;
    ApiError::from_value(value)
}

/// FastAPI: a text, or a list of what is wrong with the request.
fn detail(value: Value) -> Option<ApiError> {
    match value {
        Value::String(_) => ApiError::from_value(value),
        Value::Array(_) => {
            let first = first(value)?;
            first
                .get("msg")
                .and_then(Value::as_str)
                .filter(|message| !message.is_empty())?;
            ApiError::from_value(first)
        }
        _ => None,
    }
}

/// `code` other than 0 with a `message` or `msg`, and nothing else.
fn coded_message(chunk: &Chunk, code: &Value) -> Option<ApiError> {
    let fields = light_fields(chunk);
    let message = words(&fields, "message").or_else(|| words(&fields, "msg"))?;
    is_something(code).then(|| ApiError::with(message, fields))
}

/// The unknown fields of a chunk, but for those of thousands of values.
fn light_fields(chunk: &Chunk) -> Map<String, Value> {
    let mut left = HEAVY;
    let fields = chunk.extra.entries().filter_map(|(key, raw)| {
        left = left.checked_sub(FIELD + overhead(raw))?;
        Some((key.to_owned(), value(raw)?))
    });
    fields.collect()
}

fn first(list: Value) -> Option<Value> {
    let Value::Array(list) = list else {
        return None;
    };
    list.into_iter().next()
}

/// A text that is not empty.
fn words(fields: &Map<String, Value>, key: &str) -> Option<String> {
    fields
        .get(key)?
        .as_str()
        .filter(|text| !text.is_empty())
        .map(ToOwned::to_owned)
}

/// Whether a value says anything: not null, `""`, `"0"`, 0, false, `{}` or `[]`.
fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(bool) => *bool,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty() && text != "0",
        Value::Array(list) => !list.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}
