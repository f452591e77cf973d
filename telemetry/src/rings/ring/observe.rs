//! A ring as readers without its lock see it: a signal handler, a traceback, the status.
//!
//! ```text
//!  history │ held: done … head      each may start again during a read: so check it again
//! ```
//!
//! Design: `.sol.exit.signal`, `.sol.traceback` in `design/telemetry.md`.

use super::Ring;
use crate::block::memory::Block;
use crate::block::{identity, root};
use crate::offered::Losses;
use crate::os::atomic::Ordering;
use eventlog::format::{BlockHeader, SEALED};

impl Ring {
    /// Returns the blocks that were not given up, newest first: sequence and place. For readers
    /// without the lock: a block may start again at any moment ([`Block::is_still`]).
    pub(crate) fn held(&self) -> impl Iterator<Item = (u64, Block)> {
        let done = self.done.load(Ordering::Acquire);
        let head = self.head.load(Ordering::Acquire);
        (done..=head).rev().map(|sequence| (sequence, self.blocks.get(sequence)))
    }

    /// The same of all that are still in memory: its history too.
    pub(crate) fn kept(&self) -> impl Iterator<Item = (u64, Block)> {
        let head = self.head.load(Ordering::Acquire);
        let count = if self.is_in_file() { 1 } else { self.blocks.count() as u64 };
        let oldest = (head + 1).saturating_sub(count);
        (oldest..=head).rev().map(|sequence| (sequence, self.block_of(sequence)))
    }

    pub(crate) fn buffer(&self) -> u32 {
        self.identity.buffer
    }

    pub(crate) fn kind(&self) -> u8 {
        self.identity.kind
    }

    /// The place of a block, if that is still there.
    pub(crate) fn block_of(&self, sequence: u64) -> Block {
        if self.is_in_file() { self.block() } else { self.blocks.get(sequence) }
    }

    /// Returns whether the parts of the stream have all of a held block, as far as is known without
    /// waiting.
    pub(crate) fn is_sent(&self, sequence: u64) -> bool {
        let Some(mut hand_over) = self.hand_over.try_lock() else { return false };
        let told = hand_over.told == self.counts.sum();
        let is_held = sequence >= self.done.load(Ordering::Relaxed);
        let block = self.blocks.get(sequence);
        is_held && told && hand_over.progress(self, sequence).missing_of(block) == 0
    }

    /// A part without events that says how many there were, and what was lost (`.part.account`), if
    /// the kind is output.
    pub(crate) fn account(&self) -> Option<BlockHeader> {
        self.is_output().then(|| self.any_account()).flatten()
    }

    /// The same, whether the kind is output or not.
    pub(crate) fn any_account(&self) -> Option<BlockHeader> {
        let recorded = self.losses().recorded;
        let mut header = self.block().header();
        header.flags &= !SEALED;
        header.stream = identity::id();
        header.first = recorded.into();
        header.count = 0.into();
        header.last = header.top;
        header.base = header.base_last;
        header.set_sync(root::sync());
        self.counts.put(&mut header);
        (recorded > 0).then_some(header)
    }

    pub(crate) fn losses(&self) -> Losses {
        loop {
            let head = self.head.load(Ordering::Acquire);
            let recorded =
                self.recorded_in_file().unwrap_or_else(|| self.blocks.get(head).event_end());
            // If its block started again meanwhile, `head` moved on before that.
            if self.head.load(Ordering::Relaxed) == head {
                return Losses::of(recorded, &self.counts);
            }
        }
    }

    /// Whether no thread has it; its blocks.
    pub(crate) fn extent(&self) -> (bool, usize) {
        (self.owner.load(Ordering::Relaxed) == 0, self.blocks.count())
    }
}
