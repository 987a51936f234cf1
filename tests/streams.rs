//! Every case of the fixtures is read right: whole, at every single cut, in small reads, with empty reads.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use chatwire::{ErrorKind, Event, Parser};
use common::{Outcome, check_completed, differences, for_each_cut, naive, read, streams};

#[test]
fn every_case_is_read_as_it_says() {
    let mut wrong = Vec::new();
    for case in streams() {
        let outcome = read([&case.input[..]]);
        check_completed(&outcome);
        let differences = differences(&case.expect, &outcome.answer());
        if !differences.is_empty() {
            wrong.push(format!("{}: {}", case.id, differences.join("; ")));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn the_naive_oracle_reads_every_case_the_same() {
    for case in streams() {
        assert_eq!(
            read([&case.input[..]]).answer(),
            naive::read(&case.input),
            "{}",
            case.id
        );
    }
}

#[test]
fn every_cut_gives_the_same_events_errors_offsets_frames_and_deviations() {
    for case in streams() {
        let whole = read([&case.input[..]]);
        for_each_cut(&case.input, |how, pieces| {
            let outcome = read(pieces);
            assert_eq!(outcome, whole, "{}, {how}", case.id);
        });
    }
}

/// What is large is left where it was fed; so nothing of it must be looked for there once more was fed.
#[test]
fn large_frames_are_read_as_small_ones_also_if_more_is_fed_between_their_events() {
    type Items = Vec<Result<Event<'static>, ErrorKind>>;
    let kinds = |outcome: &Outcome| -> Items {
        let items = outcome.items.iter();
        items
            .map(|item| item.clone().map_err(|fault| fault.kind))
            .collect()
    };
    let mut count = 0;
    for case in streams() {
        let small = String::from_utf8_lossy(&case.input);
        let large = small.replace("data: {", &format!("data: {}{{", " ".repeat(5000)));
        let whole = read([large.as_bytes()]);
        assert_eq!(
            kinds(&whole),
            kinds(&read([small.as_bytes()])),
            "{}",
            case.id
        );
        assert_eq!(read(large.as_bytes().chunks(1400)), whole, "{}", case.id);
        for size in [700, 5000, 12_000] {
            let mut parser = Parser::new();
            let mut items = Items::new();
            // One event after each read, as long as there is one.
            for read in large.as_bytes().chunks(size) {
                parser.feed(read);
                items.extend(parser.next_owned().map(|item| item.map_err(|e| e.kind())));
            }
            parser.finish();
            while let Some(item) = parser.next_owned() {
                items.push(item.map_err(|error| error.kind()));
            }
            assert_eq!(items, kinds(&whole), "{}, {size} bytes a read", case.id);
            count += usize::from(large.len() > size);
        }
    }
    assert!(count > 300, "{count}");
}

#[test]
fn a_bare_end_marker_has_its_own_place_at_every_cut() {
    for stream in [
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n[DONE]\nmore and more",
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n[DONE]\nmore and more",
        "[DONE]\n",
        "no stream\n[DONE]\n",
    ] {
        let whole = read([stream.as_bytes()]);
        assert!(whole.answer().done_marker);
        assert!(
            whole.frames.last().unwrap().is_some(),
            "the end came from a line"
        );
        for_each_cut(stream.as_bytes(), |how, pieces| {
            assert_eq!(read(pieces), whole, "{stream:?}, {how}")
        });
    }
}

#[test]
fn each_call_in_a_whole_message_is_a_call_of_its_own() {
    let calls = r#"[{"function":{"name":"f","arguments":""}},{"function":{"name":"g","arguments":""}},
        {"id":"a","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"a","function":{"name":"f","arguments":"{\"a\":1}"}},
        {"function":{"name":"f","arguments":"{"}},{"function":{"arguments":"{}"}}]"#
        .replace('\n', "");
    let body = format!(
        r#"{{"object":"chat.completion","choices":[{{"index":0,"message":{{"role":"assistant","content":null,"tool_calls":{calls}}},"finish_reason":"tool_calls"}}]}}"#
    );
    let outcome = read([body.as_bytes()]);
    let calls = &outcome.completion.choices[0].message.tool_calls;
    let texts: Vec<_> = calls
        .iter()
        .map(|call| (call.name(), call.arguments()))
        .collect();
    let whole = ("f", "{\"a\":1}");
    assert_eq!(
        texts,
        [("f", ""), ("g", ""), whole, whole, ("f", "{"), ("", "{}")]
    );
    assert_eq!(outcome.completed().len(), 4);
    // What was read of it is read of what it serialises to.
    let json = serde_json::to_string(&outcome.completion).unwrap();
    let again: chatwire::ChatCompletion = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), json);
    let message = serde_json::to_string(&outcome.completion.choices[0].message).unwrap();
    let message: chatwire::completion::Message = serde_json::from_str(&message).unwrap();
    assert_eq!(message.tool_calls.len(), 6);
}

