//! Writes events as a server does.

use super::{Answer, Stream};

/// A stream being written.
pub(crate) struct Wire {
    stream: Stream,
}

impl Wire {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            stream: Stream {
                name,
                bytes: Vec::new(),
                ends: Vec::new(),
                answer: Answer::default(),
            },
        }
    }

    pub(crate) fn event(&mut self, payload: &str) {
        let Stream { bytes, ends, .. } = &mut self.stream;
        bytes.extend_from_slice(b"data: ");
        bytes.extend_from_slice(payload.as_bytes());
        bytes.extend_from_slice(b"\n\n");
        ends.push(bytes.len());
    }

    pub(crate) fn done(mut self, answer: Answer) -> Stream {
        self.event("[DONE]");
        self.stream.answer = answer;
        self.stream
    }
}

/// The text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\t' => json.push_str("\\t"),
            _ => json.push(character),
        }
    }
    json.push('"');
    json
}

/// The fields of OpenAI's envelope that are the same in all chunks of an answer.
pub(crate) const ENVELOPE: [(&str, &str); 6] = [
    ("id", r#""chatcmpl-CK8vQ2bSxNf7TjLm4WzRyUeHo1pDa93Gk""#),
    ("object", r#""chat.completion.chunk""#),
    ("created", "1760000000"),
    ("model", r#""gpt-4.1-mini-2025-04-14""#),
    ("service_tier", r#""default""#),
    ("system_fingerprint", r#""fp_6f2eabb9a5""#),
];

/// A chunk with one choice in the full OpenAI shape. `tail` is written after the last field.
pub(crate) fn openai(choice: &str, padding: &str, tail: &str) -> String {
    let envelope = fields(&ENVELOPE);
    format!(r#"{{{envelope},"choices":[{choice}],"obfuscation":"{padding}"{tail}}}"#)
}

/// The inside of an object with these fields. The values are JSON.
pub(crate) fn fields(fields: &[(&str, &str)]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(key, value)| format!(r#""{key}":{value}"#))
        .collect();
    fields.join(",")
}

/// The one choice of a chunk. `logprobs` and `finish_reason` are JSON.
pub(crate) fn choice(delta: &str, logprobs: &str, finish_reason: &str) -> String {
    format!(
        r#"{{"index":0,"delta":{delta},"logprobs":{logprobs},"finish_reason":{finish_reason}}}"#
    )
}
