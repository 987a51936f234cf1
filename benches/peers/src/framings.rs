//! The framing crates, each driven as its documentation says.

use eventsource_stream::EventStream;
use sse_core::{SseDecoder, SseEvent};
use sse_parse::SseParser;
use sse_stream::SseByteStream;

use crate::polled::{Body, poll};
use crate::session::Framing;

/// What is no payload: it cannot be read, so the answer is wrong.
const FAULT: &str = "";

pub struct SseCore(SseDecoder);

impl Default for SseCore {
    fn default() -> Self {
        Self(SseDecoder::new())
    }
}

impl<'a> Framing<'a> for SseCore {
    fn read(&mut self, mut bytes: &'a [u8], payload: &mut impl FnMut(&str)) {
        while let Some(event) = self.0.next(&mut bytes) {
            match event {
                Ok(SseEvent::Message(message)) => payload(&message.data),
                Ok(SseEvent::Retry(_)) => {}
                Err(_) => payload(FAULT),
            }
        }
    }

    fn finish(&mut self, _: &mut impl FnMut(&str)) {}
}

#[derive(Default)]
pub struct SseParse(SseParser);

impl<'a> Framing<'a> for SseParse {
    fn read(&mut self, bytes: &'a [u8], payload: &mut impl FnMut(&str)) {
        self.0.feed(bytes);
        while let Some(event) = self.0.next_event() {
            payload(&event.data);
        }
    }

    fn finish(&mut self, _: &mut impl FnMut(&str)) {
        self.0.finish();
    }
}

#[derive(Default)]
pub struct StreamRs {
    parser: stream_rs::sse::SseParser,
    events: Vec<stream_rs::sse::SseEvent>,
}

impl<'a> Framing<'a> for StreamRs {
    fn read(&mut self, bytes: &'a [u8], payload: &mut impl FnMut(&str)) {
        self.parser.feed(bytes, &mut self.events);
        self.events.drain(..).for_each(|event| payload(&event.data));
    }

    fn finish(&mut self, payload: &mut impl FnMut(&str)) {
        self.parser.finish(&mut self.events);
        self.events.drain(..).for_each(|event| payload(&event.data));
    }
}

pub struct SseStream<'a> {
    body: Body<'a>,
    events: SseByteStream<Body<'a>>,
}

impl Default for SseStream<'_> {
    fn default() -> Self {
        let body = Body::default();
        let events = SseByteStream::new(body.clone());
        Self { body, events }
    }
}

impl<'a> Framing<'a> for SseStream<'a> {
    fn read(&mut self, bytes: &'a [u8], payload: &mut impl FnMut(&str)) {
        self.body.put(bytes);
        while let Some(event) = poll(&mut self.events) {
            match event {
                Ok(event) => event.data.iter().for_each(|data| payload(data)),
                Err(_) => payload(FAULT),
            }
        }
    }

    fn finish(&mut self, payload: &mut impl FnMut(&str)) {
        self.body.end();
        while let Some(event) = poll(&mut self.events) {
            payload(
                event
                    .ok()
                    .and_then(|event| event.data)
                    .as_deref()
                    .unwrap_or(FAULT),
            );
        }
    }
}

pub struct EventsourceStream<'a> {
    body: Body<'a>,
    events: EventStream<Body<'a>>,
}

impl Default for EventsourceStream<'_> {
    fn default() -> Self {
        let body = Body::default();
        let events = EventStream::new(body.clone());
        Self { body, events }
    }
}

impl<'a> Framing<'a> for EventsourceStream<'a> {
    fn read(&mut self, bytes: &'a [u8], payload: &mut impl FnMut(&str)) {
        self.body.put(bytes);
        while let Some(event) = poll(&mut self.events) {
            payload(event.as_ref().map_or(FAULT, |event| &event.data));
        }
    }

    fn finish(&mut self, payload: &mut impl FnMut(&str)) {
        self.body.end();
        while let Some(event) = poll(&mut self.events) {
            payload(event.as_ref().map_or(FAULT, |event| &event.data));
        }
    }
}
