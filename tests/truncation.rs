//! A stream cut anywhere ends once, says nothing that the whole stream does not say, and completes no call that the cut left open.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
#![allow(
    clippy::std_instead_of_core,
    clippy::std_instead_of_alloc,
    clippy::cast_possible_truncation
)]

mod common;

use chatwire::completion::Message;
use chatwire::{ChatCompletion, Deviation, ErrorKind, Event, Options, Parser, ToolCall};
use common::{Case, End, Fault, Outcome, all_streams, check_completed, read, read_with};

type Item = Result<Event<'static>, Fault>;

/// A stream that was cut.
struct Cut<'a> {
    case: &'a Case,
    /// What is said of it when it is not cut.
    whole: &'a Outcome,
    at: usize,
    /// What had been said when the cut came.
    open: &'a [Item],
    outcome: Outcome,
}

/// Every stream, cut at every byte, and ended there.
fn for_each_cut_and(end: End, mut test: impl FnMut(Cut<'_>)) {
    for case in &all_streams() {
        let whole = &read([&case.input[..]]);
        let (mut parser, mut open) = (Parser::new(), Vec::new());
        for at in 0..=case.input.len() {
            let outcome = read_with(Options::default(), [&case.input[..at]], end);
            test(Cut {
                case,
                whole,
                at,
                open: &open,
                outcome,
            });
            parser.feed(case.input.get(at..=at).unwrap_or_default());
            while let Some(item) = parser.next_owned() {
                open.push(item.map_err(|error| Fault::from(&error)));
            }
        }
    }
}

fn is_terminal(item: &Item) -> bool {
    match item {
        Ok(event) => matches!(event, Event::Done(_)),
        Err(fault) => fault.kind == ErrorKind::Truncated,
    }
}

fn check_terminal(items: &[Item], name: &str) {
    let (last, before) = items.split_last().unwrap();
    assert!(is_terminal(last), "{name}: {items:?}");
    assert!(!before.iter().any(is_terminal), "{name}: {items:?}");
}

/// Whether the stream ended well; and if so, whether by its marker.
fn done(items: &[Item]) -> Option<bool> {
    items.iter().find_map(|item| match item {
        Ok(Event::Done(done)) => Some(done.marker()),
        _ => None,
    })
}

impl std::fmt::Display for Cut<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} cut at {}", self.case.id, self.at)
    }
}

#[test]
fn an_abort_adds_one_truncated_and_nothing_else() {
    for_each_cut_and(End::Abort, |cut| {
        let items = &cut.outcome.items;
        check_terminal(items, &cut.to_string());
        assert_ne!(done(items), Some(false), "{cut}: done without a marker");
        let mut want = cut.open.to_vec();
        if done(cut.open).is_none() {
            // What is no event stream is so however it ends.
            let added = items.get(want.len());
            want.extend(added.cloned().filter(
                |item| matches!(item, Err(fault) if fault.kind == ErrorKind::NotEventStream),
            ));
            want.push(Err(Fault {
                kind: ErrorKind::Truncated,
                offset: cut.at as u64,
                limit: None,
                message: format!("the stream ended before the answer did at byte {}", cut.at),
            }));
        }
        assert_eq!(*items, want, "{cut}");
        assert!(
            cut.whole.items.starts_with(cut.open),
            "{cut}: {:?}",
            cut.open
        );
        let calls = cut.whole.completed();
        for call in cut.outcome.completed() {
            assert!(calls.contains(&call), "{cut}: {call:?}");
        }
    });
}

#[test]
fn a_clean_end_adds_the_frame_that_was_cut_and_one_terminal_item() {
    for_each_cut_and(End::Finish, |cut| {
        let items = &cut.outcome.items;
        check_terminal(items, &cut.to_string());
        assert!(items.starts_with(cut.open), "{cut}: {items:?}");
        for frame in cut.outcome.frames[cut.open.len()..].iter().flatten() {
            // Two bytes of a line end are in no range of a stray line.
            let is_the_one = frame.3.start < cut.at as u64 && frame.3.end + 2 >= cut.at as u64;
            assert!(is_the_one, "{cut}: {frame:?}");
        }
        let choices = &cut.outcome.completion.choices;
        let is_finished =
            !choices.is_empty() && choices.iter().all(|choice| choice.finish_reason.is_some());
        match done(items) {
            Some(true) => {}
            Some(false) => assert!(is_finished, "{cut}: done with an open choice"),
            None => assert!(!is_finished, "{cut}: truncated with every choice finished"),
        }
    });
}

