//! The store as readers without its lock see it: a signal handler, a traceback.
//!
//! ```text
//!  SHARED  │ block 0 │ block 1 │ …      no block is ever reused
//! ```
//!
//! Design: `.sol.exit.signal`, `.sol.traceback` in `design/telemetry.md`.

use super::{COUNTS, SHARED, SHARED_COUNT, SHARED_DONE};
use crate::block::losses::Counts;
use crate::block::memory::Block;
use crate::os::atomic::Ordering;

/// Returns the blocks, newest first, without the lock. No block is ever reused.
pub(crate) fn kept() -> impl Iterator<Item = (u64, Block)> {
    let count = SHARED_COUNT.load(Ordering::Acquire);
    (0..count).rev().filter_map(|index| Some((index as u64, SHARED.get(index)?.find()?)))
}

/// Returns the block of this sequence.
pub(crate) fn block_of(sequence: u64) -> Option<Block> {
    SHARED.get(usize::try_from(sequence).ok()?)?.find()
}

/// Returns the blocks that were not output whole, newest first, and the counts for their headers.
pub(crate) fn held() -> (impl Iterator<Item = (u64, Block)>, &'static Counts) {
    let done = SHARED_DONE.load(Ordering::Acquire) as u64;
    (kept().take_while(move |(sequence, _)| *sequence >= done), &COUNTS)
}
