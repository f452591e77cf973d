//! What the store says of strings, labels and threads, by what it says it of.
//!
//! ```text
//!  store, newest first ─▶ (code, first word) ─ hash ─▶ │ place │ – │ place │ …    the newest wins
//! ```
//!
//! For whoever asks about thousands of events; of a fixed size: what it has no room for is looked
//! for in the store itself. Design: `.debug.dump` in `design/telemetry.md`; `.store` in
//! `design/format.md`.

use crate::history::{self, Spot};
use crate::memory::Lent;
use crate::text;
use bytemuck::{Pod, Zeroable};
use eventdef::{Event, store};

/// Places: a power of two.
const PLACE_COUNT: usize = 1 << 15;
/// As many of them are used, at most.
const USED_COUNT_MAX: usize = PLACE_COUNT / 4 * 3;
const _: () = assert!(PLACE_COUNT.is_power_of_two());

/// Where an event of the store is. All zeros: there is none.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Place {
    first: u64,
    ticks: u64,
    sequence: u32,
    /// Its offset in the block, a multiple of 8, and below that which type of event it is.
    offset: u32,
}

/// What is in the low bits of an offset for the types that are asked for.
fn mark(code: u16) -> Option<u32> {
    let codes = [store::Intern::TYPE.code, store::Label::TYPE.code, store::Thread::TYPE.code];
    codes.iter().position(|each| *each == code).map(|index| index as u32 + 1)
}

/// The newest event of the store for each string, each address with a label, and each thread.
pub(super) struct Index {
    places: Lent<Place>,
    /// Whether all of the store is in it.
    is_whole: bool,
}

impl Index {
    /// `None`: the system has no memory for it.
    pub(super) fn of_store() -> Option<Index> {
        let mut index = Index { places: Lent::map(PLACE_COUNT)?, is_whole: true };
        let mut used_count = 0;
        for spot in history::of_store() {
            let Some((code, first)) = text::first_word(&spot) else { continue };
            let Some(mark) = mark(code) else { continue };
            let at = index.find_place(mark, first);
            if index.places[at].offset != 0 {
                continue;
            }
            if used_count == USED_COUNT_MAX {
                index.is_whole = false;
                break;
            }
            used_count += 1;
            let sequence = spot.sequence as u32;
            index.places[at] =
                Place { first, ticks: spot.ticks, sequence, offset: spot.offset | mark };
        }
        Some(index)
    }

    /// The place of such an event, or the free one where it would be.
    fn find_place(&self, mark: u32, first: u64) -> usize {
        let hash = (first ^ u64::from(mark) << 61).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut at = (hash >> 40) as usize % PLACE_COUNT;
        // There are free ones.
        loop {
            let place = &self.places[at];
            if place.offset == 0 || (place.offset & 7, place.first) == (mark, first) {
                return at;
            }
            at = (at + 1) % PLACE_COUNT;
        }
    }

    /// The newest such event that is not after that time ([`text::Find`]).
    pub(super) fn find(&self, code: u16, ticks: u64, first: u64) -> Option<Spot> {
        let mark = mark(code)?;
        let place = self.places[self.find_place(mark, first)];
        if place.offset == 0 && self.is_whole {
            return None;
        }
        if place.offset == 0 || place.ticks > ticks {
            return text::scan(code, ticks, first);
        }
        let (sequence, offset) = (place.sequence.into(), place.offset & !7);
        Some(Spot { ticks: place.ticks, number: 0, sequence, buffer: 0, offset })
    }
}
