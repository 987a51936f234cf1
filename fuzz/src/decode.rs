//! A payload to chunks and errors: as `serde_json::Value` reads it, with a fresh decoder or a used one.
//!
//! Byte 0 of an input are switches: 1 is that the payload came under the event name `error`. The rest is the payload.

use chatwire::chunk::{Decoder, Payload};
use chatwire::{ApiError, Chunk, ErrorKind, Limit};
use serde_json::{Map, Value, json};

/// What a decoder says of a payload, one after the other.
#[derive(Debug, Clone, PartialEq)]
enum Item {
    Chunk(Box<Chunk>),
    Done,
    Api(ApiError),
    Fault(ErrorKind, u64, Option<Limit>),
}

fn read(decoder: &mut Decoder, event: &str, text: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut payloads = decoder.payloads_of_event(event, text);
    while let Some(payload) = payloads.next_payload() {
        items.push(match payload {
            Ok(Payload::Chunk(chunk)) => Item::Chunk(Box::new(chunk.clone())),
            Ok(Payload::Done) => Item::Done,
            Ok(Payload::Api(error)) => Item::Api(error),
            Ok(_) => panic!("a payload of another kind"),
            Err(error) => Item::Fault(error.kind(), error.offset(), error.limit()),
        });
        assert!(items.len() <= text.len() + 1, "it goes on for ever");
    }
    items
}

/// A chunk with something in every field, so that what is left of it can be seen.
const FULL: &str = r#"{"id":"i","object":"o","created":1,"model":"m","service_tier":"s","system_fingerprint":"f","obfuscation":"o",
"moderation":{},"usage":{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":1},"completion_tokens_details":{},"x":1},
"x":1,"error":null,"choices":[{"index":7,"finish_reason":"stop","logprobs":{"content":[1],"refusal":[],"x":1},"x":1,"delta":{
"role":"r","content":"\ud83d","refusal":"\ud83d","reasoning":"\ud83d","annotations":[1],"x":1,"audio":{"id":"a","data":"d",
"transcript":"\ud83d","expires_at":1,"x":1},"function_call":{"name":"n","arguments":"\ud83d"},"tool_calls":[{"index":3,"id":"i",
"type":"t","function":{"name":"n","arguments":"\ud83d"},"x":1},{"custom":{"name":"n","input":"\ud83d"}}]}},
{"message":{"content":"m"},"usage":{"total_tokens":1}}]}"#;

/// The target.
pub fn decode(data: &[u8]) {
    let (switches, payload) = data.split_first().unwrap_or((&0, &[]));
    let event = if switches & 1 == 0 {
        "message"
    } else {
        "error"
    };
    let text = &String::from_utf8_lossy(payload);
    let items = read(&mut Decoder::new(), event, text);
    let mut used = Decoder::new();
    assert!(matches!(
        read(&mut used, "message", FULL)[..],
        [Item::Chunk(_)]
    ));
    assert_eq!(read(&mut used, event, text), items, "a used decoder");
    assert_eq!(read(&mut used, event, text), items, "the same again");
    if event == "message" {
        let first = items.iter().find_map(|item| match item {
            Item::Api(error) => Some(error),
            _ => None,
        });
        assert_eq!(ApiError::from_payload(text).as_ref(), first);
        match (Chunk::from_json(text), items.first()) {
            (Ok(chunk), Some(Item::Chunk(first))) => assert_eq!(chunk, **first),
            (Err(error), Some(Item::Api(first))) => assert_eq!(error.api(), Some(first)),
            (Err(_), _) => {}
            (Ok(_), first) => panic!("a chunk, and {first:?}"),
        }
    }
    items.iter().for_each(again);
    if let Some(values) = values(text) {
        as_value(&items, &values, event == "error");
    }
}

