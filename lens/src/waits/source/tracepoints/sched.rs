//! Switches, wakes and forks: the rows that tell which thread runs.
//!
//! ```text
//!  sched_switch ──▶ Switch, names of both threads       sched_waking ──▶ Waking
//!  task_newtask, sched_process_fork ──▶ Fork with its process
//! ```
//!
//! Design: `.waits.events` in `design/waits.md`.

use super::kinds::{Fields, Kind};
use super::{Record, THREAD_COUNT_MAX, Tracepoints, flags};
use crate::waits::events::kernel::{Fork, Switch, Waking, Woken};
use crate::waits::output::Output;
use crate::waits::source::format::Slot;
use eventlog::writer::MakeError;

/// `CLONE_THREAD`: a new thread of the same process.
const SAME_PROCESS: u64 = 0x10000;

/// Returns the context in a tracepoint's `common_flags`, as in
/// [`Waking`]: 0 a thread, 1 a soft interrupt, 2 an interrupt of
/// hardware, 3 an interrupt that cannot be masked.
#[inline]
pub fn context(flags: u8) -> u32 {
    match flags {
        flags if flags & 0x40 != 0 => 3,
        flags if flags & 0x08 != 0 => 2,
        flags if flags & 0x10 != 0 => 1,
        _ => 0,
    }
}

/// Returns the state of a thread that was switched out, as in
/// [`Switch`]. `preempted` is the bit of a thread that can still
/// run: 0x100 in kernels since 4.14.
#[inline]
pub fn state(kernel: u64, preempted: u64) -> u32 {
    if kernel & preempted != 0 { 0 } else { kernel as u32 }
}

impl Tracepoints {
    /// Adds the row of a record of the scheduler. Returns `None` if the record is too short.
    pub(super) fn sched(
        &mut self,
        out: &mut Output<'_>,
        record: &Record<'_>,
        kind: &Kind,
    ) -> Result<Option<()>, MakeError> {
        let machine = self.machine;
        let &Record { cpu, ticks, stack, bytes } = record;
        let u32_of = |slot: Slot| slot.number_u32(machine, bytes);
        match kind.fields {
            Fields::Switch { prev, next, state: from, preempted, prev_name, next_name } => {
                let (Some(prev), Some(next)) = (u32_of(prev), u32_of(next)) else {
                    return Ok(None);
                };
                let Some(from) = from.number(machine, bytes) else { return Ok(None) };
                for (thread, name) in [(prev, prev_name), (next, next_name)] {
                    let name = name.and_then(|name| name.string(machine, bytes));
                    if let Some(name) = name.filter(|_| thread != 0) {
                        out.thread(ticks, thread, 0, name)?;
                    }
                }
                let state = state(from, preempted);
                out.add(cpu, ticks, &Switch { prev, next, state, stack })?;
            }
            Fields::Waking { target } => {
                let Some(target) = u32_of(target) else { return Ok(None) };
                return self.waking(out, record, kind, target);
            }
            Fields::Woken { target, cpu: to, is_new } => {
                let Some(target) = u32_of(target) else { return Ok(None) };
                // The maker of a new thread is its `Fork`.
                if !self.has_waking && !is_new {
                    let woken = self.waking(out, record, kind, target)?;
                    if woken.is_none() {
                        return Ok(None);
                    }
                }
                let to = to.and_then(u32_of).unwrap_or(cpu);
                out.add(cpu, ticks, &Woken { target, cpu: to })?;
            }
            _ => return self.task(out, record, kind),
        }
        Ok(Some(()))
    }

    /// Adds the row of a thread that begins, or gets a name.
    fn task(
        &mut self,
        out: &mut Output<'_>,
        record: &Record<'_>,
        kind: &Kind,
    ) -> Result<Option<()>, MakeError> {
        let machine = self.machine;
        let &Record { cpu, ticks, bytes, .. } = record;
        let u32_of = |slot: Slot| slot.number_u32(machine, bytes);
        match kind.fields {
            Fields::NewTask { child, flags } => {
                let flags = flags.number(machine, bytes);
                let (Some(child), Some(flags)) = (u32_of(child), flags) else { return Ok(None) };
                if self.new.len() < THREAD_COUNT_MAX {
                    self.new.insert(child, flags & SAME_PROCESS != 0);
                }
            }
            Fields::Rename { thread, name } => {
                let name = name.string(machine, bytes);
                let (Some(thread), Some(name)) = (u32_of(thread), name) else { return Ok(None) };
                out.thread(ticks, thread, 0, name)?;
            }
            Fields::Fork { parent, child, name } => {
                let (Some(parent), Some(child)) = (u32_of(parent), u32_of(child)) else {
                    return Ok(None);
                };
                let process = match self.new.remove(&child) {
                    Some(true) => self.processes.get(&parent).copied().unwrap_or(0),
                    Some(false) => child,
                    None => 0,
                };
                if process != 0 {
                    self.member(child, process);
                }
                let name = name.and_then(|name| name.string(machine, bytes));
                if let Some(name) = name {
                    out.thread(ticks, child, process, name)?;
                }
                out.add(cpu, ticks, &Fork { parent, child, process })?;
            }
            _ => {}
        }
        Ok(Some(()))
    }

    fn waking(
        &self,
        out: &mut Output<'_>,
        record: &Record<'_>,
        kind: &Kind,
        target: u32,
    ) -> Result<Option<()>, MakeError> {
        let &Record { cpu, ticks, stack, bytes } = record;
        let waker = kind.common.thread.number_u32(self.machine, bytes);
        let Some(waker) = waker else { return Ok(None) };
        let context = flags(self.machine, &kind.common, bytes).map_or(4, context);
        out.add(cpu, ticks, &Waking { waker, target, context, stack })?;
        Ok(Some(()))
    }
}
