//! Events from a stream of bytes: the body of an async HTTP client, a channel, a WebSocket. Feature `futures`.

use alloc::boxed::Box;
use core::fmt;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use futures_core::{FusedStream, Stream, TryStream};

use crate::transport::Driven;
use crate::{Event, Parser, StreamError};

/// The events of what a stream of bytes gives: a stream of owned ones, or lent ones from
/// [`next_event`](Self::next_event).
///
/// It takes any `Stream<Item = Result<impl AsRef<[u8]>, E>>` and any runtime, and is `Send` where the stream and its
/// error are. It needs no pinning: the stream is in a box.
///
/// The stream is polled only when all that came is handed out. Its end is the end of the input; its error ends this
/// stream too: what came before it is handed out, then [`StreamError::Transport`] in place of
/// [`Truncated`](crate::ErrorKind::Truncated). After `[DONE]` it is not polled. After the terminal item there is none, for
/// ever, and the answer, whole or not, is in the [`parser`](Self::parser). Dropping the future of a `next` or
/// [`next_event`](Self::next_event) loses nothing.
///
/// ```
/// use chatwire::{Event, EventStream};
/// use futures_util::{StreamExt, stream};
/// # futures_util::FutureExt::now_or_never(async {
/// let pieces = [&b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_re"[..], b"ason\":\"stop\"}]}\n\n"];
/// let body = stream::iter(pieces.map(Ok::<_, std::io::Error>));
/// let mut events = EventStream::new(body);
/// while let Some(event) = events.next().await {
///     match event? {
///         Event::ChunkParsed(chunk) => print!("{}", chunk.text()),
///         Event::ToolCallComplete { call, .. } => println!("{}({})", call.name(), call.arguments()),
///         _ => {}
///     }
/// }
/// assert_eq!(events.into_parser().into_completion().text(), "Hi");
/// # Ok::<(), chatwire::StreamError<std::io::Error>>(())
/// # }).unwrap().unwrap();
/// ```
pub struct EventStream<S: TryStream> {
    stream: Pin<Box<S>>,
    driven: Driven<S::Error>,
}

impl<S: TryStream> EventStream<S>
where
    S::Ok: AsRef<[u8]>,
{
    /// Reads with the default options.
    pub fn new(stream: S) -> Self {
        Self::with_parser(stream, Parser::new())
    }

    /// Reads with a parser of one's own: with other options, with bytes fed, or one that was
    /// [reset](Parser::reset) after another stream.
    ///
    /// ```
    /// use chatwire::{EventStream, Options, Parser};
    /// use futures_util::{StreamExt, stream};
    /// let mut options = Options::default();
    /// options.limits.max_frame_bytes = 1 << 20;
    /// let body = stream::iter([Ok::<_, std::io::Error>("data: [DONE]\n\n")]);
    /// let events = EventStream::with_parser(body, Parser::with_options(options));
    /// # let count = futures_util::FutureExt::now_or_never(events.count());
    /// # assert_eq!(count, Some(1));
    /// ```
    pub fn with_parser(stream: S, parser: Parser) -> Self {
        Self {
            stream: Box::pin(stream),
            driven: Driven::new(parser),
        }
    }

    /// The next event, lent until this is called again: no copy is made. None: the stream is over.
    ///
    /// # Errors
    /// As [`Parser::next_event`], and [`StreamError::Transport`] last, if the transport broke before the answer was
    /// whole.
    ///
    /// ```
    /// # futures_util::FutureExt::now_or_never(async {
    /// let body = futures_util::stream::iter([Ok("data: {\"choices\":[]}\n\n"), Err("reset")]);
    /// let mut events = chatwire::EventStream::new(body);
    /// assert!(events.next_event().await.unwrap().is_ok());
    /// assert_eq!(events.next_event().await.unwrap().unwrap_err().to_string(), "reset");
    /// assert!(events.next_event().await.is_none());
    /// # }).unwrap();
    /// ```
    pub async fn next_event(&mut self) -> Option<Result<Event<'_>, StreamError<S::Error>>> {
        match poll_fn(|context| self.poll_step(context)).await? {
            Ok(()) => self.driven.parser.event().map(Ok),
            Err(error) => Some(Err(error)),
        }
    }

    fn poll_step(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<(), StreamError<S::Error>>>> {
        loop {
            let step = self.driven.step();
            if step.is_some() || self.driven.parser.is_terminated() {
                return Poll::Ready(step);
            }
            let read = ready!(self.stream.as_mut().try_poll_next(context));
            self.driven.take(read);
        }
    }
}

impl<S: TryStream> EventStream<S> {
    /// The parser: the answer so far, the frame of the last event, what was tolerated.
    pub fn parser(&self) -> &Parser {
        &self.driven.parser
    }

    /// The parser itself: for the answer, or for the next stream.
    pub fn into_parser(self) -> Parser {
        self.driven.parser
    }
}

/// What is pinned is in a box, and nothing is lent from within.
impl<S: TryStream> Unpin for EventStream<S> {}

impl<S: TryStream> Stream for EventStream<S>
where
    S::Ok: AsRef<[u8]>,
{
    type Item = Result<Event<'static>, StreamError<S::Error>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let step = ready!(self.poll_step(context));
        let event = || self.driven.parser.event().map(Event::into_owned);
        Poll::Ready(step.and_then(|step| match step {
            Ok(()) => event().map(Ok),
            Err(error) => Some(Err(error)),
        }))
    }
}

impl<S: TryStream> FusedStream for EventStream<S>
where
    S::Ok: AsRef<[u8]>,
{
    fn is_terminated(&self) -> bool {
        self.driven.parser.is_terminated()
    }
}

impl<S: TryStream> fmt::Debug for EventStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("parser", self.parser())
            .finish_non_exhaustive()
    }
}
