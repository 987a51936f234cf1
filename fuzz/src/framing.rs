//! Bytes to frames: whole = cut = the naive oracle.

use std::ops::Range;

use chatwire::sse::Decoder;

use crate::Input;
use crate::common::naive;

/// All that a decoder says: frames with their ranges, the places of those that were too large, last event id, retry.
#[derive(Debug, PartialEq)]
struct Framed {
    frames: Vec<Result<(naive::Frame, Range<u64>), u64>>,
    id: String,
    retry: Option<u64>,
}

fn read(mut decoder: Decoder, pieces: &[&[u8]]) -> Framed {
    let mut frames = Vec::new();
    let mut drain = |decoder: &mut Decoder| {
        while let Some(frame) = decoder.next_frame() {
            frames.push(match frame {
                Ok(frame) => Ok((
                    naive::Frame {
                        event: frame.event.to_owned(),
                        data: frame.data.to_owned(),
                        id: frame.id.to_owned(),
                        retry: frame.retry,
                        terminated: frame.terminated,
                    },
                    frame.range,
                )),
                Err(error) => Err(error.offset()),
            });
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
    Framed {
        frames,
        id: decoder.last_event_id().to_owned(),
        retry: decoder.retry(),
    }
}

/// The target.
pub fn framing(data: &[u8]) {
    let input = Input::of(data);
    let decoder = || {
        if input.has(Input::SMALL) {
            Decoder::with_max_frame_bytes(16)
        } else {
            Decoder::new()
        }
    };
    let whole = read(decoder(), &[input.body]);
    assert_eq!(read(decoder(), &input.cut(input.body)), whole, "cut");
    let mut used = decoder();
    used.feed(b"\xEF\xBB\xBFid: 1\nretry: 2\nevent: e\ndata: a\n\ndata: b\r");
    while used.next_frame().is_some() {}
    used.reset();
    assert_eq!(read(used, &input.cut(input.body)), whole, "after a reset");

    let expected = naive::frames(input.body);
    if !input.has(Input::SMALL) {
        let frames: Vec<_> = whole
            .frames
            .iter()
            .flatten()
            .map(|(frame, _)| frame)
            .collect();
        assert_eq!(
            frames,
            expected.iter().collect::<Vec<_>>(),
            "the naive oracle"
        );
        assert_eq!(frames.len(), whole.frames.len(), "a frame is too large");
    }
    let mut end = 0;
    for frame in &whole.frames {
        match frame {
            Ok((frame, range)) => {
                assert!(range.start >= end && range.start < range.end);
                end = range.end;
                // A range holds its frame, and nothing else.
                let bytes = &input.body
                    [usize::try_from(range.start).unwrap()..usize::try_from(end).unwrap()];
                let alone = naive::frames(bytes);
                assert_eq!(alone.len(), 1, "{range:?} holds one frame");
                assert_eq!(
                    (&alone[0].event, &alone[0].data, alone[0].terminated),
                    (&frame.event, &frame.data, frame.terminated)
                );
                let is_known = |known: &naive::Frame| {
                    (&known.event, &known.data) == (&frame.event, &frame.data)
                };
                assert!(expected.iter().any(is_known), "a frame that is none");
            }
            Err(offset) => {
                assert!(*offset >= end);
                end = *offset;
            }
        }
    }
    assert!(end <= input.body.len() as u64);
}
