//! Splits a whole answer into the stream that a server would have sent, so that it can be read and compared.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::std_instead_of_alloc
)]

use serde_json::{Map, Value, json};

/// Message fields that are sent in pieces.
const TEXTS: [&str; 6] = [
    "content",
    "refusal",
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "thinking",
];

/// The stream of a `chat.completion`: one small piece a chunk, usage last.
pub fn stream_of(answer: &Value) -> String {
    let mut envelope = answer.as_object().unwrap().clone();
    let usage = envelope.remove("usage").unwrap_or_default();
    let choices = envelope.remove("choices").unwrap_or_default();
    envelope.insert("object".into(), "chat.completion.chunk".into());
    let mut stream = String::new();
    let mut send = |choices: Value, usage: &Value| {
        let mut chunk = envelope.clone();
        chunk.insert("choices".into(), choices);
        chunk.insert("usage".into(), usage.clone());
        stream.push_str(&format!("data: {}\n\n", Value::Object(chunk)));
    };
    for (position, choice) in choices.as_array().unwrap().iter().enumerate() {
        let index = choice
            .get("index")
            .cloned()
            .unwrap_or_else(|| position.into());
        for delta in deltas(
            choice
                .get("message")
                .and_then(Value::as_object)
                .unwrap_or(&Map::new()),
        ) {
            send(
                json!([{"index": index, "delta": delta, "finish_reason": null}]),
                &Value::Null,
            );
        }
        for logprobs in logprobs(choice.get("logprobs")) {
            send(
                json!([{"index": index, "delta": {}, "logprobs": logprobs, "finish_reason": null}]),
                &Value::Null,
            );
        }
        let mut last = choice.as_object().unwrap().clone();
        last.remove("message");
        last.remove("logprobs");
        last.insert("index".into(), index);
        last.insert("delta".into(), json!({}));
        send(json!([last]), &Value::Null);
    }
    send(json!([]), &usage);
    stream + "data: [DONE]\n\n"
}

/// A text in pieces of a few characters.
fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars
        .chunks(7)
        .map(|piece| piece.iter().collect())
        .collect()
}

fn deltas(message: &Map<String, Value>) -> Vec<Value> {
    let mut deltas = vec![
        json!({"role": message.get("role").cloned().unwrap_or("assistant".into()), "content": null}),
    ];
    for (key, value) in message {
        match (key.as_str(), value) {
            ("role" | "index" | "delta", _) | (_, Value::Null) => {}
            (key, Value::String(text)) if TEXTS.contains(&key) => {
                let pieces = if text.is_empty() {
                    vec![String::new()]
                } else {
                    pieces(text)
                };
                deltas.extend(pieces.into_iter().map(|piece| json!({key: piece})));
            }
            ("tool_calls", Value::Array(calls)) => {
                let calls: Vec<_> = calls
                    .iter()
                    .enumerate()
                    .map(|(index, call)| fragments(index, call))
                    .collect();
                let longest = calls.iter().map(Vec::len).max().unwrap_or(0);
                // Interleaved: the first fragment of each call, the second of each, ...
                for at in 0..longest {
                    let row: Vec<_> = calls
                        .iter()
                        .filter_map(|fragments| fragments.get(at).cloned())
                        .collect();
                    deltas.push(json!({"tool_calls": row}));
                }
            }
            ("function_call", call) => {
                deltas.push(json!({"function_call": {"name": call["name"], "arguments": ""}}));
                let pieces = pieces(call["arguments"].as_str().unwrap_or_default());
                deltas.extend(
                    pieces
                        .into_iter()
                        .map(|piece| json!({"function_call": {"arguments": piece}})),
                );
            }
            ("audio", Value::Object(audio)) => {
                for (key, value) in audio {
                    let pieces = match value
                        .as_str()
                        .filter(|_| matches!(key.as_str(), "data" | "transcript"))
                    {
                        Some(text) => pieces(text).into_iter().map(Value::from).collect(),
                        None => vec![value.clone()],
                    };
                    deltas.extend(
                        pieces
                            .into_iter()
                            .map(|piece| json!({"audio": {key: piece}})),
                    );
                }
            }
            (key, Value::Array(items)) if key != "content" => {
                deltas.extend(items.iter().map(|item| json!({key: [item]})));
            }
            (key, value) => deltas.push(json!({key: value})),
        }
    }
    deltas
}

