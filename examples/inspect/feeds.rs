//! The pieces that the input is fed in.

use std::num::NonZeroUsize;

/// A read is about this large where the feeds are smaller, and never larger than the other.
const READ: usize = 16 << 10;
const MAX_READ: usize = 1 << 24;

/// A random feed has at most so many bytes.
const MAX_RANDOM: u64 = 64;

pub(crate) enum Feeds {
    /// All at once.
    Whole,
    /// At most so many bytes.
    AtMost(NonZeroUsize),
    /// Of random sizes, by the state of a SplitMix64.
    Random(u64),
}

impl Feeds {
    pub(crate) fn of(size: usize) -> Self {
        NonZeroUsize::new(size).map_or(Self::Whole, Self::AtMost)
    }

    pub(crate) fn from_name(name: &str) -> Result<Self, &'static str> {
        let seed = name.strip_prefix("random:");
        let seed = seed.and_then(|seed| seed.parse().ok());
        seed.map(Self::Random)
            .ok_or("it is random:SEED, and the seed a number")
    }

    /// How much to read at a time: a multiple of the feed, so that no read cuts a feed short. None is all.
    pub(crate) fn read_size(&self) -> Option<usize> {
        match self {
            Self::Whole => None,
            Self::AtMost(size) => {
                let size = (READ / *size).max(1).saturating_mul((*size).into());
                Some(size.min(MAX_READ))
            }
            Self::Random(_) => Some(READ),
        }
    }

    /// Takes the first feed off these bytes.
    pub(crate) fn take<'a>(&mut self, bytes: &mut &'a [u8]) -> &'a [u8] {
        let size = match self {
            Self::Whole => bytes.len(),
            Self::AtMost(size) => (*size).into(),
            Self::Random(state) => 1 + usize::try_from(random(state) % MAX_RANDOM).unwrap_or(0),
        };
        let (feed, rest) = bytes.split_at_checked(size).unwrap_or((bytes, &[]));
        *bytes = rest;
        feed
    }
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
