//! Streams with faults, which the mutator makes of the fixtures: nothing panics, no cut changes anything, there is one end,
//! no call is completed twice or in part, and the naive oracle reads the same.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;
mod mutate;

use core::ops::Range;

use chatwire::{ErrorKind, Event, Limit};
use common::{Outcome, check_completed, naive, read, streams};
use mutate::{Random, mutate};

/// Why, and when, the oracle may read a stream otherwise.
type Exception = (&'static str, fn(&Outcome) -> bool);

/// There is to be nothing more here.
const EXCEPTIONS: &[Exception] = &[(
    "How much of a payload is lost with a value that is too deep is left to the decoder.",
    |outcome| faults(outcome).any(|fault| fault.limit == Some(Limit::Depth)),
)];

fn faults(outcome: &Outcome) -> impl Iterator<Item = &common::Fault> {
    outcome.items.iter().filter_map(|item| item.as_ref().err())
}

/// `CHATWIRE_MUTATIONS` says how many streams, `CHATWIRE_SEED` from which seed on: to see one again, 1 and its seed.
fn seeds() -> Range<u64> {
    let number =
        |name, default| std::env::var(name).map_or(default, |number| number.parse().unwrap());
    let first = number("CHATWIRE_SEED", 0);
    first..first + number("CHATWIRE_MUTATIONS", 20_000)
}

/// In two to four pieces; some of them may be empty.
fn cut<'a>(random: &mut Random, stream: &'a [u8]) -> Vec<&'a [u8]> {
    let mut pieces = vec![stream];
    for _ in 0..=random.below(3) {
        let last = pieces.pop().unwrap();
        let (head, tail) = last.split_at(random.below(last.len() + 1));
        pieces.extend([head, tail]);
    }
    pieces.insert(random.below(pieces.len() + 1), &[]);
    pieces
}

/// The terminal item is there, and it is the last one.
fn check_end(outcome: &Outcome) {
    let is_terminal = |item: &Result<Event<'_>, common::Fault>| match item {
        Ok(event) => matches!(event, Event::Done(_)),
        Err(fault) => fault.kind == ErrorKind::Truncated,
    };
    let (last, rest) = outcome.items.split_last().unwrap();
    assert!(is_terminal(last) && !rest.iter().any(is_terminal));
}

#[test]
fn mutated_streams_are_read_the_same_at_any_cut_and_by_the_oracle() {
    let cases = streams();
    let inputs: Vec<&[u8]> = cases.iter().map(|case| &case.input[..]).collect();
    let mut wrong = Vec::new();
    for seed in seeds() {
        let stream = mutate(seed, &inputs);
        let is_right = std::panic::catch_unwind(|| {
            let outcome = read([&stream[..]]);
            check_end(&outcome);
            check_completed(&outcome);
            let random = &mut Random(!seed);
            assert_eq!(read(cut(random, &stream)), outcome, "a cut changes it");
            if !EXCEPTIONS.iter().any(|(_, is_one)| is_one(&outcome)) {
                assert_eq!(outcome.answer(), naive::read(&stream), "the oracle differs");
            }
        });
        if is_right.is_err() {
            wrong.push(seed);
            eprintln!("seed {seed}:\n{}", String::from_utf8_lossy(&stream));
        }
    }
    assert!(wrong.is_empty(), "{} wrong, seeds {wrong:?}", wrong.len());
}