/// A chunk that is serialised and read again is the same.
fn again(item: &Item) {
    let Item::Chunk(chunk) = item else { return };
    let text = serde_json::to_string(chunk).unwrap();
    let items = read(&mut Decoder::new(), "message", &text);
    let Some(Item::Chunk(same)) = items.last() else {
        panic!("{text} is {items:?}");
    };
    assert_eq!(serde_json::to_string(same).unwrap(), text);
    let by_serde: Chunk = serde_json::from_str(&text).unwrap();
    assert_eq!(
        serde_json::to_string(&by_serde).unwrap(),
        text,
        "by serde_json's reader"
    );
}

/// The values of a payload, and whether the end marker follows. None for what only we read.
fn values(text: &str) -> Option<(Vec<Value>, bool)> {
    let mut rest = text.trim();
    let mut values = Vec::new();
    while !rest.is_empty() {
        if matches!(rest, "[DONE]" | "\"[DONE]\"") {
            return Some((values, true));
        }
        if rest.starts_with("[DONE]") || rest.starts_with("\"[DONE]\"") {
            return None;
        }
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        values.push(stream.next()?.ok()?);
        rest = rest[stream.byte_offset()..].trim_start();
    }
    Some((values, false))
}

fn as_value(items: &[Item], (values, is_done): &(Vec<Value>, bool), is_error_event: bool) {
    let mut items = items.iter();
    for value in values {
        if !value.is_object() {
            match (items.next(), value.as_str()) {
                (Some(Item::Api(error)), Some(text)) if is_error_event => {
                    assert_eq!(error.message, text)
                }
                (Some(Item::Fault(ErrorKind::Malformed, ..)), _) => {}
                (item, _) => panic!("{value} is {item:?}"),
            }
            continue;
        }
        let error = error(value, is_error_event);
        if let Some(message) = &error {
            match items.next() {
                Some(Item::Api(error)) => {
                    assert!(
                        message.is_empty() || error.message == *message,
                        "{value}: {error:?}, not {message}"
                    )
                }
                item => panic!("{value} is {item:?}, not an error"),
            }
        }
        let is_chunk = value["choices"].is_array()
            || text(&value["object"]).starts_with("chat.completion")
            || (value["usage"].is_object() && error.is_none());
        if is_chunk {
            match items.next() {
                Some(Item::Chunk(chunk)) => {
                    let got = serde_json::to_value(chunk).unwrap();
                    let want = self::chunk(value);
                    assert!(same(&want, &got), "{value}\nwant {want}\n got {got}");
                }
                item => panic!("{value} is {item:?}, not a chunk"),
            }
        }
    }
    if *is_done {
        assert_eq!(items.next(), Some(&Item::Done));
    }
    assert_eq!(items.next(), None, "something more");
}

// ---------- the rules, over a Value

/// The key of an object that stands for a text: the value written compactly, in whatever order.
const WRITTEN: &str = "\0written";

