//! Bytes to events: the same for every cut, lent or owned, with a fresh parser or a used one.

use std::ops::Range;

use chatwire::{ErrorKind, Event, Limit, Options, Parser};

use crate::Input;
use crate::common::{End, Fault, Outcome, check_completed, read_with};

/// As `read_with`, but takes what is lent, looks at the parser beside it, and leaves the parser behind, reset.
fn read_lent(parser: &mut Parser, pieces: &[&[u8]], end: End) -> Outcome {
    let (mut items, mut frames) = (Vec::new(), Vec::new());
    let mut drain = |parser: &mut Parser| {
        while let Some(item) = parser.next_event() {
            items.push(
                item.map(Event::into_owned)
                    .map_err(|error| Fault::from(&error)),
            );
            if let Some(Event::ToolCallComplete { choice, call, .. }) = parser.event() {
                // It can be read beside the answer, and is in it.
                let choices = &parser.completion().choices;
                let message = &choices
                    .iter()
                    .find(|of| of.index == choice)
                    .unwrap()
                    .message;
                let legacy = message.function_call.as_ref();
                assert!(
                    message.tool_calls.contains(&call)
                        || legacy.is_some_and(|legacy| *legacy == call.function),
                    "completed, and not in the completion: {call:?}"
                );
            }
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
        drain(parser);
    }
    match end {
        End::Finish => parser.finish(),
        End::Abort => parser.abort(),
    }
    drain(parser);
    assert!(parser.is_terminated());
    let deviations = parser.deviations().clone();
    let completion = parser.take_completion();
    parser.reset();
    Outcome {
        items,
        frames,
        completion,
        deviations,
    }
}

/// The target.
pub fn pipeline(data: &[u8]) {
    let input = Input::of(data);
    let (options, end) = (input.options(), input.end());
    let whole = read_with(options, [input.body], end);
    let pieces = input.cut(input.body);
    assert_eq!(read_with(options, pieces.clone(), end), whole, "cut");
    let mut parser = Parser::with_options(options);
    assert_eq!(read_lent(&mut parser, &pieces, end), whole, "lent");
    assert_eq!(
        read_lent(&mut parser, &[input.body], end),
        whole,
        "a used parser"
    );
    if input.body.len() < 512 {
        assert_eq!(
            read_with(options, input.body.chunks(1), end),
            whole,
            "byte by byte"
        );
    }
    check(input.body, &options, &whole);
}

fn check(body: &[u8], options: &Options, outcome: &Outcome) {
    check_completed(outcome);
    let is_terminal = |item: &Result<Event<'static>, Fault>| match item {
        Ok(Event::Done(_)) => true,
        Ok(_) => false,
        Err(fault) => fault.kind == ErrorKind::Truncated,
    };
    let terminals = outcome
        .items
        .iter()
        .filter(|item| is_terminal(item))
        .count();
    assert_eq!(terminals, 1, "one terminal item");
    assert!(is_terminal(outcome.items.last().unwrap()), "it is the last");
    places(body, outcome);
    order(options, outcome);
    calls(outcome);
}

/// Each item's place is at or after that of the one before.
fn places(body: &[u8], outcome: &Outcome) {
    let mut last: Range<u64> = 0..0;
    for (item, frame) in outcome.items.iter().zip(&outcome.frames) {
        let range = frame.as_ref().map(|(.., range)| range.clone());
        let range = match (item, range) {
            (Err(fault), None) => fault.offset..fault.offset,
            (Ok(_), None) => last.clone(), // of the end of the input
            (Err(fault), Some(range)) => {
                if !matches!(fault.kind, ErrorKind::NotEventStream | ErrorKind::Truncated) {
                    assert_eq!(
                        fault.offset, range.start,
                        "an error is where its frame starts"
                    );
                }
                fault.offset..range.end.max(fault.offset)
            }
            (Ok(_), Some(range)) => range,
        };
        assert!(range.end <= body.len() as u64, "beyond the stream");
        let fault = item.as_ref().err();
        if fault.is_some_and(|fault| fault.kind == ErrorKind::NotEventStream) {
            assert_eq!(range.start, 0);
            continue;
        }
        // What came of a line that is no field inside a block comes before the block.
        let is_around = range.start <= last.start && last.end <= range.end;
        let is_over_limit = fault.is_some_and(|fault| fault.limit == Some(Limit::FrameBytes));
        assert!(
            range.start >= last.start || is_around || is_over_limit,
            "{range:?} after {last:?}: {item:?}"
        );
        last = range;
    }
}

/// What comes of a chunk comes after it: usage, then calls.
fn order(options: &Options, outcome: &Outcome) {
    for (at, item) in outcome.items.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| &outcome.items[at]);
        match item {
            Ok(Event::UsageFrame(usage)) => match before {
                Some(Ok(Event::ChunkParsed(chunk))) => {
                    assert_eq!(chunk.usage.as_ref(), Some(&**usage));
                }
                before => panic!("usage after {before:?}"),
            },
            Ok(Event::ChunkParsed(chunk))
                if chunk.usage.as_ref().is_some_and(|usage| !usage.is_empty()) =>
            {
                assert!(matches!(
                    outcome.items.get(at + 1),
                    Some(Ok(Event::UsageFrame(_)))
                ));
            }
            Ok(Event::ToolCallComplete { .. }) => {
                let ends = outcome.items[at..]
                    .iter()
                    .find(|item| !matches!(item, Ok(Event::ToolCallComplete { .. })));
                let is_at_end = matches!(ends, Some(Ok(Event::Done(_))));
                assert!(
                    is_at_end
                        || matches!(
                            before,
                            Some(Ok(Event::ChunkParsed(_)
                                | Event::UsageFrame(_)
                                | Event::ToolCallComplete { .. }))
                        ),
                    "a call completed after {before:?}"
                );
            }
            Err(fault) if fault.kind == ErrorKind::Deviation => {
                assert!(!options.strict.is_empty());
            }
            _ => {}
        }
    }
    if !options.strict.is_empty() {
        let met: u64 = outcome.deviations.iter().map(|met| met.count).sum();
        let told = outcome
            .items
            .iter()
            .filter(|item| matches!(item, Err(fault) if fault.kind == ErrorKind::Deviation))
            .count();
        assert_eq!(met, told as u64, "each deviation is an error, once");
    }
}

/// At a good end each call is complete or told to be incomplete.
fn calls(outcome: &Outcome) {
    let Some(Ok(Event::Done(done))) = outcome.items.last() else {
        return;
    };
    let choices = &outcome.completion.choices;
    let in_answer: usize = choices
        .iter()
        .map(|choice| {
            choice.message.tool_calls.len() + usize::from(choice.message.function_call.is_some())
        })
        .sum();
    let completed = outcome.completed();
    assert_eq!(completed.len() + done.incomplete_calls().len(), in_answer);
    for call in done.incomplete_calls() {
        assert!(
            !completed
                .iter()
                .any(|(choice, slot, _)| (*choice, *slot) == (call.choice, call.slot))
        );
    }
    let unfinished: Vec<u32> = choices
        .iter()
        .filter(|choice| choice.finish_reason.is_none())
        .map(|choice| choice.index)
        .collect();
    assert_eq!(done.unfinished(), unfinished);
    assert!(done.marker() || (unfinished.is_empty() && !choices.is_empty()));
}
