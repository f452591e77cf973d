//! A ring in a forked child: what it holds is the parent's, and it begins anew.
//!
//! ```text
//!  leave_parent ─ counted from here on is the child's ─▶ restart: block 0, event 0
//! ```
//!
//! Design: `.sol.fork` in `design/telemetry.md`.

use super::Ring;
use crate::block::losses::Cause;
use crate::block::memory::Blocks;
use crate::block::root;
use crate::os::atomic::Ordering;
use crate::stream::outlet::Progress;

/// How much older than any event to come the base of a ring is that begins anew: more than 32 bits
/// hold.
const BASE_AGE: u64 = 1 << 33;

impl Ring {
    /// In a forked child: what was counted and recorded so far is the parent's.
    pub(crate) fn leave_parent(&self) {
        self.counts.reset();
        self.parents.store(self.recorded(), Ordering::Relaxed);
    }

    /// Begins anew in a forked child, for the thread with this index, or free for 0. The first
    /// event of that thread finds a base from which 32 bits do not reach, and so comes to the cold
    /// path. What the child recorded since [`leave_parent`](Ring::leave_parent) is counted as
    /// nested. `is_taken`: an event is being recorded into it; then it gets other blocks, so that
    /// what is published into the old one, when the interrupted code goes on, is nowhere.
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
