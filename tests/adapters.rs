//! `Events` and `EventStream` give what a parser gives, however the bytes come, and end as their transport ends.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::std_instead_of_core, clippy::std_instead_of_alloc)]

mod common;

use std::cell::Cell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Debug;
use std::future::Future;
use std::io::{self, Read};
use std::marker::PhantomPinned;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use chatwire::{
    ChatCompletion, ErrorKind, Event, EventStream, Events, Options, Parser, StreamError,
};
use common::{End, Fault, for_each_cut, read, read_with, streams};
use futures_util::stream::{FusedStream, Stream, StreamExt, iter, poll_fn};

type Pieces = VecDeque<Result<Vec<u8>, io::ErrorKind>>;

/// What an item is, as a value to compare.
#[derive(Debug, Clone, PartialEq)]
enum Got {
    Event(Event<'static>),
    Fault(Fault),
    Transport(String),
}

fn got<E: ToString>(item: Result<Event<'_>, StreamError<E>>) -> Got {
    match item {
        Ok(event) => Got::Event(event.into_owned()),
        Err(StreamError::Protocol(error)) => Got::Fault(Fault::from(&error)),
        Err(StreamError::Transport(error)) => Got::Transport(error.to_string()),
    }
}

/// What a parser makes of it; with another last item if the transport broke.
fn expected(pieces: &Pieces) -> (Vec<Got>, ChatCompletion) {
    let bytes = pieces.iter().map_while(|piece| piece.as_deref().ok());
    let broken = pieces.iter().find_map(|piece| piece.as_ref().err());
    let broken = broken.filter(|kind| **kind != io::ErrorKind::Interrupted);
    let end = if broken.is_some() {
        End::Abort
    } else {
        End::Finish
    };
    let outcome = read_with(Options::default(), bytes, end);
    let items = outcome.items.into_iter().map(|item| match (item, broken) {
        (Err(fault), Some(kind)) if fault.kind == ErrorKind::Truncated => {
            Got::Transport(kind.to_string())
        }
        (Err(fault), _) => Got::Fault(fault),
        (Ok(event), _) => Got::Event(event),
    });
    (items.collect(), outcome.completion)
}

/// Gives a piece a read.
struct Reader(Pieces);

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.pop_front() {
            None => Ok(0),
            Some(Ok(mut piece)) => {
                let rest = piece.split_off(buffer.len().min(piece.len()));
                if !rest.is_empty() {
                    self.0.push_front(Ok(rest));
                }
                buffer[..piece.len()].copy_from_slice(&piece);
                Ok(piece.len())
            }
            Some(Err(kind)) => Err(kind.into()),
        }
    }
}

/// Gives a piece every second time it is asked, and panics if it is asked after its end. Its `Unpin` is withheld.
fn waiting(mut pieces: Pieces) -> impl Stream<Item = io::Result<Vec<u8>>> + Send {
    let (mut waits, mut is_over, unmovable) = (true, false, PhantomPinned);
    poll_fn(move |_| {
        let _ = &unmovable;
        assert!(!is_over, "asked after its end");
        waits = !waits;
        if !waits {
            return Poll::Pending;
        }
        let piece = pieces.pop_front();
        is_over = matches!(piece, None | Some(Err(_)));
        Poll::Ready(piece.map(|piece| piece.map_err(io::Error::from)))
    })
}

/// What a future gives, if each future is polled once and dropped. The future must lose nothing by it.
fn insist<T>(mut once: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..1 << 20 {
        if let Poll::Ready(value) = once(&mut context) {
            return value;
        }
    }
    panic!("it waits for ever");
}

fn by_iterator(pieces: &Pieces) -> (Vec<Got>, ChatCompletion) {
    let mut events = Events::new(Reader(pieces.clone()));
    let items = events.by_ref().map(got).collect();
    assert!(events.next().is_none(), "it is fused");
    (items, events.into_parser().into_completion())
}

fn by_lent(pieces: &Pieces) -> (Vec<Got>, ChatCompletion) {
    let mut events = Events::new(Reader(pieces.clone()));
    let mut items = Vec::new();
    while let Some(item) = events.next_event() {
        items.push(got(item));
    }
    assert!(events.next_event().is_none(), "it is fused");
    (items, events.parser().completion().clone())
}

fn by_stream(pieces: &Pieces) -> (Vec<Got>, ChatCompletion) {
    let mut events = EventStream::new(waiting(pieces.clone()));
    let mut items = Vec::new();
    while let Some(item) = insist(|context| pin!(events.next()).poll(context)) {
        items.push(got(item));
    }
    assert!(events.is_terminated(), "it is fused");
    assert!(insist(|context| events.poll_next_unpin(context)).is_none());
    (items, events.into_parser().into_completion())
}

fn by_lent_async(pieces: &Pieces) -> (Vec<Got>, ChatCompletion) {
    let mut events = EventStream::new(waiting(pieces.clone()));
    let mut items = Vec::new();
    loop {
        let polled = insist(|context| {
            let next = pin!(events.next_event()).poll(context);
            next.map(|item| item.map(got))
        });
        let Some(item) = polled else { break };
        items.push(item);
    }
    (items, events.parser().completion().clone())
}

fn check(what: &str, pieces: &Pieces) {
    let expected = expected(pieces);
    // An empty read is the end for a reader.
    let mut read = pieces.clone();
    read.retain(|piece| piece.as_ref().map_or(true, |piece| !piece.is_empty()));
    assert_eq!(by_iterator(&read), expected, "iterator: {what}");
    assert_eq!(by_lent(&read), expected, "lent by a reader: {what}");
    let mut streamed = pieces.clone();
    streamed.retain(|piece| *piece != Err(io::ErrorKind::Interrupted));
    assert_eq!(by_stream(&streamed), expected, "stream: {what}");
    assert_eq!(by_lent_async(&streamed), expected, "lent: {what}");
}

