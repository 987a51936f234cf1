//! A naive oracle: the reading rules, written to be checked by eye. It takes a whole body at once, splits it into lines and
//! parses every payload into a tree. Nothing in it is incremental, fast, or shared with the crate.
//! Not modelled: limits in bytes, offsets, events and their order, and what is kept in `extra`.
#![allow(dead_code, unreachable_pub, clippy::std_instead_of_alloc)] // not every test needs all of it
#![cfg_attr(rustfmt, rustfmt_skip)] // laid out by hand, 130 wide: it is to be read at a sitting

use std::collections::BTreeMap;

use json::{Json, Parser, Text, whole};

mod json;

/// One dispatched event of the event stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub event: String,
    pub data: String,
    pub id: String,
    pub retry: Option<u64>,
    pub terminated: bool,
}

/// The frames of a body by WHATWG's rules; after them, with `terminated: false`, a last block whose blank line never came.
pub fn frames(body: &[u8]) -> Vec<Frame> {
    let (mut frames, mut id, mut retry) = (Vec::new(), String::new(), None);
    let (mut data, mut event) = (Vec::new(), "");
    let (lines, end_of_body) = (lines(body), ("", false));
    for (line, terminated) in lines.iter().map(|line| (line.as_str(), true)).chain([end_of_body]) {
        match field(line) {
            ("data", value) => data.push(value),
            ("event", value) => event = value,
            ("id", value) if !value.contains('\0') => id = value.to_string(),
            ("retry", value) if all_digits(value) => retry = value.parse().ok().or(retry),
            _ => {}
        }
        if line.is_empty() {
            if !data.is_empty() {
                let event = if event.is_empty() { "message" } else { event }.to_string();
                frames.push(Frame { event, data: data.join("\n"), id: id.clone(), retry, terminated });
            }
            (data, event) = (Vec::new(), "");
        }
    }
    frames
}

/// What a right reader makes of a stream. The maps are by choice index and have no empty texts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    pub content: BTreeMap<u32, String>,
    pub reasoning: BTreeMap<u32, String>,
    pub refusal: BTreeMap<u32, String>,
    pub tool_calls: BTreeMap<u32, Vec<Call>>,
    pub finish: BTreeMap<u32, String>,
    pub usage: BTreeMap<String, u64>, // prompt_tokens, completion_tokens, total_tokens: those that came
    pub chunks: u64,
    pub done_marker: bool,
    pub server_error: Option<String>, // the message of the first
    pub malformed: u64,
    pub ending_done: bool, // [DONE] came, or there are choices and each has a finish reason
}

/// A tool call (`arguments` is also a custom tool's input), or the legacy function call: no id, last in the list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

pub fn read(body: &[u8]) -> Answer {
    let mut reader = Reader::default();
    reader.body(&lines(body));
    reader.answer()
}

// ---------- lines

/// The lines of a body without their ends; an incomplete last line is one too.
fn lines(body: &[u8]) -> Vec<String> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let text = String::from_utf8_lossy(body).replace("\r\n", "\n").replace('\r', "\n");
    text.split_terminator('\n').map(String::from).collect()
}

