//! A run: events of one buffer and kind in the order of their numbers.
//!
//! ```text
//!  buffer 3:  7 8 9 · · 12 13 14 … ──▶ a run ends where a block is full; which numbers are not in
//!             │ 3 2 │ …  numbers       the run stands in it, if any are not
//! ```
//!
//! Rules: 3.2 and `.cut.numbers` in `design/format.md`.

use super::pack::Place;
use crate::format::{BASE_RECORD_SIZE, BIG_ENDIAN, EVENT_HEADER_SIZE, EVENT_SIZE_MAX};
use std::iter;

/// A block that is being filled.
pub(super) struct Run {
    /// The place of its oldest event.
    pub(super) place: Place,
    /// The number after its newest event.
    pub(super) next: u64,
    pub(super) count: u32,
    pub(super) base: u64,
    pub(super) base_last: u64,
    pub(super) ticks_max: u64,
    /// Events and base records, the oldest first.
    events: Vec<u8>,
    /// The numbers that were left out (`.cut.numbers`): pairs of how many events are consecutive,
    /// and how many numbers are left out after them.
    pub(super) numbers: Vec<u8>,
    /// Events since the last gap in the numbers.
    followed: u64,
}

impl Run {
    pub(super) fn new(place: &Place, ticks: u64) -> Run {
        Run {
            place: *place,
            next: place.number,
            count: 0,
            base: ticks,
            base_last: ticks,
            ticks_max: ticks,
            events: Vec::new(),
            numbers: Vec::new(),
            followed: 0,
        }
    }

    pub(super) fn size(&self) -> usize {
        self.events.len() + self.record_size()
    }

    fn record_size(&self) -> usize {
        let size = (BASE_RECORD_SIZE + self.numbers.len()).next_multiple_of(8);
        if self.numbers.is_empty() { 0 } else { size }
    }

    /// Adds an event, if its number follows the others, its time is not before the base, and there
    /// is room.
    pub(super) fn add(&mut self, place: &Place, ticks: u64, event: &[u8], room: usize) -> bool {
        let Some(skipped) = place.number.checked_sub(self.next) else { return false };
        // `.made.order`: a reader opens a block when the time of its base has come.
        let is_early = self.count > 0 && ticks < self.base;
        if is_early || event.len() < EVENT_HEADER_SIZE {
            return false;
        }
        let delta = ticks.checked_sub(self.base_last).and_then(|delta| u32::try_from(delta).ok());
        let record = if delta.is_none() { BASE_RECORD_SIZE } else { 0 };
        let before = self.numbers.len();
        if skipped > 0 {
            put_number(&mut self.numbers, self.followed);
            put_number(&mut self.numbers, skipped);
        }
        let is_room = self.size() + event.len() + record <= room;
        if !(is_room && self.record_size() <= EVENT_SIZE_MAX) {
            self.numbers.truncate(before);
            return false;
        }
        let big_endian = place.flags & BIG_ENDIAN != 0;
        if delta.is_none() {
            self.events.extend(base_record(BASE_RECORD_SIZE, ticks, self.base_last, big_endian));
            self.base_last = ticks;
        }
        let at = self.events.len() + 4;
        self.events.extend_from_slice(event);
        let delta = delta.unwrap_or(0);
        let delta = if big_endian { delta.to_be_bytes() } else { delta.to_le_bytes() };
        if let Some(to) = self.events.get_mut(at..at + 4) {
            to.copy_from_slice(&delta);
        }
        self.followed = if skipped > 0 { 1 } else { self.followed + 1 };
        self.next = place.number.saturating_add(1);
        self.count += 1;
        self.ticks_max = self.ticks_max.max(ticks);
        true
    }

    /// Copies the events into the end of a block, the newest first. `to` has their size.
    pub(super) fn put(&self, to: &mut [u8]) {
        let big_endian = self.place.flags & BIG_ENDIAN != 0;
        let (mut rest, mut end) = (self.events.as_slice(), to.len());
        while let Some(size) = event_size(rest, big_endian)
            && let Some((event, newer)) = rest.split_at_checked(size)
            && let Some(start) = end.checked_sub(size)
            && let Some(place) = to.get_mut(start..end)
        {
            place.copy_from_slice(event);
            (rest, end) = (newer, start);
        }
        let size = self.record_size();
        if size > 0 {
            let base = self.base_last;
            let record = base_record(size, base, base, big_endian).into_iter();
            let record = record.chain(self.numbers.iter().copied()).chain(iter::repeat(0));
            to.iter_mut().zip(record.take(size)).for_each(|(to, from)| *to = from);
        }
    }
}

/// Appends an unsigned LEB128 number (`.cut.numbers`).
fn put_number(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Returns a base record, or the first bytes of a longer one (`.event.base`).
fn base_record(size: usize, base: u64, before: u64, big_endian: bool) -> Vec<u8> {
    let word = |value: u64| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let size = size as u16;
    let size = if big_endian { size.to_be_bytes() } else { size.to_le_bytes() };
    [[0, 0, size[0], size[1], 0, 0, 0, 0], word(base), word(before)].concat()
}

/// Returns the size of the event or record at the start of these bytes; `None` at their end.
fn event_size(bytes: &[u8], big_endian: bool) -> Option<usize> {
    let size = *bytes.get(2..)?.first_chunk()?;
    let size = if big_endian { u16::from_be_bytes(size) } else { u16::from_le_bytes(size) };
    Some(usize::from(size)).filter(|&size| size > 0)
}
