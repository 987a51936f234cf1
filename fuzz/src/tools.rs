//! Fragments of tool calls: each call completes once, whole, and with nothing that was not sent.
//!
//! An input is a byte that says how the stream ends, then fragments to the end. `Arbitrary` reads them from the front, byte
//! by byte, so that they can be written too: see [`Fragment`].
//!
//! | first byte modulo 4 | the end |
//! |---|---|
//! | 0 | `[DONE]` |
//! | 1 | a clean end |
//! | 2 | a broken transport |
//! | 3 | `[DONE]`, all in reads of 7 bytes |

use std::collections::{BTreeMap, BTreeSet};

use arbitrary::{Arbitrary, Result, Unstructured};
use chatwire::{Chunk, ErrorKind, Event, Options, Parser, ToolCall};
use serde_json::{Value, json};

use crate::common::{End, check_completed, naive, read_with};

/// A fragment.
///
/// | byte | bits | meaning |
/// |---|---|---|
/// | 0 | 0-1 | the choice: 0, 1, 2; 3 is 0 too |
/// | | 2 | it begins a new chunk |
/// | | 3 | the choice has a finish reason in this chunk: the last byte of the fragment, into [`REASONS`] |
/// | | 4-5 | 0, 1: function; 2: custom; 3: legacy `function_call` |
/// | | 6 | it has a type |
/// | | 7 | arguments that are JSON are sent as such, not as text |
/// | 1 | 0-3 | the index: into [`INDICES`] |
/// | | 4-7 | the id: into [`IDS`] |
/// | 2 | 0-3 | the name: into [`NAMES`] |
/// | | 4-7 | the arguments: into [`ARGUMENTS`]; over: a byte, and so many bytes of text |
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fragment {
    pub(crate) choice: u8,
    pub(crate) is_new_chunk: bool,
    pub(crate) kind: Kind,
    pub(crate) has_type: bool,
    pub(crate) as_json: bool,
    pub(crate) index: u8,
    pub(crate) id: u8,
    pub(crate) name: u8,
    pub(crate) arguments: Arguments,
    pub(crate) reason: Option<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Function,
    Custom,
    Legacy,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arguments {
    Common(u8),
    Text(String),
}

/// No more than `Limits::max_tool_calls`: of one delta no more fragments are read.
const MOST: usize = 128;

/// JSON; "" is absent.
const INDICES: [&str; 16] = [
    "",
    "0",
    "1",
    "2",
    "3",
    "4",
    "null",
    "-1",
    "\"1\"",
    "1.0",
    "4294967295",
    "4294967296",
    "\"x\"",
    "1e3",
    "7",
    "00",
];
const IDS: [&str; 16] = [
    "", "\"a\"", "\"b\"", "\"c\"", "\"d\"", "\"e\"", "\"f\"", "\"g\"", "\"h\"", "\"\"", "null",
    "7", "\"a b\"", "\"i\"", "\"j\"", "\"k\"",
];
const NAMES: [&str; 16] = [
    "",
    "\"f\"",
    "\"g\"",
    "\"h\"",
    "\"get_\"",
    "\"weather\"",
    "\"i\"",
    "\"\"",
    "null",
    "7",
    "\"ff\"",
    "\"j\"",
    "\"k\"",
    "\"l\"",
    "\"m\"",
    "\"n\"",
];
const ARGUMENTS: [&str; 12] = [
    "",
    "\"\"",
    "\"{}\"",
    "\" \"",
    "\"{\\\"a\\\":1}\"",
    "\"{\\\"a\\\":\"",
    "\"1}\"",
    "\"[]\"",
    "\"[1]\"",
    "null",
    "\"}\"",
    "{\"b\": 2}",
];
const REASONS: [&str; 4] = ["tool_calls", "stop", "length", "function_call"];

impl<'a> Arbitrary<'a> for Fragment {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let [first, second, third]: [u8; 3] = u.arbitrary()?;
        let arguments = third >> 4;
        let arguments = if usize::from(arguments) < ARGUMENTS.len() {
            Arguments::Common(arguments)
        } else {
            let len = usize::from(u.arbitrary::<u8>()?).min(u.len());
            Arguments::Text(String::from_utf8_lossy(u.bytes(len)?).into_owned())
        };
        Ok(Self {
            choice: first % 4 % 3,
            is_new_chunk: first & 4 != 0,
            kind: match first >> 4 & 3 {
                2 => Kind::Custom,
                3 => Kind::Legacy,
                _ => Kind::Function,
            },
            has_type: first & 64 != 0,
            as_json: first & 128 != 0,
            index: second & 15,
            id: second >> 4,
            name: third & 15,
            arguments,
            reason: if first & 8 != 0 {
                Some(u.arbitrary::<u8>()? % 4)
            } else {
                None
            },
        })
    }
}

