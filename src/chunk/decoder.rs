//! Decodes the values of a payload one after the other into one chunk, which it owns and refills.

use alloc::boxed::Box;

use serde::de::DeserializeSeed;
use serde_json::Value;

use super::api::{self, ApiError};
use super::context::{Cx, Found, Spare};
use super::json::{MAX_DEPTH, Notes, Reader, Scratch, SyntaxError, value};
use super::lenient::Lenient;
use super::read::InPlace;
use super::sequence::{Cursor, Next, Shape};
use super::template::{Change, Refused, Template};
use super::types::Chunk;
use crate::{Deviation, DeviationSet, Error, Limit, Limits};

const KEPT_CAPACITY: usize = 64 << 10;
/// The buffers of a chunk of more choices and tool calls than this are not used again.
const MANY_PARTS: usize = 64;

/// Decodes payloads. It keeps one [`Chunk`] and reads each into it, reusing its buffers; it keeps nothing else from one
/// payload to the next.
///
/// ```
/// let mut decoder = chatwire::chunk::Decoder::new();
/// for payload in [r#"{"choices":[{"delta":{"content":"a"}}]}"#, "[DONE]"] {
///     let mut payloads = decoder.payloads(payload);
///     assert!(matches!(payloads.next_payload(), Some(Ok(_))));
/// }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    chunk: Chunk,
    limits: Limits,
    spare: Spare,
    scratch: Scratch,
    deviations: DeviationSet,
    queued: Queued,
    /// The fast path; none for who may change the chunk between two payloads.
    template: Option<Template>,
    change: Change,
    /// The value that was decoded last was handed out as a chunk.
    is_given: bool,
    /// The envelope of the value that was decoded last was given with the one before.
    is_repeated: bool,
}

/// What a value gives beside an error.
#[derive(Debug, Clone, Default)]
struct Queued {
    /// In a box, so that what is handed on is small.
    api: Option<Box<ApiError>>,
    chunk: bool,
}

/// What a payload holds.
#[derive(Debug)]
#[non_exhaustive]
pub enum Payload<'a> {
    /// A chunk. It may be changed; the next one is read into it.
    Chunk(&'a mut Chunk),
    /// The end marker. Nothing in the payload counts after it.
    Done,
    /// An error that the server sent. A chunk may follow from the same value.
    Api(ApiError),
}

/// One step through a payload.
#[derive(Debug)]
pub(crate) enum Step {
    Chunk,
    Done,
    Api(Box<ApiError>),
    Malformed(usize, SyntaxError),
    TooDeep(usize),
    /// An object that is neither chunk nor error.
    Ignored,
}

impl Decoder {
    /// A decoder with the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A decoder with these limits: of [`Limits`], those for choices, tool calls and depth (at most 512) count here.
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// As `with_limits`, for who does not change the chunk but for its slots: with the fast path.
    pub(crate) fn with_template(limits: Limits) -> Self {
        Self {
            template: Some(Template::default()),
            ..Self::with_limits(limits)
        }
    }

    /// The fast path alone: decodes the payload that `bytes` are or, if they are `more`, begin with, if it is like the one
    /// before. Gives its length. The caller sees whether the payload ends there.
    pub(crate) fn resume(&mut self, bytes: &[u8], more: bool) -> Result<usize, Refused> {
        let template = self.template.as_mut().ok_or(Refused::Miss)?;
        let len = template.fill(bytes, more, &mut self.chunk, &mut self.scratch)?;
        self.deviations = template.deviations();
        self.change = template.change();
        Ok(len)
    }

    /// Whether there is a payload that the next one can be like.
    pub(crate) fn can_resume(&self) -> bool {
        self.template.as_ref().is_some_and(Template::is_current)
    }

    #[cfg(test)]
    pub(crate) fn template_tries_and_hits(&self) -> (u64, u64) {
        let template = self.template.as_ref();
        template.map_or((0, 0), |template| (template.tries, template.hits))
    }

    /// Whether the value that was decoded last gives something more.
    pub(crate) const fn has_queued(&self) -> bool {
        self.queued.chunk || self.queued.api.is_some()
    }

