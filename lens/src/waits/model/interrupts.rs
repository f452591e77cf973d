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

/// Finds the interrupts of processors: fast at times near those that were asked for before.
#[derive(Clone, Debug)]
pub struct Interrupts<'m> {
    all: &'m [Interrupt],
    /// By processor: the first of them that was found last.
    near: Vec<usize>,
}

impl super::Model {
    /// Returns a finder of the interrupts.
    pub fn interrupts(&self) -> Interrupts<'_> {
        let count = self.interrupts.last().map_or(0, |own| own.cpu as usize + 1);
        Interrupts { all: &self.interrupts, near: vec![0; count] }
    }
}

impl<'m> Interrupts<'m> {
    /// Returns what interrupted a processor between two times, and how long, in ns.
    pub fn within(
        &mut self,
        cpu: u32,
        from: u64,
        to: u64,
    ) -> impl Iterator<Item = (Interrupter, u64)> + use<'m> {
        let all = self.all;
        let first = self.near.get_mut(cpu as usize).map_or(all.len(), |near| {
            let is_before =
                |at: usize| all.get(at).is_some_and(|own| (own.cpu, own.to) <= (cpu, from));
            *near = partition_near(all.len(), *near, is_before);
            *near
        });
        let all = all.get(first..).unwrap_or_default().iter();
        let all = all.take_while(move |own| own.cpu == cpu && own.from < to);
        all.map(move |own| (own.by, own.to.min(to).saturating_sub(own.from.max(from))))
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

/// Returns the first index for which `is_before` is false: fast if it is near `near`.
pub(crate) fn partition_near(
    count: usize,
    near: usize,
    is_before: impl Fn(usize) -> bool,
) -> usize {
    let (mut low, mut high) = (0, count);
    let mut step = 1;
    let mut at = near.min(count);
    if at < count && is_before(at) {
        while at < count && is_before(at) {
            (low, at, step) = (at + 1, at + step, step * 2);
        }
        high = at.min(count);
    } else {
        while at > 0 && !is_before(at - 1) {
            (high, at, step) = (at - 1, at.saturating_sub(step), step * 2);
        }
        low = at;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_partition_is_that_of_all() {
        for count in [0, 1, 2, 3, 17, 100] {
            for first in 0..=count {
                for near in 0..count + 3 {
                    let found = partition_near(count, near, |at| at < first);
                    assert_eq!(found, first, "{count} {near}");
                }
            }
        }
    }
}
