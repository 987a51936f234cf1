//! What was tolerated: one code for each way in which streams differ from what OpenAI sends.

use core::fmt;

/// Writes the enum, the codes and the list of all of them from one table, so that they cannot drift apart.
macro_rules! deviations {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal,)+) => {
        /// A way in which a stream differed from what OpenAI sends, and that was tolerated.
        ///
        /// The codes ([`as_str`](Self::as_str)) are stable. What was met in a stream, how often, and where first:
        /// [`Parser::deviations`](crate::Parser::deviations).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Deviation { $($(#[doc = $doc])+ $name,)+ }

        impl Deviation {
            /// All codes, in the order in which they are declared.
            ///
            /// ```
            /// use chatwire::Deviation;
            /// assert!(Deviation::ALL.contains(&Deviation::FinishReasonEmpty));
            /// ```
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The stable code, in snake case.
            ///
            /// ```
            /// assert_eq!(chatwire::Deviation::ToolIndexMissing.as_str(), "tool_index_missing");
            /// ```
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)+ }
            }
        }
    };
}

deviations! {
    // The event stream.
    /// The input ended in the middle of a frame, without its blank line. WHATWG drops such a frame, and with it the
    /// finish reason or the usage; servers behind careless proxies send it.
    FrameUnterminated = "frame_unterminated",
    /// Bytes that are no UTF-8; each bad sequence was read as U+FFFD. Strict decoders lose the stream.
    InvalidUtf8 = "invalid_utf8",
    /// A line that is no field of an event stream; ignored.
    StrayLine = "stray_line",
    /// A line `error: {json}` (llama.cpp). WHATWG parsers drop it and see an empty answer.
    ErrorFieldLine = "error_field_line",
    /// A line `[DONE]` without `data:` (one-api and its forks).
    BareDone = "bare_done",
    /// A JSON object on a line without `data:`, beside or instead of an event stream (gateways; a whole JSON body).
    BareJson = "bare_json",
    /// `"[DONE]"` in quotes (servers that JSON-encode every payload).
    DoneQuoted = "done_quoted",
    /// The stream ended cleanly without `[DONE]`. Clients that wait for it hang.
    DoneMissing = "done_missing",
    // The payload.
    /// Several JSON values in one frame: the blank lines between them were forgotten.
    PayloadSequence = "payload_sequence",
    /// A frame that is no sequence of JSON values was read line by line.
    PayloadLines = "payload_lines",
    /// A JSON object that is neither a chunk nor an error; ignored (`{}`, events of other protocols).
    PayloadIgnored = "payload_ignored",
    /// `NaN` or `Infinity`, which is no JSON, read as null (Python's `json.dumps`).
    NotFinite = "not_finite",
    /// A number too large for its type; its field is lost.
    NumberOutOfRange = "number_out_of_range",
    /// Half of a UTF-16 surrogate pair, read as U+FFFD (servers that cut text by UTF-16 units).
    LoneSurrogate = "lone_surrogate",
    /// A key twice in one object; the last one counts.
    DuplicateKey = "duplicate_key",
    /// A field with a value of another type than documented; the field is lost, the chunk is not.
    WrongType = "wrong_type",
    /// A token count sent as text or with a fraction.
    CountNotInteger = "count_not_integer",
    /// A choice without an index; its position was taken.
    ChoiceIndexMissing = "choice_index_missing",
    /// An index sent as text (`"0"`).
    IndexAsText = "index_as_text",
    /// An index that is no index (negative, a fraction, a word); read as missing.
    IndexInvalid = "index_invalid",
    /// A choice without a delta, or with a null one (Azure's content filter frames).
    DeltaMissing = "delta_missing",
    /// `message` in place of `delta`: the server did not stream, or repeats the whole message at the end.
    MessageInPlaceOfDelta = "message_in_place_of_delta",
    /// `content` as a list of parts (Mistral).
    ContentParts = "content_parts",
    /// Reasoning under another name than `reasoning_content` (OpenRouter, Groq, vLLM: `reasoning`; and others).
    ReasoningRenamed = "reasoning_renamed",
    /// `finish_reason: ""`, which means none. Closed enums lose the chunk.
    FinishReasonEmpty = "finish_reason_empty",
    /// A finish reason that is not one of OpenAI's five. Closed enums lose the answer at its end.
    FinishReasonUnknown = "finish_reason_unknown",
    /// `finishReason` in place of `finish_reason`.
    FinishReasonRenamed = "finish_reason_renamed",
    /// A plain `stop` after a stronger reason, or another reason after `stop` (proxies that send `stop` early).
    FinishReasonChanged = "finish_reason_changed",
    /// The end came by `[DONE]` with a choice that has no finish reason.
    FinishReasonMissing = "finish_reason_missing",
    /// Usage inside a choice (Moonshot).
    UsageInChoice = "usage_in_choice",
    /// Usage inside `x_groq` (Groq).
    UsageInXGroq = "usage_in_x_groq",
    /// `input_tokens` / `output_tokens` in place of `prompt_tokens` / `completion_tokens`.
    UsageRenamed = "usage_renamed",
    /// A usage object without any count.
    UsageEmpty = "usage_empty",
    /// An all-zero usage after a real one; the real one is kept (relays).
    UsageZeroed = "usage_zeroed",
    // Tool calls.
    /// A tool call fragment without an index (Gemini, old Ollama). Read as 0 it would merge calls into one.
    ToolIndexMissing = "tool_index_missing",
    /// A new call under the index of another one (every index is 0: Gemini, Ollama).
    ToolIndexReused = "tool_index_reused",
    /// Another id for a call that is already open, without a name; the first one is kept.
    ToolIdChanged = "tool_id_changed",
    /// The name of a function in pieces; joined.
    ToolNameSplit = "tool_name_split",
    /// Another name for a call that is already open; the first one is kept.
    ToolNameChanged = "tool_name_changed",
    /// Arguments as a JSON object in place of text; written out as text (Ollama and others).
    ArgumentsNotText = "arguments_not_text",
    /// `{}` before the real arguments; replaced by them (Anthropic shims).
    ArgumentsPlaceholder = "arguments_placeholder",
    /// The whole arguments sent a second time; the copy is dropped (gateways that flush at the end).
    ArgumentsResent = "arguments_resent",
    /// A fragment for a call that is already complete; dropped.
    ToolFragmentLate = "tool_fragment_late",
    /// `tool_calls` as one object in place of a list.
    ToolCallsNotList = "tool_calls_not_list",
    /// A call that has no name, or no whole arguments, at the end. It never completes.
    ToolCallIncomplete = "tool_call_incomplete",
}

