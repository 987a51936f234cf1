//! One byte of a stream is lost, added or changed: nothing panics, the stream still ends once, and what comes after the next
//! blank line is untouched.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
#![allow(
    clippy::std_instead_of_core,
    clippy::std_instead_of_alloc,
    clippy::cast_possible_truncation
)]

mod common;

use std::ops::Range;

use chatwire::{Deviation, ErrorKind, Event};
use common::{Case, Fault, Outcome, all_streams, check_completed, read, streams};

/// Bytes that mean something somewhere.
const INSERTED: [u8; 16] = *b"\n\r\"{}[]\\:,\0\xFF\xC3 d1";

/// Some forty of the streams, none of the longest.
fn some_streams() -> Vec<Case> {
    let mut streams = streams();
    streams.retain(|case| case.input.len() < 800);
    let streams: Vec<_> = streams.into_iter().step_by(5).collect();
    assert!(streams.len() >= 40, "{}", streams.len());
    streams
}

/// All streams, and at which of their bytes they are damaged: at each, but the longest ones at every 41st.
fn every_stream() -> Vec<(Case, usize)> {
    let every = |case: Case| {
        let step = if case.input.len() < 4_000 { 1 } else { 41 };
        (case, step)
    };
    all_streams().into_iter().map(every).collect()
}

/// A stream with one byte damaged.
struct Damaged {
    what: String,
    at: usize,
    input: Vec<u8>,
    /// By how many bytes what comes after the damage has moved.
    shift: i64,
}

fn damages(case: &Case, step: usize) -> impl Iterator<Item = Damaged> + '_ {
    (0..case.input.len()).step_by(step).flat_map(|at| {
        let byte = case.input[at];
        let ways = [
            ("lost", vec![]),
            ("with a byte before it", vec![INSERTED[at % 16], byte]),
            ("flipped", vec![byte ^ 1 << (at % 8)]),
        ];
        ways.map(|(how, instead)| {
            let (head, tail) = (&case.input[..at], &case.input[at + 1..]);
            Damaged {
                what: format!("{}: byte {at} {how}: {instead:?}", case.id),
                at,
                shift: instead.len() as i64 - 1,
                input: [head, &instead, tail].concat(),
            }
        })
    })
}

/// Where the items of a frame lie; the end of the input where they are of none.
fn range_of(outcome: &Outcome, nth: usize) -> Range<u64> {
    outcome.frames[nth]
        .as_ref()
        .map_or(u64::MAX..u64::MAX, |frame| frame.3.clone())
}

fn is_terminal(item: &Result<Event<'_>, Fault>) -> bool {
    match item {
        Ok(event) => matches!(event, Event::Done(_)),
        Err(fault) => fault.kind == ErrorKind::Truncated,
    }
}

/// Offset and range of each error that has a place in the stream.
fn places_of_errors(outcome: &Outcome) -> Vec<(u64, Range<u64>)> {
    let place = |nth: usize| {
        let fault = outcome.items[nth].as_ref().err()?;
        let range = range_of(outcome, nth);
        assert!(range.start == u64::MAX || range.start == fault.offset);
        (fault.kind != ErrorKind::NotEventStream).then_some((fault.offset, range))
    };
    (0..outcome.items.len()).filter_map(place).collect()
}

#[test]
fn a_damaged_stream_ends_once_with_errors_in_order_and_whole_calls() {
    let mut errors = 0;
    for (case, step) in every_stream() {
        for damaged in damages(&case, step) {
            let outcome = read([&damaged.input[..]]);
            let (last, before) = outcome.items.split_last().unwrap();
            assert!(is_terminal(last), "{}", damaged.what);
            assert!(!before.iter().any(is_terminal), "{}", damaged.what);
            check_completed(&outcome);
            let places = places_of_errors(&outcome);
            errors += places.len();
            for pair in places.windows(2) {
                let ((before, line), (after, frame)) = (&pair[0], &pair[1]);
                // A stray line inside a block comes before that block's frame.
                let is_inside = frame.contains(before) && line.end <= frame.end;
                assert!(before <= after || is_inside, "{}: {places:?}", damaged.what);
            }
        }
    }
    assert!(errors > 100_000, "damage gives errors: {errors}");
}

#[test]
fn a_damaged_stream_reads_the_same_however_it_is_cut() {
    for case in some_streams() {
        for damaged in damages(&case, 1) {
            let whole = read([&damaged.input[..]]);
            let cut = read(damaged.input.chunks(2));
            assert_eq!(cut, whole, "{}", damaged.what);
        }
    }
}

/// The end of the first blank line of which no byte is damaged.
fn end_of_block(input: &[u8], damaged: usize) -> Option<u64> {
    let ends: [&[u8]; 3] = [b"\n\n", b"\r\n\r\n", b"\r\r"];
    (damaged + 1..input.len())
        .find_map(|at| {
            ends.iter()
                .find(|end| input[at..].starts_with(end))
                .map(|end| at + end.len())
        })
        .map(|end| end as u64)
}

