//! `--record` and `--replay`: the bytes of a stream with the times at which they came, one JSON line a read.
//!
//! ```text
//! {"us":412345,"text":"data: ..."}      what came after so many microseconds
//! {"us":412399,"base64":"5pel"}         the same, where it is no UTF-8: a read may end inside a character
//! {"us":500000,"end":"clean"}           how the input ended: clean or broken; not there if [DONE] came before
//! ```

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::input::{Piece, Source};

#[derive(Serialize, Deserialize)]
struct Line {
    us: u64,
    #[serde(flatten)]
    what: What,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum What {
    Text(String),
    Base64(String),
    End(End),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum End {
    Clean,
    Broken,
}

/// Writes a recording.
pub(crate) struct Recorder(File);

impl Recorder {
    pub(crate) fn create(file: &OsStr) -> io::Result<Self> {
        File::create(file).map(Self)
    }

    /// Each line is written at once: what is stopped in the middle can be replayed so far.
    pub(crate) fn record(&mut self, at: Duration, piece: &Piece<'_>) -> io::Result<()> {
        let what = match piece {
            Piece::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => What::Text(text.to_owned()),
                Err(_) => What::Base64(STANDARD.encode(bytes)),
            },
            Piece::End => What::End(End::Clean),
            Piece::Broken(_) => What::End(End::Broken),
        };
        let us = u64::try_from(at.as_micros()).unwrap_or(u64::MAX);
        let mut line = serde_json::to_vec(&Line { us, what })?;
        line.push(b'\n');
        self.0.write_all(&line)
    }
}

/// Reads a recording, so many times as fast as it was; at once if that is 0.
pub(crate) struct Recording {
    lines: io::Lines<BufReader<File>>,
    speed: f64,
    start: Instant,
    at: Duration,
    bytes: Vec<u8>,
}

impl Recording {
    pub(crate) fn open(file: &OsStr, speed: f64) -> io::Result<Self> {
        Ok(Self {
            lines: BufReader::new(File::open(file)?).lines(),
            speed,
            start: Instant::now(),
            at: Duration::ZERO,
            bytes: Vec::new(),
        })
    }

    /// What came next. None: what ended the input cleanly.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let line = self.lines.next().ok_or_else(|| {
            io::Error::new(ErrorKind::UnexpectedEof, "the recording has no end")
        })??;
        let Line { us, what } = serde_json::from_str(&line).map_err(|error| {
            io::Error::new(ErrorKind::InvalidData, format!("no recording: {error}"))
        })?;
        self.at = Duration::from_micros(us);
        self.wait();
        match what {
            What::Text(text) => Ok(Some(text.into_bytes())),
            What::Base64(text) => match STANDARD.decode(text) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(error) => Err(io::Error::new(ErrorKind::InvalidData, error.to_string())),
            },
            What::End(End::Clean) => Ok(None),
            What::End(End::Broken) => Err(io::Error::new(
                ErrorKind::ConnectionAborted,
                "the input broke when it was recorded",
            )),
        }
    }

    fn wait(&self) {
        let due = Duration::try_from_secs_f64(self.at.as_secs_f64() / self.speed);
        // At speed 0 it is never due, and not waited for.
        if let Ok(due) = due {
            thread::sleep(due.saturating_sub(self.start.elapsed()));
        }
    }
}

impl Source for Recording {
    fn read(&mut self) -> (Duration, Piece<'_>) {
        let piece = match self.next() {
            Ok(Some(bytes)) => {
                self.bytes = bytes;
                Piece::Bytes(&self.bytes)
            }
            Ok(None) => Piece::End,
            Err(error) => Piece::Broken(error),
        };
        (self.at, piece)
    }
}
