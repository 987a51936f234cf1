//! Bytes from a file or from standard input, as they come.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::num::NonZeroUsize;

/// A read is about this large where the feeds are smaller, and never larger than the other.
const READ: usize = 16 << 10;
const MAX_READ: usize = 1 << 24;

pub(crate) struct Input {
    reader: Box<dyn Read>,
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
    /// Opens a file, or standard input for `-`. It is to be fed in so many bytes at a time, or whole.
    pub(crate) fn open(file: &OsStr, feed: Option<NonZeroUsize>) -> io::Result<Self> {
        let reader: Box<dyn Read> = if file == "-" {
            Box::new(io::stdin().lock())
        } else {
            Box::new(File::open(file)?)
        };
        // A multiple of the feed, so that no read cuts a feed short.
        let size = feed.map_or(0, |feed| (READ / feed).max(1).saturating_mul(feed.into()));
        Ok(Self {
            reader,
            buffer: vec![0; size.min(MAX_READ)],
            is_whole: feed.is_none(),
            broken: None,
        })
    }

    /// Waits for more.
    pub(crate) fn read(&mut self) -> Piece<'_> {
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
