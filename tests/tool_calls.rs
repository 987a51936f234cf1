//! `ToolCallComplete` comes exactly once for each call, whole; and every row of the tables in `src/completion/tools.rs` holds.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::std_instead_of_core, clippy::std_instead_of_alloc, clippy::cast_possible_truncation)]
#![cfg_attr(rustfmt, rustfmt_skip)] // tables, laid out by hand, 130 wide

mod common;

use chatwire::{Event, Options};
use common::{End, Outcome, check_completed, for_each_cut, read, read_with};
use proptest::prelude::*;
use serde_json::{Value, json};

const DONE: &str = "data: [DONE]\n\n";

fn frame(choices: &Value) -> String {
    format!("data: {}\n\n", json!({ "choices": choices }))
}

/// A chunk with these fragments of calls in one delta.
fn calls(choice: u32, fragments: &[Value]) -> String {
    frame(&json!([{"index": choice, "delta": {"tool_calls": fragments}}]))
}

fn finish(choice: u32, reason: &str) -> String {
    frame(&json!([{"index": choice, "delta": {}, "finish_reason": reason}]))
}

/// A fragment; what is `""` is left out. The index is as written.
fn fragment(index: &str, id: &str, name: &str, arguments: &str) -> Value {
    let mut fragment = json!({"function": {}});
    if !index.is_empty() {
        fragment["index"] = serde_json::from_str(index).unwrap();
    }
    for (key, value) in [("id", id), ("name", name), ("arguments", arguments)].into_iter().filter(|(_, value)| !value.is_empty()) {
        let place = if key == "id" { &mut fragment } else { &mut fragment["function"] };
        place[key] = value.into();
    }
    fragment
}

/// The events in short: `chunk`, `usage`, `call 0/1 f [1]`, `done`.
fn said(outcome: &Outcome) -> Vec<String> {
    let said = outcome.items.iter().map(|item| match item {
        Ok(Event::ChunkParsed(_)) => "chunk".to_owned(),
        Ok(Event::UsageFrame(_)) => "usage".to_owned(),
        Ok(Event::ToolCallComplete { choice, slot, call, .. }) => format!("call {choice}/{slot} {} {}", call.name(), call.arguments()),
        Ok(_) => "done".to_owned(),
        Err(fault) => fault.kind.as_str().to_owned(),
    });
    said.collect()
}

const USAGE: &str = "data: {\"choices\":[],\"usage\":{\"total_tokens\":9}}\n\n";

/// Two calls, their fragments interleaved.
fn interleaved(choice: u32) -> String {
    [
        fragment("0", "a", "f", ""), fragment("1", "b", "g", "{\"x\""), fragment("0", "", "", "{\"y\":"),
        fragment("1", "", "", ":[]"), fragment("0", "", "", "\"é}\"}"), fragment("1", "", "", "}"),
    ].iter().map(|fragment| calls(choice, std::slice::from_ref(fragment))).collect()
}

#[test]
fn a_call_completes_once_and_whole_right_after_the_chunk_that_finishes_its_choice() {
    let six = ["chunk"; 6];
    let (f, g) = ("call 0/0 f {\"y\":\"é}\"}", "call 0/1 g {\"x\":[]}");
    let (f1, g1) = (f.replace("0/0", "1/0"), g.replace("0/1", "1/1"));
    let (end, whole) = (finish(0, "tool_calls"), fragment("0", "a", "f", "[1]"));
    let both = frame(&json!([{"index": 0, "delta": {"tool_calls": [whole, fragment("1", "b", "g", "[2]")]}, "finish_reason": "tool_calls"}]));
    let alternating: String = interleaved(0).split_inclusive("\n\n").zip(interleaved(1).split_inclusive("\n\n")).flat_map(|(one, other)| [one, other]).collect();
    for (stream, want) in [
        (interleaved(0) + &end + DONE, [&six[..], &["chunk", f, g, "done"]].concat()),
        (interleaved(0) + &end, [&six[..], &["chunk", f, g, "done"]].concat()),
        (interleaved(0) + &end + &end + &end + DONE, [&six[..], &["chunk", f, g, "chunk", "chunk", "done"]].concat()),
        (interleaved(0) + &end + USAGE + DONE, [&six[..], &["chunk", f, g, "chunk", "usage", "done"]].concat()),
        (interleaved(0) + &finish(0, "stop") + &end + DONE, [&six[..], &["chunk", f, g, "chunk", "done"]].concat()),
        (interleaved(0) + DONE, [&six[..], &[f, g, "done"]].concat()),
        (interleaved(0), [&six[..], &["truncated"]].concat()),
        (end.clone() + &interleaved(0) + DONE, [&six[..], &[f, "chunk", g, "done"]].concat()),
        (both.clone() + DONE, vec!["chunk", "call 0/0 f [1]", "call 0/1 g [2]", "done"]),
        (both.clone() + &both + &end + DONE, vec!["chunk", "call 0/0 f [1]", "call 0/1 g [2]", "chunk", "chunk", "done"]),
        (alternating.clone() + &finish(1, "tool_calls") + &end + DONE, [&six[..], &six, &["chunk", &f1, &g1, "chunk", f, g, "done"]].concat()),
        (alternating.clone() + &finish(1, "tool_calls"), [&six[..], &six, &["chunk", &f1, &g1, "truncated"]].concat()),
        (alternating + &frame(&json!([{"index": 1, "finish_reason": "stop"}, {"index": 0, "finish_reason": "stop"}])) + DONE,
            [&six[..], &six, &["chunk", &f1, &g1, f, g, "done"]].concat()),
    ] {
        for_each_cut(stream.as_bytes(), |how, pieces| {
            let outcome = read_with(Options::default(), pieces, End::Finish);
            check_completed(&outcome);
            assert_eq!(said(&outcome), want, "{stream}, {how}");
        });
    }
}

