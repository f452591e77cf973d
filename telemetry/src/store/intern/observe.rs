//! The store as others look at it, without its lock: a signal handler, a traceback.
//!
//! ```text
//!  SHARED  │ block 0 │ block 1 │ …      none of them ever begins anew
//! ```
//!
//! Design: `.sol.exit.signal`, `.sol.traceback` in `design/telemetry.md`.

use super::{COUNTS, SHARED, SHARED_COUNT, SHARED_DONE};
use crate::block::losses::Counts;
use crate::block::memory::Block;
use crate::os::atomic::Ordering;

/// Its blocks, newest first, without the lock. None of them ever begins anew.
pub(crate) fn kept() -> impl Iterator<Item = (u64, Block)> {
    let count = SHARED_COUNT.load(Ordering::Acquire);
    (0..count).rev().filter_map(|index| Some((index as u64, SHARED.get(index)?.find()?)))
}

/// The block of this sequence.
pub(crate) fn block_of(sequence: u64) -> Option<Block> {
    SHARED.get(usize::try_from(sequence).ok()?)?.find()
}

/// Its blocks without those that went out whole, newest first; and the counts to put into them.
pub(crate) fn held() -> (impl Iterator<Item = (u64, Block)>, &'static Counts) {
    let done = SHARED_DONE.load(Ordering::Acquire) as u64;
    (kept().take_while(move |(sequence, _)| *sequence >= done), &COUNTS)
}
