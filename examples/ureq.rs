//! From ureq 3, blocking: `Events` over the body.
//!
//! ```text
//! cargo run --example ureq                                    # asks a server that it starts
//! cargo run --example ureq -- http://localhost:8000/v1/chat/completions
//! ```
#![allow(clippy::std_instead_of_core, reason = "a program needs std")]

mod server;

use std::error::Error;
use std::io::{self, Write};

use chatwire::{ChatCompletion, Event, Events, StreamError};

const REQUEST: &str = r#"{"model": "m-1", "stream": true, "stream_options": {"include_usage": true},
    "messages": [{"role": "user", "content": "How is the weather in Oslo?"}]}"#;

/// Asks, writes what comes as it comes, and gives the answer: as much of it as there was.
pub(crate) fn run(url: &str, out: &mut impl Write) -> Result<ChatCompletion, Box<dyn Error>> {
    let response = ureq::post(url)
        .config()
        // What the server says under a 4xx or 5xx is read as its error.
        .http_status_as_error(false)
        .build()
        .header("content-type", "application/json")
        .send(REQUEST)?;

    let mut events = Events::new(response.into_body().into_reader());
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

fn main() -> Result<(), Box<dyn Error>> {
    run(&server::url()?, &mut io::stdout())?;
    Ok(())
}
