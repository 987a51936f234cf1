//! The framing layer gives WHATWG's frames, for every cut.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use core::ops::Range;

use chatwire::sse::Decoder;
use common::{cases, fixtures, for_each_cut, naive, streams};
use proptest::prelude::*;

/// The frames of a stream, and the ranges they have in it.
fn frames<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<naive::Frame>, Vec<Range<u64>>) {
    let mut decoder = Decoder::new();
    let (mut frames, mut ranges) = (Vec::new(), Vec::new());
    let mut drain = |decoder: &mut Decoder| {
        while let Some(frame) = decoder.next_frame() {
            let frame = frame.unwrap();
            frames.push(naive::Frame {
                event: frame.event.to_owned(),
                data: frame.data.to_owned(),
                id: frame.id.to_owned(),
                retry: frame.retry,
                terminated: frame.terminated,
            });
            ranges.push(frame.range);
        }
    };
    for piece in pieces {
        decoder.feed(piece);
        drain(&mut decoder);
    }
    decoder.finish();
    drain(&mut decoder);
    decoder.feed(b"data: late\n\n");
    drain(&mut decoder);
    (frames, ranges)
}

#[test]
fn every_framing_case_gives_its_frames() {
    let cases = cases(&fixtures().join("framing.jsonl"));
    assert_eq!(cases.len(), 43);
    for case in cases {
        let (all, _) = frames([&case.input[..]]);
        let terminated: Vec<_> = all.iter().filter(|frame| frame.terminated).collect();
        let want = case.expect["events"].as_array().unwrap();
        assert_eq!(terminated.len(), want.len(), "{}: {all:?}", case.id);
        for (frame, want) in terminated.iter().zip(want) {
            assert_eq!(
                (frame.data.as_str(), frame.event.as_str()),
                (
                    want["data"].as_str().unwrap(),
                    want["event"].as_str().unwrap()
                ),
                "{}",
                case.id
            );
            if let Some(id) = want.get("id") {
                assert_eq!(frame.id, id.as_str().unwrap(), "{}", case.id);
            }
        }
        if let Some(retry) = case.expect.get("retry") {
            assert_eq!(
                terminated.last().unwrap().retry,
                retry.as_u64(),
                "{}",
                case.id
            );
        }
    }
}

#[test]
fn every_cut_gives_the_same_frames_and_ranges() {
    for case in cases(&fixtures().join("framing.jsonl"))
        .iter()
        .chain(&streams())
    {
        let whole = frames([&case.input[..]]);
        assert_eq!(whole.0, naive::frames(&case.input), "{}", case.id);
        for_each_cut(&case.input, |how, pieces| {
            assert_eq!(frames(pieces), whole, "{}, {how}", case.id)
        });
    }
}

#[test]
fn a_range_holds_the_lines_of_its_frame_and_the_byte_that_dispatched_it() {
    for (stream, range) in [
        ("data: a\n\n", 0..9),
        ("\n\n: c\n\ndata: a\r\n\r\n", 7..17),
        ("foo: 1\nid: 3\ndata: a\r\rdata: b", 7..22),
        ("retry: x\ndata: a\n\n", 0..18),
        ("\u{feff}data: a\n\n", 3..12),
        ("event: e\n\n\ndata: a\n\n", 11..20),
        ("data: a\n", 0..8),
        ("data: a\nda", 0..10),
    ] {
        assert_eq!(frames([stream.as_bytes()]).1[0], range, "{stream:?}");
    }
}

#[test]
fn a_dispatched_id_and_a_retry_are_told_even_without_data() {
    let mut decoder = Decoder::new();
    decoder.feed(b"id: 1\nretry: 20\n");
    assert!(decoder.next_frame().is_none());
    assert_eq!(
        (decoder.last_event_id(), decoder.retry()),
        ("", Some(20)),
        "the block is not dispatched yet"
    );
    decoder.feed(b"\n");
    assert!(decoder.next_frame().is_none());
    assert_eq!(decoder.last_event_id(), "1");
    decoder.reset();
    assert_eq!((decoder.last_event_id(), decoder.retry()), ("", None));
}

const LINE_ENDS: [&[u8]; 4] = [b"\n", b"\r", b"\r\n", b"\n\n"];
const FIELDS: [&[u8]; 6] = [b"data", b"event", b"id", b"retry", b"data:", b"data: "];
const MARKS: [&[u8]; 6] = [b":", b" ", b"\0", b"12", b"\xEF\xBB\xBF", b"x"];
/// Whole and broken UTF-8, and what is a line end elsewhere.
const TEXTS: [&[u8]; 6] = [
    b"\xC3\xA9",
    b"\xFF",
    b"\xE2\x82",
    b"\xF0\x9F\x98",
    b"\xE2\x80\xA8",
    b"\xC2\x85",
];

/// Bytes of which many mean something.
fn stream_bytes() -> impl Strategy<Value = Vec<u8>> {
    use prop::sample::select;
    let token = prop_oneof![8 => select(&LINE_ENDS[..]), 6 => select(&FIELDS[..]), 4 => select(&MARKS[..]), 2 => select(&TEXTS[..])];
    prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn the_naive_oracle_gives_the_same_frames(input in stream_bytes(), sizes in prop::collection::vec(0_usize..9, 1..20)) {
        let whole = frames([&input[..]]);
        prop_assert_eq!(&whole.0, &naive::frames(&input));
        let mut rest = &input[..];
        let mut pieces = Vec::new();
        for size in sizes.iter().cycle() {
            if rest.is_empty() || sizes.iter().all(|size| *size == 0) {
                break;
            }
            let (piece, tail) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece);
            rest = tail;
        }
        pieces.push(rest);
        prop_assert_eq!(frames(pieces), whole);
    }
}
