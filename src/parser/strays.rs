//! Lines that are no field of an event stream, and bodies that are no event stream.
//!
//! | the line | is |
//! |---|---|
//! | `[DONE]` | the end marker; what is pending of a frame comes first |
//! | `error: {json}` | an error of the server (llama.cpp) |
//! | a whole JSON object | a payload at once |
//! | begins with `{`, between frames | the beginning of a run of lines; judged at the next field, or at the end: a payload, or malformed |
//! | anything else | ignored |
//!
//! A body without any field is no event stream: what of it is not JSON gives one `NotEventStream`, at its end or, if it
//! does not even begin like JSON, after 64 KiB.

use alloc::string::String;
use core::ops::Range;

/// So much of a body that does not begin like JSON, and no field in it: it is no event stream.
const PATIENCE: u64 = 64 << 10;

/// So much of the first line shows whether it begins like JSON.
const HEAD: usize = 256;

/// What a stray line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Marker,
    Error,
    /// Begins like a JSON object.
    Object,
    Other,
}

impl Kind {
    pub(super) fn of(line: &str) -> Self {
        let trimmed = line.trim();
        if trimmed == "[DONE]" {
            Self::Marker
        } else if error_json(line).is_some() {
            Self::Error
        } else if trimmed.starts_with('{') {
            Self::Object
        } else {
            Self::Other
        }
    }
}

/// The JSON in a line `error: {json}`.
pub(super) fn error_json(line: &str) -> Option<&str> {
    line.strip_prefix("error:")
        .map(str::trim)
        .filter(|json| json.starts_with('{'))
}

/// What the lines so far make of the body.
#[derive(Debug, Clone, Default)]
pub(super) struct Strays {
    /// Lines that together may be JSON.
    run: String,
    run_range: Range<u64>,
    /// The last event ID and the reconnection time when the run began.
    run_id: String,
    run_retry: Option<u64>,
    is_running: bool,
    /// The run went over the limit: its lines are dropped.
    is_over: bool,
    /// How many fields there were when the run began.
    fields: u64,
    /// The first line that is not blank: whether it begins like JSON.
    begins_like_json: Option<bool>,
    /// A line was ignored.
    is_any_ignored: bool,
    /// An error line came: this is an event stream, of llama.cpp.
    is_evident: bool,
    is_reported: bool,
}

impl Strays {
    /// Looks at a line before it is read, or at the head of one whose end has not come. True if it is now plain that this
    /// is no event stream.
    pub(super) fn look(&mut self, line: &str, end: u64, fields: u64) -> bool {
        if self.begins_like_json.is_none() {
            let head = line
                .bytes()
                .take(HEAD)
                .find(|byte| !byte.is_ascii_whitespace());
            self.begins_like_json = head.map(|first| matches!(first, b'{' | b'['));
        }
        self.begins_like_json == Some(false) && end >= PATIENCE && self.report(fields)
    }

    /// An error line came: this is an event stream.
    pub(super) fn is_stream(&mut self) {
        self.is_evident = true;
    }

    /// Whether nothing is known of the body but that it does not begin like JSON.
    pub(super) fn is_plain(&self, fields: u64) -> bool {
        self.is_bare(fields) && self.begins_like_json == Some(false)
    }

    /// Whether it is still to be found out what this is.
    pub(super) const fn is_open(&self, fields: u64) -> bool {
        fields == 0 && !self.is_evident && !self.is_reported
    }

    /// An ignored line.
    pub(super) fn ignored(&mut self) {
        self.is_any_ignored = true;
    }

    /// The body is over, or the end marker came. True if it was no event stream.
    pub(super) fn end(&mut self, fields: u64) -> bool {
        self.is_any_ignored && self.report(fields)
    }

    fn report(&mut self, fields: u64) -> bool {
        let is_open = self.is_open(fields);
        self.is_reported |= is_open;
        is_open
    }

    /// Whether the body has shown no sign of being an event stream.
    pub(super) const fn is_bare(&self, fields: u64) -> bool {
        fields == 0 && !self.is_evident
    }

    pub(super) const fn is_running(&self) -> bool {
        self.is_running
    }

    /// Whether a field came since the run began.
    pub(super) const fn is_run_over(&self, fields: u64) -> bool {
        self.is_running && self.fields != fields
    }

    pub(super) fn begin_run(
        &mut self,
        line: &str,
        range: Range<u64>,
        fields: u64,
        (id, retry): (&str, Option<u64>),
    ) {
        self.run_id.clear();
        self.run_id.push_str(id);
        self.run_retry = retry;
        self.run.clear();
        self.run.push_str(line);
        self.run_range = range;
        self.fields = fields;
        self.is_running = true;
        self.is_over = false;
    }

    /// Adds a line to the run. False, once, if it is too much.
    pub(super) fn add_to_run(&mut self, line: &str, end: u64, max_bytes: usize) -> bool {
        if self.is_over {
            return true;
        }
        self.run.push('\n');
        self.run.push_str(line);
        self.run_range.end = end;
        self.is_over = self.run.len() > max_bytes;
        if self.is_over {
            self.run = String::new();
        }
        !self.is_over
    }

    /// A line of the run is over the limit alone. True, once, if the run was not over it before.
    pub(super) fn overflow(&mut self, end: u64) -> bool {
        self.run_range.end = end;
        self.run = String::new();
        !core::mem::replace(&mut self.is_over, true)
    }

    /// The last event ID and the reconnection time of the run.
    pub(super) fn run_sticky(&self) -> (&str, Option<u64>) {
        (&self.run_id, self.run_retry)
    }

    /// Ends the run: false if there is nothing to be read of it.
    pub(super) fn end_run(&mut self) -> bool {
        core::mem::take(&mut self.is_running) && !self.is_over
    }

    pub(super) fn run(&self) -> &str {
        &self.run
    }

    pub(super) fn run_range(&self) -> Range<u64> {
        self.run_range.clone()
    }
}
