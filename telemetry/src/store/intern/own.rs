//! The right to store into blocks of the store: it comes with the lock.
//!
//! ```text
//!  STORE.lock() ─▶ &mut Store ─▶ the right to store into its blocks
//! ```
//!
//! Design: `.sol.ordering` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "the right to a block, with its reason")]

use super::Store;
use crate::block::memory::{Block, OwnBlock};

impl Store {
    /// Gives the right to a block of the store, or one that the store just received.
    pub(super) fn own(&mut self, block: Block) -> OwnBlock {
        // SAFETY: W1: only a thread with the lock of the store stores into its blocks, and the lock
        // guards `self`.
        unsafe { block.own() }
    }
}

/// Gives the right to a block that was just mapped.
pub(super) fn new_block(block: Block) -> OwnBlock {
    // SAFETY: W1: no other thread knows the block.
    unsafe { block.own() }
}
