//! The tree of frames: a table of addresses, and one of pairs of a frame and an address that it
//! calls from.
//!
//! ```text
//!  address ─ hash ─▶ ADDRESSES[at]        (parent, at) ─ hash ─▶ FRAMES[frame - 1]
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
/// Places that are looked at for a word, at most: then the table is as good as full.
const LOOK_COUNT_MAX: usize = 128;
/// Spreads words over a table.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

static ADDRESSES: [AtomicU64; 1 << ADDRESS_COUNT_LOG2] =
    [const { AtomicU64::new(0) }; 1 << ADDRESS_COUNT_LOG2];
static FRAMES: [AtomicU64; 1 << FRAME_COUNT_LOG2] =
    [const { AtomicU64::new(0) }; 1 << FRAME_COUNT_LOG2];
static IS_USED: AtomicBool = AtomicBool::new(false);

// A pair is one word.
const _: () = assert!(FRAME_COUNT_LOG2 + 1 + ADDRESS_COUNT_LOG2 < u64::BITS);

/// A frame that was found.
pub(crate) struct Found {
    /// Its number, not 0.
    pub(crate) frame: u32,
    /// Whether it was not there before.
    pub(crate) is_new: bool,
}

/// The frame that was called by `parent` (0: it is the outermost) and goes on at this address;
/// `None`: there is no room for it.
pub(crate) fn find(parent: u32, address: usize) -> Option<Found> {
    IS_USED.store(true, Ordering::Relaxed);
    let (at, _) = place(&ADDRESSES, address as u64)?;
    // Not 0, for the first address of the outermost frame neither.
    let pair = u64::from(parent) << (ADDRESS_COUNT_LOG2 + 1) | (at as u64 + 1);
    let (index, is_new) = place(&FRAMES, pair)?;
    Some(Found { frame: index as u32 + 1, is_new })
}

/// Where a word is, and whether it was not there before.
fn place(table: &[AtomicU64], word: u64) -> Option<(usize, bool)> {
    let first = word.wrapping_mul(SPREAD) >> (u64::BITS - table.len().ilog2());
    for look in 0..LOOK_COUNT_MAX {
        let index = (first as usize + look) % table.len();
        let there = match table[index].load(Ordering::Relaxed) {
            0 => table[index].compare_exchange(0, word, Ordering::Relaxed, Ordering::Relaxed),
            there => Err(there),
        };
        match there {
            Ok(_) => return Some((index, true)),
            Err(there) if there == word => return Some((index, false)),
            Err(_) => {}
        }
    }
    None
}

/// Records what a frame is.
pub(crate) fn tell(frame: u32, parent: u32, address: usize) {
    before(|| Frame::new(frame, parent, address));
}

/// Forgets all, in a forked child.
pub(crate) fn clear() {
    if IS_USED.swap(false, Ordering::Relaxed) {
        ADDRESSES.iter().chain(&FRAMES).for_each(|word| word.store(0, Ordering::Relaxed));
    }
}
