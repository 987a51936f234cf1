//! Streams of tool calls: many small fragments of parallel calls, and few huge fragments of one.

use super::deltas::LONGEST_PADDING;
use super::rng::Rng;
use super::wire::{Wire, choice, openai, quoted};
use super::{Answer, Call, Stream};

const CALLS: usize = 8;
const PIECES: usize = 2_000;
const FAT_PIECES: usize = 64;
const FAT_PIECE_BYTES: usize = 64 << 10;

const WORDS: &[&str] = &[
    "path", "line", "query", "limit", "lorem", "ipsum", "dolor", "amet", "x", "id", "text", "until",
];

const CODE: &[&str] = &[
    "    let value = map.get(\"key\").unwrap_or(&0);\n",
    "    // Reads the next line, if there is one.\n",
    "}\n\n",
    "fn main() {\n",
    "\tprintln!(\"{}\\t{}\", left, right);\n",
    "    assert_eq!(answer, 42);\n",
    "        Some(item) => queue.push_back(item.clone()),\n",
];

/// 8 parallel calls in the full OpenAI shape, their arguments in 2,000 small pieces, interleaved; most need escapes.
pub(crate) fn tools() -> Stream {
    let mut rng = Rng::new(4);
    let calls: Vec<Call> = (0..CALLS).map(|nth| call(&mut rng, nth)).collect();
    let mut wire = Wire::new("tools");
    for (nth, call) in calls.iter().enumerate() {
        opening(&mut rng, &mut wire, nth, call);
    }
    let mut pieces: Vec<_> = calls
        .iter()
        .map(|call| pieces(&mut rng, &call.arguments, PIECES / CALLS).into_iter())
        .collect();
    let mut order: Vec<usize> = (0..PIECES).map(|nth| nth % CALLS).collect();
    rng.shuffle(&mut order);
    for nth in order {
        if let Some(piece) = pieces.get_mut(nth).and_then(Iterator::next) {
            fragment(&mut rng, &mut wire, nth, piece);
        }
    }
    finish(rng, wire, calls)
}

/// 4 MiB of arguments of one call (a file to be written) in pieces of 64 KiB, not counting their escapes.
pub(crate) fn fat() -> Stream {
    let mut rng = Rng::new(5);
    let mut code = String::new();
    while code.len() < FAT_PIECES * FAT_PIECE_BYTES {
        code.push_str(rng.pick(CODE));
    }
    let mut arguments = format!(r#"{{"path":"src/main.rs","content":{}"#, quoted(&code));
    arguments.truncate(FAT_PIECES * FAT_PIECE_BYTES - 2);
    if arguments.ends_with('\\') {
        arguments.pop();
        arguments.push(' ');
    }
    arguments.push_str("\"}");
    let call = Call {
        id: "call_K2vWm0rGq8ZtYb4LxNc6".to_owned(),
        name: "write_file".to_owned(),
        arguments,
    };
    let mut wire = Wire::new("fat");
    opening(&mut rng, &mut wire, 0, &call);
    let mut rest = call.arguments.as_str();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.len().min(FAT_PIECE_BYTES));
        fragment(&mut rng, &mut wire, 0, piece);
        rest = after;
    }
    finish(rng, wire, vec![call])
}

fn call(rng: &mut Rng, nth: usize) -> Call {
    let mut arguments = "{".to_owned();
    while arguments.len() < PIECES / CALLS * 7 {
        let (key, value) = (rng.pick(WORDS), rng.pick(WORDS));
        let number = rng.below(1000);
        arguments.push_str(&format!(r#""{key}_{number}":"{value}","#));
    }
    arguments.push_str(r#""last":true}"#);
    Call {
        id: format!("call_{}", rng.letters(24)),
        name: format!("look_up_{nth}"),
        arguments,
    }
}

/// Cuts a text into so many pieces, none of them empty.
fn pieces<'a>(rng: &mut Rng, text: &'a str, count: usize) -> Vec<&'a str> {
    let mut rest = text;
    let mut pieces = Vec::with_capacity(count);
    for left in (1..count).rev() {
        let usual = rest.len() / (left + 1);
        let length = (usual / 2 + rng.below(usual + 1)).clamp(1, rest.len() - left);
        let (piece, after) = rest.split_at(length);
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

fn opening(rng: &mut Rng, wire: &mut Wire, nth: usize, call: &Call) {
    let head = if nth == 0 {
        r#""role":"assistant","content":null,"#
    } else {
        ""
    };
    let delta = format!(
        r#"{{{head}"tool_calls":[{{"index":{nth},"id":"{}","type":"function","function":{{"name":"{}","arguments":""}}}}]}}"#,
        call.id, call.name
    );
    send(rng, wire, &choice(&delta, "null", "null"));
}

fn fragment(rng: &mut Rng, wire: &mut Wire, nth: usize, piece: &str) {
    let arguments = quoted(piece);
    let delta =
        format!(r#"{{"tool_calls":[{{"index":{nth},"function":{{"arguments":{arguments}}}}}]}}"#);
    send(rng, wire, &choice(&delta, "null", "null"));
}

fn finish(mut rng: Rng, mut wire: Wire, calls: Vec<Call>) -> Stream {
    send(
        &mut rng,
        &mut wire,
        &choice("{}", "null", r#""tool_calls""#),
    );
    wire.done(Answer {
        calls,
        ..Answer::default()
    })
}

fn send(rng: &mut Rng, wire: &mut Wire, choice: &str) {
    wire.event(&openai(choice, &rng.padding(LONGEST_PADDING), ""));
}
