//! Each limit: what is exactly at it is read; what is over it is told once, in its place, and costs only itself.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::std_instead_of_core, clippy::std_instead_of_alloc, clippy::cast_possible_truncation)]
#![cfg_attr(rustfmt, rustfmt_skip)] // tables, laid out by hand, 130 wide

mod common;

use chatwire::{Deviation, Event, Limit, Limits, Options};
use common::{End, Outcome, for_each_cut, read, read_with};

fn limited(set: impl FnOnce(&mut Limits)) -> Options {
    let mut options = Options::default();
    set(&mut options.limits);
    options
}

fn read_limited(stream: &str, set: impl FnOnce(&mut Limits)) -> Outcome {
    read_with(limited(set), [stream.as_bytes()], End::Finish)
}

/// The items in short: `chunk 0`, `max_choices 85`, `call 0/1`, `done`.
fn said(outcome: &Outcome) -> Vec<String> {
    let said = outcome.items.iter().zip(&outcome.frames).map(|(item, frame)| {
        let at = || frame.as_ref().unwrap().3.start;
        match item {
            Ok(Event::ChunkParsed(_)) => format!("chunk {}", at()),
            Ok(Event::ToolCallComplete { choice, slot, .. }) => format!("call {choice}/{slot}"),
            Ok(Event::UsageFrame(_)) => format!("usage {}", at()),
            Ok(_) => "done".to_owned(),
            Err(fault) => {
                let name = fault.limit.map_or(fault.kind.as_str(), Limit::as_str);
                format!("{name} {}", fault.offset)
            }
        }
    });
    said.collect()
}

fn frame(json: &str) -> String {
    format!("data: {json}\n\n")
}

