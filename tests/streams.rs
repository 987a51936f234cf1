//! Every case of the fixtures is read right: whole, at every single cut, in small reads, with empty reads.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{check_completed, differences, for_each_cut, naive, read, streams};

#[test]
fn every_case_is_read_as_it_says() {
    let mut wrong = Vec::new();
    for case in streams() {
        let outcome = read([&case.input[..]]);
        check_completed(&outcome);
        let differences = differences(&case.expect, &outcome.answer());
        if !differences.is_empty() {
            wrong.push(format!("{}: {}", case.id, differences.join("; ")));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn the_naive_oracle_reads_every_case_the_same() {
    for case in streams() {
        assert_eq!(
            read([&case.input[..]]).answer(),
            naive::read(&case.input),
            "{}",
            case.id
        );
    }
}

#[test]
fn every_cut_gives_the_same_events_errors_offsets_frames_and_deviations() {
    for case in streams() {
        let whole = read([&case.input[..]]);
        for_each_cut(&case.input, |how, pieces| {
            let outcome = read(pieces);
            assert_eq!(outcome, whole, "{}, {how}", case.id);
        });
    }
}

#[test]
fn a_bare_end_marker_has_its_own_place_at_every_cut() {
    for stream in [
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n[DONE]\nmore and more",
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n[DONE]\nmore and more",
        "[DONE]\n",
        "no stream\n[DONE]\n",
    ] {
        let whole = read([stream.as_bytes()]);
        assert!(whole.answer().done_marker);
        assert!(
            whole.frames.last().unwrap().is_some(),
            "the end came from a line"
        );
        for_each_cut(stream.as_bytes(), |how, pieces| {
            assert_eq!(read(pieces), whole, "{stream:?}, {how}")
        });
    }
}
