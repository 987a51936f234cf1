//! How much of the wire a parser will hold at once.

/// Upper bounds on what one stream may make the parser keep.
///
/// No number sent by a server is ever used as a size; these are the sizes. Going over one gives one
/// [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge) at its place in the order of events, the part that was too
/// large is skipped, and the stream goes on.
///
/// What a [`Parser`](crate::Parser) holds at worst is [`worst_case_bytes`](Self::worst_case_bytes), beside the bytes that
/// were fed and not drained. An ordinary stream takes its answer and some tens of kilobytes; who reads streams of
/// strangers lowers the limits:
///
/// ```
/// let mut limits = chatwire::Limits::default();
/// assert!(limits.worst_case_bytes() < 440 << 20);
/// limits.max_frame_bytes = 256 << 10;
/// limits.max_completion_bytes = 1 << 20;
/// limits.max_choices = 1;
/// assert!(limits.worst_case_bytes() < 11 << 20);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one line, and of the data, event name and id of one frame together. Default 8 MiB: a whole answer with
    /// audio fits in one frame. No less than 16. A larger frame is skipped up to its blank line, in constant memory.
    /// Comments do not count. At worst 24 times as much is held: the line that is read, the frame, the last event ID, a
    /// run of bare lines and the chunk, each in a buffer that grew by doubling, and for unknown fields their places.
    pub max_frame_bytes: usize,
    /// Bytes of text and unknown fields kept in the completion. Default 64 MiB. Over it chunks are still handed out, the
    /// completion stops growing, and a tool call whose text was cut never completes. Values in unknown fields of deltas
    /// count as what they take: 32 bytes, for an object 640 more, for each of its fields 112 more; those of chunks and
    /// choices as their text, and 24 bytes each. What replaces something counts by what it is more. Unknown fields of
    /// chunks and choices that were replaced count until they are dropped: where they may be more than half, and where
    /// the limit is near. At worst three times as much is held: a text that grew by doubling, while it is copied.
    pub max_completion_bytes: usize,
    /// Choices in one chunk and in the completion. Default 128, which is OpenAI's upper bound for `n`. Each takes at worst
    /// 16 KiB beside its texts.
    pub max_choices: usize,
    /// Tool calls in one choice, in one delta and in the completion. Default 128, OpenAI's bound for `tools`. Each takes at
    /// worst 3 KiB beside its texts.
    pub max_tool_calls: usize,
    /// Nesting of arrays and objects in a payload, and in the arguments of a tool call. Default 128, where most JSON
    /// readers give up; no more than 512. Only the field that is deeper is lost; it is skipped without recursion, with a
    /// bit for each level of it.
    pub max_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_frame_bytes: 8 << 20,
            max_completion_bytes: 64 << 20,
            max_choices: 128,
            max_tool_calls: 128,
            max_depth: 128,
        }
    }
}

impl Limits {
    /// No parser with these limits holds more bytes on the heap than this, whatever a server sends: 24 x `max_frame_bytes`
    /// + 3 x `max_completion_bytes` + `max_choices` x (16 KiB + 3 KiB x `max_tool_calls`) + 1 MiB.
    ///
    /// Beside it there are the bytes fed and not drained, which count up to three times: their buffer grows by doubling.
    ///
    /// ```
    /// let limits = chatwire::Limits::default();
    /// assert_eq!(limits.worst_case_bytes() >> 20, 24 * 8 + 3 * 64 + 2 + 48 + 1);
    /// ```
    #[must_use]
    pub const fn worst_case_bytes(&self) -> usize {
        let calls = self.max_tool_calls.saturating_mul(3 << 10);
        let choices = self
            .max_choices
            .saturating_mul(calls.saturating_add(16 << 10));
        let frame = self.max_frame_bytes.saturating_mul(24);
        let completion = self.max_completion_bytes.saturating_mul(3);
        frame
            .saturating_add(completion)
            .saturating_add(choices)
            .saturating_add(1 << 20)
    }

    /// No limit at all, for input that is already in memory as a whole.
    pub(crate) const NONE: Self = Self {
        max_frame_bytes: usize::MAX,
        max_completion_bytes: usize::MAX,
        max_choices: usize::MAX,
        max_tool_calls: usize::MAX,
        max_depth: 128,
    };
}

/// Which of the [`Limits`] was exceeded: [`Error::limit`](crate::Error::limit).
///
/// ```
/// let mut parser = chatwire::Parser::new();
/// parser.feed(br#"data: {"choices":[{"index":9223372036854775808}]}"#);
/// parser.feed(b"\n\n");
/// let error = parser.next_event().unwrap().unwrap_err();
/// assert_eq!(error.limit(), Some(chatwire::Limit::Index));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::max_frame_bytes`].
    FrameBytes,
    /// [`Limits::max_completion_bytes`].
    CompletionBytes,
    /// [`Limits::max_choices`].
    Choices,
    /// [`Limits::max_tool_calls`].
    ToolCalls,
    /// [`Limits::max_depth`].
    Depth,
    /// A choice index or tool index over `u32::MAX`, which no server means.
    Index,
}

impl Limit {
    /// The name of the limit, as in [`Limits`] (`index` has no field there).
    ///
    /// ```
    /// assert_eq!(chatwire::Limit::Depth.as_str(), "max_depth");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FrameBytes => "max_frame_bytes",
            Self::CompletionBytes => "max_completion_bytes",
            Self::Choices => "max_choices",
            Self::ToolCalls => "max_tool_calls",
            Self::Depth => "max_depth",
            Self::Index => "index",
        }
    }
}
