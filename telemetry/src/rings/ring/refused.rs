//! What a ring holds that the host refused at a flush: counted as lost as long as it is held.
//!
//! ```text
//!  flush ─ refused ─▶ counted ─┬─ a later flush, or its block, is taken ─▶ not counted
//!                              └─ the block is given up ─▶ counted there, as io or overwritten
//! ```
//!
//! Design: `.sol.outage` in `design/telemetry.md`.

use super::{HandOver, Ring};
use crate::block::losses::Cause;
use crate::os::atomic::Ordering;
use crate::registry::{registration, unhoused};
use crate::stream::outlet::Progress;
use eventlog::format::BlockHeader;

impl Ring {
    /// The host refused what is held.
    pub(super) fn note_refused(&self, hand_over: &mut HandOver) {
        let mut count = 0;
        let head = self.head.load(Ordering::Acquire);
        for sequence in self.done.load(Ordering::Relaxed)..=head {
            let block = self.blocks.get(sequence);
            count += u64::from(hand_over.progress(self, sequence).refuse(block));
        }
        unhoused::refuse(self.slot(), count);
    }

    /// Its last account: what is held and was refused goes nowhere. The lock of the stream is held,
    /// under which nobody waits for a ring.
    pub(crate) fn last_account(&self) -> Option<BlockHeader> {
        let mut header = self.account()?;
        if let Some(mut hand_over) = self.hand_over.try_lock() {
            let head = self.head.load(Ordering::Acquire);
            let mut io = header.discarded_io.get();
            for sequence in self.done.load(Ordering::Relaxed)..=head {
                io = io.saturating_add(hand_over.progress(self, sequence).refused());
            }
            header.discarded_io = io.into();
        }
        Some(header)
    }

    /// What was refused of a block is not held any more.
    pub(super) fn forgive(&self, progress: &mut Progress) {
        match progress.forgive() {
            0 => {}
            count => unhoused::forgive(self.slot(), u64::from(count)),
        }
    }

    /// Counts nested events of its kind, of whatever thread.
    pub(crate) fn count_nested(&self, count: u64) {
        if count != 0 {
            self.counts.discard(Cause::Nested, count);
        }
    }

    fn slot(&self) -> Option<usize> {
        registration::slot_in(self.identity.registry, self.identity.kind)
    }
}