/// Name and value of a field line. The name of a comment is "".
fn field(line: &str) -> (&str, &str) {
    let (name, value) = line.split_once(':').unwrap_or((line, ""));
    (name, value.strip_prefix(' ').unwrap_or(value))
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

// ---------- payloads

#[derive(PartialEq)]
enum Item {
    Value(Json),
    Done,
    Bad,
}

/// A text that is JSON values one after another, and `[DONE]` at most as the last thing; none if anything else is in it.
fn sequence(text: &str) -> Option<Vec<Item>> {
    let (mut parser, mut items) = (Parser { rest: text, repaired: false }, Vec::new());
    loop {
        parser.rest = parser.rest.trim_start(); // any white space may come between, not only JSON's
        if parser.token("[DONE]") || parser.token("\"[DONE]\"") {
            items.push(Item::Done);
            return parser.rest.trim().is_empty().then_some(items);
        }
        if parser.rest.is_empty() {
            return Some(items);
        }
        items.push(Item::Value(parser.value()?));
    }
}

/// The same, where a bad place costs its line only. Lines that are all bad are one bad payload.
fn sequence_by_line(text: &str) -> Vec<Item> {
    let last = text.split('\n').count() - 1;
    // the marker is the last thing in its frame, or it is no marker, and its line is bad
    let line = |(at, line)| sequence(line).filter(|items| at == last || !items.contains(&Item::Done)).unwrap_or(vec![Item::Bad]);
    let items: Vec<Item> = text.split('\n').enumerate().flat_map(line).collect();
    if items.iter().all(|item| *item == Item::Bad) { vec![Item::Bad] } else { items }
}

/// The first that is not empty, or else an empty one.
fn first<T: Default + PartialEq, const N: usize>(candidates: [T; N]) -> T {
    candidates.into_iter().find(|candidate| *candidate != T::default()).unwrap_or_default()
}

/// The message in an error value: a text, or an object with anything in it. "" if it is no error.
fn message(error: &Json) -> String {
    let Json::Object(fields) = error else { return error.string() };
    let text = first(["message", "msg", "error_msg", "detail"].map(|key| error.get(key).string()));
    if text.is_empty() && fields.iter().any(|(key, _)| !error.get(key).is_nothing()) { sorted(error).to_string() } else { text }
}

/// They are no part of an error object.
const CHUNK_FIELDS: [&str; 10] = ["id", "object", "created", "model", "service_tier", "system_fingerprint", "obfuscation",
    "moderation", "usage", "choices"];

/// Whether arguments have members; none if they are no whole JSON object or list.
pub fn is_filled(arguments: &str) -> Option<bool> {
    let json = whole(&arguments.encode_utf16().collect::<Vec<_>>())?;
    Some(!matches!(json.compact().as_str(), "[]" | "{}"))
}

/// A value as serde_json has it: keys sorted, numbers as binary ones.
fn sorted(json: &Json) -> serde_json::Value {
    let number = |text: &str| match (text.parse::<u64>(), text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(number), ..) => number.into(),
        (_, Ok(number @ ..0), _) => number.into(),
        (.., number) => number.ok().into(),
    };
    match json {
        Json::Null => serde_json::Value::Null,
        Json::Bool(value) => (*value).into(),
        Json::Number(text) => number(text),
        Json::Text(_) => json.string().into(),
        Json::List(items) => items.iter().map(sorted).collect(),
        Json::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), sorted(value))).collect(),
    }
}

/// The message of a payload that reports an error. "" if it reports none.
fn error(payload: &Json, event: &str) -> String {
    let string = |key: &str| payload.get(key).string();
    let is_code = |json: &Json| !json.is_nothing();
    let (base, header) = (payload.get("base_resp"), payload.get("header"));
    let choices = payload.get("choices").items();
    let base = match base.get("status_msg") {
        _ if !is_code(base.get("status_code")) => String::new(),
        number @ Json::Number(_) => sorted(number).to_string(),
        text => first([text.string(), "error".into()]),
    };
    let in_choice = choices.iter().map(|choice| message(choice.get("error"))).find(|text| !text.is_empty()).unwrap_or_default();
    let in_groq = message(payload.get("x_groq").get("error"));
    let found = first([message(payload.get("error")), base, string("error_msg"), string("error_message"), in_choice, in_groq]);
    if !found.is_empty() || !choices.is_empty() {
        return found; // only these count beside choices
    }
    let in_list = payload.get("errors").items().first().map(message).unwrap_or_default();
    let found = first([in_list, if is_code(header.get("code")) { message(header) } else { String::new() }]);
    if !found.is_empty() || payload.get("usage").is_object() {
        return found; // and these beside a usage
    }
    if string("object") == "error" || string("type") == "error" || event == "error" {
        let Json::Object(fields) = payload else { return String::new() };
        let is_own = |(key, _): &(String, Json)| CHUNK_FIELDS.contains(&key.as_str());
        let fields = fields.iter().filter(|field| !is_own(field)).cloned().collect();
        return first([message(&Json::Object(fields)), "error".into()]);
    }
    let in_details = payload.get("detail").items().iter().take(1).filter(|detail| !detail.get("msg").string().is_empty());
    let in_details = in_details.map(message).next().unwrap_or_default();
    let coded = if is_code(payload.get("code")) { first([string("message"), string("msg")]) } else { String::new() };
    first([string("detail"), in_details, coded])
}

// ---------- the answer

const MAX_CHOICES: usize = 128;
const MAX_TOOL_CALLS: usize = 128;
/// The index of the legacy function call: after every index of the wire.
const FUNCTION_CALL: u64 = 1 << 32;