impl Fragment {
    /// The bytes that are read as this fragment. Its text must be at most 255 bytes long.
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        let kind = match self.kind {
            Kind::Function => 0,
            Kind::Custom => 2,
            Kind::Legacy => 3,
        };
        let flags = [
            (self.is_new_chunk, 4),
            (self.reason.is_some(), 8),
            (self.has_type, 64),
            (self.as_json, 128),
        ];
        let flags: u8 = flags
            .iter()
            .filter(|(is_set, _)| *is_set)
            .map(|(_, bit)| bit)
            .sum();
        bytes.extend([self.choice | kind << 4 | flags, self.id << 4 | self.index]);
        match &self.arguments {
            Arguments::Common(nth) => bytes.push(nth << 4 | self.name),
            Arguments::Text(text) => {
                bytes.extend([
                    15 << 4 | self.name,
                    u8::try_from(text.len()).expect("a short text"),
                ]);
                bytes.extend_from_slice(text.as_bytes());
            }
        }
        bytes.extend(self.reason);
    }

    /// The numbers by which an id or a name of a real stream is sent: another one for each, as long as there are.
    pub(crate) fn id_of(nth: usize) -> u8 {
        [1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 15][nth % 12]
    }

    pub(crate) fn name_of(nth: usize) -> u8 {
        [1, 2, 3, 6, 11, 12, 13, 14, 15][nth % 9]
    }

    /// The JSON of the arguments; "" if there are none.
    fn arguments(&self) -> String {
        let arguments = match &self.arguments {
            Arguments::Common(nth) => ARGUMENTS[usize::from(*nth)].to_owned(),
            Arguments::Text(text) => Value::from(text.as_str()).to_string(),
        };
        let inside = serde_json::from_str::<String>(&arguments);
        inside
            .ok()
            // In one line.
            .filter(|text| self.as_json && is_whole(text) && !text.contains(['\n', '\r']))
            .unwrap_or(arguments)
    }

    /// What goes into the delta: the key, and the JSON.
    fn json(&self) -> (&'static str, String) {
        let mut body = Vec::new();
        let mut put = |key: &str, value: &str| {
            if !value.is_empty() {
                body.push(format!("\"{key}\":{value}"));
            }
        };
        put("name", NAMES[usize::from(self.name)]);
        let key = if self.kind == Kind::Custom {
            "input"
        } else {
            "arguments"
        };
        put(key, &self.arguments());
        let body = format!("{{{}}}", body.join(","));
        if self.kind == Kind::Legacy {
            return ("function_call", body);
        }
        let kind = if self.kind == Kind::Custom {
            "custom"
        } else {
            "function"
        };
        let mut call = Vec::new();
        let index = INDICES[usize::from(self.index)];
        if !index.is_empty() && index != "00" {
            call.push(format!("\"index\":{index}"));
        }
        let id = IDS[usize::from(self.id)];
        if !id.is_empty() {
            call.push(format!("\"id\":{id}"));
        }
        if self.has_type {
            call.push(format!("\"type\":\"{kind}\""));
        }
        call.push(format!("\"{kind}\":{body}"));
        ("tool_calls", format!("{{{}}}", call.join(",")))
    }
}

/// A whole JSON object or list.
fn is_whole(text: &str) -> bool {
    naive::is_filled(text).is_some()
}

/// The stream of these fragments, without its end.
fn stream_of(fragments: &[Fragment]) -> String {
    let mut stream = String::new();
    let mut at = 0;
    while at < fragments.len() {
        let more = fragments[at + 1..]
            .iter()
            .take_while(|fragment| !fragment.is_new_chunk)
            .count();
        let of_chunk = &fragments[at..=at + more];
        at += 1 + more;
        let mut choices = Vec::new();
        for choice in 0..3 {
            let of_choice: Vec<_> = of_chunk
                .iter()
                .filter(|fragment| fragment.choice == choice)
                .collect();
            if of_choice.is_empty() {
                continue;
            }
            let mut delta = Vec::new();
            let parts: Vec<_> = of_choice.iter().map(|fragment| fragment.json()).collect();
            let calls: Vec<_> = parts
                .iter()
                .filter(|(key, _)| *key == "tool_calls")
                .collect();
            if !calls.is_empty() {
                let calls: Vec<_> = calls.iter().map(|(_, call)| call.as_str()).collect();
                delta.push(format!("\"tool_calls\":[{}]", calls.join(",")));
            }
            if let Some((key, legacy)) = parts.iter().rfind(|(key, _)| *key != "tool_calls") {
                delta.push(format!("\"{key}\":{legacy}"));
            }
            let reason = of_choice.iter().rev().find_map(|fragment| fragment.reason);
            let reason = reason.map(|reason| REASONS[usize::from(reason)]);
            choices.push(format!(
                "{{\"index\":{choice},\"delta\":{{{}}},\"finish_reason\":{}}}",
                delta.join(","),
                json!(reason)
            ));
        }
        stream += &format!("data: {{\"choices\":[{}]}}\n\n", choices.join(","));
    }
    stream
}

