//! The tree of frames: a table of addresses, and one of pairs of a frame and an address that it
//! calls from.
//!
//! ```text
//!  address ─ hash ─▶ ADDRESSES[at]: it, its rule        (parent, at) ─ hash ─▶ FRAMES[frame - 1]
//! ```
//!
//! A place is taken by one atomic operation and never changes: no lock, and nobody waits. Both are
//! zero at first, so that only pages that are used are memory. Design: `.rep.stack` in
//! `design/replay.md`.

use crate::events::Frame;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use telemetry::alloc::before;

const ADDRESS_COUNT_LOG2: u32 = 18;
const FRAME_COUNT_LOG2: u32 = 21;
/// Words have their places among so many at first, which are few pages, as long as there is room.
const NEAR_ADDRESS_COUNT_LOG2: u32 = 12;
const NEAR_FRAME_COUNT_LOG2: u32 = 15;
/// Places that are looked at for a word near the beginning, at most.
const NEAR_LOOK_COUNT_MAX: usize = 8;
/// Places that are looked at in the whole table, at most: then it is as good as full.
const LOOK_COUNT_MAX: usize = 128;
/// Spreads words over a table.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// An address, and how the caller of its function is found (`unwind.rs`).
#[repr(C, align(16))]
struct Known {
    address: AtomicU64,
    rule: AtomicU64,
}

static ADDRESSES: [Known; 1 << ADDRESS_COUNT_LOG2] =
    [const { Known { address: AtomicU64::new(0), rule: AtomicU64::new(0) } };
        1 << ADDRESS_COUNT_LOG2];
static FRAMES: [AtomicU64; 1 << FRAME_COUNT_LOG2] =
    [const { AtomicU64::new(0) }; 1 << FRAME_COUNT_LOG2];
/// Whether any place is taken that is not near the beginning.
static IS_FAR_USED: AtomicBool = AtomicBool::new(false);

// A pair is one word.
const _: () = assert!(FRAME_COUNT_LOG2 + 1 + ADDRESS_COUNT_LOG2 < u64::BITS);

/// Where an address is in the table.
#[derive(Clone, Copy)]
pub(crate) struct Place(u32);

impl Place {
    /// That of no address.
    pub(crate) const NONE: Place = Place(0);

    /// The rule that was set for the address; 0: none.
    #[inline(always)]
    pub(crate) fn rule(self) -> u64 {
        ADDRESSES[self.0 as usize].rule.load(Ordering::Relaxed)
    }

    /// Sets the rule for the address.
    pub(crate) fn set_rule(self, rule: u64) {
        ADDRESSES[self.0 as usize].rule.store(rule, Ordering::Relaxed);
    }
}

/// Where an address is; `None`: there is no room for it.
#[inline(always)]
pub(crate) fn place(address: usize) -> Option<Place> {
    const SIZES: [u32; 2] = [NEAR_ADDRESS_COUNT_LOG2, ADDRESS_COUNT_LOG2];
    let (at, _) = find(address as u64, SIZES, |at| &ADDRESSES[at].address)?;
    Some(Place(at as u32))
}

/// The frame that was called by `parent` (0: it is the outermost) and goes on at this address, and
/// whether it was not there before; `None`: there is no room for it.
#[inline(always)]
pub(crate) fn frame(parent: u32, place: Place) -> Option<(u32, bool)> {
    // Not 0, for the first address of the outermost frame neither.
    let pair = u64::from(parent) << (ADDRESS_COUNT_LOG2 + 1) | (u64::from(place.0) + 1);
    const SIZES: [u32; 2] = [NEAR_FRAME_COUNT_LOG2, FRAME_COUNT_LOG2];
    let (index, is_new) = find(pair, SIZES, |at| &FRAMES[at])?;
    Some((index as u32 + 1, is_new))
}

/// Where a word is in a table, and whether it was not there before. No place is ever given up:
/// where none near the beginning was left for a word, none will be.
#[inline(always)]
fn find(
    word: u64,
    [near_log2, count_log2]: [u32; 2],
    table: impl Fn(usize) -> &'static AtomicU64,
) -> Option<(usize, bool)> {
    let spread = word.wrapping_mul(SPREAD);
    let look = |log2: u32, look: usize| {
        let index = ((spread >> (u64::BITS - log2)) as usize + look) % (1 << log2);
        let there = match table(index).load(Ordering::Relaxed) {
            0 => table(index).compare_exchange(0, word, Ordering::Relaxed, Ordering::Relaxed),
            there => Err(there),
        };
        match there {
            Ok(_) => Some((index, true)),
            Err(there) => (there == word).then_some((index, false)),
        }
    };
    let near = (0..NEAR_LOOK_COUNT_MAX).find_map(|at| look(near_log2, at));
    near.or_else(|| {
        IS_FAR_USED.store(true, Ordering::Relaxed);
        (0..LOOK_COUNT_MAX).find_map(|at| look(count_log2, at))
    })
}

/// Records what a frame is.
pub(crate) fn tell(frame: u32, parent: u32, address: usize) {
    before(|| Frame::new(frame, parent, address));
}

/// Forgets all, in a forked child.
pub(crate) fn clear() {
    let is_far_used = IS_FAR_USED.swap(false, Ordering::Relaxed);
    let part = |near: u32, all: u32| if is_far_used { 1 << all } else { 1 << near };
    for known in ADDRESSES.iter().take(part(NEAR_ADDRESS_COUNT_LOG2, ADDRESS_COUNT_LOG2)) {
        known.address.store(0, Ordering::Relaxed);
        known.rule.store(0, Ordering::Relaxed);
    }
    let frames = FRAMES.iter().take(part(NEAR_FRAME_COUNT_LOG2, FRAME_COUNT_LOG2));
    frames.for_each(|word| word.store(0, Ordering::Relaxed));
}
