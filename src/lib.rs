//! A sans-IO parser for OpenAI-style Chat Completions streams: bytes in, typed events out, the whole answer at the end.
//!
//! There is no socket, clock, task, channel or log inside, and no HTTP, retry, reconnect or decompression: any transport
//! and any runtime can drive it. It reads what OpenAI sends and what everybody else sends behind the same endpoint, and
//! can say what it tolerated.
//!
//! ```
//! use chatwire::{ChatCompletion, Event, Parser};
//! use std::io::Read;
//!
//! fn read(mut body: impl Read) -> Result<ChatCompletion, Box<dyn std::error::Error>> {
//!     let mut parser = Parser::new();
//!     let mut buf = [0; 16 * 1024];
//!     while !parser.is_terminated() {
//!         match body.read(&mut buf)? {
//!             0 => parser.finish(),
//!             n => parser.feed(&buf[..n]),
//!         }
//!         while let Some(event) = parser.next_event() {
//!             match event? {
//!                 Event::ChunkParsed(chunk) => print!("{}", chunk.text()),
//!                 Event::ToolCallComplete { call, .. } => println!("{}({})", call.function.name, call.function.arguments),
//!                 Event::UsageFrame(usage) => println!("{:?} tokens", usage.total_tokens),
//!                 Event::Done(done) => assert!(done.unfinished().is_empty()),
//!                 _ => {}
//!             }
//!         }
//!     }
//!     Ok(parser.into_completion())
//! }
//!
//! let body = &b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"[..];
//! assert_eq!(read(body)?.text(), "Hi");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The contract
//! [`feed`](Parser::feed) bytes as they come, then take [`next_event`](Parser::next_event) until it gives none; say
//! [`finish`](Parser::finish) when the input ends, or [`abort`](Parser::abort) when the transport breaks; go on until
//! [`is_terminated`](Parser::is_terminated). Where the bytes are cut changes nothing: events, errors, offsets and
//! deviations are the same for every cut. Nothing panics. Time is linear in the bytes.
//!
//! # The layers
//! | layer | in | out |
//! |---|---|---|
//! | [`sse`] | bytes | frames; knows no JSON |
//! | [`chunk`] | a frame's payload | [`Chunk`]s, errors of the server, the end marker; keeps no history |
//! | [`completion`] | chunks | the answer, and which tool calls are complete; knows no bytes |
//! | [`Parser`] | bytes | [`Event`]s: it adds order, offsets and the end |
//!
//! Each is useful alone.
//!
//! # The events
//! [`Event::ChunkParsed`] comes for every chunk, in order. From the same frame follow [`Event::UsageFrame`] if it carried
//! token counts, and [`Event::ToolCallComplete`] for each call that it completed: exactly once per call, whole, never
//! changed again; a call that is broken or cut off never completes. [`Event::Done`] comes once, last. What is lent is
//! plain data and is read into the same buffers again: keep it with [`Event::into_owned`], or take owned events from
//! [`next_owned`](Parser::next_owned), which are `Send` and fit a channel.
//!
//! # How a stream ends
//! Exactly one terminal item comes, then none:
//!
//! | what was seen | the item |
//! |---|---|
//! | `[DONE]` | [`Event::Done`]; it says which choices have no finish reason |
//! | a clean end of input, and each choice seen has a finish reason | [`Event::Done`], [`marker`](Done::marker) false |
//! | any other end of input, an empty body too | [`ErrorKind::Truncated`]; what came is in the completion |
//! | a broken transport (`abort`) before `[DONE]` | [`ErrorKind::Truncated`] |
//!
//! A finish reason does not end a stream: usage and `[DONE]` follow it. After `[DONE]` nothing counts. A truncated stream
//! cannot be resumed; whether to ask again is the caller's to decide.
//!
//! # Errors
//! Errors are items in their place in the stream, and reading goes on after each but `Truncated`: `?` stops at the first
//! fault, a lenient loop logs and continues; neither loses what follows. See [`ErrorKind`]. What the server says is
//! [`ErrorKind::Api`], also where it comes in the middle of a 200.
//!
//! # Limits and deviations
//! [`Limits`] bound what a hostile stream can make the parser keep. [`Deviation`] names every way of differing from OpenAI
//! that is tolerated; [`Parser::deviations`] tells those met, [`Options::strict`] makes chosen ones errors.
//!
//! # Transports
//! Bytes come from anywhere, a reader gives them to `Events` and an async stream to `EventStream`: an iterator and a stream
//! of owned events, which also lend them. Both are thin, and own a [`Parser`]. An end of their input is a `finish`, an error
//! an `abort`; that error comes last, as `StreamError::Transport`, in place of [`ErrorKind::Truncated`]. `examples/` has a
//! program for `TcpStream`, ureq, reqwest, hyper, a channel between tasks, and a proxy that reads what it forwards.
//!
//! # Features
//! | feature | what it adds | dependencies |
//! |---|---|---|
//! | `std` (default) | `std` in the dependencies, for wider SIMD; the API is the same | |
//! | `io` | the module `io` with `Events`; needs the standard library | |
//! | `futures` | the module `futures` with `EventStream`; needs no `std` and no runtime | futures-core |
//!
//! Without `std` the crate is `no_std` with `alloc`. The oldest supported Rust is 1.85.
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(any(feature = "std", feature = "io", test))]
extern crate std;

pub mod chunk;
pub mod completion;
mod deviation;
mod error;
mod event;
#[cfg(feature = "futures")]
pub mod futures;
#[cfg(feature = "io")]
pub mod io;
mod limits;
mod parser;
pub mod sse;
#[cfg(any(feature = "futures", feature = "io"))]
mod transport;

pub use chunk::{ApiError, Chunk, Extra, FinishReason, RawJson, Usage};
pub use completion::{CallRef, ChatCompletion, ToolCall};
pub use deviation::{Deviation, DeviationSet, Deviations, Met};
pub use error::{Error, ErrorKind};
pub use event::{Done, Event, Lent};
#[cfg(feature = "futures")]
pub use futures::EventStream;
#[cfg(feature = "io")]
pub use io::Events;
pub use limits::{Limit, Limits};
pub use parser::{Options, Parser};
#[cfg(any(feature = "futures", feature = "io"))]
pub use transport::StreamError;

/// The code in the README runs as a test.
#[cfg(all(doctest, feature = "futures", feature = "io"))]
#[doc = include_str!("../README.md")]
struct Readme;
