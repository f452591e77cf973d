//! The right to the blocks of the store: it comes with the lock.
//!
//! ```text
//!  STORE.lock() ─▶ &mut Store ─▶ the right to a block of it
//! ```
//!
//! Design: `.sol.ordering` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "the right to a block, with its reason")]

use super::Store;
use crate::block::memory::{Block, OwnBlock};

impl Store {
    /// The right to a block that is the store's, or that it was just given.
    pub(super) fn own(&mut self, block: Block) -> OwnBlock {
        // SAFETY: W1: the blocks of the store are stored to with its lock held alone, and `self` is
        // what the lock guards.
        unsafe { block.own() }
    }
}

/// The right to a block that was just mapped.
pub(super) fn new_block(block: Block) -> OwnBlock {
    // SAFETY: W1: no other thread knows the block.
    unsafe { block.own() }
}