#[test]
fn a_call_is_told_of_its_choice_where_lower_choices_come_after_it_in_the_same_chunk() {
    let choice = |index: u32| {
        let call = json!({"index": 0, "id": format!("i{index}"), "function": {"name": "f", "arguments": "[0]"}});
        json!({"index": index, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"})
    };
    let stream = frame(&json!([choice(2), choice(7), choice(1), choice(5)])) + "data: [DONE]\n\n";
    let completed = read([stream.as_bytes()]).completed();
    let told = completed.iter();
    let told: Vec<_> = told.map(|(choice, _, call)| (*choice, call.id.as_deref().unwrap())).collect();
    assert_eq!(told, [(2, "i2"), (7, "i7"), (1, "i1"), (5, "i5")]);
}

#[test]
fn a_call_that_a_cut_left_open_never_completes() {
    let stream = interleaved(0) + &finish(0, "tool_calls") + USAGE + DONE;
    let finished_at = (interleaved(0) + &finish(0, "tool_calls")).len();
    for at in 0..stream.len() {
        for (end, finished_at) in [(End::Abort, finished_at), (End::Finish, finished_at - 2)] {
            let outcome = read_with(Options::default(), [&stream.as_bytes()[..at]], end);
            assert_eq!(outcome.completed().len(), if at < finished_at { 0 } else { 2 }, "cut at {at}, {end:?}");
        }
    }
}

#[test]
fn a_complete_call_is_frozen_but_a_new_one_may_follow_it() {
    let (first, end) = (calls(0, &[fragment("0", "a", "f", "[1]")]), finish(0, "tool_calls"));
    for late in [
        fragment("0", "", "", " "), fragment("0", "", "", "[2]"), fragment("0", "a", "g", "[2]"), fragment("0", "c", "", "[2]"),
        fragment("0", "a", "f", "[1]"), fragment("", "", "", "x"), json!({"index": 0, "id": "c", "type": "custom", "x": 1}),
    ] {
        let outcome = read([(first.clone() + &end + &calls(0, std::slice::from_ref(&late)) + &end + DONE).as_bytes()]);
        assert_eq!(said(&outcome), ["chunk", "chunk", "call 0/0 f [1]", "chunk", "chunk", "done"], "{late}");
        assert_eq!(outcome.completion.choices[0].message.tool_calls, [outcome.completed()[0].2.clone()], "{late}");
    }
    for new in [fragment("0", "b", "g", "[2]"), fragment("0", "", "g", "[2]"), fragment("1", "", "g", "[2]"), fragment("", "b", "g", "[2]"), fragment("", "", "f", "[2]")] {
        let outcome = read([(first.clone() + &end + &calls(0, std::slice::from_ref(&new)) + DONE).as_bytes()]);
        let name = new["function"]["name"].as_str().unwrap();
        assert_eq!(said(&outcome), ["chunk", "chunk", "call 0/0 f [1]", "chunk", &format!("call 0/1 {name} [2]"), "done"], "{new}");
    }
}

type Fragment = (&'static str, &'static str, &'static str, &'static str);
type Row = (&'static [Fragment], &'static [u32], &'static [&'static str]);

/// Fragments (index, id, name, arguments); the slot of each; the calls (id name arguments).
const SLOTS: [Row; 38] = [
    // An index that was seen: the last one of that index.
    (&[("0", "a", "f", "["), ("0", "", "", "]")], &[0, 0], &["a f []"]),
    (&[("0", "a", "f", "["), ("1", "b", "g", "["), ("0", "", "", "1]"), ("1", "", "", "2]")], &[0, 1, 0, 1], &["a f [1]", "b g [2]"]),
    (&[("0", "a", "f", "[1]"), ("0", "b", "g", "[2"), ("0", "", "", "]")], &[0, 1, 1], &["a f [1]", "b g [2]"]),
    (&[("0", "a", "f", "["), ("1", "b", "g", "["), ("0", "b", "", "]")], &[0, 1, 0], &["a f []", "b g ["]),
    (&[("\"0\"", "a", "f", "["), ("0", "", "", "]")], &[0, 0], &["a f []"]),
    // No such index, but an id that was seen: that id's.
    (&[("0", "a", "f", "["), ("7", "a", "", "1"), ("7", "", "", "]")], &[0, 0, 0], &["a f [1]"]),
    (&[("0", "a", "f", "["), ("1", "b", "g", "[2]"), ("", "a", "", "1]")], &[0, 1, 0], &["a f [1]", "b g [2]"]),
    (&[("", "a", "f", "["), ("", "b", "g", "["), ("", "a", "", "1]"), ("", "b", "", "2]")], &[0, 1, 0, 1], &["a f [1]", "b g [2]"]),
    // An index or an id that was not seen: a new one.
    (&[("0", "a", "f", ""), ("1", "b", "f", "")], &[0, 1], &["a f ", "b f "]),
    (&[("0", "", "f", "["), ("1", "", "", "]")], &[0, 1], &[" f [", "  ]"]),
    (&[("", "a", "f", "["), ("", "b", "", "]")], &[0, 1], &["a f [", "b  ]"]),
    (&[("5", "a", "f", "[5]"), ("2", "b", "g", "[2]"), ("", "c", "h", "[3]"), ("2", "", "", " ")], &[0, 1, 2, 1], &["b g [2] ", "c h [3]", "a f [5]"]),
    // Neither: the last one; a new one if there is none.
    (&[("0", "a", "f", "["), ("1", "b", "g", "["), ("", "", "", "]")], &[0, 1, 1], &["a f [", "b g []"]),
    (&[("0", "a", "f", "["), ("1", "b", "g", "[2]"), ("0", "", "", "1"), ("", "", "", "]")], &[0, 1, 0, 0], &["a f [1]", "b g [2]"]),
    (&[("", "", "f", "["), ("", "", "", "]")], &[0, 0], &[" f []"]),
    (&[("null", "a", "f", "["), ("-1", "", "", "1"), ("1.5", "", "", ","), ("\"x\"", "", "", "2"), ("true", "", "", "]")], &[0, 0, 0, 0, 0], &["a f [1,2]"]),
    // The id is another one, and there is a name: a new one,
    (&[("0", "a", "f", "[1]"), ("0", "b", "f", "[2]")], &[0, 1], &["a f [1]", "b f [2]"]),
    (&[("0", "a", "f", ""), ("0", "b", "f", "[2]")], &[0, 1], &["a f ", "b f [2]"]),
    (&[("0", "a", "f", "[1"), ("0", "b", "g", "[2]")], &[0, 1], &["a f [1", "b g [2]"]),
    (&[("", "a", "f", "{}"), ("", "b", "f", "{}")], &[0, 1], &["a f {}", "b f {}"]),
    // unless it is the same name, and the arguments are begun and not whole;
    (&[("0", "a", "f", "[1"), ("0", "b", "f", "]")], &[0, 0], &["a f [1]"]),
    // not without a name, and not for the same id.
    (&[("0", "a", "f", "[1"), ("0", "b", "", "]")], &[0, 0], &["a f [1]"]),
    (&[("0", "a", "f", "[1]"), ("0", "b", "", "[2]")], &[0, 0], &["a f [1][2]"]),
    (&[("0", "a", "f", "[1]"), ("0", "a", "g", "[2]")], &[0, 0], &["a f [1][2]"]),
    // An id is absent, there is a name, and the arguments are whole and others follow: a new one;
    (&[("0", "a", "f", "[1]"), ("0", "", "f", "[2]")], &[0, 1], &["a f [1]", " f [2]"]),
    (&[("0", "", "f", "[1]"), ("0", "b", "f", "[2]")], &[0, 1], &[" f [1]", "b f [2]"]),
    (&[("", "", "f", "{}"), ("", "", "f", "{}")], &[0, 1], &[" f {}", " f {}"]),
    (&[("0", "a", "f", "[1]"), ("0", "", "f", "")], &[0, 0], &["a f [1]"]),
    (&[("0", "a", "f", "[1]"), ("0", "", "f", " ")], &[0, 0], &["a f [1] "]),
    (&[("0", "a", "f", "[1]"), ("0", "", "", "[2]")], &[0, 0], &["a f [1][2]"]),
    // or they are begun and the name differs.
    (&[("0", "a", "f", "[1"), ("0", "", "g", "[2]")], &[0, 1], &["a f [1", " g [2]"]),
    (&[("0", "", "f", "[1"), ("0", "b", "g", "[2]")], &[0, 1], &[" f [1", "b g [2]"]),
    (&[("0", "a", "f", "[1]"), ("0", "", "g", "")], &[0, 1], &["a f [1]", " g "]),
    (&[("0", "a", "f", "[1"), ("0", "", "f", "]")], &[0, 0], &["a f [1]"]),
    (&[("0", "", "f", "[1"), ("0", "b", "f", "]")], &[0, 0], &["b f [1]"]),
    (&[("0", "a", "f", ""), ("0", "", "g", "[1]")], &[0, 0], &["a fg [1]"]),
    (&[("0", "a", "", "[1"), ("0", "", "f", "]")], &[0, 0], &["a f [1]"]),
    (&[("0", "a", "f", ""), ("0", "", "f", "[1]")], &[0, 0], &["a f [1]"]),
];

#[test]
fn every_row_of_the_tables_of_slots_holds_in_one_delta_and_in_many() {
    for (fragments, slots, calls_want) in SLOTS {
        let list: Vec<_> = fragments.iter().map(|(index, id, name, arguments)| fragment(index, id, name, arguments)).collect();
        let absent = |fragment: &Value| {
            let mut fragment = fragment.clone();
            let missing = [fragment["id"].is_null(), fragment["function"]["name"].is_null(), fragment["function"]["arguments"].is_null()];
            fragment["id"] = if missing[0] { "".into() } else { fragment["id"].clone() };
            fragment["function"]["name"] = if missing[1] { "".into() } else { fragment["function"]["name"].clone() };
            fragment["function"]["arguments"] = if missing[2] { Value::Null } else { fragment["function"]["arguments"].clone() };
            fragment
        };
        let filled: Vec<_> = list.iter().map(absent).collect();
        let many: String = list.iter().map(|fragment| calls(0, std::slice::from_ref(fragment))).collect();
        for stream in [calls(0, &list), many, calls(0, &filled)] {
            let outcome = read([stream.as_bytes()]);
            let chunks = outcome.items.iter().filter_map(|item| if let Ok(Event::ChunkParsed(chunk)) = item { Some(chunk) } else { None });
            let got: Vec<_> = chunks.flat_map(|chunk| chunk.choices[0].delta.tool_calls.iter().map(|call| call.slot.unwrap())).collect();
            assert_eq!(got, slots, "{stream}");
            let message = &outcome.completion.choices[0].message;
            let texts = message.tool_calls.iter().map(|call| format!("{} {} {}", call.id.as_deref().unwrap_or(""), call.name(), call.arguments()));
            assert_eq!(texts.collect::<Vec<_>>(), calls_want, "{stream}");
        }
    }
}

/// When a call completes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum When {
    AtReason,
    AtEnd,
    Never,
}
use When::{AtEnd, AtReason, Never};

