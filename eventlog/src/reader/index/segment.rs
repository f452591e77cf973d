//! Segments: stretches of the source that are decoded in one step, and the decoded events.
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

use super::sort::Sorter;
use crate::reader::fault::list::Faults;
use crate::reader::model::event::Event;
use crate::reader::model::label::Labels;
use crate::reader::model::registry::Registry;
use crate::reader::model::stream::Stream;
use std::ops::Range;

/// The kind of a segment that has events of several kinds.
pub(crate) const KIND_MIXED: u8 = u8::MAX;

/// The index entry of a stretch of the source, typically of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Where it begins in the source, header included.
    pub(crate) offset: u64,
    /// No event is earlier, unless a clock was set back.
    pub(crate) ticks_min: u64,
    /// No event is later, as far as known; `u64::MAX` if unknown.
    pub(crate) ticks_max: u64,
    /// Number in the buffer of the first event that this segment gives.
    pub(crate) first: u64,
    /// Events that this segment gives: the numbers [first, first + count).
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
    pub(crate) flags: u8,
}

const _: () = assert!(size_of::<Segment>() == 56);

impl Segment {
    /// Returns an event that is located in this segment.
    #[inline(always)]
    pub(crate) fn event<'log, 'e>(
        &self,
        registry: &'log Registry,
        origin: Option<&'log Stream>,
        decoded: &'e Decoded,
        (number, located): (u64, &Located),
        labels: &'e Labels,
    ) -> Event<'log, 'e> {
        let event_type = registry.event_types.get(usize::from(located.row));
        Event {
            origin,
            ticks: located.ticks,
            registry,
            event_type,
            bytes: decoded.event(located),
            labels,
            offset: self.offset.wrapping_add(u64::from(located.offset)),
            number,
            buffer: self.buffer,
            thread: self.thread,
            registry_index: self.registry,
            event_type_index: located.row,
            stream: self.stream,
            kind: match event_type {
                Some(event_type) if self.kind == KIND_MIXED => event_type.kind,
                _ => self.kind,
            },
        }
    }
}

/// An event in [`Decoded::bytes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) ticks: u64,
    pub(crate) offset: u32,
    pub(crate) size: u16,
    /// Index of the event type in the registry; beyond its event types if the code is unknown.
    pub(crate) row: u16,
}

const _: () = assert!(size_of::<Located>() == 16);

#[derive(Debug, Default)]
pub(crate) struct Decoded {
    /// The segment's bytes, which the caller fills before decoding.
    pub(crate) bytes: Vec<u8>,
    /// The events to give, in file order after decoding: in our streams oldest first, in an MPS log
    /// by offset. [`Decoded::sort`] puts them in order of time.
    pub(crate) located: Vec<Located>,
    /// Number of the first event in file order. The n-th event has *first* + n, unless `numbers`
    /// has its number.
    pub(crate) first: u64,
    /// The number of each of `located`, if the numbers have gaps; otherwise empty.
    pub(crate) numbers: Vec<u64>,
    /// The place in file order of each of `located`; empty if they are in file order.
    places: Vec<u32>,
    /// Events before the first of `located` that a window does not hold.
    skipped: usize,
    /// Only of a window: the stretches of the segment in it, each with its offset in the segment
    /// and in `bytes`. `located` keeps the offsets in the segment.
    stretches: Vec<(u32, u32)>,
}

impl Decoded {
    /// Sorts the events by time, stably: a clock may have been set back (`.event.monotone`).
    pub(crate) fn sort(&mut self, sorter: &mut Sorter) {
        self.places.clear();
        if !self.located.is_sorted_by_key(|located| located.ticks) {
            sorter.sort(&mut self.located, &mut self.places);
            if !self.numbers.is_empty() {
                let number = |&place: &u32| self.numbers.get(place as usize).copied();
                self.numbers = self.places.iter().filter_map(number).collect();
            }
        }
    }

    /// Returns the n-th event and its number in its buffer.
    #[inline(always)]
    pub(crate) fn get(&self, n: usize) -> Option<(u64, &Located)> {
        let index = n.wrapping_sub(self.skipped);
        let located = self.located.get(index)?;
        if let Some(&number) = self.numbers.get(index) {
            return Some((number, located));
        }
        let place = self.places.get(index).map_or(n as u64, |&place| place.into());
        Some((self.first.wrapping_add(place), located))
    }

    /// Keeps only the events whose numbers are in these ascending ranges. The events are in file
    /// order.
    pub(crate) fn choose(&mut self, ranges: &[Range<u64>]) {
        let number = |n: usize| self.get(n).map_or(0, |(number, _)| number);
        let numbers: Vec<u64> = (0..self.located.len()).map(number).collect();
        let is_chosen = |number: u64| {
            let after = ranges.partition_point(|range| range.end <= number);
            ranges.get(after).is_some_and(|range| range.contains(&number))
        };
        let mut each = numbers.iter();
        self.located.retain(|_| each.next().is_some_and(|&number| is_chosen(number)));
        self.numbers = numbers.into_iter().filter(|&number| is_chosen(number)).collect();
    }

    #[inline(always)]
    pub(crate) fn event(&self, located: &Located) -> &[u8] {
        let start = if self.stretches.is_empty() {
            located.offset
        } else {
            self.place_in_window(located.offset)
        };
        let start = start as usize;
        self.bytes.get(start..start.saturating_add(usize::from(located.size))).unwrap_or_default()
    }