#[test]
fn a_message_alone_is_read_beside_a_choice_that_has_both() {
    let payload = r#"{"choices":[{"index":0,"delta":{"content":"d"},"message":{"content":"total"}},{"index":1,"message":{"content":"y"}}]}"#;
    let outcome = read([format!("data: {payload}\n\n").as_bytes()]);
    let texts: Vec<_> = outcome
        .completion
        .choices
        .iter()
        .map(|choice| choice.message.content.as_deref())
        .collect();
    assert_eq!(texts, [Some("d"), Some("y")]);
}

/// The answer of chunks that are these.
fn answer(chunks: &[String]) -> chatwire::ChatCompletion {
    let frames: String = chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect();
    read([frames.as_bytes()]).completion
}

#[test]
fn the_results_of_moderation_add_up_and_what_says_nothing_takes_nothing_away() {
    let moderation = |results: &[&str]| {
        let chunk = |results: &&str| format!(r#"{{"choices":[],"moderation":{results}}}"#);
        let chunks: Vec<_> = results.iter().map(chunk).collect();
        let moderation = answer(&chunks).moderation.unwrap();
        serde_json::from_str::<serde_json::Value>(moderation.as_str()).unwrap()
    };
    let (input, output) = (r#"{"input":[1]}"#, r#"{"output":[2]}"#);
    for (results, want) in [
        (&[input, output][..], r#"{"input":[1],"output":[2]}"#),
        (&[input, input], input),
        (&[input, "{}"], input),
        (&[input, "[7]"], input),
        (&["{}", input], input),
        (&[input, r#"{"input":null}"#], input),
        (&[input, r#"{"input":[3]}"#], r#"{"input":[3]}"#),
        (
            &[input, r#"{"input":null,"output":[2]}"#, r#"{"output":4}"#],
            r#"{"input":[1],"output":4}"#,
        ),
    ] {
        let want: serde_json::Value = serde_json::from_str(want).unwrap();
        assert_eq!(moderation(results), want, "{results:?}");
    }
}

#[test]
fn unknown_fields_of_deltas_merge_by_their_type() {
    for (one, another, want) in [
        (r#""a""#, r#""b""#, r#""ab""#),
        (r#""a""#, r#""""#, r#""a""#),
        (r#""a""#, "null", r#""a""#),
        ("null", "1", "1"),
        ("[1]", "[2,3]", "[1,2,3]"),
        (
            r#"{"x":"a","y":1}"#,
            r#"{"x":"b","z":2}"#,
            r#"{"x":"ab","y":1,"z":2}"#,
        ),
        (r#"{"x":[1]}"#, r#"{"x":null}"#, r#"{"x":[1]}"#),
        ("1", "2", "2"),
        ("true", "false", "false"),
        ("[1]", "2", "2"),
        (r#"{"name":"a"}"#, r#"{"name":"b"}"#, r#"{"name":"b"}"#),
        (r#"{"name":"a"}"#, r#"{"name":""}"#, r#"{"name":"a"}"#),
        (r#"{"name":""}"#, r#"{"name":"b"}"#, r#"{"name":"b"}"#),
    ] {
        let of = |value: &str| format!(r#"{{"choices":[{{"delta":{{"k":{value}}}}}]}}"#);
        let answer = answer(&[of(one), of(another)]);
        let want: serde_json::Value = serde_json::from_str(want).unwrap();
        let got = answer.choices[0].message.extra.get("k");
        assert_eq!(got, Some(want), "{one} {another}");
    }
}

#[test]
fn of_usage_twice_in_x_groq_the_last_counts() {
    let payload =
        r#"{"choices":[],"x_groq":{"usage":{"total_tokens":3},"usage":{"total_tokens":4}}}"#;
    let outcome = read([format!("data: {payload}\n\n").as_bytes()]);
    assert_eq!(outcome.completion.usage.unwrap().total_tokens, Some(4));
}

#[test]
fn of_a_key_twice_in_a_part_of_a_list_the_last_counts() {
    let thinking = |value: &str| format!(r#""thinking":{value}"#);
    let last_values = [
        ("null", ""),
        ("7", ""),
        ("[]", ""),
        ("\"b\"", "b"),
        (r#"[{"text":"c"},7,{"text":8}]"#, "c"),
    ];
    for (last, reasoning) in last_values {
        for first in ["\"a\"", r#"[{"text":"a"}]"#] {
            let (first, last) = (thinking(first), thinking(last));
            let payload = format!(
                r#"{{"choices":[{{"delta":{{"content":[{{"type":"thinking",{first},{last}}}]}}}}]}}"#
            );
            let outcome = read([format!("data: {payload}\n\n").as_bytes()]);
            let message = &outcome.completion.choices[0].message;
            let read = message.reasoning_content.as_deref().unwrap_or_default();
            assert_eq!(read, reasoning, "{payload}");
        }
    }
}

#[test]
fn of_the_names_of_reasoning_the_first_that_is_not_empty_counts() {
    for (delta, reasoning) in [
        (r#""reasoning":"b","reasoning_content":"a""#, "a"),
        (
            r#""reasoning_content":"","thinking":"d","reasoning":"b""#,
            "b",
        ),
        (
            r#""reasoning_content":"a","reasoning":"b","reasoning_content":"""#,
            "b",
        ),
        (
            r#""reasoning":"b","reasoning":null,"reasoning_text":"c""#,
            "c",
        ),
        (
            r#""thinking":"d","reasoning_details":[{"text":"e"}],"thinking":7"#,
            "e",
        ),
    ] {
        let outcome =
            read([format!("data: {{\"choices\":[{{\"delta\":{{{delta}}}}}]}}\n\n").as_bytes()]);
        let message = &outcome.completion.choices[0].message;
        assert_eq!(
            message.reasoning_content.as_deref(),
            Some(reasoning),
            "{delta}"
        );
    }
}

#[test]
fn every_known_key_that_comes_twice_is_noted() {
    for payload in [
        r#"{"choices":[],"choices":[]}"#,
        r#"{"choices":[{"index":0,"index":0}]}"#,
        r#"{"choices":[{"usage":null,"usage":null}]}"#,
        r#"{"choices":[{"delta":{},"delta":{}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[],"tool_calls":[]}}]}"#,
        r#"{"choices":[{"delta":{"thinking":"a","thinking":"a"}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"index":0}]}}]}"#,
        r#"{"choices":[],"usage":{"total_tokens":1,"total_tokens":1}}"#,
    ] {
        let outcome = read([format!("data: {payload}\n\n").as_bytes()]);
        let set = outcome.deviations.set();
        assert!(set.contains(chatwire::Deviation::DuplicateKey), "{payload}");
    }
}

/// A stream, and the errors of it: kind and offset.
type Told<'a> = (&'a [u8], &'a [(ErrorKind, u64)]);

#[test]
fn what_stands_around_stray_lines_keeps_its_place_and_its_order() {
    use chatwire::{Deviation, DeviationSet, ErrorKind, Options};
    let mut options = Options::default();
    options.limits.max_frame_bytes = 60;
    options.strict = DeviationSet::from_iter([
        Deviation::BareDone,
        Deviation::InvalidUtf8,
        Deviation::PayloadBlank,
    ]);
    let long = "0".repeat(100);
    let run = format!("{{\n {long}\n\ndata: {{}}\n\n");
    let ended_run = format!("data: {{}}\n\n{{\nerror: {long}\n\n");
    let wanted: [Told<'_>; 5] = [
        (
            ended_run.as_bytes(),
            &[
                (ErrorKind::Malformed, 10),
                (ErrorKind::TooLarge, 12),
                (ErrorKind::Truncated, 121),
            ],
        ),
        (
            b"data: \xff\n[DONE]\n",
            &[
                (ErrorKind::Deviation, 0),
                (ErrorKind::Malformed, 0),
                (ErrorKind::Deviation, 8),
            ],
        ),
        (
            b"data:\n[DONE]\n",
            &[(ErrorKind::Deviation, 0), (ErrorKind::Deviation, 6)],
        ),
        (
            run.as_bytes(),
            &[(ErrorKind::TooLarge, 0), (ErrorKind::Truncated, 115)],
        ),
        (
            b"junk\n{\"choices\":[]} [DONE]\n",
            &[(ErrorKind::NotEventStream, 0)],
        ),
    ];
    for (stream, wanted) in wanted {
        let whole = common::read_with(options, [stream], common::End::Finish);
        let told: Vec<_> = whole
            .items
            .iter()
            .filter_map(|item| item.as_ref().err())
            .map(|fault| (fault.kind, fault.offset))
            .collect();
        assert_eq!(told, wanted, "{:?}", String::from_utf8_lossy(stream));
        for_each_cut(stream, |how, pieces| {
            assert_eq!(
                common::read_with(options, pieces, common::End::Finish),
                whole,
                "{how}"
            );
        });
    }
    // The id of a run is that of its beginning, wherever the id after it is cut.
    let stream = b"id: 0\n\n{\nid:1\n\n";
    let whole = read([&stream[..]]);
    assert_eq!(whole.frames[0].as_ref().unwrap().2, "0");
    for_each_cut(stream, |how, pieces| {
        assert_eq!(read(pieces), whole, "{how}")
    });
}