/// What was sent for one slot.
#[derive(Debug, Default)]
struct Sent {
    arguments: String,
    has_name: bool,
    is_custom: bool,
}

impl Sent {
    fn add(&mut self, name: Option<&str>, arguments: &str) {
        self.has_name |= name.is_some_and(|name| !name.is_empty());
        let is_blank = arguments.trim().is_empty();
        if !self.is_custom && !is_blank && self.arguments == arguments && is_whole(arguments) {
            return; // sent again
        }
        if !self.is_custom && !is_blank && self.arguments == "{}" {
            self.arguments.clear(); // it was a placeholder
        }
        self.arguments += arguments;
    }

    fn may_complete(&self, is_length: bool) -> bool {
        let is_free = self.is_custom || self.arguments.trim().is_empty();
        self.has_name
            && if is_free {
                !is_length
            } else {
                is_whole(&self.arguments)
            }
    }
}

/// The target.
pub fn tools(data: &[u8]) {
    let mut unstructured = Unstructured::new(data);
    let end = unstructured.arbitrary::<u8>().unwrap_or_default() % 4;
    let mut fragments = Vec::new();
    while !unstructured.is_empty() && fragments.len() < MOST {
        fragments.push(Fragment::arbitrary(&mut unstructured).expect("missing bytes are zeros"));
    }
    let body = stream_of(&fragments);
    let marker = if matches!(end, 0 | 3) {
        "data: [DONE]\n\n"
    } else {
        ""
    };
    let stream = format!("{body}{marker}");
    let size = if end == 3 { 7 } else { usize::MAX };
    let end = if end == 2 { End::Abort } else { End::Finish };
    let outcome = read_with(Options::default(), stream.as_bytes().chunks(size), end);
    check_completed(&outcome);
    if end == End::Finish {
        let (mut calls, mut expected) = (
            outcome.answer().tool_calls,
            naive::read(stream.as_bytes()).tool_calls,
        );
        // The oracle gives a place to fragments that have none: what would be a second legacy call of a message, and what
        // follows a fragment that is skipped for its index. And it looks for JSON in the free text of a custom tool.
        for choice in (0..3).filter(|choice| is_ambiguous(&fragments, *choice)) {
            calls.remove(&choice);
            expected.remove(&choice);
        }
        assert_eq!(calls, expected, "the naive oracle");
    }
    follow(&body, marker, end);
}

/// Whether a choice has fragments of several kinds, legacy ones with names beside the first, an index that is too large, or a
/// custom tool's input that may be JSON.
fn is_ambiguous(fragments: &[Fragment], choice: u32) -> bool {
    let of_choice: Vec<_> = fragments
        .iter()
        .filter(|fragment| u32::from(fragment.choice) == choice)
        .collect();
    let is_of = |kind| of_choice.iter().any(|fragment| fragment.kind == kind);
    let kinds = [Kind::Function, Kind::Custom, Kind::Legacy]
        .into_iter()
        .filter(|kind| is_of(*kind));
    let is_over = |fragment: &Fragment| INDICES[usize::from(fragment.index)] == "4294967296";
    let may_be_json = |fragment: &Fragment| {
        fragment.kind == Kind::Custom && fragment.arguments().contains(['{', '['])
    };
    kinds.count() > 1
        || is_of(Kind::Legacy) && of_choice.iter().skip(1).any(|fragment| fragment.name != 0)
        || of_choice
            .iter()
            .any(|fragment| is_over(fragment) || may_be_json(fragment))
}