    /// What of the chunk may differ from what came before it.
    pub(crate) const fn change(&self) -> Change {
        self.change
    }

    /// What is in the text of a payload, one after the other.
    pub fn payloads<'d>(&'d mut self, text: &'d str) -> Payloads<'d> {
        self.queued = Queued::default();
        Payloads {
            decoder: self,
            text,
            cursor: Cursor::new(),
            is_error_event: false,
        }
    }

    /// As [`payloads`](Self::payloads), for a payload that came under this event name: under `error` an object without
    /// an error field, and plain text, are errors too.
    ///
    /// ```
    /// use chatwire::chunk::{Decoder, Payload};
    /// let mut decoder = Decoder::new();
    /// let mut payloads = decoder.payloads_of_event("error", "overloaded");
    /// assert!(matches!(payloads.next_payload(), Some(Ok(Payload::Api(error))) if error.message == "overloaded"));
    /// ```
    pub fn payloads_of_event<'d>(&'d mut self, event: &str, text: &'d str) -> Payloads<'d> {
        Payloads {
            is_error_event: event == "error",
            ..self.payloads(text)
        }
    }

    /// What was tolerated in the value that was decoded last.
    ///
    /// ```
    /// use chatwire::{Deviation, chunk::Decoder};
    /// let mut decoder = Decoder::new();
    /// decoder.payloads(r#"{"choices":[{"delta":{"content":7}}]}"#).next_payload();
    /// assert!(decoder.deviations().contains(Deviation::WrongType));
    /// ```
    #[must_use]
    pub fn deviations(&self) -> DeviationSet {
        self.deviations
    }

    pub(crate) fn take_deviations(&mut self) -> DeviationSet {
        core::mem::take(&mut self.deviations)
    }

    /// The chunk that was decoded last.
    pub(crate) const fn chunk(&self) -> &Chunk {
        &self.chunk
    }

    pub(crate) const fn chunk_mut(&mut self) -> &mut Chunk {
        &mut self.chunk
    }

    /// Whether `text` is a sequence of JSON values; if not, why.
    pub(crate) fn check(&mut self, text: &str) -> Result<(), SyntaxError> {
        super::sequence::check(text, 0, text.len(), true, &mut self.scratch).map(|_| ())
    }

    /// Forgets the payload at hand.
    pub(crate) fn reset(&mut self) {
        self.is_given = false;
        self.queued = Queued::default();
        self.deviations = DeviationSet::new();
        self.template = self.template.is_some().then(Template::default);
    }

    /// Gives large buffers back.
    pub(crate) fn shrink(&mut self) {
        self.scratch.clear_large(KEPT_CAPACITY);
    }

