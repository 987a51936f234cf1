//! A character that a server cuts in two, by UTF-16 units: whole in the answer, wherever text comes.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use chatwire::{ChatCompletion, Deviation, Parser};
use serde_json::Value;

/// Where text comes in a delta, and where it is in the answer. `@` is the text.
const PLACES: [(&str, &str); 14] = [
    (r#"{"content":"@"}"#, "/content"),
    (r#"{"content":["@"]}"#, "/content"),
    (r#"{"content":[{"type":"text","text":"@"}]}"#, "/content"),
    (
        r#"{"content":[{"text":"@","type":"output_text"}]}"#,
        "/content",
    ),
    (
        r#"{"content":[{"type":"thinking","thinking":"@"}]}"#,
        "/reasoning_content",
    ),
    (
        r#"{"content":[{"thinking":[{"text":"@"}],"type":"thinking"}]}"#,
        "/reasoning_content",
    ),
    (r#"{"refusal":"@"}"#, "/refusal"),
    (r#"{"reasoning_content":"@"}"#, "/reasoning_content"),
    (r#"{"thinking":"@"}"#, "/reasoning_content"),
    (
        r#"{"reasoning_details":[{"type":"reasoning.text","text":"@"}]}"#,
        "/reasoning_content",
    ),
    (
        r#"{"reasoning_details":[{"summary":"@"}]}"#,
        "/reasoning_content",
    ),
    (
        r#"{"audio":{"id":"a","transcript":"@"}}"#,
        "/audio/transcript",
    ),
    (
        r#"{"function_call":{"name":"f","arguments":"@"}}"#,
        "/function_call/arguments",
    ),
    (
        r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"@"}}]}"#,
        "/tool_calls/0/function/arguments",
    ),
];

fn answer(deltas: &[String]) -> ChatCompletion {
    let mut parser = Parser::new();
    for delta in deltas {
        parser.feed(
            format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n").as_bytes(),
        );
    }
    parser.feed(b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
    while let Some(item) = parser.next_event() {
        item.unwrap();
    }
    assert!(
        parser
            .deviations()
            .iter()
            .any(|met| met.code == Deviation::LoneSurrogate)
    );
    parser.into_completion()
}

fn text_of(answer: &ChatCompletion, place: &str) -> String {
    let answer = serde_json::to_value(answer).unwrap();
    let text = answer["choices"][0]["message"]
        .pointer(place)
        .and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

#[test]
fn a_character_cut_over_two_deltas_is_whole_wherever_text_comes() {
    for (delta, place) in PLACES {
        let deltas = [
            r"a\ud83d", r"\ude00b", r"\ud83d", r"\ude00", r"\ude00", r"\ud83d", "c",
        ]
        .map(|text| delta.replace('@', text));
        assert_eq!(
            text_of(&answer(&deltas), place),
            "a😀b😀\u{FFFD}\u{FFFD}c",
            "{delta}"
        );
    }
}

#[test]
fn a_character_cut_over_two_entries_of_a_list_is_whole() {
    for (delta, place) in [
        (
            r#"{"content":["a\ud83d",{"type":"text","text":""},{"type":"text","text":"\ude00\ud83d"}]}"#,
            "/content",
        ),
        (
            r#"{"content":[{"type":"thinking","thinking":[{"text":"a\ud83d"},{"text":"\ude00\ud83d"}]}]}"#,
            "/reasoning_content",
        ),
        (
            r#"{"content":[{"type":"thinking","thinking":"a\ud83d"}],"reasoning":"\ude00\ud83d"}"#,
            "/reasoning_content",
        ),
        (
            r#"{"reasoning_details":[{"text":"a\ud83d"},{"text":7},{"summary":"\ude00\ud83d"}]}"#,
            "/reasoning_content",
        ),
    ] {
        let key = if place == "/content" {
            "content"
        } else {
            "reasoning"
        };
        let deltas = [String::from(delta), format!(r#"{{"{key}":"\ude00"}}"#)];
        assert_eq!(text_of(&answer(&deltas), place), "a😀😀", "{delta}");
    }
}
