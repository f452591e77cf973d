//! An index of the store: strings, labels and threads by their identifiers.
//!
//! ```text
//!  store ─▶ (event type, first word, time) ─ sort ─▶ │ older │ newer │ other │ …
//! ```
//!
//! A dump of thousands of events uses it. It is at most as large as the store. Design:
//! `.debug.dump` in `design/telemetry.md`; `.store` in `design/format.md`.

use crate::inspect::history::{self, Spot};
use crate::inspect::text;
use crate::os::pages::Temporary;
use crate::store::intern;
use bytemuck::{Pod, Zeroable};
use core::cmp::Reverse;
use eventdef::{Event, store};

/// The place of an event of the store.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Place {
    first: u64,
    ticks: u64,
    sequence: u32,
    /// Its offset in the block, a multiple of 8; the low bits have the event type.
    offset: u32,
}

/// The free bits of an offset.
const MARKS: u32 = 7;

/// Returns the low bits of an offset for an event type that the index has.
fn mark(code: u16) -> Option<u32> {
    let codes = [store::Intern::TYPE.code, store::Label::TYPE.code, store::Thread::TYPE.code];
    codes.iter().position(|each| *each == code).map(|index| index as u32)
}

impl Place {
    fn key(&self) -> (u32, u64, u64) {
        (self.offset & MARKS, self.first, self.ticks)
    }
}

/// An index of the store's events about strings, addresses and threads.
pub(super) struct Index {
    places: Temporary<Place>,
    count: usize,
}

impl Index {
    /// Builds the index; returns `None` if the system has no memory.
    pub(super) fn of_store() -> Option<Index> {
        let counts = intern::kept().map(|(_, block)| block.state().1 as usize);
        let mut places = Temporary::<Place>::map(counts.sum::<usize>().max(1))?;
        let found = history::of_store().filter_map(|spot| {
            let (code, first) = text::first_word(&spot)?;
            let (sequence, offset) = (spot.sequence as u32, spot.offset | mark(code)?);
            Some(Place { first, ticks: spot.ticks, sequence, offset })
        });
        let mut count = 0;
        for (place, found) in places.iter_mut().zip(found) {
            *place = found;
            count += 1;
        }
        // A block fills towards lower offsets.
        places[..count]
            .sort_unstable_by_key(|place| (place.key(), place.sequence, Reverse(place.offset)));
        Some(Index { places, count })
    }

    /// Returns the newest such event that is not after that time ([`text::Find`]).
    pub(super) fn find(&self, code: u16, ticks: u64, first: u64) -> Option<Spot> {
        let mark = mark(code)?;
        let places = &self.places[..self.count];
        let end = places.partition_point(|place| place.key() <= (mark, first, ticks));
        let place = places[..end].last().filter(|place| place.key() >= (mark, first, 0))?;
        let (sequence, offset) = (place.sequence.into(), place.offset & !MARKS);
        Some(Spot { ticks: place.ticks, number: 0, sequence, buffer: 0, offset })
    }
}
