//! Every deviation has a fixture, and the README says what the code says.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::fs;
use std::path::Path;

use base64::Engine;
use chatwire::{Deviation, DeviationSet, ErrorKind, Event, Options};
use common::{End, cases, fixtures, for_each_cut, read, read_with};
use serde_json::Value;

/// A stream for each deviation, named as its code, and all that it deviates in.
fn deviant_streams() -> Vec<(Deviation, Vec<u8>, DeviationSet)> {
    let text = fs::read_to_string(fixtures().join("deviations.jsonl")).unwrap();
    let rows = text
        .split('\n')
        .filter(|line| !line.is_empty())
        .map(|line| {
            let row: Value = serde_json::from_str(line).unwrap();
            let code = |value: &Value| {
                Deviation::from_code(value.as_str().unwrap())
                    .unwrap_or_else(|| panic!("no code: {value}"))
            };
            let input = match row.get("input") {
                Some(input) => input.as_str().unwrap().as_bytes().to_vec(),
                None => base64::engine::general_purpose::STANDARD
                    .decode(row["input_b64"].as_str().unwrap())
                    .unwrap(),
            };
            let set = row["deviations"]
                .as_array()
                .unwrap()
                .iter()
                .map(code)
                .collect();
            (code(&row["id"]), input, set)
        });
    rows.collect()
}

#[test]
fn each_deviation_is_met_in_its_fixture_and_no_other_is() {
    let streams = deviant_streams();
    for (code, input, expected) in &streams {
        let outcome = read([&input[..]]);
        assert!(expected.contains(*code));
        assert_eq!(outcome.deviations.set(), *expected, "{code}");
        for_each_cut(input, |how, pieces| {
            assert_eq!(read(pieces), outcome, "{code}, {how}")
        });
    }
    let codes: Vec<_> = streams.iter().map(|(code, ..)| *code).collect();
    assert_eq!(
        codes,
        Deviation::ALL,
        "one fixture for each, in their order"
    );
}

#[test]
fn what_openai_sends_deviates_in_nothing() {
    let plain = [
        "answer",
        "tool_calls",
        "two_choices",
        "usage_last",
        "refusal",
        "logprobs",
        "audio",
        "custom_tool",
        "moderation",
        "annotations",
        "legacy_function_call",
    ];
    let plain = plain.map(|name| format!("{name}.sse"));
    let mut seen = 0;
    for case in cases(&fixtures().join("streams_expected.jsonl")) {
        if plain.contains(&case.id) {
            seen += 1;
            let outcome = read([&case.input[..]]);
            assert_eq!(outcome.deviations.set(), DeviationSet::new(), "{}", case.id);
        }
    }
    assert_eq!(seen, plain.len());
}

