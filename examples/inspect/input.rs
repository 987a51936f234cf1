//! Bytes from a file or from standard input, as they come.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::time::{Duration, Instant};

use crate::feeds::Feeds;

/// Where the bytes come from.
pub(crate) trait Source {
    /// Waits for more. Gives it, and when it came.
    fn read(&mut self) -> (Duration, Piece<'_>);
}

pub(crate) struct Input {
    reader: Box<dyn Read>,
    start: Instant,
    buffer: Vec<u8>,
    is_whole: bool,
    /// What broke the input after the bytes that were given last.
    broken: Option<io::Error>,
}

/// What a read gave.
pub(crate) enum Piece<'a> {
    Bytes(&'a [u8]),
    End,
    Broken(io::Error),
}

impl Input {
    /// Opens a file, or standard input for `-`. It is to be fed in pieces of this kind.
    pub(crate) fn open(file: &OsStr, feeds: &Feeds) -> io::Result<Self> {
        let reader: Box<dyn Read> = if file == "-" {
            Box::new(io::stdin().lock())
        } else {
            Box::new(File::open(file)?)
        };
        let size = feeds.read_size();
        Ok(Self {
            reader,
            start: Instant::now(),
            buffer: vec![0; size.unwrap_or_default()],
            is_whole: size.is_none(),
            broken: None,
        })
    }

    fn wait(&mut self) -> Piece<'_> {
        if let Some(error) = self.broken.take() {
            return Piece::Broken(error);
        }
        if self.is_whole {
            self.buffer.clear();
            self.broken = self.reader.read_to_end(&mut self.buffer).err();
            return match self.broken.take_if(|_| self.buffer.is_empty()) {
                Some(error) => Piece::Broken(error),
                None if self.buffer.is_empty() => Piece::End,
                None => Piece::Bytes(&self.buffer),
            };
        }
        loop {
            match self.reader.read(&mut self.buffer) {
                Ok(0) => return Piece::End,
                Ok(read) => return Piece::Bytes(self.buffer.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Piece::Broken(error),
            }
        }
    }
}

impl Source for Input {
    fn read(&mut self) -> (Duration, Piece<'_>) {
        let start = self.start;
        let piece = self.wait();
        (start.elapsed(), piece)
    }
}
