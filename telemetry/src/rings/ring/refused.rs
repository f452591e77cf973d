//! What a ring holds that the host refused at a flush: counted as lost as long as it is held.
//!
//! ```text
//!  flush ─ refused ─▶ counted ─┬─ a later flush, or its block, is taken ─▶ not counted
//!                              └─ the block is given up ─▶ counted there, as io or overwritten
//! ```
//!
//! Design: `.sol.outage` in `design/telemetry.md`.

use super::{HandOver, Ring};
use crate::block::losses;
use crate::os::atomic::Ordering;
use crate::registry::registration;
use crate::stream::outlet::Progress;

impl Ring {
    /// The host refused what is held.
    pub(super) fn note_refused(&self, hand_over: &mut HandOver) {
        let mut count = 0;
        let head = self.head.load(Ordering::Acquire);
        for sequence in self.done.load(Ordering::Relaxed)..=head {
            let block = self.blocks.get(sequence);
            count += u64::from(hand_over.progress(self, sequence).refuse(block));
        }
        losses::refuse(self.slot(), count);
    }

    /// What was refused of a block is not held any more.
    pub(super) fn forgive(&self, progress: &mut Progress) {
        match progress.forgive() {
            0 => {}
            count => losses::forgive(self.slot(), u64::from(count)),
        }
    }

    fn slot(&self) -> Option<usize> {
        registration::slot_in(self.identity.registry, self.identity.kind)
    }
}