#[test]
fn a_strict_deviation_is_an_error_before_the_events_of_its_frame_which_still_come() {
    for (code, input, _) in deviant_streams() {
        let mut options = Options::default();
        options.strict.insert(code);
        let strict = read_with(options, [&input[..]], End::Finish);
        let lenient = read([&input[..]]);
        let met = lenient
            .deviations
            .iter()
            .find(|met| met.code == code)
            .unwrap();
        let of_strict = strict
            .items
            .iter()
            .filter(|item| matches!(item, Err(fault) if fault.kind == ErrorKind::Deviation));
        assert_eq!(of_strict.clone().count() as u64, met.count, "{code}");
        let first = of_strict.clone().next().unwrap().as_ref().unwrap_err();
        assert_eq!(first.offset, met.offset, "{code}");
        let without: Vec<_> = strict
            .items
            .iter()
            .filter(|item| !matches!(item, Err(fault) if fault.kind == ErrorKind::Deviation))
            .collect();
        assert_eq!(without, lenient.items.iter().collect::<Vec<_>>(), "{code}");
        assert_eq!(strict.completion, lenient.completion);
        // Nothing that came from the frame came before the error.
        for (at, item) in strict.items.iter().enumerate() {
            let Err(fault) = item else { continue };
            if fault.kind == ErrorKind::Deviation {
                let before = strict.items[..at].iter().zip(&strict.frames);
                for (earlier, frame) in before {
                    let is_of_frame = frame
                        .as_ref()
                        .is_some_and(|(.., range)| range.start == fault.offset);
                    assert!(
                        !is_of_frame || !matches!(earlier, Ok(Event::ChunkParsed(_))),
                        "{code}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_table_in_the_readme_is_the_table_in_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- deviations -->\n", "<!-- /deviations -->");
    let (head, rest) = readme.split_once(begin).unwrap();
    let (table, tail) = rest.split_once(end).unwrap();
    let mut expected = String::from(
        "| code | what it is, and how it was read | sent by | breaks |\n|---|---|---|---|\n",
    );
    for code in Deviation::ALL {
        let row = [
            code.as_str(),
            code.description(),
            code.sent_by(),
            code.breaks(),
        ];
        expected += &format!("| `{}` | {} | {} | {} |\n", row[0], row[1], row[2], row[3]);
    }
    if std::env::var_os("CHATWIRE_WRITE_README").is_some() {
        fs::write(&path, format!("{head}{begin}{expected}{end}{tail}")).unwrap();
    } else {
        assert_eq!(
            table, expected,
            "CHATWIRE_WRITE_README=1 cargo test --test deviations writes it anew"
        );
    }
}

#[test]
fn codes_are_unique_and_found_by_their_name() {
    for (at, code) in Deviation::ALL.iter().enumerate() {
        assert_eq!(Deviation::from_code(code.as_str()), Some(*code));
        assert!(
            code.as_str()
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        );
        assert_eq!(DeviationSet::all().iter().nth(at), Some(*code));
    }
}

/// Where fields are, at `@`, what is good there, and which kinds of values are not: `b`ool, `n`umber, `t`ext, `l`ist, `o`bject.
const FIELDS: [(&str, &str, &str); 35] = [
    (r#"{@,"choices":[]}"#, r#""id":"a""#, "bnlo"),
    (r#"{@,"choices":[]}"#, r#""object":"a""#, "bnlo"),
    (r#"{@,"choices":[]}"#, r#""created":1"#, "btlo"),
    (r#"{@,"choices":[]}"#, r#""model":"a""#, "bnlo"),
    (r#"{@,"choices":[]}"#, r#""service_tier":"a""#, "bnlo"),
    (r#"{@,"choices":[]}"#, r#""system_fingerprint":"a""#, "bnlo"),
    (r#"{@,"choices":[]}"#, r#""obfuscation":"a""#, "bnlo"),
    (
        r#"{@,"choices":[]}"#,
        r#""usage":{"total_tokens":1}"#,
        "bntl",
    ),
    (
        r#"{"choices":[],"usage":{@}}"#,
        r#""total_tokens":1"#,
        "btlo",
    ),
    (
        r#"{"choices":[],"usage":{@}}"#,
        r#""prompt_tokens_details":{"cached_tokens":1}"#,
        "bntl",
    ),
    (
        r#"{"choices":[],"usage":{"completion_tokens_details":{@}}}"#,
        r#""reasoning_tokens":1"#,
        "btlo",
    ),
    (
        r#"{"choices":[{@}]}"#,
        r#""message":{"content":"a"}"#,
        "bntl",
    ),
    (r#"{"choices":[{@}]}"#, r#""finish_reason":"stop""#, "bnlo"),
    (r#"{"choices":[{@}]}"#, r#""finishReason":"stop""#, "bnlo"),
    (
        r#"{"choices":[{@}]}"#,
        r#""logprobs":{"content":[]}"#,
        "bntl",
    ),
    (
        r#"{"choices":[{"logprobs":{@}}]}"#,
        r#""content":[1]"#,
        "bnto",
    ),
    (r#"{"choices":[{"delta":{@}}]}"#, r#""role":"a""#, "bnlo"),
    (r#"{"choices":[{"delta":{@}}]}"#, r#""content":"a""#, "bno"),
    (r#"{"choices":[{"delta":{@}}]}"#, r#""refusal":"a""#, "bnlo"),
    (
        r#"{"choices":[{"delta":{@}}]}"#,
        r#""reasoning_content":"a""#,
        "bnlo",
    ),
    (
        r#"{"choices":[{"delta":{@}}]}"#,
        r#""tool_calls":[{}]"#,
        "bnt",
    ),
    (
        r#"{"choices":[{"delta":{@}}]}"#,
        r#""function_call":{"name":"f"}"#,
        "bntl",
    ),
    (
        r#"{"choices":[{"delta":{@}}]}"#,
        r#""audio":{"id":"a"}"#,
        "bntl",
    ),
    (
        r#"{"choices":[{"delta":{@}}]}"#,
        r#""annotations":[1]"#,
        "bnto",
    ),
    (
        r#"{"choices":[{"delta":{"audio":{@}}}]}"#,
        r#""transcript":"a""#,
        "bnlo",
    ),
    (
        r#"{"choices":[{"delta":{"audio":{@}}}]}"#,
        r#""expires_at":1"#,
        "btlo",
    ),
    (
        r#"{"choices":[{"delta":{"tool_calls":[{@}]}}]}"#,
        r#""id":"a""#,
        "bnlo",
    ),
    (
        r#"{"choices":[{"delta":{"tool_calls":[{@}]}}]}"#,
        r#""type":"a""#,
        "bnlo",
    ),
    (
        r#"{"choices":[{"delta":{"tool_calls":[{@}]}}]}"#,
        r#""function":{"name":"f"}"#,
        "bntl",
    ),
    (
        r#"{"choices":[{"delta":{"tool_calls":[{@}]}}]}"#,
        r#""custom":{"name":"f"}"#,
        "bntl",
    ),
    (
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{@}}]}}]}"#,
        r#""name":"f""#,
        "bnlo",
    ),
    (
        r#"{"choices":[{"delta":{"tool_calls":[{"custom":{@}}]}}]}"#,
        r#""name":"f""#,
        "bnlo",
    ),
    // Lists and objects are taken as the JSON that they are.
    (
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{@}}]}}]}"#,
        r#""arguments":"a""#,
        "bn",
    ),
    (
        r#"{"choices":[{"delta":{"tool_calls":[{"custom":{@}}]}}]}"#,
        r#""input":"a""#,
        "bn",
    ),
    (
        r#"{"choices":[{"delta":{"function_call":{@}}}]}"#,
        r#""arguments":"a""#,
        "bn",
    ),
];

/// The first event of a payload, and what was tolerated in it.
fn decoded(payload: &str) -> (Event<'static>, DeviationSet) {
    let outcome = read([format!("data: {payload}\n\n").as_bytes()]);
    (outcome.items[0].clone().unwrap(), outcome.deviations.set())
}

#[test]
fn a_value_of_a_wrong_type_is_as_none_also_where_a_good_one_came_before() {
    for (place, good, kinds) in FIELDS {
        let (name, _) = good.split_once(':').unwrap();
        let none = decoded(&place.replace('@', &format!("{name}:null")));
        assert_ne!(decoded(&place.replace('@', good)).0, none.0, "{good}");
        for kind in kinds.chars() {
            let values: &[&str] = match kind {
                'b' => &["true", "false"],
                'n' => &["7", "-7", "7.5", "1e300"],
                't' => &["\"x\"", "\"\\n\""],
                'l' => &["[]", "[[7]]"],
                _ => &["{}", "{\"a\":{\"b\":7}}"],
            };
            for value in values {
                let wrong = format!("{name}:{value}");
                let (event, set) = decoded(&place.replace('@', &wrong));
                assert_eq!(event, none.0, "{place} {wrong}");
                let told = none
                    .1
                    .union(DeviationSet::from_iter([Deviation::WrongType]));
                assert_eq!(set, told, "{place} {wrong}");
                let (event, set) = decoded(&place.replace('@', &format!("{good},{wrong}")));
                assert_eq!(event, none.0, "{place} {good}, {wrong}");
                assert!(
                    set.contains(Deviation::WrongType),
                    "{place} {good}, {wrong}"
                );
            }
        }
    }
}