fn pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Pieces {
    let pieces = pieces.into_iter();
    pieces.map(|piece| Ok(piece.to_vec())).collect()
}

#[test]
fn every_stream_comes_out_as_from_a_parser_in_pieces_of_any_size() {
    for case in streams() {
        for size in [1, 7, usize::MAX] {
            let mut cut = pieces(case.input.chunks(size));
            check(&case.id, &cut);
            cut.push_back(Err(io::ErrorKind::ConnectionReset));
            check(&case.id, &cut);
        }
    }
}

#[test]
fn a_transport_that_breaks_anywhere_gives_all_that_came_and_then_its_error_once() {
    let input = b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\r\n\r\n{\"a\":\n\
        data: {\"choices\":[],\"usage\":{\"total_tokens\":3}}\n\ndata: [DONE]\n\n";
    for at in 0..=input.len() {
        let mut broken = pieces([&input[..at]]);
        broken.push_back(Err(io::ErrorKind::ConnectionReset));
        broken.push_back(Ok(input[at..].to_vec()));
        check(&format!("broken at {at}"), &broken);
        let (items, _) = by_stream(&broken);
        let is_broken = |item: &&Got| matches!(item, Got::Transport(_));
        let is_whole = at == input.len();
        let count = usize::from(!is_whole);
        assert_eq!(items.iter().filter(is_broken).count(), count, "at {at}");
        let last = items.last();
        assert!(matches!(last, Some(Got::Transport(_)) if !is_whole) || is_whole);
    }
}

#[test]
fn the_pieces_may_be_cut_anywhere_and_empty() {
    let input = &streams()[0].input;
    for_each_cut(input, |how, cut| check(how, &pieces(cut)));
}

#[test]
fn an_interrupted_read_is_tried_again() {
    let mut cut = VecDeque::new();
    for piece in streams()[0].input.chunks(9) {
        cut.push_back(Err(io::ErrorKind::Interrupted));
        cut.push_back(Ok(piece.to_vec()));
    }
    let whole = read([&streams()[0].input[..]]).items.len();
    let items = by_iterator(&cut).0;
    assert_eq!(items.len(), whole);
    assert!(!items.iter().any(|item| matches!(item, Got::Transport(_))));
}

#[test]
fn the_transport_is_asked_only_for_what_is_needed() {
    const FRAME: &str = "data: {\"choices\":[]}\n\n";
    let asked = Rc::new(Cell::new(0));
    let pieces = [FRAME.repeat(3), FRAME.into(), "data: [DONE]\n\n".into()];
    let count = Rc::clone(&asked);
    // It goes on for ever.
    let body = iter(pieces.into_iter().chain(std::iter::repeat(FRAME.into())));
    let body = body.inspect(move |_| count.set(count.get() + 1));
    let mut events = EventStream::new(body.map(Ok::<_, Infallible>));
    let mut next = || insist(|context| events.poll_next_unpin(context)).is_some();
    let got: Vec<_> = (0..7).map(|_| (next(), asked.get())).collect();
    let expected = [
        (true, 1),
        (true, 1),
        (true, 1),
        (true, 2),
        (true, 3),
        (false, 3),
        (false, 3),
    ];
    assert_eq!(got, expected);
}

#[test]
fn a_parser_goes_from_stream_to_stream_with_its_options() {
    let mut options = Options::default();
    options.limits.max_frame_bytes = 16;
    let mut parser = Parser::with_options(options);
    parser.feed(b"data: 0123");
    let mut events = Events::with_parser(&b"4567890123456789\n\n"[..], parser);
    let error = events.next_event().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "over the limit max_frame_bytes at byte 0"
    );
    let mut parser = events.into_parser();
    parser.reset();
    let body = iter([Ok::<_, Infallible>("data: 01234567890123456789\n\n")]);
    let mut events = EventStream::with_parser(body, parser);
    let again = insist(|context| events.poll_next_unpin(context)).unwrap();
    assert_eq!(again.unwrap_err().to_string(), error.to_string());
}

#[test]
fn an_error_reads_as_the_one_inside() {
    use std::error::Error;
    let inside = io::Error::other("the cable is out");
    let error: Box<dyn Error> = StreamError::Transport(inside).into();
    assert_eq!(error.to_string(), "the cable is out");
    let body = b"data: {\"error\":{\"message\":\"slow down\"}}\n\n";
    let error = Events::new(&body[..]).next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the server sent an error at byte 0");
    assert_eq!(error.source().unwrap().to_string(), "slow down");
}

#[test]
fn what_goes_from_task_to_task_may() {
    fn free<T: Send + Sync + Unpin + Debug>(_: &T) {}
    fn send<T: Send>(value: T) -> T {
        value
    }
    free(&Events::new(io::empty()));
    free(&EventStream::new(iter([Ok::<_, io::Error>("")])));
    let mut events = send(EventStream::new(waiting(VecDeque::new())));
    drop(send(events.next_event()));
    let not_send = iter([Ok::<_, Infallible>(Rc::<[u8]>::from([]))]);
    assert_eq!(EventStream::new(not_send).size_hint(), (0, None));
    let boxed: Pin<Box<dyn Stream<Item = io::Result<&str>>>> =
        Box::pin(iter([Ok("data: [DONE]\n\n")]));
    let mut events = EventStream::new(boxed);
    assert!(insist(|context| events.poll_next_unpin(context)).is_some());
    assert!(size_of::<Result<Event<'static>, StreamError<io::Error>>>() <= 32);
}
