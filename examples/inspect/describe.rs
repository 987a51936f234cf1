//! What the timeline says of one thing, in words.

use std::error::Error as _;

use chatwire::chunk::{Audio, Choice, FunctionDelta, TokenLogprob, ToolCallDelta};
use chatwire::{Error, RawJson, ToolCall, Usage};
use serde_json::{Map, Value};

use crate::text::{Long, Plain, Quoted, list};

/// A text that is there, with its name before it.
pub(crate) fn named(name: &str, text: &Option<String>) -> Option<String> {
    let text = text.as_ref().filter(|text| !text.is_empty())?;
    Some(format!("{name} {}", Plain(text)))
}

/// A fragment of a tool call: name, `+` and a piece of the arguments, id.
pub(crate) fn tool_call(call: &ToolCallDelta) -> String {
    let mut parts = Vec::new();
    if let Some(custom) = &call.custom {
        parts.push(name_and_piece("custom ", &custom.name, &custom.input));
    }
    parts.extend(call.function.as_ref().map(pieces));
    parts.extend(named("id", &call.id));
    parts.retain(|part| !part.is_empty());
    parts.join("  ")
}

/// A fragment of a function call.
pub(crate) fn pieces(function: &FunctionDelta) -> String {
    name_and_piece("", &function.name, &function.arguments)
}

fn name_and_piece(kind: &str, name: &Option<String>, piece: &Option<String>) -> String {
    let [name, piece] = [name, piece].map(|text| text.as_deref().unwrap_or_default());
    match (name.is_empty(), piece.is_empty()) {
        (true, true) => String::new(),
        (true, false) => format!("+{}", Plain(piece)),
        (false, true) => format!("{kind}{}", Quoted(name)),
        (false, false) => format!("{kind}{} +{}", Quoted(name), Plain(piece)),
    }
}

/// A whole call.
pub(crate) fn complete(call: &ToolCall) -> String {
    let kind = if call.custom.is_some() { "custom " } else { "" };
    let call_and_id = [
        Some(format!(
            "==> {kind}{} {}",
            Quoted(call.name()),
            Long(call.arguments())
        )),
        named("id", &call.id),
    ];
    call_and_id
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("  ")
}

/// A piece of audio.
pub(crate) fn audio(piece: &Audio, with_id: bool) -> String {
    let parts = [
        named("id", &piece.id).filter(|_| with_id),
        piece
            .transcript
            .as_ref()
            .map(|transcript| Quoted(transcript).to_string()),
        piece
            .data
            .as_ref()
            .map(|data| format!("{} characters of base64", data.len())),
        piece.expires_at.map(|at| format!("expires at {at}")),
    ];
    list(parts.into_iter().flatten())
}

/// Of each annotation the type, and what it links to.
pub(crate) fn annotation(annotations: &RawJson) -> Vec<String> {
    let describe = |annotation: Value| {
        let r#type = annotation
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or("of no type");
        let url = annotation
            .get(r#type)
            .unwrap_or(&annotation)
            .get("url")
            .and_then(Value::as_str);
        format!("{} {}", Plain(r#type), Long(url.unwrap_or_default()))
            .trim_end()
            .to_owned()
    };
    annotations
        .decode::<Vec<_>>()
        .unwrap_or_default()
        .into_iter()
        .map(describe)
        .collect()
}

/// What has moderation results.
pub(crate) fn moderated(results: &RawJson) -> String {
    let results = results.decode::<Map<String, Value>>().unwrap_or_default();
    let present = results.iter().filter(|(_, result)| !result.is_null());
    format!("results: {}", list(present.map(|(of, _)| Plain(of))))
}

/// What is known of the probabilities of the tokens in a choice.
pub(crate) fn logprobs(choice: &Choice) -> Option<String> {
    let logprobs = choice.logprobs.as_ref()?;
    let lists = [&logprobs.content, &logprobs.refusal].into_iter().flatten();
    let lists = lists.filter_map(|list| list.decode::<Vec<TokenLogprob>>().ok());
    match lists.flatten().collect::<Vec<_>>().as_slice() {
        [] => None,
        [
            TokenLogprob {
                logprob: Some(logprob),
                ..
            },
        ] => Some(format!("logprob {logprob:.3}")),
        tokens => Some(format!("{} logprobs", tokens.len())),
    }
}

/// The counts that were sent; of the details those that are not 0.
pub(crate) fn usage(usage: &Usage) -> String {
    let counts = [
        ("prompt", usage.prompt_tokens),
        ("completion", usage.completion_tokens),
        ("total", usage.total_tokens),
    ];
    let of_prompt = usage.prompt_tokens_details.iter().flat_map(|details| {
        [
            ("cached", details.cached_tokens),
            ("cache writes", details.cache_write_tokens),
            ("audio in", details.audio_tokens),
        ]
    });
    let of_completion = usage.completion_tokens_details.iter().flat_map(|details| {
        [
            ("reasoning", details.reasoning_tokens),
            ("audio out", details.audio_tokens),
        ]
    });
    let details = of_prompt
        .chain(of_completion)
        .filter(|(_, count)| *count != Some(0));
    let counts = counts.into_iter().chain(details);
    list(counts.filter_map(|(name, count)| Some(format!("{name} {}", count?))))
}

/// An error, with what the server says.
pub(crate) fn fault(error: &Error) -> String {
    let kind = error.kind().as_str();
    match (error.api(), error.source()) {
        (Some(api), _) => {
            let codes = [named("code", &api.code), named("type", &api.r#type)];
            match list(codes.into_iter().flatten()) {
                codes if codes.is_empty() => format!("{kind}: {}", Long(&api.message)),
                codes => format!("{kind}: {} ({codes})", Long(&api.message)),
            }
        }
        (None, Some(cause)) => format!("{kind}: {error}: {cause}"),
        (None, None) => format!("{kind}: {error}"),
    }
}
