//! From reqwest, on tokio: `EventStream` over `bytes_stream()`.
//!
//! ```text
//! cargo run --example reqwest                                 # asks a server that it starts
//! cargo run --example reqwest -- http://localhost:8000/v1/chat/completions
//! ```
#![allow(clippy::std_instead_of_core, reason = "a program needs std")]

mod server;

use std::error::Error;
use std::io::{self, Write};

use chatwire::{ChatCompletion, Event, EventStream, StreamError};

const REQUEST: &str = r#"{"model": "m-1", "stream": true, "stream_options": {"include_usage": true},
    "messages": [{"role": "user", "content": "How is the weather in Oslo?"}]}"#;

/// Asks, writes what comes as it comes, and gives the answer: as much of it as there was.
pub(crate) async fn run(url: &str, out: &mut impl Write) -> Result<ChatCompletion, Box<dyn Error>> {
    let response = reqwest::Client::new()
        .post(url)
        .header("content-type", "application/json")
        .body(REQUEST)
        .send()
        .await?;

    let mut events = EventStream::new(response.bytes_stream());
    while let Some(item) = events.next_event().await {
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

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    run(&server::url()?, &mut io::stdout()).await?;
    Ok(())
}