impl Deviation {
    const fn bit(self) -> u64 {
        1 << self as u32
    }

    /// The deviation of this code.
    ///
    /// ```
    /// use chatwire::Deviation;
    /// assert_eq!(Deviation::from_code("usage_in_choice"), Some(Deviation::UsageInChoice));
    /// assert_eq!(Deviation::from_code("no_such"), None);
    /// ```
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|deviation| deviation.as_str() == code)
    }
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of deviations; a word in size.
///
/// ```
/// use chatwire::{Deviation, DeviationSet};
/// let mut set = DeviationSet::new();
/// set.insert(Deviation::BareDone);
/// assert!(set.contains(Deviation::BareDone));
/// assert_eq!(set.iter().count(), 1);
/// assert!(DeviationSet::all().contains(Deviation::WrongType));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviationSet(u64);

impl DeviationSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(0)
    }

    /// Every deviation there is.
    #[must_use]
    pub fn all() -> Self {
        Deviation::ALL.iter().copied().collect()
    }

    /// Adds one.
    pub const fn insert(&mut self, deviation: Deviation) {
        self.0 |= deviation.bit();
    }

    /// Takes one out.
    pub const fn remove(&mut self, deviation: Deviation) {
        self.0 &= !deviation.bit();
    }

    /// Whether it is in.
    #[must_use]
    pub const fn contains(self, deviation: Deviation) -> bool {
        self.0 & deviation.bit() != 0
    }

    /// Whether none is in.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What is in this one or in the other.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in both.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Those in the set, in the order of [`Deviation::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Deviation> {
        Deviation::ALL
            .iter()
            .copied()
            .filter(move |deviation| self.contains(*deviation))
    }
}

impl FromIterator<Deviation> for DeviationSet {
    fn from_iter<I: IntoIterator<Item = Deviation>>(deviations: I) -> Self {
        let mut set = Self::new();
        deviations
            .into_iter()
            .for_each(|deviation| set.insert(deviation));
        set
    }
}

impl fmt::Debug for DeviationSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.iter().map(Deviation::as_str))
            .finish()
    }
}

/// The deviations met so far, each with a count and the place of the first.
///
/// ```
/// let mut parser = chatwire::Parser::new();
/// parser.feed(b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"\"}]}\n\n");
/// while parser.next_event().is_some() {}
/// let met: Vec<_> = parser.deviations().iter().collect();
/// assert_eq!(met[0].code, chatwire::Deviation::FinishReasonEmpty);
/// assert_eq!((met[0].count, met[0].offset), (1, 0));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deviations {
    set: DeviationSet,
    entries: [Entry; Deviation::ALL.len()],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    count: u64,
    offset: u64,
}

/// One kind of deviation met in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Met {
    /// Which one.
    pub code: Deviation,
    /// In how many payloads or lines.
    pub count: u64,
    /// Where the first of their frames starts in the stream, in bytes.
    pub offset: u64,
}

impl Default for Deviations {
    fn default() -> Self {
        Self {
            set: DeviationSet::new(),
            entries: [Entry {
                count: 0,
                offset: 0,
            }; Deviation::ALL.len()],
        }
    }
}

impl Deviations {
    /// Notes each of `set` once, at `offset`.
    pub(crate) fn record(&mut self, set: DeviationSet, offset: u64) {
        if set.is_empty() {
            return;
        }
        for deviation in set.iter() {
            if let Some(entry) = self.entries.get_mut(deviation as usize) {
                if entry.count == 0 {
                    entry.offset = offset;
                }
                entry.count = entry.count.saturating_add(1);
            }
        }
        self.set = self.set.union(set);
    }

    /// Which were met.
    #[must_use]
    pub const fn set(&self) -> DeviationSet {
        self.set
    }

    /// Whether the stream was as OpenAI sends it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// Those met, in the order of [`Deviation::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = Met> + '_ {
        Deviation::ALL
            .iter()
            .zip(&self.entries)
            .filter(|(_, entry)| entry.count > 0)
            .map(|(code, entry)| Met {
                code: *code,
                count: entry.count,
                offset: entry.offset,
            })
    }
}

const _: () = assert!(Deviation::ALL.len() <= 64, "a set is one word");