/// Whether the text of a cut stream may have become the other one. A character may have been cut in halves.
fn grows_to(cut: Option<&str>, whole: Option<&str>) -> bool {
    let (cut, whole) = (cut.unwrap_or_default(), whole.unwrap_or_default());
    let without_half = cut.strip_suffix(char::REPLACEMENT_CHARACTER).unwrap_or(cut);
    whole.starts_with(cut) || whole.starts_with(without_half)
}

fn call_grows_to(cut: &ToolCall, whole: &ToolCall) -> bool {
    (cut.id.is_none() || cut.id == whole.id)
        && grows_to(Some(cut.name()), Some(whole.name()))
        && grows_to(Some(cut.arguments()), Some(whole.arguments()))
}

fn message_grows_to(cut: &Message, whole: &Message) -> bool {
    let mut calls = whole.tool_calls.iter();
    let call = |message: &Message| {
        message
            .function_call
            .as_ref()
            .map(|call| call.arguments.clone())
    };
    let transcript = |message: &Message| message.audio.as_ref()?.transcript.clone();
    let audio = |message: &Message| message.audio.as_ref()?.data.clone();
    grows_to(cut.content.as_deref(), whole.content.as_deref())
        && grows_to(
            cut.reasoning_content.as_deref(),
            whole.reasoning_content.as_deref(),
        )
        && grows_to(cut.refusal.as_deref(), whole.refusal.as_deref())
        && grows_to(call(cut).as_deref(), call(whole).as_deref())
        && grows_to(transcript(cut).as_deref(), transcript(whole).as_deref())
        && grows_to(audio(cut).as_deref(), audio(whole).as_deref())
        // Calls of a lower index may come between them later.
        && cut
            .tool_calls
            .iter()
            .all(|cut| calls.by_ref().any(|whole| call_grows_to(cut, whole)))
}

fn grows_into(cut: &ChatCompletion, whole: &ChatCompletion) -> bool {
    cut.choices.iter().all(|cut| {
        whole
            .choices
            .iter()
            .find(|whole| whole.index == cut.index)
            .is_some_and(|whole| message_grows_to(&cut.message, &whole.message))
    })
}

/// Every call that completes is a call of the whole stream; or the cut stream is whole by itself, and so may a call be
/// without its arguments.
fn check_calls(cut: &Cut<'_>) {
    check_completed(&cut.outcome);
    let calls = cut.whole.completed();
    for call in cut.outcome.completed() {
        let is_placeholder = matches!(call.2.arguments().trim(), "" | "{}" | "[]");
        let is_whole_by_itself = done(&cut.outcome.items).is_some() && is_placeholder;
        assert!(
            calls.contains(&call) || is_whole_by_itself,
            "{cut}: {call:?}"
        );
    }
}

#[test]
fn a_cut_stream_tells_whole_calls_and_beginnings_of_the_texts_of_the_whole_stream() {
    let (mut completed, mut left_out) = (0, Vec::new());
    for_each_cut_and(End::Finish, |cut| {
        completed += cut.outcome.completed().len();
        check_calls(&cut);
        // A placeholder is replaced by what comes later. A frame that is broken as a whole may be good where it is cut.
        let is_broken =
            |item: &Item| matches!(item, Err(fault) if fault.kind == ErrorKind::Malformed);
        let deviations = cut.whole.deviations.set();
        if deviations.contains(Deviation::ArgumentsPlaceholder)
            || cut.whole.items.iter().any(is_broken)
        {
            left_out.push(cut.case.id.clone());
            return;
        }
        let completion = &cut.outcome.completion;
        assert!(
            grows_into(completion, &cut.whole.completion),
            "{cut}: {completion:?}"
        );
    });
    left_out.dedup();
    assert!(left_out.len() < 20, "{left_out:?}");
    assert!(
        completed > 2_000,
        "there are calls to complete: {completed}"
    );
}
