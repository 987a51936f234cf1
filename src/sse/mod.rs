//! Framing: the bytes of an event stream in, frames out. Knows no JSON.
//!
//! The rules are WHATWG's, exactly ([server-sent events, interpreting an event stream][spec]): one leading byte order
//! mark is cut; lines end in LF, CRLF or CR; one space after the colon is cut; comments are ignored; `data` lines are
//! joined with LF; `id` is sticky and must not contain NUL; `retry` is digits only; invalid UTF-8 becomes U+FFFD; a
//! block without data is no frame. Beyond them: at the end of input an unterminated frame is lent too, marked
//! [`terminated: false`](Frame::terminated), and frames have a size limit.
//!
//! [spec]: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
//!
//! ```
//! let mut decoder = chatwire::sse::Decoder::new();
//! decoder.feed(b"event: greeting\ndata: hel");
//! assert!(decoder.next_frame().is_none());
//! decoder.feed(b"lo\r\n\r\n");
//! let frame = decoder.next_frame().unwrap().unwrap();
//! assert_eq!((frame.event, frame.data), ("greeting", "hello"));
//! assert_eq!(frame.range, 0..30);
//! ```

mod decoder;
mod fields;
mod lines;

pub(crate) use decoder::Advance;
pub use decoder::{Decoder, Frame};
