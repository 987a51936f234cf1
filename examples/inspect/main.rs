//! Shows what is in a Chat Completions stream: a file, or what another program is sending right now.
//!
//! ```text
//! cargo run --example inspect -- fixtures/tool_calls.sse
//! curl -N https://api.example.com/v1/chat/completions -H ... -d '{"stream":true, ...}' | cargo run --example inspect -- -
//! ```
//!
//! The default is a timeline for people: one line for each thing that came, with the place in the stream of the frame
//! that it came in; then how it ended, what is missing, and what was tolerated. `#1` behind a label is choice 1.
//! For programs: `--summary` (one JSON object), `--events` (one JSON line per event), `--frames` (one per frame of the
//! event stream, whatever is in it). `--help` tells the rest.
//!
//! Live, each row stands at the time when its bytes came, the first text, reasoning or call of each choice is marked, and
//! the tokens per second follow if the server counts tokens. `--record FILE` keeps the bytes with their times, one JSON line
//! a read; `--replay FILE` shows them again, at any `--speed`, cut anew by `--cut random:SEED`.
//!
//! `--events` is the serialisation of [`chatwire::Event`], a line each, and reads back as one; an error is
//! `{"error":{"kind":"malformed","offset":120,"message":"..."}}`.
//!
//! As a linter: `--lint` prints what the stream deviates in from OpenAI's, and nothing else; `--deny` makes deviations fail,
//! with `--lint` or with any other output. A server's tests may say
//!
//! ```text
//! curl -sN http://localhost:8000/v1/chat/completions ... | inspect --lint --profile compat --deny all -
//! ```
//!
//! Exit status: 0 the answer is whole, 1 it was cut off (an empty body too), 2 the server sent an error or something that
//! is no event stream, 3 neither of these, and a deviation that is denied; 64 wrong usage or a file that cannot be read, 74
//! the output cannot be written. `--frames` does not look into the frames: 0, or 1 if the input broke; or 3, for which it
//! does.
#![allow(
    clippy::std_instead_of_core,
    clippy::std_instead_of_alloc,
    reason = "a program with files and a terminal is not for no_std"
)]

mod args;
mod colour;
mod describe;
mod feeds;
mod input;
mod lines;
mod lint;
mod pace;
mod profile;
mod reading;
mod recording;
mod rows;
mod summary;
mod text;
mod timeline;
mod verdict;

use std::env;
use std::error::Error;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use args::{Args, Command, Output};
use input::{Input, Piece, Source};
use lines::{Events, Frames};
use lint::Lint;
use reading::{Reading, Sink};
use recording::{Recorder, Recording};
use summary::Summary;
use text::Long;
use timeline::Timeline;

const DENIED: u8 = 3;
/// As in `sysexits.h`.
const USAGE: u8 = 64;
const OUTPUT: u8 = 74;

fn main() -> ExitCode {
    let mut out = BufWriter::new(io::stdout().lock());
    let written = match Command::from_env() {
        Ok(Command::Print(text)) => out.write_all(text.as_bytes()).map(|()| 0),
        Ok(Command::Inspect(args)) => inspect(args, &mut out),
        Err(error) => {
            complain("", &error);
            Ok(USAGE)
        }
    };
    let written = written.and_then(|status| out.flush().map(|()| status));
    match written {
        Ok(status) => ExitCode::from(status),
        // Who reads the output has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            complain("standard output: ", &error);
            ExitCode::from(OUTPUT)
        }
    }
}

/// Reads the input to its end, or to the end of the answer. Gives the exit status.
fn inspect(mut args: Args, out: &mut dyn Write) -> io::Result<u8> {
    let name = format!("{}: ", args.name());
    let mut source = match open(&args) {
        Ok(source) => source,
        Err(error) => {
            complain(&name, &error);
            return Ok(USAGE);
        }
    };
    let mut recorder = match args.record.as_deref().map(Recorder::create).transpose() {
        Ok(recorder) => recorder,
        Err(error) => {
            complain("--record: ", &error);
            return Ok(USAGE);
        }
    };
    let mut sink = sink(&args);
    let mut is_begun = false;
    while !sink.is_over() {
        let (at, piece) = source.read();
        if let Some(recorder) = &mut recorder {
            recorder.record(at, &piece)?;
        }
        sink.arrived(at);
        match piece {
            Piece::Bytes(mut bytes) => {
                is_begun = true;
                while !bytes.is_empty() {
                    sink.feed(args.feeds.take(&mut bytes), out)?;
                }
            }
            Piece::End => {
                sink.finish(out)?;
                break;
            }
            Piece::Broken(error) => {
                complain(&name, &error);
                if !is_begun {
                    return Ok(USAGE);
                }
                sink.abort(out)?;
                break;
            }
        }
        out.flush()?;
    }
    // An answer that is not whole is the worse news.
    Ok(match sink.status() {
        0 if !sink.deviations().intersection(args.denied).is_empty() => DENIED,
        status => status,
    })
}

fn open(args: &Args) -> io::Result<Box<dyn Source>> {
    Ok(match args.speed {
        Some(speed) => Box::new(Recording::open(&args.file, speed)?),
        None => Box::new(Input::open(&args.file, &args.feeds)?),
    })
}

fn sink(args: &Args) -> Box<dyn Sink> {
    match args.output {
        Output::Timeline => {
            let is_terminal = io::stdout().is_terminal();
            let has_times =
                args.times || args.speed.is_some() || (args.is_standard_input() && is_terminal);
            let [no_color, term] = ["NO_COLOR", "TERM"].map(env::var_os);
            let is_coloured =
                args.colour
                    .is_wanted(is_terminal, no_color.as_deref(), term.as_deref());
            Box::new(Reading::new(Timeline::new(has_times, is_coloured)))
        }
        Output::Summary => Box::new(Reading::new(Summary::default())),
        Output::Events => Box::new(Reading::new(Events)),
        Output::Frames => Box::new(Frames::new(!args.denied.is_empty())),
        Output::Lint => Box::new(Reading::new(Lint::new(args.profile, args.format))),
    }
}

/// Says on standard error, in one line, what is wrong.
fn complain(what: &str, error: &dyn Error) {
    let message = format!("{what}{error}");
    // If that cannot be written either, the exit status says it.
    let _ = writeln!(io::stderr(), "inspect: {}", Long(&message));
}
