//! Switches that a log lacks: a row of a thread says that the thread runs.
//!
//! ```text
//!  cpu 0   idle ··?··· Syscall of A          no switch to A: A runs from that row on
//!  cpu 1   B ├ run ┤ ? Syscall of A          no switch from B: unknown since B's last row
//! ```
//!
//! Kernels leave out a switch now and then where a processor was idle. Design: `.waits.model` in
//! `design/waits.md`.

use super::state::{Building, NEAR};
use super::{NEVER, NONE, What};

impl Building {
    /// Takes a row that only a running thread makes.
    #[inline]
    pub(super) fn runs(&mut self, at: u64, cpu: u32, thread: u32) {
        let Some(own) = self.cpus.get(cpu as usize) else { return };
        let current = self.model.life(own.current);
        if current.is_none_or(|life| life.thread != thread) {
            self.imply(at, cpu, thread);
        }
    }

    /// Counts a switch that the log lacks: what it tells of this thread shows that.
    pub(super) fn miss(&mut self, life: u32) {
        self.model.counts.missing += 1;
        if let Some(own) = self.model.lives.get_mut(life as usize) {
            own.missing = own.missing.saturating_add(1);
        }
    }

    fn imply(&mut self, at: u64, cpu: u32, thread: u32) {
        let Some(own) = self.cpus.get(cpu as usize) else { return };
        let (current, since) = (own.current, own.switched.max(own.last_at));
        // Before the first switch, and after a loss, nothing is missing: it is not known.
        if thread == 0 || !own.is_known || own.gap.is_some() {
            return;
        }
        let next = self.life_of(thread, at, What::Run);
        let is_running = self.what(next) == Some(What::Run);
        // A thread that is new here, or whose number was used before, tells no switch.
        if next == NONE
            || is_running && self.states.get(next as usize).is_none_or(|s| s.cpu == NONE)
        {
            return;
        }
        if current != NONE {
            self.miss(current);
            self.cut_at(current, since, What::Unknown);
        }
        // It may have run since the last row of another thread here, or since it was woken.
        let woken = self.now(next).filter(|now| now.what == What::Wait).map(|now| now.woken);
        if let Some(woken) = woken {
            let from = if woken == NEVER { since } else { since.max(woken) };
            // A thread that runs soon after its wake was about to run until then.
            if woken == NEVER || at.saturating_sub(from) > NEAR {
                self.miss(next);
                self.cut_at(next, from.min(at), What::Unknown);
            }
        }
        self.switch_in(next, at, cpu);
        if let Some(own) = self.cpus.get_mut(cpu as usize) {
            (own.current, own.switched, own.just) = (next, at, None);
        }
    }
}
