//! What the tests share: cases, ways to cut a stream, and all that a parser says of one as one value to compare.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core
)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use base64::Engine;
use chatwire::{ChatCompletion, Deviations, Error, ErrorKind, Event, Limit, Options, Parser};
use serde_json::Value;

#[path = "../naive/mod.rs"]
pub mod naive;

/// A stream and what a right reader makes of it.
#[derive(Debug)]
pub struct Case {
    pub id: String,
    pub input: Vec<u8>,
    pub expect: Value,
}

pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// The cases of a `.jsonl` file, read as fixtures/README.md says.
pub fn cases(path: &Path) -> Vec<Case> {
    let folder = path.parent().unwrap();
    let text = fs::read_to_string(path).unwrap();
    let cases = text
        .split('\n')
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let case: Value = serde_json::from_str(line).unwrap();
            let text = |key: &str| case.get(key).and_then(Value::as_str);
            let input = match (text("input"), text("input_b64"), text("file")) {
                (Some(input), _, _) => input.as_bytes().to_vec(),
                (_, Some(base64), _) => base64::engine::general_purpose::STANDARD
                    .decode(base64)
                    .unwrap(),
                (_, _, Some(file)) => fs::read(folder.join(file)).unwrap(),
                _ => panic!("a case without input: {line}"),
            };
            let id = text("id").or(text("file")).unwrap().to_owned();
            Case {
                id,
                input,
                expect: case["expect"].clone(),
            }
        });
    cases.collect()
}

/// All streams of the fixtures.
pub fn streams() -> Vec<Case> {
    let mut streams = cases(&fixtures().join("streams.jsonl"));
    streams.extend(cases(&fixtures().join("streams_expected.jsonl")));
    assert!(streams.len() >= 255, "the fixtures are there");
    streams
}

/// As `streams`, and one for each deviation.
pub fn all_streams() -> Vec<Case> {
    let mut streams = streams();
    streams.extend(cases(&fixtures().join("deviations.jsonl")));
    assert!(streams.len() >= 315, "the fixtures are there");
    streams
}

/// The folder of recorded streams, or a note that there is none.
pub fn corpus() -> Option<PathBuf> {
    match std::env::var_os("CHATWIRE_CORPUS") {
        Some(folder) => Some(folder.into()),
        None => {
            println!("skipped: CHATWIRE_CORPUS does not name a folder of recorded streams");
            None
        }
    }
}

/// An error as a value to compare.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    pub kind: ErrorKind,
    pub offset: u64,
    pub limit: Option<Limit>,
    pub message: String,
}

impl From<&Error> for Fault {
    fn from(error: &Error) -> Self {
        let message = error
            .api()
            .map_or_else(|| error.to_string(), |api| api.message.clone());
        Self {
            kind: error.kind(),
            offset: error.offset(),
            limit: error.limit(),
            message,
        }
    }
}

/// Event name, payload, id and range of a frame.
pub type FrameOf = (String, String, String, Range<u64>);

/// All that a parser says of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub items: Vec<Result<Event<'static>, Fault>>,
    /// The frame of each item: event name, payload, id, range.
    pub frames: Vec<Option<FrameOf>>,
    pub completion: ChatCompletion,
    pub deviations: Deviations,
}

/// How the input ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Finish,
    Abort,
}

/// Feeds the pieces, drains after each, ends the input.
pub fn read_with<'a>(
    options: Options,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    end: End,
) -> Outcome {
    let mut parser = Parser::with_options(options);
    let (mut items, mut frames) = (Vec::new(), Vec::new());
    let mut drain = |parser: &mut Parser| {
        while let Some(item) = parser.next_owned() {
            assert!(items.len() < 1 << 20, "it goes on for ever");
            match &item {
                Ok(event) => assert_eq!(
                    parser.event().as_ref(),
                    Some(event),
                    "what is lent again is the same"
                ),
                Err(_) => assert!(parser.event().is_none()),
            }
            let is_last = match &item {
                Ok(event) => matches!(event, Event::Done(_)),
                Err(error) => error.kind() == ErrorKind::Truncated,
            };
            assert_eq!(parser.is_terminated(), is_last, "{item:?}");
            items.push(item.map_err(|error| Fault::from(&error)));
            frames.push(parser.frame().map(|frame| {
                (
                    frame.event.to_owned(),
                    frame.data.to_owned(),
                    frame.id.to_owned(),
                    frame.range,
                )
            }));
        }
    };
    for piece in pieces {
        parser.feed(piece);
        drain(&mut parser);
    }
    match end {
        End::Finish => parser.finish(),
        End::Abort => parser.abort(),
    }
    drain(&mut parser);
    assert!(parser.is_terminated(), "the end of input is the end");
    parser.feed(b"data: {\"choices\":[]}\n\n");
    assert!(
        parser.next_event().is_none(),
        "nothing comes after the terminal item"
    );
    let deviations = parser.deviations().clone();
    Outcome {
        items,
        frames,
        completion: parser.into_completion(),
        deviations,
    }
}

