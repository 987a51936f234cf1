//! How much of the wire a parser will hold at once.

/// Upper bounds on what one stream may make the parser keep.
///
/// No number sent by a server is ever used as a size; these are the sizes. Going over one gives one
/// [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge) at its place in the order of events, the part that was too
/// large is skipped, and the stream goes on.
///
/// Worst case memory of a [`Parser`](crate::Parser): the bytes fed and not yet drained, plus one frame
/// (twice `max_frame_bytes`: its text, and the line being read), plus one decoded chunk (at most `max_choices` times
/// `max_tool_calls` small structs and the text of one frame), plus the completion (`max_completion_bytes`).
///
/// ```
/// let mut limits = chatwire::Limits::default();
/// limits.max_frame_bytes = 64 * 1024;
/// assert_eq!(limits.max_choices, 128);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one line, and of the data lines of one frame together. Default 8 MiB: a whole answer with audio fits
    /// in one frame. No less than 16. A larger frame is skipped up to its blank line, in constant memory. Comments do not count.
    pub max_frame_bytes: usize,
    /// Bytes of text and unknown fields kept in the completion (an unknown field counts 32 bytes for each value in it
    /// beside its text). Default 64 MiB. Over it chunks are still handed out, the completion stops growing, and a tool
    /// call whose text was cut never completes.
    pub max_completion_bytes: usize,
    /// Choices in one chunk and in the completion. Default 128, which is OpenAI's upper bound for `n`.
    pub max_choices: usize,
    /// Tool calls in one choice, in one delta and in the completion. Default 128, OpenAI's bound for `tools`.
    pub max_tool_calls: usize,
    /// Nesting of arrays and objects in a payload, and in the arguments of a tool call. Default 128, where most JSON
    /// readers give up; no more than 512. Only the field that is deeper is lost; it is skipped without recursion.
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