    /// Goes on in a payload, to the next thing in it.
    pub(crate) fn step(
        &mut self,
        text: &str,
        cursor: &mut Cursor,
        is_error_event: bool,
    ) -> Option<Step> {
        if let Some(api) = self.queued.api.take() {
            return Some(Step::Api(api));
        }
        if core::mem::take(&mut self.queued.chunk) {
            return Some(Step::Chunk);
        }
        self.deviations = DeviationSet::new();
        self.change = Change::Any;
        if !is_error_event && cursor.is_at_start() && self.resume(text.as_bytes(), false).is_ok() {
            *cursor = Cursor::over();
            return Some(Step::Chunk);
        }
        loop {
            let (shape, start, value) = match cursor.next(text, &mut self.scratch) {
                Next::Nothing => return None,
                Next::Done { is_quoted } => {
                    if is_quoted {
                        self.deviations.insert(Deviation::DoneQuoted);
                    }
                    return Some(Step::Done);
                }
                Next::Malformed(at, syntax) => return Some(Step::Malformed(at, syntax)),
                Next::Value(at) => {
                    let value = self.value(text, at, is_error_event);
                    match &value {
                        Ok((end, _)) => cursor.go_to(*end),
                        Err(_) => *cursor = Cursor::over(),
                    }
                    (Shape::Later, at, value)
                }
                Next::First(at) => {
                    let value = self.value(text, at, is_error_event);
                    let end = value.as_ref().ok().map(|(end, _)| *end);
                    (cursor.shape(text, end, &mut self.scratch), at, value)
                }
                Next::Forged => (
                    cursor.shape(text, None, &mut self.scratch),
                    0,
                    Err(SyntaxError::forged_marker()),
                ),
            };
            match (shape, value) {
                (Shape::Single, Ok((_, step))) => {
                    if let (Some(template), Step::Chunk, false) =
                        (&mut self.template, &step, is_error_event)
                    {
                        template.learn(text, &self.chunk, self.deviations, &mut self.scratch);
                    }
                    return Some(self.give(step));
                }
                (Shape::Later, Ok((_, step))) => return Some(self.give(step)),
                (Shape::Sequence, Ok((_, step))) => {
                    self.deviations.insert(Deviation::PayloadSequence);
                    return Some(self.give(step));
                }
                (Shape::Lines | Shape::Broken, _) if is_error_event => {
                    *cursor = Cursor::over();
                    self.queued = Queued::default();
                    return Some(Step::Api(Box::new(ApiError::from_text(text.trim()))));
                }
                (Shape::Lines, _) => {
                    self.queued = Queued::default();
                    self.deviations = DeviationSet::from_iter([Deviation::PayloadLines]);
                }
                (_, Err(syntax)) => return Some(Step::Malformed(start, syntax)),
                (Shape::Broken, Ok(_)) => {
                    self.queued = Queued::default();
                    return Some(Step::Malformed(start, SyntaxError::not_a_sequence()));
                }
            }
        }
    }

    /// Hands out what a value is.
    fn give(&mut self, step: Step) -> Step {
        self.is_given = matches!(step, Step::Chunk);
        if self.is_given && self.is_repeated {
            self.change = Change::Contents;
        }
        step
    }

    /// Decodes the value at `at`: where it ends, and what it is.
    fn value(
        &mut self,
        text: &str,
        at: usize,
        is_error_event: bool,
    ) -> Result<(usize, Step), SyntaxError> {
        self.is_repeated = core::mem::take(&mut self.is_given);
        let notes = Notes::default();
        let max_depth = self.limits.max_depth.min(MAX_DEPTH);
        let mut reader = Reader::new(text, at, max_depth, &mut self.scratch, &notes);
        if !text.get(at..).is_some_and(|rest| rest.starts_with('{')) {
            reader.skip().map_err(|_| reader.fault())?;
            let raw = text.get(at..reader.at()).unwrap_or_default();
            // Only a string says anything.
            let string = raw.starts_with('"').then(|| value(raw)).flatten();
            let step = match string {
                Some(Value::String(message)) if is_error_event && !message.is_empty() => {
                    Step::Api(Box::new(ApiError::from_text(&message)))
                }
                _ => Step::Malformed(at, SyntaxError::no_object()),
            };
            return Ok((reader.at(), step));
        }
        if let Some(template) = &mut self.template {
            template.forget();
        }
        if self.chunk.parts() > MANY_PARTS {
            // Each of them keeps some small buffers, and they would add up from chunk to chunk.
            (self.chunk, self.spare) = (Chunk::default(), Spare::default());
        }
        let mut cx = Cx::new(&notes, &self.limits, &mut self.spare);
        let mut is_object = false;
        Lenient(InPlace {
            target: &mut self.chunk,
            is_object: &mut is_object,
            cx: &mut cx,
        })
        .deserialize(&mut reader)
        .map_err(|_| reader.fault())?;
        let (end, is_too_deep) = (reader.at(), reader.is_too_deep);
        let Cx {
            deviations, found, ..
        } = cx;
        self.is_repeated &= !found.is_new;
        self.deviations = self.deviations.union(deviations).union(reader.tolerated);
        let api = api::find(&self.chunk, &found, is_error_event).map(Box::new);
        let is_chunk = found.choices_list
            || self
                .chunk
                .object
                .as_deref()
                .is_some_and(|object| object.starts_with("chat.completion"))
            || found.usage_object && api.is_none();
        if is_chunk {
            self.note_shape(&found);
        }
        self.queued = Queued {
            api,
            chunk: is_chunk,
        };
        if is_too_deep {
            return Ok((end, Step::TooDeep(at)));
        }
        Ok((end, self.next_queued()))
    }

