//! From hyper 1, on tokio: `EventStream` over the data of the body.
//!
//! ```text
//! cargo run --example hyper                                   # asks a server that it starts
//! cargo run --example hyper -- http://localhost:8000/v1/chat/completions
//! ```
#![allow(clippy::std_instead_of_core, reason = "a program needs std")]

mod server;

use std::error::Error;
use std::io::{self, Write};

use chatwire::{ChatCompletion, Event, EventStream, StreamError};
use http_body_util::BodyExt;
use hyper::client::conn::http1;
use hyper::{Request, Uri, header};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

const REQUEST: &str = r#"{"model": "m-1", "stream": true, "stream_options": {"include_usage": true},
    "messages": [{"role": "user", "content": "How is the weather in Oslo?"}]}"#;

/// Asks, writes what comes as it comes, and gives the answer: as much of it as there was.
pub(crate) async fn run(url: &str, out: &mut impl Write) -> Result<ChatCompletion, Box<dyn Error>> {
    let uri: Uri = url.parse()?;
    let host = uri.authority().ok_or("no host")?.as_str();
    let stream = TcpStream::connect(host).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // What breaks the connection is told by the body too.
    tokio::spawn(connection);
    let request = Request::post(uri.path())
        .header(header::HOST, host)
        .header(header::CONTENT_TYPE, "application/json")
        .body(REQUEST.to_owned())?;
    let response = sender.send_request(request).await?;

    let mut events = EventStream::new(response.into_body().into_data_stream());
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