fn delta(json: &str) -> String {
    frame(&format!(r#"{{"choices":[{{"index":0,"delta":{{{json}}}}}]}}"#))
}

/// A frame of 57 bytes that adds an `a`.
const A: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

#[test]
fn a_line_at_max_frame_bytes_is_read_and_one_byte_more_is_skipped_to_the_blank_line() {
    let line = A.len() - 2;
    for field in ["data: ", "event: ", "id: ", "retry: ", "unknown: ", ""] {
        let long = format!("{field}{}", "x".repeat(line + 1 - field.len()));
        let stream = format!("{A}id: 7\n{long}\ndata: lost\n\n{A}{DONE}");
        let after = 57 + 6 + long.len() + 1 + 12;
        let want = ["chunk 0", "max_frame_bytes 57", &format!("chunk {after}"), "done"];
        let options = limited(|limits| limits.max_frame_bytes = line);
        for_each_cut(stream.as_bytes(), |how, pieces| {
            let outcome = read_with(options, pieces, End::Finish);
            assert_eq!(said(&outcome), want, "{field}{how}");
            assert_eq!(outcome.completion.text(), "aa");
        });
    }
}

#[test]
fn a_frame_like_the_one_before_it_is_held_to_the_limit_too() {
    let of = |len: usize| delta(&format!(r#""content":"{}""#, "x".repeat(len)));
    for line_end in ["\n", "\r\n"] {
        for over in 0..8 {
            let (small, large) = (of(3).repeat(3).replace('\n', line_end), of(10 + over).replace('\n', line_end));
            let max = large.len() - 2 * line_end.len() - over;
            let stream = format!("{small}{large}{small}");
            let (at, after) = (small.len(), small.len() + large.len());
            let want = if over == 0 { format!("chunk {at}") } else { format!("max_frame_bytes {at}") };
            for size in [1, 64, usize::MAX] {
                let options = limited(|limits| limits.max_frame_bytes = max);
                let said = said(&read_with(options, stream.as_bytes().chunks(size), End::Finish));
                assert_eq!((said[3].as_str(), &said[4]), (want.as_str(), &format!("chunk {after}")), "{over} {size}");
            }
        }
    }
}

#[test]
fn the_data_lines_of_a_frame_count_together() {
    let padding = format!(r#""padding":"{}"}}"#, "x".repeat(40));
    let lines = [r#"{"choices":[{"#, r#""delta":{"content":"b"}}],"#, &padding];
    let joined = lines.join("\n").len();
    let stream = format!("{A}data: {}\n\n{A}{DONE}", lines.join("\ndata: "));
    for (max, want, text) in [(joined, "chunk 57", "aba"), (joined - 1, "max_frame_bytes 57", "aa")] {
        let options = limited(|limits| limits.max_frame_bytes = max);
        for_each_cut(stream.as_bytes(), |how, pieces| {
            let outcome = read_with(options, pieces, End::Finish);
            assert_eq!(said(&outcome)[..2], ["chunk 0", want], "{max}: {how}");
            assert_eq!((said(&outcome).len(), outcome.completion.text()), (4, text));
        });
    }
}

#[test]
fn data_event_name_and_id_of_a_frame_count_together() {
    let json = r#"{"choices":[{"delta":{"content":"b"}}]}"#;
    for lines in [["event: ", "id: ", "data: "], ["data: ", "id: ", "event: "], ["id: ", "data: ", "event: "]] {
        // What is replaced does not count; what was sent with an earlier frame does not either.
        let (id, event) = ("i".repeat(30), "e".repeat(20));
        let line = |name: &str| match name {
            "id: " => format!("id: {}\nid: {id}\n", "j".repeat(40)),
            "event: " => format!("event: {event}\n"),
            _ => format!("data: {json}\n"),
        };
        let stream = format!("id: {}\n{A}{}\n{A}", "k".repeat(20), lines.map(line).concat());
        let total = json.len() + 50;
        for (max, text) in [(total, "aba"), (total - 1, "aa")] {
            let options = limited(|limits| limits.max_frame_bytes = max);
            for_each_cut(stream.as_bytes(), |how, pieces| {
                let outcome = read_with(options, pieces, End::Finish);
                assert_eq!(outcome.completion.text(), text, "{lines:?}, {max}: {how}");
                assert_eq!(said(&outcome).iter().filter(|said| said.starts_with("max_frame_bytes")).count(), usize::from(text == "aa"));
            });
        }
    }
}

#[test]
fn bytes_that_are_no_text_count_as_the_text_they_become() {
    // A bad byte is three bytes of text.
    for (head, tail, beside) in [("data: {\"", "\":[],\"choices\":[]}\n\n", 19), ("data: 1\nid: ", "\n\n", 1), ("data: 1\nevent: ", "\n\n", 1), ("{\"", "\":0}\n\n", 6)] {
        for bad in 1..=40 {
            let stream = [head.as_bytes(), &vec![0xff; bad], tail.as_bytes(), A.as_bytes()].concat();
            let outcome = read_with(limited(|limits| limits.max_frame_bytes = 75), [&stream[..]], End::Finish);
            let decoded = beside + 3 * bad;
            let is_over = said(&outcome).contains(&"max_frame_bytes 0".to_owned());
            assert_eq!(outcome.completion.text(), "a", "{head}: {bad}");
            assert_eq!(is_over, decoded > 75, "{head}: {bad}: {decoded}: {:?}", said(&outcome));
        }
    }
}

#[test]
fn a_comment_of_any_length_is_no_error() {
    let long = format!(":{}", "x".repeat(500));
    let stream = format!("{long}\n{long}\r\n{A}{long}\n{}{long}\n\n{DONE}{long}", &A[..A.len() - 1]);
    let options = limited(|limits| limits.max_frame_bytes = 60);
    for_each_cut(stream.as_bytes(), |how, pieces| {
        let outcome = read_with(options, pieces, End::Finish);
        assert_eq!(said(&outcome), ["chunk 1005", "chunk 1564", "done"], "{how}");
    });
}

#[test]
fn a_run_of_bare_lines_over_max_frame_bytes_is_told_once() {
    let lines = ["{", r#""choices":"#, r#"[{"delta":{"content":"b"}}],"#, r#""padding":"xxxxxxxx"}"#];
    let run = lines.join("\n");
    let stream = format!("{A}{run}\n{A}{DONE}");
    let after = format!("chunk {}", 57 + run.len() + 1);
    for (max, want, text) in [(run.len(), "chunk 57", "aba"), (run.len() - 1, "max_frame_bytes 57", "aa")] {
        let options = limited(|limits| limits.max_frame_bytes = max);
        for_each_cut(stream.as_bytes(), |how, pieces| {
            let outcome = read_with(options, pieces, End::Finish);
            assert_eq!(said(&outcome), ["chunk 0", want, &after, "done"], "{max}: {how}");
            assert_eq!(outcome.completion.text(), text);
            assert_eq!(outcome.deviations.set().contains(Deviation::BareJson), text == "aba", "{max}: {how}");
        });
    }
}

#[test]
fn a_run_of_bare_lines_that_is_no_json_is_no_event_stream_unless_fields_came() {
    const BARE: &str = "{\"a\":\nnot so}\n";
    for (stream, want) in [
        (BARE.to_owned(), &["not_event_stream 0", "truncated 14"][..]),
        (BARE.to_owned() + "[DONE]\n", &["not_event_stream 0", "done"]),
        (A.to_owned() + BARE, &["chunk 0", "malformed 57", "truncated 71"]),
        (A.to_owned() + BARE + DONE, &["chunk 0", "malformed 57", "done"]),
    ] {
        for_each_cut(stream.as_bytes(), |how, pieces| assert_eq!(said(&read(pieces)), want, "{stream:?}, {how}"));
    }
}

#[test]
fn a_run_of_bare_lines_is_judged_before_a_field_that_is_too_long() {
    let stream = format!("{{\n\ndata: {}\n\n{A}{DONE}", "x".repeat(60));
    let options = limited(|limits| limits.max_frame_bytes = 60);
    for_each_cut(stream.as_bytes(), |how, pieces| {
        let want = ["malformed 0", "max_frame_bytes 3", "chunk 71", "done"];
        assert_eq!(said(&read_with(options, pieces, End::Finish)), want, "{how}");
    });
}

#[test]
fn text_up_to_max_completion_bytes_is_kept_and_the_first_chunk_over_it_is_told() {
    let stream = A.repeat(4) + r#"data: {"choices":[{"delta":{},"finish_reason":"stop"}]}"# + "\n\n" + DONE;
    let chunks = ["chunk 0", "chunk 57", "chunk 114", "chunk 171", "chunk 228", "done"];
    let exact = read_limited(&stream, |limits| limits.max_completion_bytes = 4);
    assert_eq!((said(&exact), exact.completion.text()), (chunks.map(String::from).to_vec(), "aaaa"));
    let over = read_limited(&stream, |limits| limits.max_completion_bytes = 2);
    let mut want = chunks.to_vec();
    want.insert(2, "max_completion_bytes 114");
    assert_eq!((said(&over), over.completion.text()), (want.iter().map(|said| (*said).to_owned()).collect(), "aa"));
    assert!(over.completion.choices[0].finish_reason.is_some(), "it is not text");
}

#[test]
fn a_call_whose_text_was_cut_never_completes() {
    let call = |json: &str| delta(&format!(r#""tool_calls":[{{"index":0,{json}}}]"#));
    let end = frame(r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#) + DONE;
    let named = r#""function":{"name":"f","arguments":"[1]"}"#;
    let streams = [
        call(r#""id":"i","function":{"name":"f","arguments":"[1"}"#) + &call(r#""function":{"arguments":",2]"}"#),
        call(r#""id":"i","function":{"name":"f","arguments":""}"#) + &call(r#""function":{"arguments":"[1,2,3]"}"#),
        call(r#""id":"i","custom":{"name":"f","input":"go"}"#) + &call(r#""custom":{"input":"od morning"}"#),
        call(r#""id":"i","function":{"name":"a_long_name","arguments":"[]"}"#),
        call(r#""id":"a_long_id""#) + &call(named),
        call(named) + &call(r#""id":"a_long_id""#),
    ];
    for stream in streams {
        let stream = stream + &end;
        let whole = read([stream.as_bytes()]);
        assert_eq!(whole.completed().len(), 1, "{stream}");
        let cut = read_limited(&stream, |limits| limits.max_completion_bytes = 5);
        assert_eq!(cut.completed(), [], "{stream}");
        let Some(Ok(Event::Done(done))) = cut.items.last() else { panic!("{stream}") };
        assert_eq!(done.incomplete_calls().len(), 1, "{stream}");
    }
}

/// Chunks that add something long to the completion: `@` is the text.
const GROWTH: [&str; 31] = [
    r#"{"choices":[{"delta":{"content":"@"}}]}"#,
    r#"{"choices":[{"delta":{"refusal":"@"}}]}"#,
    r#"{"choices":[{"delta":{"reasoning":"@"}}]}"#,
    r#"{"choices":[{"delta":{"annotations":["@"]}}]}"#,
    r#"{"choices":[{"delta":{"audio":{"data":"@"}}}]}"#,
    r#"{"choices":[{"delta":{"audio":{"transcript":"@"}}}]}"#,
    r#"{"choices":[{"delta":{"audio":{"id":"@"}}}]}"#,
    r#"{"choices":[{"delta":{"audio":{"@":1}}}]}"#,
    r#"{"choices":[{"delta":{"role":"@"}}]}"#,
    r#"{"choices":[{"delta":{"x":"@"}}]}"#,
    r#"{"choices":[{"delta":{"@":1}}]}"#,
    r#"{"choices":[{"delta":{"function_call":{"name":"@"}}}]}"#,
    r#"{"choices":[{"delta":{"function_call":{"arguments":"@"}}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"id":"@"}]}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"type":"@"}]}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"@":1}]}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"custom":{"input":"@"}}]}}]}"#,
    r#"{"choices":[{"delta":{},"logprobs":{"content":["@"]}}]}"#,
    r#"{"choices":[{"delta":{},"logprobs":{"@":1}}]}"#,
    r#"{"choices":[{"delta":{},"finish_reason":"@"}]}"#,
    r#"{"choices":[{"delta":{},"@":1}]}"#,
    r#"{"choices":[],"@":1}"#,
    r#"{"choices":[],"id":"@"}"#,
    r#"{"choices":[],"model":"@"}"#,
    r#"{"choices":[],"service_tier":"@"}"#,
    r#"{"choices":[],"system_fingerprint":"@"}"#,
    r#"{"choices":[],"moderation":{"@":1}}"#,
    r#"{"choices":[],"usage":{"total_tokens":1,"@":1}}"#,
    r#"{"choices":[],"usage":{"total_tokens":1,"x":"@"}}"#,
    r#"{"choices":[],"usage":{"total_tokens":1,"prompt_tokens_details":{"x":"@"}}}"#,
    r#"{"choices":[],"usage":{"total_tokens":1,"completion_tokens_details":{"@":1}}}"#,
];

#[test]
fn nothing_makes_the_completion_grow_over_max_completion_bytes() {
    let mut over = Vec::new();
    for chunk in GROWTH {
        let stream = frame(&chunk.replace('@', &"x".repeat(100_000)));
        let outcome = read_limited(&stream, |limits| limits.max_completion_bytes = 1_000);
        assert!(said(&outcome).contains(&"chunk 0".to_owned()), "{chunk}");
        if serde_json::to_string(&outcome.completion).unwrap().len() > 2_000 || said(&outcome)[0] != "max_completion_bytes 0" {
            over.push(chunk);
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}

#[test]
fn what_is_replaced_in_the_completion_counts_once() {
    for chunk in [
        r#"{"choices":[{"delta":{"flag":true}}]}"#,
        r#"{"choices":[{"delta":{"meta":{"id":"a"}}}]}"#,
        r#"{"choices":[{"delta":{},"extra":[1,2]}]}"#,
        r#"{"choices":[],"citations":["https://example.com/"]}"#,
        r#"{"choices":[],"moderation":{"input":{"flagged":false}}}"#,
    ] {
        let stream = frame(chunk).repeat(100);
        let outcome = read_limited(&stream, |limits| limits.max_completion_bytes = 2_000);
        assert!(said(&outcome)[..100].iter().all(|said| said.starts_with("chunk")), "{chunk}");
    }
}

/// Chunks that put `@` in the place of what was there.
const REPLACED: [&str; 9] = [
    r#"{"choices":[],"model":"@"}"#,
    r#"{"choices":[],"service_tier":"@"}"#,
    r#"{"choices":[],"system_fingerprint":"@"}"#,
    r#"{"choices":[],"usage":{"total_tokens":1,"x":"@"}}"#,
    r#"{"choices":[],"usage":{"total_tokens":1,"prompt_tokens_details":{"x":"@"}}}"#,
    r#"{"choices":[],"usage":{"total_tokens":1,"completion_tokens_details":{"x":"@"}}}"#,
    r#"{"choices":[],"x":["@"]}"#,
    r#"{"choices":[{"delta":{"x":{"type":"@"}}}]}"#,
    r#"{"choices":[{"finish_reason":"@"}]}"#,
];

#[test]
fn what_was_replaced_counts_no_longer() {
    let (long, short) = ("x".repeat(1_000), "y");
    for chunk in REPLACED {
        let pair = frame(&chunk.replace('@', &long)) + &frame(&chunk.replace('@', short));
        let outcome = read_limited(&(pair.repeat(10) + A), |limits| limits.max_completion_bytes = 3_000);
        assert_eq!(said(&outcome).iter().filter(|said| said.starts_with("max")).count(), 0, "{chunk}: {:?}", said(&outcome));
        let json = serde_json::to_string(&outcome.completion).unwrap();
        assert!(json.contains("\"y\"") && !json.contains(&long), "{chunk}: {json}");
        // What is given back is no more than what was taken.
        let full = pair.repeat(10) + &delta(&format!("\"content\":\"{}\"", "x".repeat(3_000)));
        let outcome = read_limited(&full, |limits| limits.max_completion_bytes = 3_000);
        assert_eq!(outcome.completion.text(), "", "{chunk}");
    }
}

#[test]
fn an_object_that_fills_and_empties_gives_back_what_it_took() {
    let fill = delta(r#""x":{}"#) + &delta(r#""x":{"a":1,"b":[2]}"#) + &delta(r#""x":{"a":{},"b":"3"}"#) + &delta(r#""x":7"#);
    let text = "x".repeat(2_000);
    let outcome = read_limited(&(fill.repeat(100) + &delta(&format!("\"content\":\"{text}\""))), |limits| limits.max_completion_bytes = 4_000);
    assert_eq!(outcome.completion.text(), text);
    let over = read_limited(&(fill.repeat(100) + &delta(&format!("\"content\":\"{}\"", text.repeat(2)))), |limits| limits.max_completion_bytes = 4_000);
    assert_eq!(over.completion.text(), "");
}

#[test]
fn the_counts_of_a_usage_are_kept_when_its_fields_are_too_much() {
    let usage = |n: usize| frame(&format!(r#"{{"choices":[],"usage":{{"prompt_tokens":{n},"completion_tokens":{n},"total_tokens":{n},"x":"{}","prompt_tokens_details":{{"cached_tokens":{n},"y":1}},"completion_tokens_details":{{"reasoning_tokens":{n},"z":1}}}}}}"#, "x".repeat(n)));
    let outcome = read_limited(&(usage(5) + &usage(2_000) + &usage(7)), |limits| limits.max_completion_bytes = 1_000);
    let told: Vec<_> = said(&outcome).into_iter().filter(|said| said.starts_with("max")).collect();
    assert_eq!(told, [format!("max_completion_bytes {}", usage(5).len())]);
    let usages: Vec<_> = outcome.items.iter().filter_map(|item| if let Ok(Event::UsageFrame(usage)) = item { Some(serde_json::to_string(&**usage).unwrap().len()) } else { None }).collect();
    assert!(usages[1] > 2_000, "the event has all: {usages:?}");
    let json = serde_json::to_string(&outcome.completion.usage).unwrap();
    assert!(json.contains(r#""total_tokens":7,"prompt_tokens_details":{"cached_tokens":7"#) && json.contains(r#""reasoning_tokens":7"#), "{json}");
    // While they are too much the counts alone are kept, and all of them.
    let outcome = read_limited(&(usage(5) + &usage(2_000)), |limits| limits.max_completion_bytes = 1_000);
    let json = serde_json::to_value(&outcome.completion.usage).unwrap();
    let (cached, reasoning) = (serde_json::json!({"cached_tokens": 2_000}), serde_json::json!({"reasoning_tokens": 2_000}));
    assert_eq!(json, serde_json::json!({
        "prompt_tokens": 2_000, "completion_tokens": 2_000, "total_tokens": 2_000,
        "prompt_tokens_details": cached, "completion_tokens_details": reasoning,
    }));
}

#[test]
fn max_choices_are_read_and_one_more_is_told_once() {
    let choice = |index: u32| format!(r#"{{"index":{index},"delta":{{"content":"a"}}}}"#);
    let chunk = |choices: &[u32]| {
        let choices: Vec<_> = choices.iter().copied().map(choice).collect();
        frame(&format!(r#"{{"choices":[{}]}}"#, choices.join(",")))
    };
    let at = |chunks: &[&[u32]]| {
        let stream = chunks.iter().map(|choices| chunk(choices)).collect::<String>();
        let outcome = read_limited(&stream, |limits| limits.max_choices = 2);
        let limits = said(&outcome).into_iter().filter(|said| said.starts_with("max"));
        let contents = outcome
            .completion
            .choices
            .iter()
            .map(|choice| format!("{}{}", choice.index, choice.message.content.as_deref().unwrap()));
        (limits.collect::<Vec<_>>(), contents.collect::<Vec<_>>().join(" "))
    };
    let over = vec![format!("max_choices {}", 2 * 57)];
    assert_eq!(at(&[&[7], &[0], &[7, 0]]), (vec![], "0aa 7aa".to_owned()));
    assert_eq!(at(&[&[0], &[7], &[3], &[4], &[0]]), (over.clone(), "0aa 7a".to_owned()));
    assert_eq!(at(&[&[0], &[0], &[0, 1, 2], &[3, 1]]), (over, "0aaa 1aa".to_owned()));
}

fn call(index: impl std::fmt::Display, arguments: &str) -> String {
    let arguments = serde_json::Value::from(arguments);
    format!(r#"{{"index":{index},"id":"i{index}","function":{{"name":"f","arguments":{arguments}}}}}"#)
}

fn calls(choice: u32, calls: &[String]) -> String {
    let calls = calls.join(",");
    frame(&format!(r#"{{"choices":[{{"index":{choice},"delta":{{"tool_calls":[{calls}]}}}}]}}"#))
}

fn finish(choice: u32) -> String {
    frame(&format!(r#"{{"choices":[{{"index":{choice},"finish_reason":"tool_calls"}}]}}"#))
}

#[test]
fn max_tool_calls_are_read_and_one_more_is_told_once_for_each_choice() {
    let head = calls(0, &[call(0, "["), call(1, "[1]")]);
    let over = calls(0, &[call(2, "[2]")]) + &calls(0, &[call(3, "[3]"), call(0, "1]")]);
    let other = calls(5, &[call(0, "[0]"), call(1, "[1]"), call(2, "[2]")]);
    let (second, third) = (head.len(), head.len() + over.len());
    let stream = head + &over + &other + &other + &finish(0) + &finish(5) + DONE;
    let outcome = read_limited(&stream, |limits| limits.max_tool_calls = 2);
    let told: Vec<_> = said(&outcome).into_iter().filter(|said| !said.starts_with("chunk")).collect();
    let limits = [format!("max_tool_calls {second}"), format!("max_tool_calls {third}")];
    assert_eq!(told[..2], limits);
    assert_eq!(told[2..], ["call 0/0", "call 0/1", "call 5/0", "call 5/1", "done"]);
    assert_eq!(outcome.completed()[0].2.arguments(), "[1]");
}

#[test]
fn ten_thousand_tool_indices_give_as_many_calls_as_the_limit() {
    let each: Vec<_> = (0..10_000).map(|index| call(index, "[1]")).collect();
    let one_by_one: String = each.chunks(1).map(|call| calls(0, call)).collect();
    for stream in [one_by_one, calls(0, &each)] {
        let outcome = read([(stream + &finish(0) + DONE).as_bytes()]);
        let count = |what: &str| said(&outcome).iter().filter(|said| said.starts_with(what)).count();
        assert_eq!((count("max_tool_calls"), count("call")), (1, 128));
        let is_bounded = |item: &Result<Event<'_>, _>| !matches!(item, Ok(Event::ChunkParsed(chunk)) if chunk.choices[0].delta.tool_calls.len() > 128);
        assert!(outcome.items.iter().all(is_bounded));
        assert_eq!(outcome.completion.choices[0].message.tool_calls.len(), 128);
    }
}

#[test]
fn an_index_over_u32_costs_its_part_and_is_told_once() {
    for over in ["4294967296", "9223372036854775808", "4294967295.5", "1e30", "\"4294967296\"", "18446744073709551616"] {
        let chunk =
            format!(r#"{{"choices":[{{"index":{over},"delta":{{"content":"x"}}}},{{"index":0,"delta":{{"content":"a"}}}}]}}"#);
        let tool = calls(0, &[call(0, "[0]"), call(1, "[1]")]).replace(r#""index":0,"id""#, &format!(r#""index":{over},"id""#));
        let first = 2 * frame(&chunk).len();
        let stream = frame(&chunk).repeat(2) + &tool.repeat(2) + &finish(0) + DONE;
        let outcome = read([stream.as_bytes()]);
        let told: Vec<_> = said(&outcome).into_iter().filter(|said| !said.starts_with("chunk")).collect();
        assert_eq!(told, ["index 0", &format!("index {first}"), "call 0/0", "done"], "{over}");
        assert_eq!((outcome.completion.choices.len(), outcome.completion.text()), (1, "aa"), "{over}");
        assert_eq!(outcome.completed()[0].2.id.as_deref(), Some("i1"), "{over}");
    }
    // The largest one is not over, but no whole number either as it is written here.
    let outcome = read([frame(r#"{"choices":[{"index":4294967295.0,"delta":{"content":"a"}}]}"#).as_bytes()]);
    assert_eq!(said(&outcome)[0], "chunk 0");
    assert!(outcome.deviations.set().contains(Deviation::IndexInvalid));
    let stream = frame(r#"{"choices":[{"index":4294967295,"delta":{"tool_calls":[{"index":4294967295}]}}]}"#);
    let outcome = read([stream.as_bytes()]);
    assert_eq!(said(&outcome)[0], "chunk 0");
    assert_eq!(outcome.completion.choices[0].index, u32::MAX);
    assert_eq!(outcome.completion.choices[0].message.tool_calls.len(), 1);
}

#[test]
fn a_fragment_without_index_goes_to_the_last_call_and_never_past_one_that_was_skipped() {
    let (rest, over) = (r#"{"function":{"arguments":"2]"}}"#.to_owned(), call(1_u64 << 32, "[1,"));
    let (first, again) = (call(0, "[1,"), r#"{"index":0,"function":{"arguments":""}}"#.to_owned());
    let deltas: [(&[&[&String]], &str); 6] = [
        (&[&[&first], &[&rest]], "[1,2]"),
        (&[&[&first], &[&over], &[&rest]], "[1,"),
        (&[&[&first], &[&over, &rest]], "[1,"),
        (&[&[&first, &over, &rest]], "[1,"),
        (&[&[&first], &[&over], &[&again], &[&rest]], "[1,2]"),
        (&[&[&first], &[&over, &again], &[&rest]], "[1,2]"),
    ];
    for (deltas, want) in deltas {
        let stream: String =
            deltas.iter().map(|delta| calls(0, &delta.iter().map(|call| (*call).clone()).collect::<Vec<_>>())).collect();
        let outcome = read([stream.as_bytes()]);
        assert_eq!(outcome.completion.choices[0].message.tool_calls[0].arguments(), want, "{stream}");
    }
}

/// Chunks with an `a` and, at `@`, something deep; and how many containers are open there.
const DEEP: [(usize, &str); 11] = [
    (1, r#"{"choices":[{"delta":{"content":"a"}}],"x":@}"#),
    (1, r#"{"choices":[{"delta":{"content":"a"}}],"moderation":@}"#),
    (2, r#"{"choices":[{"delta":{"content":"a"}}],"usage":{"total_tokens":1,"x":@}}"#),
    (3, r#"{"choices":[{"x":@,"delta":{"content":"a"}}]}"#),
    (4, r#"{"choices":[{"logprobs":{"content":@},"delta":{"content":"a"}}]}"#),
    (4, r#"{"choices":[{"delta":{"x":@,"content":"a"}}]}"#),
    (4, r#"{"choices":[{"delta":{"annotations":@,"content":"a"}}]}"#),
    (5, r#"{"choices":[{"delta":{"audio":{"x":@},"content":"a"}}]}"#),
    (6, r#"{"choices":[{"delta":{"tool_calls":[{"x":@}],"content":"a"}}]}"#),
    (7, r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":@}}],"content":"a"}}]}"#),
    (7, r#"{"choices":[{"delta":{"tool_calls":[{"custom":{"input":@}}],"content":"a"}}]}"#),
];

fn deep(depth: usize) -> String {
    "[".repeat(depth) + "7" + &"]".repeat(depth)
}

#[test]
fn max_depth_costs_only_the_field_that_is_deeper() {
    for (open, chunk) in DEEP {
        for (depth, is_kept) in [(10 - open, true), (11 - open, false)] {
            let stream = A.to_owned() + &frame(&chunk.replace('@', &deep(depth))) + A;
            let outcome = read_limited(&stream, |limits| limits.max_depth = 10);
            let Some(Ok(Event::ChunkParsed(read))) = outcome.items.get(if is_kept { 1 } else { 2 }) else {
                panic!("{chunk}: {:?}", outcome.items)
            };
            assert_eq!(said(&outcome).contains(&"max_depth 57".to_owned()), !is_kept, "{chunk}");
            assert_eq!((read.text(), outcome.completion.text()), ("a", "aaa"), "{chunk}");
            for json in [serde_json::to_string(&**read), serde_json::to_string(&outcome.completion)] {
                assert_eq!(json.unwrap().contains(&deep(depth)), is_kept, "{chunk}");
            }
        }
    }
    for element in ["[[[[[[[[[]]]]]]]]]", r#"{"index":1,"delta":{"x":[[[[[[[]]]]]]]}}"#] {
        let stream = frame(&format!(r#"{{"choices":[{{"delta":{{"content":"a"}}}},{element}]}}"#));
        let outcome = read_limited(&stream, |limits| limits.max_depth = 10);
        assert_eq!(said(&outcome)[..2], ["max_depth 0", "chunk 0"], "{element}");
        assert_eq!(outcome.completion.text(), "a", "{element}");
    }
}

#[test]
fn the_parts_of_a_chunk_are_containers_too() {
    let chunk = r#"{"choices":[{"delta":{"content":"a","tool_calls":[{"function":{"arguments":"7"}}]}}],"usage":{"total_tokens":1,"prompt_tokens_details":{}}}"#;
    for max in 1..=7 {
        let outcome = read_limited(&frame(chunk), |limits| limits.max_depth = max);
        assert_eq!(said(&outcome)[0], if max == 7 { "chunk 0" } else { "max_depth 0" }, "{max}");
        let (choices, usage) = (&outcome.completion.choices, outcome.completion.usage.as_ref());
        let calls = choices.first().map_or(&[][..], |choice| &choice.message.tool_calls);
        assert_eq!((usage.is_some(), usage.is_some_and(|usage| usage.prompt_tokens_details.is_some())), (max >= 2, max >= 3), "{max}");
        assert_eq!((choices.len(), outcome.completion.text()), (usize::from(max >= 3), if max >= 4 { "a" } else { "" }), "{max}");
        assert_eq!((calls.len(), calls.iter().any(|call| call.arguments() == "7")), (usize::from(max >= 6), max == 7), "{max}");
    }
}

#[test]
fn a_call_whose_arguments_were_too_deep_never_completes() {
    for arguments in [deep(4), format!("\"{}\"", deep(11))] {
        let call = call(0, "").replace("\"\"", &arguments);
        let outcome = read_limited(&(calls(0, &[call]) + &finish(0) + DONE), |limits| limits.max_depth = 10);
        assert_eq!(outcome.completed(), [], "{arguments}");
    }
}

#[test]
fn a_depth_over_that_of_serde_json_is_kept_if_it_is_allowed() {
    let stream = frame(&format!(r#"{{"choices":[{{"delta":{{"x":{}}}}}]}}"#, deep(200)));
    let outcome = read_limited(&stream, |limits| limits.max_depth = 300);
    let Some(Ok(Event::ChunkParsed(chunk))) = outcome.items.first() else { panic!("{:?}", said(&outcome)) };
    assert!(serde_json::to_string(&**chunk).is_ok_and(|json| json.contains(&deep(200))));
    assert!(serde_json::to_string(&outcome.completion).unwrap().contains(&deep(200)));
}

#[test]
fn a_depth_of_a_million_does_not_overflow_a_small_stack() {
    let read_deep = || {
        let deep = deep(1_000_000);
        let mut streams: Vec<_> = DEEP.map(|(_, chunk)| frame(&chunk.replace('@', &deep))).to_vec();
        streams.extend([frame(&deep), frame(&"[".repeat(1_000_000)), format!("event: error\n{}", frame(&deep))]);
        streams.extend([frame(&format!(r#"{{"error":{deep}}}"#)), format!("error: {{\"message\":{deep}}}\n")]);
        streams.push(format!("{{\"a\":\n{deep}}}\n{A}"));
        streams.push(calls(0, &[call(0, &deep)]) + &finish(0) + DONE);
        for stream in streams {
            let lost = read([stream.as_bytes()]);
            assert_eq!(lost.completed(), []);
            let bounded = read_limited(&stream, |limits| limits.max_depth = usize::MAX);
            assert!(serde_json::to_string(&bounded.completion).is_ok());
        }
    };
    let small = std::thread::Builder::new().stack_size(1 << 20);
    small.spawn(read_deep).unwrap().join().unwrap();
}

#[test]
fn a_million_choices_and_keys_of_a_megabyte_are_read() {
    let choices = "{},".repeat(999_999) + "{}";
    let outcome = read([frame(&format!(r#"{{"choices":[{choices}]}}"#)).as_bytes()]);
    assert_eq!(said(&outcome)[..2], ["max_choices 0", "chunk 0"]);
    assert!(matches!(&outcome.items[1], Ok(Event::ChunkParsed(chunk)) if chunk.choices.len() == 128));
    assert_eq!(outcome.completion.choices.len(), 128);
    let key = "k".repeat(1 << 20);
    for (_, chunk) in DEEP {
        let chunk = chunk.replacen('@', &format!(r#"{{"{key}":7}}"#), 1).replacen("\"x\":", &format!("\"{key}\":"), 1);
        let outcome = read([frame(&chunk).as_bytes()]);
        assert_eq!((said(&outcome)[0].as_str(), outcome.completion.text()), ("chunk 0", "a"));
    }
}