pub fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    read_with(Options::default(), pieces, End::Finish)
}

/// The ways in which a stream is cut: at each byte once, with and without an empty read there; in pieces of one size.
pub fn for_each_cut(input: &[u8], mut test: impl FnMut(&str, Vec<&[u8]>)) {
    for size in [1, 2, 3, 7, 64] {
        test(
            &format!("{size} bytes a read"),
            input.chunks(size).collect(),
        );
    }
    test(
        "1 byte a read, empty reads between",
        input.chunks(1).flat_map(|piece| [&[][..], piece]).collect(),
    );
    for at in 0..=input.len() {
        let (head, tail) = input.split_at(at);
        test(
            &format!("cut at {at}, an empty read there"),
            vec![head, &[], tail],
        );
    }
}

impl Outcome {
    /// In the terms of the cases and of the naive oracle.
    pub fn answer(&self) -> naive::Answer {
        let mut answer = naive::Answer::default();
        let put = |map: &mut BTreeMap<u32, String>, index, text: Option<&str>| {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                map.insert(index, text.to_owned());
            }
        };
        for choice in &self.completion.choices {
            let message = &choice.message;
            put(
                &mut answer.content,
                choice.index,
                message.content.as_deref(),
            );
            put(
                &mut answer.reasoning,
                choice.index,
                message.reasoning_content.as_deref(),
            );
            put(
                &mut answer.refusal,
                choice.index,
                message.refusal.as_deref(),
            );
            put(
                &mut answer.finish,
                choice.index,
                choice.finish_reason.as_ref().map(|reason| reason.as_str()),
            );
            let calls = message.tool_calls.iter().map(|call| naive::Call {
                id: call.id.clone().unwrap_or_default(),
                name: call.name().to_owned(),
                arguments: call.arguments().to_owned(),
            });
            let legacy = message.function_call.iter().map(|call| naive::Call {
                id: String::new(),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
            });
            let calls: Vec<_> = calls.chain(legacy).collect();
            if !calls.is_empty() {
                answer.tool_calls.insert(choice.index, calls);
            }
        }
        if let Some(usage) = &self.completion.usage {
            for (key, count) in [
                ("prompt_tokens", usage.prompt_tokens),
                ("completion_tokens", usage.completion_tokens),
                ("total_tokens", usage.total_tokens),
            ] {
                answer
                    .usage
                    .extend(count.map(|count| (key.to_owned(), count)));
            }
        }
        for item in &self.items {
            match item {
                Ok(Event::ChunkParsed(_)) => answer.chunks += 1,
                Ok(Event::Done(done)) => {
                    (answer.ending_done, answer.done_marker) = (true, done.marker())
                }
                Err(fault) => match fault.kind {
                    ErrorKind::Malformed | ErrorKind::NotEventStream => answer.malformed += 1,
                    ErrorKind::Api => {
                        answer.server_error.get_or_insert(fault.message.clone());
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        answer
    }

    /// The calls that were completed: choice, slot, call.
    pub fn completed(&self) -> Vec<(u32, u32, chatwire::ToolCall)> {
        let completed = self.items.iter().filter_map(|item| match item {
            Ok(Event::ToolCallComplete {
                choice, slot, call, ..
            }) => Some((*choice, *slot, call.clone().into_owned())),
            _ => None,
        });
        completed.collect()
    }
}

/// What of `expect` the answer does not fulfil.
pub fn differences(expect: &Value, answer: &naive::Answer) -> Vec<String> {
    let mut differences = Vec::new();
    let texts = |map: &BTreeMap<u32, String>| {
        Value::Object(
            map.iter()
                .map(|(index, text)| (index.to_string(), text.as_str().into()))
                .collect(),
        )
    };
    for (key, want) in expect.as_object().unwrap() {
        let without_empty = |want: &Value| {
            let kept = want
                .as_object()
                .unwrap()
                .iter()
                .filter(|(_, value)| **value != "" && **value != Value::Array([].into()));
            Value::Object(
                kept.map(|(key, value)| (key.clone(), value.clone()))
                    .collect(),
            )
        };
        let (is_met, got) = match key.as_str() {
            "content" => (
                without_empty(want) == texts(&answer.content),
                format!("{:?}", answer.content),
            ),
            "reasoning" => (
                without_empty(want) == texts(&answer.reasoning),
                format!("{:?}", answer.reasoning),
            ),
            "refusal" => (
                without_empty(want) == texts(&answer.refusal),
                format!("{:?}", answer.refusal),
            ),
            "finish" => (
                without_empty(want) == texts(&answer.finish),
                format!("{:?}", answer.finish),
            ),
            "chunks" => (*want == answer.chunks, answer.chunks.to_string()),
            "malformed" => (*want == answer.malformed, answer.malformed.to_string()),
            "done_marker" => (*want == answer.done_marker, answer.done_marker.to_string()),
            "ending" => (
                (*want == "done") == answer.ending_done,
                answer.ending_done.to_string(),
            ),
            "usage" => {
                let want = want.as_object().unwrap();
                let is_met = if want.is_empty() {
                    answer.usage.values().all(|count| *count == 0)
                } else {
                    want.iter()
                        .all(|(key, count)| answer.usage.get(key).copied() == count.as_u64())
                };
                (is_met, format!("{:?}", answer.usage))
            }
            "server_error" => {
                let want = want.get("message").map(|message| message.as_str().unwrap());
                let is_met = match (want, &answer.server_error) {
                    (None, None) => true,
                    (Some(want), Some(got)) => got.contains(want),
                    _ => false,
                };
                (is_met, format!("{:?}", answer.server_error))
            }
            "tool_calls" => (
                same_calls(&without_empty(want), answer),
                format!("{:?}", answer.tool_calls),
            ),
            other => panic!("an expectation that nobody tests: {other}"),
        };
        if !is_met {
            differences.push(format!("{key}: want {want}, got {got}"));
        }
    }
    differences
}

fn same_calls(want: &Value, answer: &naive::Answer) -> bool {
    let want = want.as_object().unwrap();
    want.len() == answer.tool_calls.len()
        && answer.tool_calls.iter().all(|(index, calls)| {
            let Some(Value::Array(want)) = want.get(&index.to_string()) else {
                return false;
            };
            want.len() == calls.len()
                && want.iter().zip(calls).all(|(want, call)| {
                    let same = |key: &str, got: &str| {
                        want.get(key)
                            .is_none_or(|want| want.as_str().unwrap_or("") == got)
                    };
                    same("name", &call.name)
                        && same("arguments", &call.arguments)
                        && (want.get("id").is_none_or(|id| *id == "") || same("id", &call.id))
                })
        })
}

/// Every completed call is one of the answer's calls, whole, and none is completed twice.
pub fn check_completed(outcome: &Outcome) {
    let mut slots = Vec::new();
    let mut left: Vec<_> = outcome
        .answer()
        .tool_calls
        .into_iter()
        .flat_map(|(index, calls)| calls.into_iter().map(move |call| (index, call)))
        .collect();
    for (choice, slot, call) in outcome.completed() {
        assert!(
            !slots.contains(&(choice, slot)),
            "completed twice: {choice} {slot}"
        );
        slots.push((choice, slot));
        let found = left.iter().position(|(index, whole)| {
            *index == choice
                && whole.name == call.name()
                && whole.arguments == call.arguments()
                && whole.id == call.id.clone().unwrap_or_default()
        });
        left.swap_remove(
            found.unwrap_or_else(|| panic!("completed and not in the completion: {call:?}")),
        );
        if call.custom.is_none() && !call.arguments().trim().is_empty() {
            let is_whole = naive::is_filled(call.arguments()).is_some();
            assert!(is_whole, "completed and not whole: {call:?}");
        }
        assert!(!call.name().is_empty());
    }
}