#[derive(Default)]
struct Reader {
    choices: BTreeMap<u32, Choice>,
    answer: Answer,
    is_stream: bool, // a field came
    is_any_ignored: bool, // a line, or a run, came that is nothing
}

#[derive(Default)]
struct Choice {
    content: Text,
    reasoning: Text,
    refusal: Text,
    audio: bool,
    finish: String,
    slots: Vec<Slot>, // in order of arrival
    by_index: BTreeMap<u64, usize>,
    last: Option<usize>,
    is_last_skipped: bool, // what follows it without index and id is skipped too
}

/// A tool call as it grows; "" is absent.
#[derive(Default)]
struct Slot {
    order: u64,
    id: Text,
    name: Text,
    arguments: Text,
    custom: bool,
    completed: bool, // its completion is out: what comes late changes nothing
}

impl Reader {
    fn body(&mut self, lines: &[String]) {
        let lines = lines.iter().map(String::as_str).filter(|line| !line.starts_with(':')); // comments are nothing, anywhere
        let (mut data, mut event) = (Vec::new(), "");
        let mut run = Vec::new(); // of bare lines that begins like JSON
        for line in lines.chain([""]) {
            let ((name, value), bare) = (field(line), line.trim());
            let is_error = name == "error" && value.trim().starts_with('{');
            let is_field = is_error || matches!(name, "data" | "event" | "id" | "retry");
            self.is_stream |= is_field;
            if is_field || bare == "[DONE]" {
                self.bare(&core::mem::take(&mut run).join("\n"));
            }
            match name {
                "data" => data.push(value),
                "event" => event = value,
                "id" | "retry" => {}
                _ if is_error => {
                    if let Some([Item::Value(error)]) = sequence(value.trim()).as_deref() {
                        self.report(message(error));
                    }
                }
                _ if line.is_empty() || bare == "[DONE]" => {
                    self.payload(&data.join("\n"), event);
                    (data, event) = (Vec::new(), "");
                    self.answer.done_marker |= bare == "[DONE]";
                }
                _ if !run.is_empty() => run.push(line),
                _ if bare.starts_with('{') && sequence(bare).is_some() => self.bare(bare),
                _ if bare.starts_with('{') && data.is_empty() => run.push(line), // a run begins between blocks only
                _ => self.is_any_ignored |= !bare.is_empty(),
            }
            if self.answer.done_marker {
                break; // after it nothing counts
            }
        }
        self.bare(&run.join("\n"));
        self.answer.malformed += u64::from(self.is_any_ignored && !self.is_stream); // one fault for the body
    }
    /// Text that is no field: JSON, or a fault.
    fn bare(&mut self, text: &str) {
        match sequence(text.trim()) {
            Some(items) => self.items(items, ""),
            None if self.is_stream => self.items(vec![Item::Bad], ""),
            None => self.is_any_ignored = true,
        }
    }
    /// The data of a frame.
    fn payload(&mut self, data: &str, event: &str) {
        let data = data.trim();
        match sequence(data) {
            _ if matches!(event, "ping" | "keepalive" | "keep-alive" | "heartbeat") => {}
            Some(items) => self.items(items, event),
            None if event == "error" => self.report(data.to_string()),
            None => self.items(sequence_by_line(data), event),
        }
    }
    fn items(&mut self, items: Vec<Item>, event: &str) {
        for item in items {
            match item {
                Item::Done => self.answer.done_marker = true,
                Item::Value(object) if object.is_object() => self.object(&object, event),
                Item::Value(text) if event == "error" && !text.text().is_empty() => self.report(text.string()),
                Item::Value(_) | Item::Bad => self.answer.malformed += 1,
            }
        }
    }
    fn report(&mut self, error: String) {
        self.answer.server_error = self.answer.server_error.take().or(Some(error).filter(|error| !error.is_empty()));
    }
    fn object(&mut self, object: &Json, event: &str) {
        let (choices, error) = (object.get("choices"), error(object, event));
        let named = object.get("object").string().starts_with("chat.completion");
        let is_chunk = matches!(choices, Json::List(_)) || named || (object.get("usage").is_object() && error.is_empty());
        self.report(error);
        if !is_chunk {
            return;
        }
        self.answer.chunks += 1;
        let mut has_usage = self.usage(object.get("usage"));
        for (position, choice) in choices.items().iter().enumerate().filter(|(_, choice)| choice.is_object()) {
            let Ok(index) = u32::try_from(choice.get("index").index().unwrap_or(position as u64)) else { continue };
            has_usage = has_usage || self.usage(choice.get("usage"));
            if self.choices.len() < MAX_CHOICES || self.choices.contains_key(&index) {
                let is_whole = object.get("object").string() == "chat.completion";
                self.choices.entry(index).or_default().choice(choice, is_whole);
            }
        }
        if !has_usage {
            self.usage(object.get("x_groq").get("usage"));
        }
    }
    /// A snapshot: the last that has a count wins, but zeros never replace a real one. Says whether it has a count.
    fn usage(&mut self, usage: &Json) -> bool {
        let names = [("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"), ("total_tokens", "total_tokens")];
        let count = |name| usage.get(name).count();
        let counts = names.map(|(name, other)| Some((name.to_string(), count(name).or(count(other))?)));
        let counts: BTreeMap<_, _> = counts.into_iter().flatten().collect();
        let has_count = !counts.is_empty();
        let is_real = |counts: &BTreeMap<String, u64>| counts.values().any(|count| *count > 0);
        if has_count && (is_real(&counts) || !is_real(&self.answer.usage)) {
            self.answer.usage = counts;
        }
        has_count
    }
    fn answer(self) -> Answer {
        let mut answer = self.answer;
        let finished = !self.choices.is_empty() && self.choices.values().all(|choice| !choice.finish.is_empty());
        answer.ending_done = answer.done_marker || finished;
        for (index, mut choice) in self.choices {
            let put = |map: &mut BTreeMap<u32, String>, text: String| {
                if !text.is_empty() {
                    map.insert(index, text);
                }
            };
            let string = |text: &Text| String::from_utf16_lossy(text);
            put(&mut answer.content, string(&choice.content));
            put(&mut answer.reasoning, string(&choice.reasoning));
            put(&mut answer.refusal, string(&choice.refusal));
            put(&mut answer.finish, choice.finish);
            choice.slots.sort_by_key(|slot| slot.order); // stable: then by arrival
            let call = |slot: &Slot| Call { id: string(&slot.id), name: string(&slot.name), arguments: string(&slot.arguments) };
            let calls: Vec<Call> = choice.slots.iter().map(call).collect();
            if !calls.is_empty() {
                answer.tool_calls.insert(index, calls);
            }
        }
        answer
    }
}

