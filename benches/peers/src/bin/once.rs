//! Reads one stream with chatwire so many times, for a profiler: `once STREAM TIMES [READ_BYTES]`.
//!
//! Prints how many payloads it read. See `../instructions.sh`.

#[path = "../../../streams/mod.rs"]
mod streams;

use std::hint::black_box;
use std::process::ExitCode;

use chatwire::{Event, Parser};
use streams::{Cut, Stream};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).map(|text| text.parse());
    let (Some(Some(stream)), Some(Ok(times)), None | Some(Ok(_))) = (
        arguments.first().map(|name| streams::named(name)),
        number(1),
        number(2),
    ) else {
        eprintln!("usage: once STREAM TIMES [READ_BYTES]");
        return ExitCode::FAILURE;
    };
    let cut = number(2)
        .and_then(Result::ok)
        .map_or(Cut::KIB_16, Cut::Bytes);
    let reads = stream.reads(cut);
    for _ in 0..times {
        read(&stream, &reads);
    }
    println!("{}", stream.payloads() * times);
    ExitCode::SUCCESS
}

/// A function of its own, so that a profiler can be told to collect in it alone.
#[inline(never)]
fn read(stream: &Stream, reads: &[&[u8]]) {
    let mut parser = Parser::new();
    for read in reads {
        parser.feed(read);
        drain(&mut parser);
    }
    parser.finish();
    drain(&mut parser);
    assert_eq!(parser.into_completion().text(), stream.answer.content);
}

fn drain(parser: &mut Parser) {
    while let Some(event) = parser.next_event() {
        if let Ok(Event::ChunkParsed(chunk)) = event {
            black_box(chunk.text());
        }
    }
}