fn fragments(index: usize, call: &Value) -> Vec<Value> {
    let mut first = call.as_object().unwrap().clone();
    first.insert("index".into(), index.into());
    let mut fragments = Vec::new();
    for (kind, text) in [("function", "arguments"), ("custom", "input")] {
        let Some(whole) = call.get(kind).and_then(|of| of.get(text)) else {
            continue;
        };
        // Arguments that are no text go as they are.
        if let Value::String(whole) = whole {
            first[kind][text] = "".into();
            fragments.extend(
                pieces(whole)
                    .into_iter()
                    .map(|piece| json!({"index": index, kind: {text: piece}})),
            );
        }
    }
    fragments.insert(0, Value::Object(first));
    fragments
}

fn logprobs(logprobs: Option<&Value>) -> Vec<Value> {
    let mut pieces = Vec::new();
    for (key, value) in logprobs.and_then(Value::as_object).into_iter().flatten() {
        match value {
            Value::Array(tokens) => pieces.extend(tokens.iter().map(|token| json!({key: [token]}))),
            other => pieces.push(json!({key: other})),
        }
    }
    pieces
}

/// The normal form in which a body and what was read of it are compared: `object` is set; reasoning is
/// `reasoning_content`; an index or delta inside a message or a tool call, and a choice's delta, are dropped; a role is
/// `assistant` and a call's type `function` where there is none, as is a message; a time in digits is a number; null, `[]` and absent are one.
pub fn normal(answer: &Value) -> Value {
    let mut answer = answer.clone();
    answer["object"] = "chat.completion".into();
    if let Some(created) = answer["created"]
        .as_str()
        .and_then(|created| created.parse::<u64>().ok())
    {
        answer["created"] = created.into();
    }
    for (position, choice) in answer["choices"]
        .as_array_mut()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let choice = choice.as_object_mut().unwrap();
        choice.entry("index").or_insert(position.into());
        choice.remove("delta");
        let message = choice.entry("message").or_insert_with(|| json!({}));
        let Some(message) = message.as_object_mut() else {
            continue;
        };
        message.remove("index");
        message.remove("delta");
        let reasoning = TEXTS[2..]
            .iter()
            .filter_map(|name| message.remove(*name))
            .find(|text| text.as_str().is_some_and(|text| !text.is_empty()));
        if let Some(reasoning) = reasoning {
            message.insert("reasoning_content".into(), reasoning);
        }
        message.entry("role").or_insert("assistant".into());
        for call in message
            .get_mut("tool_calls")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let call = call.as_object_mut().unwrap();
            call.remove("index");
            call.entry("type").or_insert("function".into());
        }
    }
    without_nothing(answer)
}

fn without_nothing(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields
                .into_iter()
                .map(|(key, value)| (key, without_nothing(value)));
            Value::Object(
                fields
                    .filter(|(_, value)| !value.is_null() && *value != Value::Array(Vec::new()))
                    .collect(),
            )
        }
        Value::Array(list) => Value::Array(list.into_iter().map(without_nothing).collect()),
        other => other,
    }
}

/// Where two values differ first.
pub fn difference(path: &str, want: &Value, got: &Value) -> String {
    match (want, got) {
        (Value::Object(want), Value::Object(got)) => {
            let keys = want.keys().chain(got.keys());
            for key in keys {
                let (want, got) = (
                    want.get(key).unwrap_or(&Value::Null),
                    got.get(key).unwrap_or(&Value::Null),
                );
                if want != got {
                    return difference(&format!("{path}.{key}"), want, got);
                }
            }
            String::new()
        }
        (Value::Array(want), Value::Array(got)) if want.len() == got.len() => {
            let at = want
                .iter()
                .zip(got)
                .position(|(want, got)| want != got)
                .unwrap_or(0);
            difference(&format!("{path}[{at}]"), &want[at], &got[at])
        }
        _ => format!("{path}: want {want}, got {got}"),
    }
}