impl Choice {
    fn is_empty(&self) -> bool {
        [&self.content, &self.reasoning, &self.refusal].iter().all(|text| text.is_empty()) && !self.audio && self.slots.is_empty()
    }
    fn choice(&mut self, choice: &Json, is_whole: bool) {
        let (delta, message) = (choice.get("delta"), choice.get("message"));
        let mut stub = Self::default(); // beside the message of a whole answer (Perplexity)
        stub.delta(delta, false);
        if delta.is_object() && !(is_whole && message.is_object() && stub.is_empty()) {
            self.delta(delta, false);
        } else if self.is_empty() {
            self.delta(message, true);
        }
        let reason = first([choice.get("finish_reason").string(), choice.get("finishReason").string()]);
        if !reason.is_empty() && (reason != "stop" || self.finish.is_empty()) {
            self.finish = reason;
        }
        if !self.finish.is_empty() {
            for slot in self.slots.iter_mut().filter(|slot| !slot.custom && !slot.name.is_empty()) {
                slot.completed |= whole(&slot.arguments).is_some_and(|arguments| !arguments.is_nothing());
            }
        }
    }
    /// A delta, or a whole message: in that each call is one of its own.
    fn delta(&mut self, delta: &Json, is_message: bool) {
        self.content.extend(delta.get("content").text());
        for part in delta.get("content").items() {
            if part.get("type").string() == "thinking" {
                self.reasoning.extend(part.get("thinking").text());
                self.reasoning.extend(part.get("thinking").items().iter().flat_map(|part| part.get("text").text()));
            } else {
                self.content.extend(first([part.text(), part.get("text").text()]));
            }
        }
        let reasoning = first(["reasoning_content", "reasoning", "reasoning_text", "thinking"].map(|key| delta.get(key).text()));
        let details = if reasoning.is_empty() { delta.get("reasoning_details").items() } else { &[] };
        self.reasoning.extend(reasoning);
        self.reasoning.extend(details.iter().flat_map(|detail| first([detail.get("text").text(), detail.get("summary").text()])));
        self.refusal.extend(delta.get("refusal").text());
        self.audio |= delta.get("audio").is_object();
        let calls = delta.get("tool_calls");
        let calls = if calls.is_object() { core::slice::from_ref(calls) } else { calls.items() };
        for call in calls.iter().filter(|call| call.is_object()) {
            let (function, custom) = (call.get("function"), call.get("custom"));
            let is_custom = !function.is_object() && (custom.is_object() || call.get("type").string() == "custom");
            let (index, id) = (call.get("index").index(), call.get("id").string().encode_utf16().collect::<Text>());
            if index.is_none() && id.is_empty() && self.is_last_skipped {
                continue;
            }
            self.is_last_skipped = index.is_some_and(|index| index > u64::from(u32::MAX)); // TooLarge
            if !self.is_last_skipped {
                let found = self.find(index, &id).filter(|_| !is_message);
                self.fragment(found, index, &id, if is_custom { custom } else { function }, is_custom);
            }
        }
        if delta.get("function_call").is_object() {
            self.is_last_skipped = false;
            let found = self.find(Some(FUNCTION_CALL), &[]);
            self.fragment(found, Some(FUNCTION_CALL), &[], delta.get("function_call"), false);
        }
    }
    /// The slot of a fragment: by index, else by known id, else, with neither, the last one.
    fn find(&self, index: Option<u64>, id: &[u16]) -> Option<usize> {
        let by_index = index.and_then(|index| self.by_index.get(&index).copied());
        let by_id = || self.slots.iter().position(|slot| !id.is_empty() && slot.id == id);
        by_index.or_else(by_id).or(self.last.filter(|_| index.is_none() && id.is_empty()))
    }
    /// One fragment of a call; `id`, `name` and `arguments` are "" where they are absent.
    fn fragment(&mut self, found: Option<usize>, index: Option<u64>, id: &[u16], body: &Json, custom: bool) {
        let name: Text = body.get("name").string().encode_utf16().collect(); // no flow of text: halves of pairs never meet
        let arguments = body.get(if custom { "input" } else { "arguments" });
        let written: Text = arguments.compact().encode_utf16().collect();
        let arguments = if arguments.end().is_some() { &written } else { arguments.text() };
        let blank = String::from_utf16_lossy(arguments).trim().is_empty();

        let opens_another = |slot: &Slot| {
            let is_whole = !slot.custom && whole(&slot.arguments).is_some();
            let begun = !slot.arguments.is_empty();
            if name.is_empty() {
                false
            } else if !id.is_empty() && !slot.id.is_empty() {
                id != slot.id && !(name == slot.name && begun && !is_whole)
            } else {
                !slot.name.is_empty() && ((is_whole && !blank) || (name != slot.name && begun))
            }
        };
        let kept = found.filter(|at| !self.slots.get(*at).is_some_and(opens_another));
        if index == Some(FUNCTION_CALL) && kept != found {
            return; // there is but one legacy call
        }
        let at = kept.unwrap_or(self.slots.len());
        if at >= MAX_TOOL_CALLS {
            self.is_last_skipped = true;
            return; // TooLarge
        }
        if kept.is_none() {
            self.slots.push(Slot { order: index.unwrap_or(at as u64), custom, ..Slot::default() });
        }
        if let Some(index) = index {
            self.by_index.insert(index, at);
        }
        self.last = Some(at);

        let Some(slot) = self.slots.get_mut(at).filter(|slot| !slot.completed) else { return };
        if slot.id.is_empty() {
            slot.id = id.to_vec();
        }
        if slot.name.is_empty() || (slot.name != name && slot.arguments.is_empty()) {
            slot.name.extend(name); // a name may come in pieces, before the arguments
        }
        if slot.custom {
            slot.arguments.extend(arguments); // free text
        } else if !blank && slot.arguments.iter().copied().eq("{}".encode_utf16()) {
            slot.arguments = arguments.to_vec(); // it was a placeholder
        } else if blank || slot.arguments != arguments || whole(arguments).is_none() {
            slot.arguments.extend(arguments); // but the whole arguments once more are a resend
        }
    }
}
