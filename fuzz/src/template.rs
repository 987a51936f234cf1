//! The fast path gives what the general path gives.
//!
//! The body is a script: lines, each a payload. A line that begins with one of these bytes is an edit of the payload
//! before it (so that payloads nearly repeat, which is what the fast path is for):
//!
//! | first byte | then | the payload is the one before, but |
//! |---|---|---|
//! | `=` | nothing | the same |
//! | `~` | a byte N, text | in its Nth string or number the inside is this text |
//! | `^` | a byte N, text | its Nth string or number is this text, quotes and all |
//! | `+` | a byte N, text | the text is inserted before its Nth string or number |
//!
//! N counts modulo how many there are. Each payload is sent as one frame of one line.

use chatwire::chunk::{Decoder, Payload};
use chatwire::completion::Accumulator;
use chatwire::{ChatCompletion, Chunk, Deviation, DeviationSet, Event, Options, sse};

use crate::Input;
use crate::common::{End, Outcome, read_with};

/// The payloads that a script makes.
pub(crate) fn payloads(script: &[u8]) -> Vec<String> {
    let mut payloads: Vec<String> = Vec::new();
    for line in script.split(|byte| *byte == b'\n') {
        if payloads.len() == 64 {
            break;
        }
        let last = payloads.last().map(String::as_str).unwrap_or_default();
        let payload = match line {
            [] => continue,
            [b'=', ..] => last.to_owned(),
            [kind @ (b'~' | b'^' | b'+'), nth, text @ ..] => {
                edited(last, *kind, *nth, &String::from_utf8_lossy(text))
            }
            line => String::from_utf8_lossy(line).into_owned(),
        };
        let payload = payload.replace('\r', "");
        // It grows by edits only: no more than the fast path learns, and a little.
        payloads.push(if payload.len() > 5000 {
            String::new()
        } else {
            payload
        });
    }
    payloads
}

fn edited(payload: &str, kind: u8, nth: u8, text: &str) -> String {
    let tokens = tokens(payload);
    if tokens.is_empty() {
        return text.to_owned();
    }
    let (mut start, mut end) = tokens[usize::from(nth) % tokens.len()];
    match kind {
        b'~' if payload[start..].starts_with('"') => {
            start += 1;
            if end > start && payload[..end].ends_with('"') {
                end -= 1;
            }
        }
        b'+' => end = start,
        _ => {}
    }
    [&payload[..start], text, &payload[end..]].concat()
}

/// Where the strings and numbers of a JSON text are.
fn tokens(text: &str) -> Vec<(usize, usize)> {
    let (bytes, mut at, mut tokens) = (text.as_bytes(), 0, Vec::new());
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(bytes.len());
                if text.is_char_boundary(at) {
                    tokens.push((start, at));
                }
            }
            b'0'..=b'9' | b'-' => {
                while at < bytes.len()
                    && matches!(bytes[at], b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')
                {
                    at += 1;
                }
                tokens.push((start, at));
            }
            _ => at += 1,
        }
    }
    tokens
}

/// What the layers say when each payload gets a decoder of its own: chunks, answer, deviations of the single payloads.
fn by_hand(stream: &[u8]) -> (Vec<Chunk>, ChatCompletion) {
    let (mut framing, mut accumulator) = (sse::Decoder::new(), Accumulator::new());
    let mut chunks = Vec::new();
    framing.feed(stream);
    framing.finish();
    'stream: while let Some(frame) = framing.next_frame() {
        let frame = frame.unwrap();
        let mut decoder = Decoder::new();
        let mut payloads = decoder.payloads_of_event(frame.event, frame.data);
        while let Some(payload) = payloads.next_payload() {
            match payload {
                Ok(Payload::Chunk(chunk)) => {
                    accumulator.push(chunk);
                    chunks.push(chunk.clone());
                }
                Ok(Payload::Done) => break 'stream,
                _ => {}
            }
        }
    }
    (chunks, accumulator.into_completion())
}

/// A stream of payloads, and where the frame of each starts. `between` comes before each.
fn stream_of(payloads: &[String], between: &str) -> (Vec<u8>, Vec<u64>) {
    let (mut stream, mut starts) = (Vec::new(), Vec::new());
    for payload in payloads {
        stream.extend_from_slice(between.as_bytes());
        starts.push(stream.len() as u64);
        stream.extend_from_slice(format!("data: {payload}\n\n").as_bytes());
    }
    starts.push(stream.len() as u64);
    (stream, starts)
}

/// What was read, with the payload's number in place of each offset.
fn by_number(mut outcome: Outcome, starts: &[u64]) -> (Outcome, Vec<(Deviation, u64, usize)>) {
    let number = |offset: u64| {
        starts
            .iter()
            .position(|start| *start == offset)
            .expect("a frame's start")
    };
    for item in &mut outcome.items {
        if let Err(fault) = item {
            fault.offset = number(fault.offset) as u64;
            // The text of an error of ours has the offset in it.
            if let Some((text, _)) = fault.message.rsplit_once(" at byte ") {
                fault.message = text.to_owned();
            }
        }
    }
    for (_, _, _, range) in outcome.frames.iter_mut().flatten() {
        *range = number(range.start) as u64..range.end - range.start;
    }
    let met = outcome
        .deviations
        .iter()
        .filter(|met| met.code != Deviation::PayloadIgnored)
        .map(|met| (met.code, met.count, number(met.offset)))
        .collect();
    outcome.deviations = Default::default();
    (outcome, met)
}

/// The target.
pub fn template(data: &[u8]) {
    let input = Input::of(data);
    let payloads = payloads(input.body);
    let (stream, starts) = stream_of(&payloads, "");
    let mut options = Options::default();
    if input.has(Input::SMALL) {
        options = input.options();
        options.limits.max_frame_bytes = Options::default().limits.max_frame_bytes;
    }
    if input.has(Input::STRICT) {
        options.strict = DeviationSet::all();
        options.strict.remove(Deviation::PayloadIgnored);
    }
    let on = read_with(options, input.cut(&stream), End::Finish);
    assert_eq!(read_with(options, [&stream[..]], End::Finish), on, "cut");

    // Off: an object that is nothing, before each payload, makes the fast path forget.
    let (off_stream, off_starts) = stream_of(&payloads, "data: {}\n\n");
    let off = read_with(options, [&off_stream[..]], End::Finish);
    assert_eq!(
        by_number(on.clone(), &starts),
        by_number(off, &off_starts),
        "on = off"
    );

    if options.limits == Options::default().limits {
        let (chunks, completion) = by_hand(&stream);
        let parsed = on.items.iter().filter_map(|item| match item {
            Ok(Event::ChunkParsed(chunk)) => Some(&**chunk),
            _ => None,
        });
        let parsed: Vec<&Chunk> = parsed.collect();
        assert_eq!(
            parsed,
            chunks.iter().collect::<Vec<_>>(),
            "the layers by hand"
        );
        for (one, other) in parsed.iter().zip(&chunks) {
            let text = |chunk: &Chunk| serde_json::to_string(chunk).unwrap();
            assert_eq!(text(one), text(other));
        }
        assert_eq!(on.completion, completion, "the layers by hand");
    }
}
