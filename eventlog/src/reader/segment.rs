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
    /// Where it begins in the segment.
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
    /// The events to give. The decoder leaves them in file order: in our streams oldest first, in
    /// an MPS log by offset; [`Decoded::sort`] puts them in order of time.
    pub(crate) located: Vec<Located>,
    /// Number in its buffer of the first event in file order; the n-th has *first* + n.
    pub(crate) first: u64,
    /// The place in file order of each of `located`; empty if it is in file order.
    places: Vec<u32>,
    /// Events before the first of `located` that are not held any more.
    skipped: usize,
    /// Where `bytes` begins in the segment; what is located is located in the segment.
    origin: u32,
}

impl Decoded {
    /// Puts the events in order of time, stably: a clock may have been set back
    /// (`.event.monotone`).
    pub(crate) fn sort(&mut self) {
        self.places.clear();
        if self.located.is_sorted_by_key(|located| located.ticks) {
            return;
        }
        let located = &self.located;
        let ticks = |&place: &u32| located.get(place as usize).map(|at| at.ticks);
        self.places.extend(0..located.len() as u32);
        self.places.sort_by_key(ticks);
        let at = |&place: &u32| located.get(place as usize).copied();
        self.located = self.places.iter().filter_map(at).collect();
    }

    /// The n-th event, and its place in file order.
    #[inline(always)]
    pub(crate) fn get(&self, n: usize) -> Option<(usize, &Located)> {
        let index = n.wrapping_sub(self.skipped);
        let located = self.located.get(index)?;
        let place = self.places.get(index).map_or(n, |&place| place as usize);
        Some((place, located))
    }

    /// The bytes of an event.
    #[inline(always)]
    pub(crate) fn event(&self, located: &Located) -> &[u8] {
        let start = located.offset.wrapping_sub(self.origin) as usize;
        self.bytes.get(start..start.saturating_add(usize::from(located.size))).unwrap_or_default()
    }

    /// A copy that holds the n-th event and as many after it as fit into `size` bytes.
    pub(crate) fn window(&self, n: usize, size: usize) -> Decoded {
        let index = n.wrapping_sub(self.skipped);
        let rest = self.located.get(index..).unwrap_or_default();
        // The bytes that are held are one stretch: it ends where the stretch would grow too large.
        let (mut from, mut to, mut left) = (u32::MAX, 0u32, size);
        let mut count = 0;
        for located in rest {
            let (low, high) = (
                from.min(located.offset),
                to.max(located.offset.saturating_add(u32::from(located.size))),
            );
            left = left.saturating_sub(size_of::<Located>() + size_of::<u32>());
            if (high - low) as usize > left {
                break;
            }
            (from, to) = (low, high);
            count += 1;
        }
        let bytes = self.bytes.get(from.wrapping_sub(self.origin) as usize..);
        let bytes = bytes.and_then(|bytes| bytes.get(..to.wrapping_sub(from) as usize));
        let places = self.places.get(index..).unwrap_or_default();
        Decoded {
            bytes: bytes.unwrap_or_default().to_vec(),
            located: rest.iter().take(count).copied().collect(),
            first: self.first,
            places: places.iter().take(count).copied().collect(),
            skipped: n,
            origin: from,
        }
    }

    /// Empties it, but for its memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.located.clear();
        self.places.clear();
        self.first = 0;
        self.skipped = 0;
        self.origin = 0;
    }

    /// Memory that it holds, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity()
            + self.located.capacity() * size_of::<Located>()
            + self.places.capacity() * size_of::<u32>()
    }
}

/// Decodes a segment: `decoded.bytes` holds its bytes (fewer than its size if the source ends).
/// Fills `located` (in file order) and `first`; [`Decoded::sort`] is called after it.
pub(crate) type Decode = fn(&Segment, &Registry, &mut Decoded, &mut Faults);
