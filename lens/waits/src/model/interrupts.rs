//! Interrupts: which time of a processor the kernel took from the thread that ran there.
//!
//! ```text
//!  thread     ├──── run ───────────────────────┤
//!  processor        ├ eth0 ┤ ├ NET_RX ┤             the run has this time, and did not get it
//! ```
//!
//! An interrupt within another one is a part of the time of its own. A switch or a loss ends what
//! has no end in the log: that time is left out. Design: `.waits.interrupts` in `design/waits.md`.

use super::building::Building;

/// Interrupts that are kept, at most.
const INTERRUPT_COUNT_MAX: usize = 1 << 21;
/// Interrupts in interrupts, at most.
const DEPTH_MAX: usize = 16;

/// What interrupted a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Interrupter {
    /// A device, by its index in [`super::Model::irqs`].
    Device(u32),
    /// A soft interrupt, by its number.
    Soft(u32),
}

impl Interrupter {
    /// Returns the name of a soft interrupt.
    pub fn soft_name(vector: u32) -> Option<&'static str> {
        const NAMES: [&str; 10] = [
            "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
            "RCU",
        ];
        NAMES.get(vector as usize).copied()
    }
}

/// A time in which a processor was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interrupt {
    /// The processor.
    pub cpu: u32,
    /// From this time on, in ns.
    pub from: u64,
    /// Until this time, in ns.
    pub to: u64,
    /// What interrupted it.
    pub by: Interrupter,
}

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
