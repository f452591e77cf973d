//! Losses of a perf.data, each counted once.
//!
//! ```text
//!  LOST: the ring of a processor had no room, until now ──▶ Lost in place ──┐ both count the same
//!  LOST_SAMPLES without a time: what each event lost in all ────────────────┘
//!  the rest of them: the ring had no room again before the end ──▶ Lost after its last record
//! ```
//!
//! Design: `.waits.perf` in `design/waits.md`.

use crate::waits::output::CPU_COUNT_MAX;

/// The losses of a source.
#[derive(Debug, Default)]
pub(super) struct Losses {
    cpus: Vec<Cpu>,
    /// Losses that the kernel states in all for events of no known processor.
    elsewhere: u64,
    /// Losses that records without a time tell.
    timeless: u64,
}

/// A processor.
#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    /// The ticks of its last record.
    last: u64,
    /// Losses that have a place.
    placed: u64,
    /// Losses that the kernel states in all for the events of this processor.
    total: u64,
}

/// Losses whose place is not told by a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rest {
    /// The processor, with the ticks of its last record; `None` if it is unknown.
    pub(super) after: Option<(u32, u64)>,
    pub(super) count: u64,
}

impl Losses {
    /// Notes that a processor had a record, and returns the ticks of the one before.
    #[inline]
    pub(super) fn note(&mut self, cpu: u32, ticks: u64) -> u64 {
        self.cpu(cpu).map_or(0, |cpu| std::mem::replace(&mut cpu.last, ticks))
    }

    /// Notes losses that have a place.
    pub(super) fn placed(&mut self, cpu: u32, count: u64) {
        if let Some(cpu) = self.cpu(cpu) {
            cpu.placed = cpu.placed.saturating_add(count);
        }
    }

    /// Notes losses that a record without a time tells.
    pub(super) fn timeless(&mut self, count: u64) {
        self.timeless = self.timeless.saturating_add(count);
    }

    /// Notes what an event lost in all, on a processor if that is known.
    pub(super) fn total(&mut self, cpu: Option<u32>, count: u64) {
        let total = match cpu.and_then(|cpu| self.cpu(cpu)) {
            Some(cpu) => &mut cpu.total,
            None => &mut self.elsewhere,
        };
        *total = total.saturating_add(count);
    }

    /// Returns the losses without a place: a ring that had no room again before the end.
    pub(super) fn rests(&self) -> Vec<Rest> {
        let of_cpu = |(cpu, own): (u32, &Cpu)| {
            let count = own.total.saturating_sub(own.placed);
            (count > 0).then_some(Rest { after: Some((cpu, own.last)), count })
        };
        let mut rests: Vec<Rest> = (0..).zip(&self.cpus).filter_map(of_cpu).collect();
        let beyond = self.cpus.iter().map(|cpu| cpu.placed.saturating_sub(cpu.total));
        let beyond = beyond.fold(0, u64::saturating_add);
        let count = self.elsewhere.saturating_sub(beyond).max(self.timeless);
        rests.extend((count > 0).then_some(Rest { after: None, count }));
        rests
    }

    fn cpu(&mut self, cpu: u32) -> Option<&mut Cpu> {
        let at = cpu.min(CPU_COUNT_MAX) as usize;
        if self.cpus.len() <= at {
            self.cpus.resize(at + 1, Cpu::default());
        }
        self.cpus.get_mut(at)
    }
}