    /// Converts an offset in the segment to an offset in the bytes of a window.
    fn place_in_window(&self, offset: u32) -> u32 {
        let after = self.stretches.partition_point(|(from, _)| *from <= offset);
        let stretch = after.checked_sub(1).and_then(|before| self.stretches.get(before));
        stretch.map_or(u32::MAX, |(from, to)| to.saturating_add(offset - from))
    }

    /// Returns a copy of the n-th event and of as many events after it as fit into `size` bytes.
    pub(crate) fn window(&self, n: usize, size: usize) -> Decoded {
        let index = n.wrapping_sub(self.skipped);
        let rest = self.located.get(index..).unwrap_or_default();
        let mut left = size;
        let fits = |located: &&Located| {
            let own = size_of::<Located>()
                + size_of::<u64>() * usize::from(!self.numbers.is_empty())
                + size_of::<u32>()
                + size_of::<(u32, u32)>();
            let next = left.checked_sub(usize::from(located.size) + own);
            left = next.unwrap_or(0);
            next.is_some()
        };
        let count = rest.iter().take_while(fits).count();
        let located = rest.get(..count).unwrap_or_default().to_vec();
        let places = self.places.get(index..).unwrap_or_default();
        let places = places.get(..count).unwrap_or_default().to_vec();
        let numbers = self.numbers.get(index..).unwrap_or_default();
        let numbers = numbers.get(..count).unwrap_or_default().to_vec();
        let mut by_offset: Vec<&Located> = located.iter().collect();
        by_offset.sort_unstable_by_key(|located| located.offset);
        let bytes_size = located.iter().map(|located| usize::from(located.size)).sum();
        let (mut bytes, mut stretches) = (Vec::with_capacity(bytes_size), Vec::new());
        let mut end = None;
        for event in by_offset {
            if end != Some(event.offset) {
                stretches.push((event.offset, bytes.len() as u32));
            }
            end = event.offset.checked_add(event.size.into());
            bytes.extend_from_slice(self.event(event));
        }
        Decoded { bytes, located, first: self.first, numbers, places, skipped: n, stretches }
    }

    /// Removes the events and keeps the memory. The bytes stay, to be overwritten.
    pub(crate) fn clear(&mut self) {
        self.located.clear();
        self.numbers.clear();
        self.places.clear();
        self.first = 0;
        self.skipped = 0;
        self.stretches.clear();
    }

    /// Returns the memory that it holds, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity()
            + self.located.capacity() * size_of::<Located>()
            + self.numbers.capacity() * size_of::<u64>()
            + self.places.capacity() * size_of::<u32>()
            + self.stretches.capacity() * size_of::<(u32, u32)>()
    }
}

/// Decodes a segment. `decoded.bytes` holds its bytes: fewer than its size if the source ends. This
/// fills `located` (in file order) and `first`; the caller then calls [`Decoded::sort`].
pub(crate) type Decode = fn(&Segment, &Registry, &mut Decoded, &mut Faults);

#[cfg(test)]
mod tests {
    use super::*;

    /// Events of 8 bytes at these ticks. The bytes of each are its place in file order.
    fn decoded(ticks: &[u64]) -> Decoded {
        let located = |(place, &ticks): (usize, &u64)| Located {
            ticks,
            offset: 100 + 8 * place as u32,
            size: 8,
            row: 0,
        };
        let bytes = (0..ticks.len() as u64).flat_map(u64::to_le_bytes);
        Decoded {
            bytes: [0; 100].into_iter().chain(bytes).collect(),
            located: ticks.iter().enumerate().map(located).collect(),
            ..Decoded::default()
        }
    }

    /// Returns ticks and number of the n-th event, if it is present. Its bytes must agree.
    fn get(decoded: &Decoded, n: usize) -> Option<(u64, u64)> {
        let (number, located) = decoded.get(n)?;
        assert_eq!(decoded.event(located), number.to_le_bytes());
        Some((located.ticks, number))
    }

    #[test]
    fn runs_newest_first_are_sorted_stably() {
        let ticks: Vec<u64> = (0..2000).map(|n| 5000 + n / 300 - n % 300).collect();
        let mut decoded = decoded(&ticks);
        decoded.sort(&mut Sorter::default());
        let mut expected: Vec<(u64, u64)> = ticks.iter().copied().zip(0..).collect();
        expected.sort();
        let found: Vec<_> = (0..ticks.len()).filter_map(|n| get(&decoded, n)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_window_holds_the_next_events() {
        // Twenty runs, each over the whole time.
        let ticks: Vec<u64> = (0..2000).map(|n| 20 * (n % 100) + n / 100).collect();
        let mut whole = decoded(&ticks);
        whole.sort(&mut Sorter::default());
        for n in [0, 1, 700, 1990, 2000] {
            let window = whole.window(n, 4096);
            assert!(window.memory() <= 4096);
            let held = (n..2000).take_while(|&n| window.get(n).is_some()).count();
            assert!(held >= 100.min(2000 - n), "{held}");
            assert!((n..n + held).all(|n| get(&window, n) == get(&whole, n)));
            let again = window.window(n + held / 2, 1024);
            assert_eq!(get(&again, n + held / 2), get(&whole, n + held / 2));
        }
    }
}
