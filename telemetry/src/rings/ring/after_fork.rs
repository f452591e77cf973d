//! A ring in a forked child: its contents are the parent's, and it starts again.
//!
//! ```text
//!  leave_parent ─ later counts are the child's ─▶ restart: block 0, event 0
//! ```
//!
//! Design: `.sol.fork` in `design/telemetry.md`.

use super::Ring;
use crate::block::losses::Cause;
use crate::block::memory::Blocks;
use crate::block::root;
use crate::os::atomic::Ordering;
use crate::stream::outlet::Progress;

/// How much older than any later event the base of a restarted ring is: more than 32 bits hold.
const BASE_AGE: u64 = 1 << 33;

impl Ring {
    /// In a forked child: what was counted and recorded so far is the parent's.
    pub(crate) fn leave_parent(&self) {
        self.counts.reset();
        self.parents.store(self.recorded(), Ordering::Relaxed);
    }

    /// Starts again in a forked child, for the thread with this index; 0: it is free. The base is
    /// too old for the 32 bits of the thread's first event, so this event comes to the cold path.
    /// Events that the child recorded since [`leave_parent`](Ring::leave_parent) count as nested.
    /// `is_taken`: interrupted code is recording an event into the ring. The ring then gets other
    /// blocks, so that this event goes nowhere.
    pub(crate) fn restart(&'static self, ticks: u64, thread: u32, is_taken: bool) {
        let lost = self.recorded().saturating_sub(self.parents.load(Ordering::Relaxed));
        self.counts.forgive_parent();
        self.counts.discard(Cause::Nested, lost);
        let (mut hand_over, _) = self.hand_over.take_over();
        hand_over.progress.fill(Progress::NONE);
        hand_over.told = 0;
        drop(hand_over);
        if is_taken && let Some(blocks) = Blocks::map(self.blocks.count()) {
            self.blocks.set(blocks);
            if let Some(extent) = self.extent.get() {
                root::move_extent(extent, &blocks);
            }
        }
        self.done.store(0, Ordering::Relaxed);
        self.saved.store(0, Ordering::Relaxed);
        self.place.restart();
        let age = if thread == 0 { 0 } else { BASE_AGE };
        self.own_after_fork().begin(0, 0, ticks.saturating_sub(age), thread);
        self.owner.store(thread, Ordering::Release);
    }
}
