//! From a bare `TcpStream`: HTTP/1.1 by hand, and `Events` over the body.
//!
//! ```text
//! cargo run --example tcp                                     # asks a server that it starts
//! cargo run --example tcp -- http://localhost:8000/v1/chat/completions
//! ```
#![allow(clippy::std_instead_of_core, reason = "a program needs std")]

mod server;

use std::error::Error;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;

use chatwire::{ChatCompletion, Event, Events, StreamError};

const REQUEST: &str = r#"{"model": "m-1", "stream": true, "stream_options": {"include_usage": true},
    "messages": [{"role": "user", "content": "How is the weather in Oslo?"}]}"#;

/// Asks, writes what comes as it comes, and gives the answer: as much of it as there was.
pub(crate) fn run(url: &str, out: &mut impl Write) -> Result<ChatCompletion, Box<dyn Error>> {
    let (host, path) = url
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
        .ok_or("not http://HOST:PORT/PATH")?;
    let mut connection = TcpStream::connect(host)?;
    write!(
        connection,
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{REQUEST}",
        REQUEST.len()
    )?;

    let mut events = Events::new(body(BufReader::new(connection))?);
    while let Some(item) = events.next_event() {
        match item {
            Ok(Event::ChunkParsed(chunk)) => write!(out, "{}", chunk.text())?,
            Ok(Event::ToolCallComplete { call, .. }) => {
                writeln!(out, "\n{}({})", call.name(), call.arguments())?;
            }
            Ok(Event::UsageFrame(usage)) => writeln!(out, "\ntokens: {:?}", usage.total_tokens)?,
            Ok(Event::Done(_)) => writeln!(out, "\ndone")?,
            Ok(_) => {}
            Err(StreamError::Protocol(error)) => match error.api() {
                Some(api) => writeln!(out, "\nthe server says: {}", api.message)?,
                None => writeln!(out, "\n{error}")?,
            },
            Err(StreamError::Transport(error)) => writeln!(out, "\ncut off: {error}")?,
        }
        out.flush()?;
    }
    Ok(events.into_parser().into_completion())
}

/// Reads the head of a response. Errors of the server come as JSON bodies under any status, and are read as such.
fn body(mut connection: impl BufRead + 'static) -> io::Result<Box<dyn Read>> {
    let (mut is_chunked, mut line) = (false, String::new());
    loop {
        line.clear();
        if connection.read_line(&mut line)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        match line.trim_end().to_ascii_lowercase().as_str() {
            "" => break,
            header => is_chunked |= header == "transfer-encoding: chunked",
        }
    }
    Ok(if is_chunked {
        Box::new(Chunked {
            connection,
            left: 0,
        })
    } else {
        Box::new(connection)
    })
}

/// A body in `transfer-encoding: chunked`.
struct Chunked<R> {
    connection: R,
    /// Of the chunk that is being read.
    left: u64,
}

impl<R: BufRead> Read for Chunked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let mut line = String::new();
            // Before a size there is the end of the chunk before it.
            while line.trim().is_empty() {
                line.clear();
                if self.connection.read_line(&mut line)? == 0 {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
            }
            let size = line.split(';').next().unwrap_or_default().trim();
            self.left = u64::from_str_radix(size, 16).map_err(io::Error::other)?;
            if self.left == 0 {
                return Ok(0);
            }
        }
        match (&mut self.connection).take(self.left).read(buffer)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            read => {
                self.left -= read as u64;
                Ok(read)
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&server::url()?, &mut io::stdout())?;
    Ok(())
}
