//! An index of the store: strings, labels and threads by their identifiers.
//!
//! ```text
//!  store, newest first ─▶ (code, first word) ─ hash ─▶ │ newer │ older │ – │ other │ …
//! ```
//!
//! A dump of thousands of events uses it. Its size is bounded: for entries that it has no room for,
//! it searches the store itself, up to a limit. Design: `.debug.dump` in `design/telemetry.md`;
//! `.store` in `design/format.md`.

use crate::inspect::history::{self, Spot};
use crate::inspect::text;
use crate::os::pages::Temporary;
use crate::store::intern;
use bytemuck::{Pod, Zeroable};
use core::cell::Cell;
use eventdef::{Event, store};

/// The least and the greatest number of places: powers of two.
const PLACE_COUNT_MIN: usize = 1 << 10;
const PLACE_COUNT_MAX: usize = 1 << 20;
/// The greatest number of labels of one address in it: the newest.
const SAME_COUNT_MAX: usize = 16;
/// The greatest number of searches in the store itself: 2 ms each, if it is large.
const SCAN_COUNT_MAX: u32 = 1000;

/// The place of an event of the store. All zeros: none.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Place {
    first: u64,
    ticks: u64,
    sequence: u32,
    /// Its offset in the block, a multiple of 8; the low bits have the event type.
    offset: u32,
}

impl Place {
    fn is_of(&self, mark: u32, first: u64) -> bool {
        (self.offset & MARKS, self.first) == (mark, first)
    }
}

/// The free bits of an offset.
const MARKS: u32 = 7;

/// Returns the low bits of an offset for an event type that the index has.
fn mark(code: u16) -> Option<u32> {
    let codes = [store::Intern::TYPE.code, store::Label::TYPE.code, store::Thread::TYPE.code];
    codes.iter().position(|each| *each == code).map(|index| index as u32 + 1)
}

/// An index of the store's events about strings, addresses and threads.
pub(super) struct Index {
    places: Temporary<Place>,
    /// Whether all of the store is in it.
    is_whole: bool,
    scan_count: Cell<u32>,
    /// Whether the limit of searches was reached.
    is_given_up: Cell<bool>,
}

impl Index {
    /// Builds the index; returns `None` if the system has no memory.
    pub(super) fn of_store() -> Option<Index> {
        let counts = intern::kept().map(|(_, block)| block.state().1 as usize);
        let place_count = (counts.sum::<usize>() * 4 / 3 + 1).next_power_of_two();
        let mut index = Index {
            places: Temporary::map(place_count.clamp(PLACE_COUNT_MIN, PLACE_COUNT_MAX))?,
            is_whole: true,
            scan_count: Cell::new(0),
            is_given_up: Cell::new(false),
        };
        let used_count_max = index.places.len() / 4 * 3;
        let mut used_count = 0;
        for spot in history::of_store() {
            let Some((code, first)) = text::first_word(&spot) else { continue };
            let Some(mark) = mark(code) else { continue };
            if used_count == used_count_max {
                index.is_whole = false;
                break;
            }
            used_count += usize::from(index.add(&spot, mark, first));
        }
        Some(index)
    }

    /// Adds an event that is older than all before it, unless it has enough of the same.
    fn add(&mut self, spot: &Spot, mark: u32, first: u64) -> bool {
        let mut same_count = 0;
        let mut at = self.hash(mark, first);
        // The index always has free places.
        while self.places[at].offset != 0 {
            same_count += usize::from(self.places[at].is_of(mark, first));
            if same_count == SAME_COUNT_MAX {
                return false;
            }
            at = (at + 1) % self.places.len();
        }
        let (sequence, offset) = (spot.sequence as u32, spot.offset | mark);
        self.places[at] = Place { first, ticks: spot.ticks, sequence, offset };
        true
    }

    /// Returns the place where the search for such events begins.
    fn hash(&self, mark: u32, first: u64) -> usize {
        let hash = (first ^ u64::from(mark) << 61).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 40) as usize % self.places.len()
    }

    /// Returns the newest such event that is not after that time ([`text::Find`]).
    pub(super) fn find(&self, code: u16, ticks: u64, first: u64) -> Option<Spot> {
        let mark = mark(code)?;
        let mut same_count = 0;
        let mut at = self.hash(mark, first);
        while self.places[at].offset != 0 {
            let place = self.places[at];
            if place.is_of(mark, first) {
                if place.ticks <= ticks {
                    let (sequence, offset) = (place.sequence.into(), place.offset & !MARKS);
                    return Some(Spot {
                        ticks: place.ticks,
                        number: 0,
                        sequence,
                        buffer: 0,
                        offset,
                    });
                }
                same_count += 1;
            }
            at = (at + 1) % self.places.len();
        }
        if self.is_whole && same_count < SAME_COUNT_MAX {
            return None;
        }
        if self.scan_count.get() == SCAN_COUNT_MAX {
            self.is_given_up.set(true);
            return None;
        }
        self.scan_count.set(self.scan_count.get() + 1);
        text::scan(code, ticks, first)
    }

    /// Returns whether some searches in the store were left out.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up.get()
    }
}