    /// What is unusual of a chunk as a whole.
    fn note_shape(&mut self, found: &Found) {
        let chunk = &self.chunk;
        let has_usage = chunk.usage.as_ref().is_some_and(|usage| !usage.is_empty());
        for (is_so, deviation) in [
            (chunk.object.is_none(), Deviation::ObjectMissing),
            (!found.choices_list, Deviation::ChoicesMissing),
            (
                // OpenAI itself sends usage, and the results of moderation, without a choice.
                found.choices_list
                    && chunk.choices.is_empty()
                    && chunk.usage.is_none()
                    && chunk.moderation.is_none(),
                Deviation::ChoicesEmpty,
            ),
            (
                !chunk.choices.is_empty() && has_usage,
                Deviation::UsageBesideChoices,
            ),
        ] {
            if is_so {
                self.deviations.insert(deviation);
            }
        }
    }

    fn next_queued(&mut self) -> Step {
        if let Some(api) = self.queued.api.take() {
            Step::Api(api)
        } else if core::mem::take(&mut self.queued.chunk) {
            Step::Chunk
        } else {
            self.deviations.insert(Deviation::PayloadIgnored);
            Step::Ignored
        }
    }
}

/// The contents of one payload: [`Decoder::payloads`].
#[derive(Debug)]
pub struct Payloads<'d> {
    decoder: &'d mut Decoder,
    text: &'d str,
    cursor: Cursor,
    is_error_event: bool,
}

impl Payloads<'_> {
    /// What comes next in the payload; none at its end.
    ///
    /// # Errors
    /// [`Malformed`](crate::ErrorKind::Malformed) for a value, or a line, that cannot be read, and
    /// [`TooLarge`](crate::ErrorKind::TooLarge) before a chunk of which a part was too deep. The next call goes on.
    pub fn next_payload(&mut self) -> Option<Result<Payload<'_>, Error>> {
        loop {
            return Some(
                match self
                    .decoder
                    .step(self.text, &mut self.cursor, self.is_error_event)?
                {
                    Step::Chunk => Ok(Payload::Chunk(&mut self.decoder.chunk)),
                    Step::Done => Ok(Payload::Done),
                    Step::Api(api) => Ok(Payload::Api(*api)),
                    Step::Malformed(at, syntax) => Err(Error::malformed(at as u64, syntax)),
                    Step::TooDeep(at) => Err(Error::too_large(at as u64, Limit::Depth)),
                    Step::Ignored => continue,
                },
            );
        }
    }
}

impl Chunk {
    /// Reads one chunk from the text of a payload.
    ///
    /// # Errors
    /// What the server sent in place of a chunk ([`Api`](crate::ErrorKind::Api)), or that this is no JSON object
    /// ([`Malformed`](crate::ErrorKind::Malformed)): also for the end marker, and for an object that is no chunk.
    ///
    /// ```
    /// use chatwire::{Chunk, ErrorKind};
    /// assert!(Chunk::from_json(r#"{"choices":[]}"#).is_ok());
    /// assert_eq!(Chunk::from_json("{").unwrap_err().kind(), ErrorKind::Malformed);
    /// assert_eq!(Chunk::from_json(r#"{"error":"busy"}"#).unwrap_err().kind(), ErrorKind::Api);
    /// ```
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let mut decoder = Decoder::new();
        match decoder.payloads(text).next_payload() {
            Some(Ok(Payload::Chunk(chunk))) => Ok(core::mem::take(chunk)),
            Some(Ok(Payload::Api(api))) => Err(Error::from_api(0, api)),
            Some(Err(error)) => Err(error),
            Some(Ok(Payload::Done)) | None => Err(Error::malformed(0, SyntaxError::no_object())),
        }
    }
}
