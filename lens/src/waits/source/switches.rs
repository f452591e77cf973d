//! Switches as records of single threads tell them: SWITCH and EXIT of perf, next to a tracepoint.
//!
//! ```text
//!  tracepoint: A ──▶ X   SWITCH: A is out, told above   SWITCH: A is in ──▶ Switch { 0, A }
//!  EXIT of A ──▶ Switch { A, 0 }: the kernel tells no switch of a thread after its end
//! ```
//!
//! The thread that a record does not name stands as idle.
//!
//! Design: `.waits.perf` in `design/waits.md`.

use crate::waits::events::kernel::Switch;
use crate::waits::output::CPU_COUNT_MAX;

/// The number of a thread that has ended.
pub const GONE: u32 = u32::MAX;
/// Flag of SWITCH: the thread is switched out. Of COMM: it runs another program.
pub const IS_OUT: u16 = 1 << 13;
/// Flag of SWITCH: … while it can run.
pub const IS_PREEMPTED: u16 = 1 << 14;
/// The state of a thread that has ended.
const ENDED: u32 = 0x20;

/// The last switch of each processor.
#[derive(Debug, Default)]
pub struct Switches {
    /// The threads before and after; `None` if the switch is not known.
    last: Vec<Option<(u32, u32)>>,
}

impl Switches {
    /// Notes a switch that a row tells.
    pub fn told(&mut self, cpu: u32, prev: u32, next: u32) {
        if let Some(last) = self.last(cpu) {
            *last = Some((prev, next));
        }
    }

    /// Forgets the last switch of a processor: later ones were lost.
    pub fn lost(&mut self, cpu: u32) {
        if let Some(last) = self.last(cpu) {
            *last = None;
        }
    }

    /// Returns the row of SWITCH; `None` if it tells nothing new. `other` is the other thread, if
    /// the record names both.
    pub fn switch(&mut self, cpu: u32, thread: u32, misc: u16, other: u32) -> Option<Switch> {
        if misc & IS_OUT != 0 {
            // Without the thread's state, it sleeps unless it was preempted.
            let state = if misc & IS_PREEMPTED != 0 { 0 } else { 1 };
            return self.out(cpu, thread, state, other);
        }
        let runs = self.last(cpu).and_then(|last| *last).is_some_and(|(_, next)| next == thread);
        if runs || thread == GONE {
            return None;
        }
        self.told(cpu, other, thread);
        Some(Switch { prev: other, next: thread, state: 0, stack: 0 })
    }

    /// Returns the row of the end of a thread: the kernel tells no switch of it.
    pub fn exit(&mut self, cpu: u32, thread: u32) -> Option<Switch> {
        self.out(cpu, thread, ENDED, 0)
    }

    fn out(&mut self, cpu: u32, thread: u32, state: u32, next: u32) -> Option<Switch> {
        let last = self.last(cpu).and_then(|last| *last);
        let (prev, state) = match thread {
            GONE => (last.map_or(0, |(_, next)| next), ENDED),
            _ => (thread, state),
        };
        let next = if next == GONE { 0 } else { next };
        let is_told = last.is_some_and(|(before, after)| before == prev && after != prev);
        if is_told || prev == next {
            return None;
        }
        self.told(cpu, prev, next);
        let state = if prev == 0 { 0 } else { state };
        Some(Switch { prev, next, state, stack: 0 })
    }

    fn last(&mut self, cpu: u32) -> Option<&mut Option<(u32, u32)>> {
        let at = cpu.min(CPU_COUNT_MAX) as usize;
        if self.last.len() <= at {
            self.last.resize(at + 1, None);
        }
        self.last.get_mut(at)
    }
}