/// What a frame says by itself.
#[derive(Debug, PartialEq)]
struct Said {
    range: Range<u64>,
    event: String,
    data: String,
    said: Result<Event<'static>, ErrorKind>,
}

/// What the frames that start at or after `from` say by themselves: their chunks, usages and errors, moved by `shift`. What
/// depends on what came before is left out: slots, calls, and limits, which are reported once.
fn said_from(outcome: &Outcome, from: u64, shift: i64) -> Vec<Said> {
    let said = (0..outcome.items.len()).filter_map(|nth| {
        let (event, data, _, range) = outcome.frames[nth].as_ref()?;
        if range.start < from {
            return None;
        }
        let said = match &outcome.items[nth] {
            Ok(Event::ChunkParsed(chunk)) => {
                let mut chunk = chunk.clone().into_owned();
                let deltas = chunk.choices.iter_mut().map(|choice| &mut choice.delta);
                deltas
                    .flat_map(|delta| &mut delta.tool_calls)
                    .for_each(|call| call.slot = None);
                Ok(Event::ChunkParsed(chunk.into()))
            }
            Ok(Event::UsageFrame(usage)) => Ok(Event::UsageFrame(usage.clone())),
            Err(fault) if matches!(fault.kind, ErrorKind::Api | ErrorKind::Malformed) => {
                Err(fault.kind)
            }
            _ => return None,
        };
        let moved = |at: u64| at.checked_add_signed(shift).unwrap();
        Some(Said {
            range: moved(range.start)..moved(range.end),
            event: event.clone(),
            data: data.clone(),
            said,
        })
    });
    said.collect()
}

/// Where the frame starts that holds the end marker.
fn marker(outcome: &Outcome) -> u64 {
    match outcome.items.last() {
        Some(Ok(_)) => range_of(outcome, outcome.items.len() - 1).start,
        _ => u64::MAX,
    }
}

#[test]
fn what_comes_after_the_next_blank_line_is_untouched() {
    let (mut compared, mut ended) = (0, 0);
    // A run of bare lines has no blank line that ends it; and a message counts only if nothing came before.
    let unfit = [
        Deviation::BareJson,
        Deviation::BareDone,
        Deviation::StrayLine,
        Deviation::ErrorFieldLine,
        Deviation::MessageInPlaceOfDelta,
    ];
    for (case, step) in every_stream() {
        let whole = read([&case.input[..]]);
        if unfit
            .iter()
            .any(|code| whole.deviations.set().contains(*code))
        {
            continue;
        }
        for damaged in damages(&case, step) {
            let Some(from) = end_of_block(&case.input, damaged.at) else {
                continue;
            };
            let outcome = read([&damaged.input[..]]);
            let damaged_from = from.checked_add_signed(damaged.shift).unwrap();
            if marker(&whole) < from {
                continue;
            }
            if marker(&outcome) < damaged_from {
                // What only looked like a marker became one.
                ended += 1;
                continue;
            }
            let want = said_from(&whole, from, damaged.shift);
            compared += want.len();
            assert_eq!(
                said_from(&outcome, damaged_from, 0),
                want,
                "{}",
                damaged.what
            );
        }
    }
    assert!(
        compared > 300_000,
        "there is something to compare: {compared}"
    );
    assert!(ended < 60, "few are left out: {ended}");
}

#[test]
fn stray_lines_read_the_same_however_the_stream_is_cut() {
    let chunk = r#"data: {"choices":[{"index":0,"delta":{"content":"a"}}]}"#;
    let long = "a".repeat(70_000);
    let mut wrong = Vec::new();
    for stream in [
        format!("{chunk}\n\n[DONE]\n\n{chunk}\n\n"),
        format!("{chunk}\n[DONE]\n: more"),
        format!("\u{feff}{chunk}\r\n\r\n{chunk}\r\r"),
        format!("[DONE]\n{chunk}\n\n"),
        format!("{chunk}\n\nevent: ping\ndata: x\n[DONE]\n\n{chunk}\n\n"),
        format!("x\nerror: {{\"message\":\"{long}\"}}\n\n"),
        format!("x\n{long}\n[DONE]\n"),
        format!("x\n{{\"error\":\"{long}\"}}\n"),
        format!("{{\n{long}\n}}\n{chunk}\n\n"),
        format!("{{\"a\":\n{chunk}\n\n{{\"error\":\"b\"}}\n{{\"error\":\n\"c\"}}"),
    ] {
        let whole = read([stream.as_bytes()]);
        for size in [1, 5, 64, 1000, 66_000] {
            let cut = read(stream.as_bytes().chunks(size));
            if cut != whole {
                let what = if cut.items == whole.items {
                    "deviations or frames"
                } else {
                    "items"
                };
                wrong.push(format!("{what}, {size} bytes a read: {:.80}", stream));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
