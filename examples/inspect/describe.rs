//! What the timeline says of one thing, in words.

use std::error::Error as _;

use chatwire::chunk::{Audio, Choice, FunctionDelta, TokenLogprob, ToolCallDelta};
use chatwire::{Error, ToolCall, Usage};

use crate::text::{Full, Plain, Quoted, list};

/// A fragment of a tool call: name, `+` and a piece of the arguments, id.
pub(crate) fn tool_call(call: &ToolCallDelta) -> String {
    let mut what = Vec::new();
    if let Some(function) = &call.function {
        what.push(pieces(function));
    }
    if let Some(custom) = &call.custom {
        what.push(["custom", &named_piece(&custom.name, &custom.input)].join(" "));
    }
    what.extend(call.id.as_ref().map(|id| format!("id {}", Plain(id))));
    what.extend(call.slot.is_none().then(|| "(dropped)".to_owned()));
    what.retain(|part| !part.is_empty());
    what.join("  ")
}

/// A fragment of a function call.
pub(crate) fn pieces(function: &FunctionDelta) -> String {
    named_piece(&function.name, &function.arguments)
}

fn named_piece(name: &Option<String>, piece: &Option<String>) -> String {
    let name = name
        .iter()
        .filter(|name| !name.is_empty())
        .map(|name| Quoted(name).to_string());
    let piece = piece
        .iter()
        .filter(|piece| !piece.is_empty())
        .map(|piece| format!("+{}", Plain(piece)));
    name.chain(piece).collect::<Vec<_>>().join(" ")
}

/// A whole call.
pub(crate) fn complete(call: &ToolCall) -> String {
    let id = call
        .id
        .as_ref()
        .map(|id| format!("  id {}", Plain(id)))
        .unwrap_or_default();
    format!("==> {} {}{id}", Quoted(call.name()), Full(call.arguments()))
}

/// A piece of audio.
pub(crate) fn audio(piece: &Audio) -> String {
    let what = piece.id.iter().map(|id| format!("id {}", Plain(id)));
    let what = what.chain(
        piece
            .data
            .iter()
            .map(|data| format!("{} characters of base64", data.len())),
    );
    let what = what.chain(
        piece
            .transcript
            .iter()
            .map(|transcript| Quoted(transcript).to_string()),
    );
    list(what.chain(piece.expires_at.iter().map(|at| format!("expires at {at}"))))
}

/// What is known of the probabilities of the tokens in a choice.
pub(crate) fn logprobs(choice: &Choice) -> Option<String> {
    let logprobs = choice.logprobs.as_ref()?;
    let lists = [&logprobs.content, &logprobs.refusal].into_iter().flatten();
    let tokens: Vec<_> = lists
        .filter_map(|list| list.decode::<Vec<TokenLogprob>>().ok())
        .flatten()
        .collect();
    match tokens.as_slice() {
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
    let prompt = usage.prompt_tokens_details.as_ref();
    let completion = usage.completion_tokens_details.as_ref();
    let counts = [
        ("prompt", usage.prompt_tokens),
        ("completion", usage.completion_tokens),
        ("total", usage.total_tokens),
    ];
    let details = [
        ("cached", prompt.and_then(|prompt| prompt.cached_tokens)),
        (
            "cache writes",
            prompt.and_then(|prompt| prompt.cache_write_tokens),
        ),
        ("audio in", prompt.and_then(|prompt| prompt.audio_tokens)),
        (
            "reasoning",
            completion.and_then(|completion| completion.reasoning_tokens),
        ),
        (
            "audio out",
            completion.and_then(|completion| completion.audio_tokens),
        ),
    ];
    let counts = counts
        .into_iter()
        .filter_map(|(name, count)| Some((name, count?)));
    let details = details
        .into_iter()
        .filter_map(|(name, count)| Some((name, count.filter(|count| *count > 0)?)));
    list(
        counts
            .chain(details)
            .map(|(name, count)| format!("{name} {count}")),
    )
}

/// An error, with what the server says.
pub(crate) fn fault(error: &Error) -> String {
    let kind = error.kind().as_str();
    let Some(api) = error.api() else {
        let cause = error
            .source()
            .map(|cause| format!(": {cause}"))
            .unwrap_or_default();
        return format!("{kind}: {error}{cause}");
    };
    let code = api.code.iter().map(|code| format!("code {}", Plain(code)));
    let r#type = api
        .r#type
        .iter()
        .map(|r#type| format!("type {}", Plain(r#type)));
    match list(code.chain(r#type)) {
        codes if codes.is_empty() => format!("{kind}: {}", Full(&api.message)),
        codes => format!("{kind}: {} ({codes})", Full(&api.message)),
    }
}
