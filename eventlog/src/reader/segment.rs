//! Segments: stretches of the source that are decoded as one, and what decoding makes of them.
//!
//! ```text
//!  source  ────┤ block ├────┤part├┤part├──────
//!                 │
//!              Segment (index: where, when, whose, which numbers)
//!                 │ decode
//!              Decoded: bytes + [Located { ticks, offset, row }], buffers used again and again
//! ```
//!
//! Design: `eventlog::reader` in `ARCHITECTURE.md`.

use super::fault::Faults;
use super::registry::Registry;

/// The kind of a segment whose events are of several kinds.
pub(crate) const KIND_MIXED: u8 = u8::MAX;

/// The entry of a stretch of the source in the index: a few dozen bytes for each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Where it begins in the source, header included.
    pub(crate) offset: u64,
    /// None of its events is earlier, unless a clock was set back.
    pub(crate) ticks_min: u64,
    /// None of its events is later, as far as known; `u64::MAX` if not known.
    pub(crate) ticks_max: u64,
    /// Number in the buffer of the first event to give.
    pub(crate) first: u64,
    /// Events to give: those numbered [first, first + count).
    pub(crate) count: u32,
    /// Size in the source, header included.
    pub(crate) size: u32,
    /// The buffer, by its index in the stream.
    pub(crate) buffer: u32,
    /// The thread, by its index in the stream.
    pub(crate) thread: u32,
    /// The registry, by its index in the log.
    pub(crate) registry: u32,
    /// The stream, by its index in the log.
    pub(crate) stream: u16,
    /// The kind, or [`KIND_MIXED`].
    pub(crate) kind: u8,
    /// For the format's own use.
    pub(crate) flags: u8,
}

const _: () = assert!(size_of::<Segment>() == 56);

/// An event in [`Decoded::bytes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Located {
    /// When it happened.
    pub(crate) ticks: u64,
    /// Where it begins in the bytes.
    pub(crate) offset: u32,
    /// Its size.
    pub(crate) size: u16,
    /// Its event type, by its index in the registry; beyond them if unknown.
    pub(crate) row: u16,
}

const _: () = assert!(size_of::<Located>() == 16);

/// A segment, decoded.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    /// The segment's bytes, put here before it is decoded.
    pub(crate) bytes: Vec<u8>,
    /// The events to give, in file order: in our streams oldest first, in an MPS log by offset. The n-th has
    /// the number *first* + n of its segment.
    pub(crate) located: Vec<Located>,
    /// Indexes of `located` in order of time, stable; empty if `located` is in order of time as it is.
    pub(crate) by_time: Vec<u32>,
    /// Number of the first event of `located` in its buffer.
    pub(crate) first: u64,
}

impl Decoded {
    /// Fills `by_time` where it is needed.
    pub(crate) fn sort(&mut self) {
        self.by_time.clear();
        if self.located.is_sorted_by_key(|located| located.ticks) {
            return;
        }
        let located = &self.located;
        self.by_time.extend(0..located.len() as u32);
        self.by_time.sort_by_key(|&index| located.get(index as usize).map(|at| at.ticks));
    }

    /// The n-th event in order of time, and its place in file order.
    #[inline(always)]
    pub(crate) fn by_time(&self, n: usize) -> Option<(usize, &Located)> {
        let index =
            if self.by_time.is_empty() { n } else { self.by_time.get(n).copied()? as usize };
        Some((index, self.located.get(index)?))
    }

    /// Memory that it holds, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity()
            + self.located.capacity() * size_of::<Located>()
            + self.by_time.capacity() * size_of::<u32>()
    }
}

/// Decodes a segment: `decoded.bytes` holds its bytes (fewer than its size if the source ends). Fills
/// `located` (in file order) and `first`; [`Decoded::sort`] is called after it.
pub(crate) type Decode = fn(&Segment, &Registry, &mut Decoded, &mut Faults);