/// What must be complete by now.
#[derive(Debug, Default)]
struct Book {
    sent: BTreeMap<(u32, u32), Sent>,
    completed: Vec<(u32, u32)>,
    /// By choice: whether the finish reason is `length`.
    finished: BTreeMap<u32, bool>,
    /// The choices with a legacy call: whose slots are not told, and a fragment without index and id may be of it.
    legacy: BTreeSet<u32>,
}

impl Book {
    fn chunk(&mut self, chunk: &Chunk) {
        for choice in &chunk.choices {
            if choice.delta.function_call.is_some() {
                self.legacy.insert(choice.index);
            }
            for delta in &choice.delta.tool_calls {
                let Some(slot) = delta.slot else { continue };
                let (function, custom) = (delta.function.as_ref(), delta.custom.as_ref());
                let (name, arguments) = match (function, custom) {
                    (Some(of), _) => (of.name.as_deref(), of.arguments.as_deref()),
                    (None, Some(of)) => (of.name.as_deref(), of.input.as_deref()),
                    (None, None) => (None, None),
                };
                let sent = self
                    .sent
                    .entry((choice.index, slot))
                    .or_insert_with(|| Sent {
                        is_custom: function.is_none() && custom.is_some(),
                        ..Sent::default()
                    });
                sent.add(name, arguments.unwrap_or_default());
            }
            if let Some(reason) = &choice.finish_reason {
                let is_length = self.finished.entry(choice.index).or_default();
                match reason.as_str() {
                    "stop" => {}
                    reason => *is_length = reason == "length",
                }
            }
        }
    }

    fn complete(&mut self, choice: u32, slot: u32, call: &ToolCall) {
        assert!(
            !self.completed.contains(&(choice, slot)),
            "completed twice: {choice} {slot}"
        );
        self.completed.push((choice, slot));
        if let Some((_, sent)) = self.told().find(|(place, _)| **place == (choice, slot)) {
            assert_eq!(
                call.arguments(),
                sent.arguments,
                "all that was sent, and nothing else"
            );
            assert_eq!(call.custom.is_some(), sent.is_custom);
        }
    }

    /// What was sent for each slot, where that is known.
    fn told(&self) -> impl Iterator<Item = (&(u32, u32), &Sent)> {
        self.sent
            .iter()
            .filter(|(place, _)| !self.legacy.contains(&place.0))
    }

    /// Between two chunks: complete is each call of a finished choice that is whole and not empty, and no other.
    fn check(&self) {
        for (place, sent) in self.told() {
            let is_filled = naive::is_filled(&sent.arguments) == Some(true);
            let is_due = self.finished.contains_key(&place.0)
                && is_filled
                && sent.has_name
                && !sent.is_custom;
            assert_eq!(
                self.completed.contains(place),
                is_due,
                "{place:?}: {sent:?}"
            );
        }
    }

    /// At a good end: complete is each call that is not broken.
    fn check_end(&self, incomplete: &[(u32, u32)]) {
        for (place, sent) in self.told() {
            let is_length = self.finished.get(&place.0).copied().unwrap_or_default();
            assert_eq!(
                self.completed.contains(place),
                sent.may_complete(is_length),
                "{place:?}: {sent:?}"
            );
            assert_ne!(
                self.completed.contains(place),
                incomplete.contains(place),
                "{place:?}: {sent:?}"
            );
        }
    }
}

/// Follows the events: what must complete completes when it must.
fn follow(fragments: &str, marker: &str, end: End) {
    let mut parser = Parser::new();
    let mut book = Book::default();
    parser.feed(fragments.as_bytes());
    let mut is_ended = false;
    while !parser.is_terminated() {
        let Some(item) = parser.next_owned() else {
            assert!(!is_ended, "the end does not come");
            book.check();
            parser.feed(marker.as_bytes());
            match end {
                End::Finish => parser.finish(),
                End::Abort => parser.abort(),
            }
            is_ended = true;
            continue;
        };
        match item {
            Ok(Event::ChunkParsed(chunk)) => {
                book.check();
                book.chunk(&chunk);
            }
            Ok(Event::ToolCallComplete {
                choice, slot, call, ..
            }) => {
                book.complete(choice, slot, &call);
            }
            Ok(Event::Done(done)) => {
                let incomplete = done.incomplete_calls().iter();
                book.check_end(
                    &incomplete
                        .map(|call| (call.choice, call.slot))
                        .collect::<Vec<_>>(),
                );
            }
            Err(error) => match error.kind() {
                ErrorKind::Truncated => book.check(),
                ErrorKind::TooLarge => {}
                kind => panic!("{kind:?}"),
            },
            _ => {}
        }
    }
}