/// A call; when it completes where the reason is any but `length`, and where it is.
const COMPLETION: [(&str, When, When); 27] = [
    (r#"{"function":{"name":"f","arguments":"{\"a\":1}"}}"#, AtReason, AtReason),
    (r#"{"function":{"name":"f","arguments":"[0]"}}"#, AtReason, AtReason),
    (r#"{"function":{"name":"f","arguments":" [[]] "}}"#, AtReason, AtReason),
    (r#"{"function":{"name":"f","arguments":{"a":{}}}}"#, AtReason, AtReason),
    (r#"{"function":{"name":"f","arguments":"{\"a\":1e999}"}}"#, AtReason, AtReason),
    (r#"{"function":{"name":"f","arguments":"[\"\\ud83d\"]"}}"#, AtReason, AtReason),
    (r#"{"function":{"name":"f"}}"#, AtEnd, Never),
    (r#"{"function":{"name":"f","arguments":""}}"#, AtEnd, Never),
    (r#"{"function":{"name":"f","arguments":" \n"}}"#, AtEnd, Never),
    (r#"{"function":{"name":"f","arguments":null}}"#, AtEnd, Never),
    (r#"{"function":{"name":"f","arguments":"{}"}}"#, AtEnd, AtEnd),
    (r#"{"function":{"name":"f","arguments":" { } "}}"#, AtEnd, AtEnd),
    (r#"{"function":{"name":"f","arguments":"[]"}}"#, AtEnd, AtEnd),
    (r#"{"function":{"name":"f","arguments":{}}}"#, AtEnd, AtEnd),
    (r#"{"function":{"name":"f","arguments":"{\"a\":"}}"#, Never, Never),
    (r#"{"function":{"name":"f","arguments":"{\"a\":1}}"}}"#, Never, Never),
    (r#"{"function":{"name":"f","arguments":"[1][2]"}}"#, Never, Never),
    (r#"{"function":{"name":"f","arguments":"7"}}"#, Never, Never),
    (r#"{"function":{"name":"f","arguments":"\"text\""}}"#, Never, Never),
    (r#"{"function":{"name":"f","arguments":"null"}}"#, Never, Never),
    (r#"{"function":{"name":"f","arguments":"[NaN]"}}"#, Never, Never),
    (r#"{"function":{"arguments":"[1]"}}"#, Never, Never),
    (r#"{"function":{"name":"","arguments":"[1]"}}"#, Never, Never),
    (r#"{"type":"custom","custom":{"name":"f","input":"[1]"}}"#, AtEnd, Never),
    (r#"{"custom":{"name":"f","input":""}}"#, AtEnd, Never),
    (r#"{"custom":{"input":"go"}}"#, Never, Never),
    (r#"{"id":"a"}"#, Never, Never),
];

#[test]
fn every_row_of_the_table_of_completion_holds() {
    for (call, any, length) in COMPLETION {
        let legacy = serde_json::from_str::<Value>(call).unwrap()["function"].clone();
        let legacy = frame(&json!([{"index": 0, "delta": {"function_call": legacy}}]));
        let tool = calls(0, &[serde_json::from_str(call).unwrap()]);
        for call in [tool, legacy].into_iter().filter(|call| !call.contains("\"function_call\":null")) {
            for (reason, when) in [("tool_calls", any), ("stop", any), ("other", any), ("length", length)] {
                let finished = call.clone() + &finish(0, reason);
                for (stream, end, is_end) in [(finished.clone() + DONE, End::Finish, true), (finished.clone(), End::Finish, true), (finished, End::Abort, false)] {
                    let outcome = read_with(Options::default(), [stream.as_bytes()], end);
                    // Two chunks, and the end.
                    let completes = when == AtReason || when == AtEnd && is_end;
                    let at = outcome.items.iter().position(|item| matches!(item, Ok(Event::ToolCallComplete { .. })));
                    assert_eq!((at, outcome.items.len()), (completes.then_some(2), 3 + usize::from(completes)), "{stream} {end:?}");
                    for (_, _, done) in outcome.completed() {
                        // A legacy call is told as the tool call that it is.
                        let is_legacy = outcome.completion.choices[0].message.function_call.is_some();
                        assert!(!is_legacy || done.r#type.as_deref() == Some("function") && done.id.is_none(), "{done:?}");
                    }
                    let at_reason = outcome.frames.get(2).is_some_and(|frame| frame.as_ref().is_some_and(|frame| frame.1.contains(reason)));
                    assert!(!completes || at_reason == (when == AtReason), "{stream} {end:?}");
                    if let Some(Ok(Event::Done(done))) = outcome.items.last() {
                        assert_eq!(done.incomplete_calls().len(), usize::from(when == Never), "{stream} {end:?}");
                    }
                }
            }
            let unfinished = |end| read_with(Options::default(), [(call.clone() + end).as_bytes()], End::Finish).completed().len();
            assert_eq!((unfinished(""), unfinished(DONE)), (0, usize::from(any != Never)), "{call}");
        }
    }
}

/// How a dialect names the call of a fragment.
#[derive(Debug, Clone, Copy)]
struct Dialect {
    index: bool,
    /// In the first fragment of a call, in the others.
    id: (bool, bool),
    name_repeated: bool,
}

fn dialect() -> impl Strategy<Value = Dialect> {
    let dialect = |index, id, name_repeated| Dialect { index, id, name_repeated };
    prop::sample::select(vec![
        dialect(true, (true, false), false), dialect(true, (true, true), false), dialect(true, (true, true), true), dialect(true, (false, false), false),
        dialect(true, (false, false), true), dialect(false, (true, true), false), dialect(false, (true, true), true), dialect(true, (true, false), true),
    ])
}

/// A call: name, arguments, where these are cut.
fn any_call() -> impl Strategy<Value = (String, String, Vec<prop::sample::Index>)> {
    let value = prop_oneof![r#"[a-z{}\[\]",:\\é😀 ]{0,8}"#.prop_map(Value::from), any::<i32>().prop_map(Value::from), Just(json!([{}, null]))];
    let arguments = prop_oneof![
        prop::collection::btree_map("[a-z\"]{0,3}", value.clone(), 1..4).prop_map(|map| json!(map).to_string()),
        prop::collection::vec(value, 1..4).prop_map(|list| serde_json::to_string_pretty(&list).unwrap()),
    ];
    (prop::sample::select(vec!["f", "g", "get_weather"]).prop_map(String::from), arguments, prop::collection::vec(any::<prop::sample::Index>(), 0..5))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn interleaved_calls_of_any_dialect_complete_each_once_and_whole(
        dialect in dialect(), made in prop::collection::vec(any_call(), 1..6), order in prop::collection::vec(any::<prop::sample::Index>(), 64),
        together in prop::collection::vec(1_usize..4, 64), marker in any::<bool>(),
    ) {
        let mut queues: Vec<std::collections::VecDeque<Value>> = made.iter().enumerate().map(|(nth, (name, arguments, cuts))| {
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(arguments.len() + 1)).filter(|cut| arguments.is_char_boundary(*cut)).collect();
            cuts.extend([0, arguments.len()]);
            cuts.sort_unstable();
            cuts.windows(2).enumerate().map(|(piece, cut)| {
                let (index, id) = (format!("{nth}"), format!("id{nth}"));
                let has_id = if piece == 0 { dialect.id.0 } else { dialect.id.1 };
                let has_name = piece == 0 || dialect.name_repeated;
                fragment(if dialect.index { &index } else { "" }, if has_id { &id } else { "" }, if has_name { name } else { "" }, &arguments[cut[0]..cut[1]])
            }).collect()
        }).collect();
        let (mut fragments, mut order, mut arrivals) = (Vec::new(), order.iter().cycle(), Vec::new());
        while queues.iter().any(|queue| !queue.is_empty()) {
            let open: Vec<_> = (0..queues.len()).filter(|nth| !queues[*nth].is_empty()).collect();
            let nth = open[order.next().unwrap().index(open.len())];
            arrivals.extend((!arrivals.contains(&nth)).then_some(nth));
            fragments.extend(queues[nth].pop_front());
        }
        let (mut stream, mut rest) = (String::new(), &fragments[..]);
        for size in together.iter().cycle() {
            let (delta, tail) = rest.split_at((*size).min(rest.len()));
            stream += &calls(0, delta);
            rest = tail;
            if rest.is_empty() { break }
        }
        stream += &(finish(0, "tool_calls") + USAGE + if marker { DONE } else { "" });
        let outcome = read([stream.as_bytes()]);
        let want: Vec<_> = arrivals.iter().enumerate().map(|(slot, nth)| {
            let id = dialect.id.0.then(|| format!("id{nth}"));
            (slot as u32, id, made[*nth].0.clone(), made[*nth].1.clone())
        }).collect();
        let got: Vec<_> = outcome.completed().into_iter().map(|(_, slot, call)| (slot, call.id, call.function.name, call.function.arguments)).collect();
        prop_assert_eq!(got, want, "{}", stream);
        prop_assert_eq!(outcome.completion.choices[0].message.tool_calls.len(), made.len());
        prop_assert!(matches!(outcome.items.last(), Some(Ok(Event::Done(done))) if done.incomplete_calls().is_empty()));
    }
}