/// As `==`, but arguments sent as JSON are compared as JSON.
fn same(want: &Value, got: &Value) -> bool {
    match (want, got) {
        (Value::Object(want), Value::String(got)) => {
            want.len() == 1
                && want.get(WRITTEN).is_some_and(|want| {
                    serde_json::from_str(got).is_ok_and(|got: Value| got == *want)
                })
        }
        (Value::Object(want), Value::Object(got)) => {
            want.len() == got.len()
                && want
                    .iter()
                    .all(|(key, want)| got.get(key).is_some_and(|got| same(want, got)))
        }
        (Value::Array(want), Value::Array(got)) => {
            want.len() == got.len() && want.iter().zip(got).all(|(want, got)| same(want, got))
        }
        (want, got) => want == got,
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The first text that is not empty.
fn first_text<const N: usize>(texts: [&Value; N]) -> Option<String> {
    texts
        .iter()
        .map(|value| text(value))
        .find(|text| !text.is_empty())
        .map(String::from)
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(bool) => *bool,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty() && text != "0",
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// The message of an error object or text; "" if it says something, but not in words; none if it is no error.
fn message(error: &Value) -> Option<String> {
    match error {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Object(fields) => {
            let words =
                first_text(["message", "msg", "error_msg", "detail"].map(|key| &error[key]));
            words.or_else(|| fields.values().any(says_something).then(String::new))
        }
        _ => None,
    }
}

/// The message of the error that a payload carries.
fn error(value: &Value, is_error_event: bool) -> Option<String> {
    let base = &value["base_resp"];
    let beside_choices = message(&value["error"])
        .or_else(|| {
            let words = text(&base["status_msg"]);
            says_something(&base["status_code"]).then(|| words.to_owned())
        })
        .or_else(|| first_text([&value["error_msg"], &value["error_message"]]))
        .or_else(|| {
            items(&value["choices"])
                .iter()
                .take(128)
                .find_map(|choice| message(&choice["error"]))
        })
        .or_else(|| message(&value["x_groq"]["error"]));
    if beside_choices.is_some() || !items(&value["choices"]).is_empty() {
        return beside_choices;
    }
    let header = &value["header"];
    let beside_usage = items(&value["errors"])
        .first()
        .and_then(message)
        .or_else(|| {
            if says_something(&header["code"]) {
                message(header)
            } else {
                None
            }
        });
    if beside_usage.is_some() || value["usage"].is_object() {
        return beside_usage;
    }
    if is_error_event || value["object"] == "error" || value["type"] == "error" {
        // In whatever words: those of fields that are not the chunk's.
        return Some(
            first_text(["message", "msg", "error_msg", "detail"].map(|key| &value[key]))
                .unwrap_or_default(),
        );
    }
    let in_list = items(&value["detail"])
        .first()
        .map(|detail| &detail["msg"])
        .unwrap_or(&Value::Null);
    first_text([&value["detail"], in_list]).or_else(|| {
        first_text([&value["message"], &value["msg"]]).filter(|_| says_something(&value["code"]))
    })
}

/// The fields of an object by name: `Some` is what becomes of a field, an absent one none.
fn rest(value: &Value, known: &[&str]) -> Map<String, Value> {
    let fields = value.as_object().into_iter().flatten();
    let fields = fields.filter(|(key, _)| !known.contains(&key.as_str()));
    fields
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn put(map: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        map.insert(key.into(), value.into());
    }
}

fn texts(map: &mut Map<String, Value>, value: &Value, keys: &[&str]) {
    for key in keys {
        put(map, key, value[*key].as_str());
    }
}

fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => {
            let float = number
                .as_f64()
                .filter(|float| (0.0..18_446_744_073_709_551_616.0).contains(float));
            number.as_u64().or_else(|| float.map(|float| float as u64))
        }
        Value::String(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    }
}

/// Of an index: `Err` if it is over u32, none if it is no index.
fn index(value: &Value) -> Result<Option<u32>, ()> {
    match value {
        Value::Number(number) if number.is_u64() => number
            .as_u64()
            .map(u32::try_from)
            .transpose()
            .map_err(|_| ()),
        Value::Number(number)
            if number
                .as_f64()
                .is_some_and(|float| float > f64::from(u32::MAX)) =>
        {
            Err(())
        }
        Value::String(text)
            if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            text.parse().map(Some).map_err(|_| ())
        }
        _ => Ok(None),
    }
}

const CHUNK: &[&str] = &[
    "id",
    "object",
    "created",
    "model",
    "choices",
    "usage",
    "service_tier",
    "system_fingerprint",
    "obfuscation",
    "moderation",
];

fn chunk(value: &Value) -> Value {
    let mut chunk = rest(value, CHUNK);
    texts(
        &mut chunk,
        value,
        &[
            "id",
            "object",
            "model",
            "service_tier",
            "system_fingerprint",
            "obfuscation",
        ],
    );
    put(&mut chunk, "created", count(&value["created"]));
    put(
        &mut chunk,
        "moderation",
        Some(value["moderation"].clone()).filter(|value| !value.is_null()),
    );
    let is_whole = value["object"] == "chat.completion";
    let mut choices = Vec::new();
    let mut read = Vec::new();
    for (position, choice) in items(&value["choices"]).iter().enumerate() {
        let position = u32::try_from(position).unwrap();
        if let (Ok(index), true) = (
            index(&choice["index"]),
            choice.is_object() && choices.len() < 128,
        ) {
            choices.push(self::choice(choice, index.unwrap_or(position), is_whole));
            read.push(choice);
        }
    }
    chunk.insert("choices".into(), choices.into());
    let is_filled = |usage: &Value| {
        ["prompt_tokens", "completion_tokens", "total_tokens"]
            .iter()
            .any(|key| usage.get(key).is_some())
    };
    let own = usage(&value["usage"]);
    let own_is_filled = own.as_ref().is_some_and(is_filled);
    let in_choice = read
        .iter()
        .find_map(|choice| usage(&choice["usage"]).filter(is_filled));
    let in_groq = || usage(&value["x_groq"]["usage"]).filter(is_filled);
    let usage = if own_is_filled {
        own
    } else {
        in_choice.or_else(in_groq).or(own)
    };
    put(&mut chunk, "usage", usage);
    chunk.into()
}

fn usage(value: &Value) -> Option<Value> {
    const INPUT: [&str; 5] = [
        "cached_tokens",
        "cache_write_tokens",
        "audio_tokens",
        "text_tokens",
        "image_tokens",
    ];
    const OUTPUT: [&str; 5] = [
        "reasoning_tokens",
        "audio_tokens",
        "text_tokens",
        "accepted_prediction_tokens",
        "rejected_prediction_tokens",
    ];
    let details = |value: &Value, known: [&str; 5]| {
        let mut details = rest(value, &known);
        known
            .iter()
            .for_each(|key| put(&mut details, key, count(&value[*key])));
        value.is_object().then_some(details)
    };
    let counts = ["prompt_tokens", "completion_tokens", "total_tokens"];
    let (input, output) = ("prompt_tokens_details", "completion_tokens_details");
    let mut usage = rest(value, &[&counts[..], &[input, output]].concat());
    for (key, other) in counts
        .iter()
        .zip(["input_tokens", "output_tokens", "total_tokens"])
    {
        put(
            &mut usage,
            key,
            count(&value[*key]).or_else(|| count(&value[other])),
        );
    }
    put(&mut usage, input, details(&value[input], INPUT));
    put(&mut usage, output, details(&value[output], OUTPUT));
    value.is_object().then(|| usage.into())
}

fn choice(value: &Value, index: u32, is_whole: bool) -> Value {
    let known = [
        "index",
        "delta",
        "message",
        "finish_reason",
        "finishReason",
        "logprobs",
        "usage",
    ];
    let mut choice = rest(value, &known);
    choice.insert("index".into(), index.into());
    let reason = first_text([&value["finish_reason"], &value["finishReason"]]);
    choice.insert("finish_reason".into(), reason.into());
    if value["logprobs"].is_object() {
        let logprobs = &value["logprobs"];
        let mut read = rest(logprobs, &["content", "refusal"]);
        for key in ["content", "refusal"] {
            read.insert(
                key.into(),
                Some(logprobs[key].clone()).filter(Value::is_array).into(),
            );
        }
        choice.insert("logprobs".into(), read.into());
    }
    let (delta, message) = (delta(&value["delta"]), delta(&value["message"]));
    let is_stub = delta.as_ref().is_none_or(|delta| {
        let is_empty = |key| delta.get(key).is_none_or(|text| text == "");
        let is_absent = |key| delta.get(key).is_none();
        ["content", "refusal", "reasoning_content"]
            .into_iter()
            .all(is_empty)
            && ["tool_calls", "function_call", "audio"]
                .into_iter()
                .all(is_absent)
    });
    match (delta, message) {
        (Some(_), Some(message)) if is_whole && is_stub => choice.insert("message".into(), message),
        (Some(delta), _) => choice.insert("delta".into(), delta),
        (None, Some(message)) => choice.insert("message".into(), message),
        (None, None) => choice.insert("delta".into(), json!({})),
    };
    choice.into()
}

fn delta(value: &Value) -> Option<Value> {
    const REASONING: [&str; 4] = [
        "reasoning_content",
        "reasoning",
        "reasoning_text",
        "thinking",
    ];
    let known = [
        "role",
        "content",
        "refusal",
        "tool_calls",
        "function_call",
        "audio",
        "annotations",
    ];
    let mut delta = rest(value, &[&known[..], &REASONING].concat());
    texts(&mut delta, value, &["role", "content", "refusal"]);
    let mut reasoning = String::new();
    if value["content"].is_array() {
        let (mut content, mut others) = (String::new(), Vec::new());
        for part in items(&value["content"]) {
            let thinking = &part["thinking"];
            match (part.as_str(), part["text"].as_str()) {
                (Some(text), _) => content += text,
                _ if part["type"] == "thinking" => {
                    reasoning += text(thinking);
                    items(thinking)
                        .iter()
                        .for_each(|part| reasoning += text(&part["text"]));
                }
                (_, Some(text)) => content += text,
                _ => others.push(part.clone()),
            }
        }
        delta.insert("content".into(), content.into());
        if !others.is_empty() {
            delta.insert("content_parts".into(), others.into());
        }
    }
    reasoning += &first_text(REASONING.map(|key| &value[key])).unwrap_or_else(|| {
        let details = items(&value["reasoning_details"]).iter();
        details
            .filter_map(|detail| first_text([&detail["text"], &detail["summary"]]))
            .collect()
    });
    put(
        &mut delta,
        "reasoning_content",
        Some(reasoning).filter(|text| !text.is_empty()),
    );
    let calls = match &value["tool_calls"] {
        call @ Value::Object(_) => core::slice::from_ref(call),
        calls => items(calls),
    };
    let calls: Vec<_> = calls.iter().filter_map(tool_call).take(128).collect();
    put(
        &mut delta,
        "tool_calls",
        Some(calls).filter(|calls| !calls.is_empty()),
    );
    put(
        &mut delta,
        "function_call",
        body(&value["function_call"], "arguments"),
    );
    let audio = &value["audio"];
    if audio.is_object() {
        let mut read = rest(audio, &["id", "data", "expires_at", "transcript"]);
        texts(&mut read, audio, &["id", "data", "transcript"]);
        put(&mut read, "expires_at", count(&audio["expires_at"]));
        delta.insert("audio".into(), read.into());
    }
    put(
        &mut delta,
        "annotations",
        Some(value["annotations"].clone()).filter(Value::is_array),
    );
    value.is_object().then(|| delta.into())
}

fn tool_call(value: &Value) -> Option<Value> {
    let mut call = rest(value, &["index", "id", "type", "function", "custom"]);
    texts(&mut call, value, &["id", "type"]);
    put(&mut call, "index", index(&value["index"]).ok()?);
    put(&mut call, "function", body(&value["function"], "arguments"));
    put(&mut call, "custom", body(&value["custom"], "input"));
    value.is_object().then(|| call.into())
}

/// A function or a custom tool.
fn body(value: &Value, key: &str) -> Option<Value> {
    let mut body = Map::new();
    texts(&mut body, value, &["name"]);
    let text = match &value[key] {
        Value::String(text) => Some(text.as_str().into()),
        json @ (Value::Array(_) | Value::Object(_)) => Some(json!({WRITTEN: json})),
        _ => None,
    };
    put(&mut body, key, text);
    value.is_object().then(|| body.into())
}
