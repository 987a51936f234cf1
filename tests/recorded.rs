//! Recorded real streams are read as `expected.jsonl` beside them says, in reads of any size; and whole recorded answers
//! come out of a stream as they went in. They are other projects' data: read where they lie, or not at all.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod common;
mod split;

use std::fs;

use common::{cases, check_completed, corpus, differences, naive, read};
use serde_json::Value;

#[test]
fn every_recorded_stream_is_read_as_expected_in_reads_of_any_size() {
    let Some(corpus) = corpus() else { return };
    let cases = cases(&corpus.join("expected.jsonl"));
    let mut wrong = Vec::new();
    for case in &cases {
        let whole = read([&case.input[..]]);
        check_completed(&whole);
        let mut differences = differences(&case.expect, &whole.answer());
        if whole.answer() != naive::read(&case.input) {
            differences.push("the naive oracle reads it otherwise".to_owned());
        }
        for size in [1, 7, 1400] {
            if read(case.input.chunks(size)) != whole {
                differences.push(format!("{size} bytes a read give something else"));
            }
        }
        if !differences.is_empty() {
            wrong.push(format!("{}: {}", case.id, differences.join("; ")));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
    println!("{} recorded streams", cases.len());
}

#[test]
fn a_recorded_answer_split_into_a_stream_comes_out_the_same() {
    let Some(corpus) = corpus() else { return };
    let index = fs::read_to_string(corpus.join("bodies.tsv")).unwrap();
    let (mut right, mut wrong) = (0, Vec::new());
    for row in index.lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        if columns.last() != Some(&"completion") {
            continue;
        }
        let body: Value =
            serde_json::from_slice(&fs::read(corpus.join(columns[0])).unwrap()).unwrap();
        let stream = split::stream_of(&body);
        let outcome = read(stream.as_bytes().chunks(100));
        let got = split::normal(&serde_json::to_value(&outcome.completion).unwrap());
        let want = split::normal(&body);
        let whole: chatwire::ChatCompletion = serde_json::from_value(body).unwrap();
        let whole = split::normal(&serde_json::to_value(&whole).unwrap());
        for (what, got) in [("split and joined", got), ("deserialised", whole)] {
            if got == want {
                right += 1;
            } else {
                wrong.push(format!(
                    "{} {what}: {}",
                    columns[0],
                    split::difference("", &want, &got)
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(right > 0, "there are completions among the bodies");
    println!("{} recorded answers", right / 2);
}
