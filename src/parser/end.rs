//! How a stream ends.
//!
//! | what is known | a choice was seen, and each has a finish reason | not so |
//! |---|---|---|
//! | `[DONE]` came | done | done |
//! | the input ended cleanly | done | truncated |
//! | the transport broke | truncated | truncated |
//! | none of these | open | open |

/// The state of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Input {
    /// More may come.
    #[default]
    Open,
    /// It ended cleanly.
    Finished,
    /// The transport broke.
    Aborted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Open,
    Done,
    Truncated,
}

/// The table above: all that was fed has been read.
pub(super) const fn verdict(marker: bool, input: Input, is_finished: bool) -> Verdict {
    match (marker, input) {
        (true, _) => Verdict::Done,
        (false, Input::Finished) if is_finished => Verdict::Done,
        (false, Input::Finished | Input::Aborted) => Verdict::Truncated,
        (false, Input::Open) => Verdict::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, Event, Parser};
    use alloc::format;

    /// What a parser says at the end of a stream like this.
    fn ending(marker: bool, input: Input, choices: &[bool]) -> Verdict {
        let mut parser = Parser::new();
        for (index, is_finished) in choices.iter().enumerate() {
            let reason = if *is_finished { "\"stop\"" } else { "null" };
            let json = format!(
                "{{\"choices\":[{{\"index\":{index},\"delta\":{{}},\"finish_reason\":{reason}}}]}}"
            );
            parser.feed(format!("data: {json}\n\n").as_bytes());
        }
        if marker {
            parser.feed(b"data: [DONE]\n\n");
        }
        match input {
            Input::Open => {}
            Input::Finished => parser.finish(),
            Input::Aborted => parser.abort(),
        }
        let mut verdict = Verdict::Open;
        while let Some(item) = parser.next_event() {
            assert_eq!(
                verdict,
                Verdict::Open,
                "something came after the terminal item"
            );
            verdict = match item {
                Ok(Event::Done(done)) => {
                    assert_eq!(done.marker(), marker);
                    Verdict::Done
                }
                Err(error) if error.kind() == ErrorKind::Truncated => Verdict::Truncated,
                _ => Verdict::Open,
            };
        }
        assert_eq!(parser.is_terminated(), verdict != Verdict::Open);
        verdict
    }

    #[test]
    fn every_cell_of_the_table_holds_for_the_function_and_for_a_parser() {
        use Verdict::{Done, Open, Truncated};
        let table = [
            (true, Input::Open, Done, Done),
            (true, Input::Finished, Done, Done),
            (true, Input::Aborted, Done, Done),
            (false, Input::Finished, Done, Truncated),
            (false, Input::Aborted, Truncated, Truncated),
            (false, Input::Open, Open, Open),
        ];
        for (marker, input, finished, unfinished) in table {
            assert_eq!(verdict(marker, input, true), finished);
            assert_eq!(verdict(marker, input, false), unfinished);
            assert_eq!(
                ending(marker, input, &[true]),
                finished,
                "{marker} {input:?}"
            );
            assert_eq!(
                ending(marker, input, &[true, true]),
                finished,
                "{marker} {input:?}"
            );
            for choices in [&[][..], &[false], &[true, false]] {
                assert_eq!(
                    ending(marker, input, choices),
                    unfinished,
                    "{marker} {input:?} {choices:?}"
                );
            }
        }
    }
}
