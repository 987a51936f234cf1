//! What was tolerated: one code for each way in which streams differ from what OpenAI sends.

use alloc::boxed::Box;
use core::fmt;

mod table;

pub use table::Deviation;

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
        let mut left = self.0;
        core::iter::from_fn(move || {
            let lowest = left.checked_ilog2().map(|_| left.trailing_zeros())?;
            left &= left - 1;
            Deviation::ALL.get(lowest as usize).copied()
        })
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
/// It allocates once, when the first one is met, and never where none is.
///
/// ```
/// let mut parser = chatwire::Parser::new();
/// let chunk = r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":""}]}"#;
/// parser.feed(format!("data: {chunk}\n\n").as_bytes());
/// while parser.next_event().is_some() {}
/// let met: Vec<_> = parser.deviations().iter().collect();
/// assert_eq!(met[0].code, chatwire::Deviation::FinishReasonEmpty);
/// assert_eq!((met[0].count, met[0].offset), (1, 0));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deviations {
    set: DeviationSet,
    /// None if none was met: a gateway holds thousands of these.
    entries: Option<Box<[Entry; Deviation::ALL.len()]>>,
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

impl Deviations {
    /// Notes each of `set` once, at `offset`.
    pub(crate) fn record(&mut self, set: DeviationSet, offset: u64) {
        const NONE: Entry = Entry {
            count: 0,
            offset: 0,
        };
        if set.is_empty() {
            return;
        }
        let entries = self
            .entries
            .get_or_insert_with(|| Box::new([NONE; Deviation::ALL.len()]));
        for deviation in set.iter() {
            if let Some(entry) = entries.get_mut(deviation as usize) {
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
        self.entries
            .iter()
            .flat_map(|entries| Deviation::ALL.iter().zip(entries.iter()))
            .filter(|(_, entry)| entry.count > 0)
            .map(|(code, entry)| Met {
                code: *code,
                count: entry.count,
                offset: entry.offset,
            })
    }
}

const _: () = assert!(Deviation::ALL.len() <= 64, "a set is one word");
