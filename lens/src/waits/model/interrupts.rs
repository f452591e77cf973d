//! Interrupts: which time of a processor the kernel took from the thread that ran there.
//!
//! ```text
//!  thread     ├──── run ───────────────────────┤
//!  processor        ├ eth0 ┤ ├ NET_RX ┤             the run has this time, and did not get it
//! ```
//!
//! The time of an interrupt within another one is its own. An interrupt whose end the log lacks is
//! left out: a switch and a loss end it. Design: `.waits.interrupts` in `design/waits.md`.

use super::state::Building;
use super::things::{Interrupt, Interrupter};

/// Interrupts that are kept, at most.
const INTERRUPT_COUNT_MAX: usize = 1 << 21;
/// Interrupts in interrupts, at most.
const DEPTH_MAX: usize = 16;

impl super::Model {
    /// Returns the interrupts of a processor that lie, in part, between two times.
    pub fn interrupts_in(&self, cpu: u32, from: u64, to: u64) -> impl Iterator<Item = &Interrupt> {
        let all = &self.interrupts;
        let first = all.partition_point(|own| (own.cpu, own.to) <= (cpu, from));
        let all = all.get(first..).unwrap_or_default().iter();
        all.take_while(move |own| own.cpu == cpu && own.from < to)
    }
}

impl Building {
    /// An interrupt of a processor begins.
    pub(super) fn interrupt(&mut self, at: u64, cpu: u32, by: Interrupter) {
        self.note_interrupt(at, cpu);
        if let Some(own) = self.cpu(cpu).filter(|own| own.interrupts.len() < DEPTH_MAX) {
            own.interrupts.push((by, at));
        }
    }

    /// An interrupt of a processor ends.
    pub(super) fn end_interrupt(&mut self, at: u64, cpu: u32) {
        self.note_interrupt(at, cpu);
        let Some(own) = self.cpu(cpu) else { return };
        own.interrupts.pop();
        if let Some((_, since)) = own.interrupts.last_mut() {
            *since = at;
        }
    }

    /// Notes the time of the innermost interrupt of a processor until now.
    fn note_interrupt(&mut self, at: u64, cpu: u32) {
        let Some(own) = self.cpu(cpu) else { return };
        let Some((by, from)) = own.interrupts.last().copied().filter(|(_, from)| *from < at) else {
            return;
        };
        if self.model.interrupts.len() >= INTERRUPT_COUNT_MAX {
            self.model.counts.left_out += 1;
            return;
        }
        self.model.interrupts.push(Interrupt { cpu, from, to: at, by });
    }
}
