//! Records of perf.data to rows, in order of time.
//!
//! ```text
//!  SAMPLE ── raw ──▶ tracepoints ──▶ rows       ── no raw, a clock ──▶ CpuSample
//!  COMM, FORK, EXIT, MMAP2, SWITCH, LOST ──▶ ThreadName, Member, Exit, Mapping, Switch, Lost
//! ```
//!
//! Design: `.waits.perf` in `design/waits.md`.

use super::layout::{Facts, Layout};
use super::records::{
    COMM, EXIT, FORK, LOST, LOST_SAMPLES, MMAP, MMAP2, SAMPLE, SWITCH, SWITCH_CPU_WIDE,
};
use super::rounds::Entry;
use crate::events::kernel::{CpuSample, Exit, Fork, Mapping, Member, Switch};
use crate::output::{CPU_COUNT_MAX, Output};
use crate::source::cursor::{Cursor, until_zero};
use crate::source::format::Machine;
use crate::source::import::Imported;
use crate::source::tracepoints::{Record, Seen, Tracepoints};
use eventdef::field::A;
use eventlog::writer::{Made, MakeError};
use foldhash::fast::RandomState;
use std::collections::{HashMap, HashSet};

/// Addresses from here on are markers: the frames after it are of the kernel, of the program.
const MARKER_MIN: u64 = -4095i64 as u64;
/// Flag of SWITCH: the thread is switched out.
const IS_OUT: u16 = 1 << 13;
/// Flag of SWITCH: … while it can run.
const IS_PREEMPTED: u16 = 1 << 14;
/// Flag of MMAP: the file is not code.
const IS_DATA: u16 = 1 << 13;
/// The protection of code.
const EXECUTABLE: u32 = 4;

/// The attributes of a source.
#[derive(Debug)]
pub(super) struct Attrs {
    pub(super) machine: Machine,
    pub(super) layouts: Vec<Layout>,
    by_id: HashMap<u64, usize, RandomState>,
    /// Whether the first layout reads the records of all.
    is_alike: bool,
    /// Whether a sample of any attribute has a tracepoint's number or is a clock's.
    has_clock: bool,
}

impl Attrs {
    /// Returns the attributes; `None` if their records cannot be told apart.
    pub(super) fn new(machine: Machine, layouts: Vec<Layout>) -> Option<Attrs> {
        let first = layouts.first()?;
        let is_alike = layouts.iter().all(|layout| layout.is_like(first));
        if !is_alike && !layouts.iter().all(Layout::has_identifier) {
            return None;
        }
        let ids = layouts.iter().enumerate();
        let ids = ids.flat_map(|(index, layout)| layout.ids.iter().map(move |id| (*id, index)));
        let by_id = ids.collect();
        let has_clock = layouts.iter().any(Layout::is_clock);
        Some(Attrs { machine, layouts, by_id, is_alike, has_clock })
    }

    /// Returns the layout of a record's fields.
    #[inline]
    fn layout(&self, kind: u32, body: &[u8]) -> Option<&Layout> {
        let first = self.layouts.first()?;
        if self.is_alike { Some(first) } else { self.attr(kind, body) }
    }

    /// Returns the attribute of a record.
    fn attr(&self, kind: u32, body: &[u8]) -> Option<&Layout> {
        let first = self.layouts.first()?;
        if self.layouts.len() == 1 {
            return Some(first);
        }
        let id = match kind {
            SAMPLE => first.id(self.machine, body),
            _ => body.last_chunk::<8>().and_then(|bytes| self.machine.number(bytes)),
        };
        let index = id.and_then(|id| self.by_id.get(&id));
        index.map_or(Some(first).filter(|_| kind != SAMPLE), |index| self.layouts.get(*index))
    }

    /// Returns the time of a record; 0 if unknown.
    #[inline]
    pub(super) fn time(&self, kind: u32, body: &[u8]) -> u64 {
        let Some(layout) = self.layout(kind, body) else { return 0 };
        match kind {
            SAMPLE => layout.sample(self.machine, body).map_or(0, |sample| sample.facts.time),
            _ => layout.end(self.machine, body).map_or(0, |facts| facts.time),
        }
    }
}

/// The rate of the processor's counter, as TIME_CONV tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Conversion {
    pub(super) shift: u32,
    pub(super) mult: u64,
    pub(super) zero: u64,
}

impl Conversion {
    /// Returns the ticks of the counter at a time of the kernel's scheduler.
    fn ticks(&self, time: u64) -> u64 {
        let ns = u128::from(time.wrapping_sub(self.zero));
        let mult = u128::from(self.mult.max(1));
        ((ns << self.shift.min(63)) / mult) as u64
    }

    /// Returns the ticks in a second.
    pub(super) fn rate(&self) -> u64 {
        let ticks = (1_000_000_000u128 << self.shift.min(63)) / u128::from(self.mult.max(1));
        u64::try_from(ticks).unwrap_or(0)
    }
}

/// The rows of a source.
pub(super) struct Rows<'o, 'a> {
    pub(super) out: Output<'o>,
    pub(super) attrs: &'a Attrs,
    pub(super) tracepoints: Tracepoints,
    pub(super) conversion: Option<Conversion>,
    /// Tracepoints whose rows keep stacks.
    pub(super) with_stack: HashSet<u16, RandomState>,
    /// What tracepoints tell: records of perf do not repeat it.
    pub(super) has_switch: bool,
    pub(super) has_fork: bool,
    pub(super) has_exit: bool,
    /// Addresses of a stack.
    pub(super) frames: Vec<u64>,
    /// The ticks of the last record, by processor.
    pub(super) last: Vec<u64>,
    /// The ticks of the last record with a time.
    pub(super) now: u64,
}

impl Rows<'_, '_> {
    /// Adds the rows of a record.
    pub(super) fn put(
        &mut self,
        entry: &Entry,
        body: &[u8],
        done: &mut Imported,
    ) -> Result<(), MakeError> {
        // Records that the tool makes of what exists at the beginning have no time.
        if entry.time != 0 {
            self.now = self.conversion.map_or(entry.time, |clock| clock.ticks(entry.time));
        }
        let seen = match entry.kind {
            SAMPLE => self.sample(body)?,
            kind => {
                let layout = self.attrs.layout(kind, body);
                let facts = layout.and_then(|layout| layout.end(self.attrs.machine, body));
                let seen = self.other(entry, body, facts.unwrap_or_default(), done)?;
                seen.unwrap_or(Seen::Damaged)
            }
        };
        match seen {
            Seen::Known => done.known_count += 1,
            Seen::Unknown => done.unknown_count += 1,
            Seen::Damaged => done.damaged_count += 1,
        }
        Ok(())
    }

    /// Notes that a processor had a record now, and returns the ticks of the one before.
    fn note(&mut self, cpu: u32) -> u64 {
        let at = cpu.min(CPU_COUNT_MAX) as usize;
        if self.last.len() <= at {
            self.last.resize(at + 1, 0);
        }
        self.last.get_mut(at).map_or(0, |last| std::mem::replace(last, self.now))
    }

    fn sample(&mut self, body: &[u8]) -> Result<Seen, MakeError> {
        let machine = self.attrs.machine;
        let layout = self.attrs.layout(SAMPLE, body);
        let Some(sample) = layout.and_then(|layout| layout.sample(machine, body)) else {
            return Ok(Seen::Damaged);
        };
        let (cpu, ticks) = (sample.facts.cpu, self.now);
        self.note(cpu);
        if sample.raw.is_empty() {
            let is_clock =
                self.attrs.has_clock && self.attrs.attr(SAMPLE, body).is_some_and(Layout::is_clock);
            if !is_clock {
                return Ok(Seen::Unknown);
            }
            let stack = self.stack(sample.chain)?;
            self.out.add(cpu, ticks, &CpuSample { thread: sample.facts.thread, stack })?;
            return Ok(Seen::Known);
        }
        let id = sample.raw.get(..2).and_then(|id| machine.number(id));
        let is_kept = id.is_some_and(|id| self.with_stack.contains(&(id as u16)));
        let stack = if is_kept { self.stack(sample.chain)? } else { 0 };
        self.tracepoints.put(&mut self.out, &Record { cpu, ticks, stack, bytes: sample.raw })
    }

    /// Returns the number of a stack, without the markers in it.
    fn stack(&mut self, chain: &[u8]) -> Result<u32, MakeError> {
        let machine = self.attrs.machine;
        let addresses = chain.chunks_exact(8).filter_map(|bytes| machine.number(bytes));
        self.frames.clear();
        self.frames.extend(addresses.filter(|address| *address < MARKER_MIN));
        if self.frames.is_empty() {
            return Ok(0);
        }
        self.out.stack(self.now, self.frames.iter().copied())
    }

    /// Adds the rows of a record other than a sample. Returns `None` if it is too short.
    fn other(
        &mut self,
        entry: &Entry,
        body: &[u8],
        facts: Facts,
        done: &mut Imported,
    ) -> Result<Option<Seen>, MakeError> {
        let ticks = self.now;
        let mut cursor = Cursor::new(self.attrs.machine, body);
        match entry.kind {
            COMM => {
                let (Some(process), Some(thread)) = (cursor.u32(), cursor.u32()) else {
                    return Ok(None);
                };
                self.tracepoints.member(thread, process);
                if thread != 0 {
                    self.out.thread(ticks, thread, process, until_zero(cursor.rest))?;
                }
            }
            FORK | EXIT => return self.task(entry.kind, &mut cursor, facts),
            MMAP | MMAP2 => return self.mapping(entry, &mut cursor),
            LOST | LOST_SAMPLES => {
                let id = if entry.kind == LOST { cursor.u64() } else { Some(0) };
                let (Some(_), Some(count)) = (id, cursor.u64()) else { return Ok(None) };
                let from = self.note(facts.cpu);
                self.tracepoints.lose(&mut self.out, facts.cpu, from, ticks, count)?;
                done.lost_count = done.lost_count.saturating_add(count.max(1));
            }
            SWITCH | SWITCH_CPU_WIDE if !self.has_switch => {
                let other = match entry.kind {
                    SWITCH => 0,
                    _ => match (cursor.u32(), cursor.u32()) {
                        (Some(_), Some(thread)) => thread,
                        _ => return Ok(None),
                    },
                };
                return self.switch(entry, facts, other);
            }
            _ => return Ok(Some(Seen::Unknown)),
        }
        Ok(Some(Seen::Known))
    }

    /// Adds the row of SWITCH. That of one thread does not tell the other: it stands as idle. That
    /// of a processor tells both, and comes twice: at the end of a run, and at the next beginning.
    fn switch(
        &mut self,
        entry: &Entry,
        facts: Facts,
        other: u32,
    ) -> Result<Option<Seen>, MakeError> {
        let (cpu, thread, is_out) = (facts.cpu, facts.thread, entry.misc & IS_OUT != 0);
        self.note(cpu);
        if entry.kind == SWITCH_CPU_WIDE && !is_out {
            return Ok(Some(Seen::Known));
        }
        let (prev, next) = if is_out { (thread, other) } else { (other, thread) };
        // Without the thread's state, it sleeps unless it was preempted.
        let can_run = prev == 0 || entry.misc & IS_PREEMPTED != 0;
        let state = if can_run { 0 } else { 1 };
        self.out.add(cpu, self.now, &Switch { prev, next, state, stack: 0 })?;
        Ok(Some(Seen::Known))
    }

    fn task(
        &mut self,
        kind: u32,
        cursor: &mut Cursor<'_>,
        facts: Facts,
    ) -> Result<Option<Seen>, MakeError> {
        let (process, _) = (cursor.u32(), cursor.u32());
        let (thread, parent) = (cursor.u32(), cursor.u32());
        let (Some(process), Some(child), Some(parent)) = (process, thread, parent) else {
            return Ok(None);
        };
        let ticks = self.now;
        match kind {
            EXIT if self.has_exit => {}
            EXIT => self.out.add(facts.cpu, ticks, &Exit { thread: child })?,
            _ => {
                self.tracepoints.member(child, process);
                // Those of the beginning have no time: the thread exists.
                match self.has_fork || facts.time == 0 {
                    true => self.out.add(facts.cpu, ticks, &Member { thread: child, process })?,
                    false => self.out.add(facts.cpu, ticks, &Fork { parent, child, process })?,
                }
            }
        }
        Ok(Some(Seen::Known))
    }

    fn mapping(
        &mut self,
        entry: &Entry,
        cursor: &mut Cursor<'_>,
    ) -> Result<Option<Seen>, MakeError> {
        let (process, _) = (cursor.u32(), cursor.u32());
        let (start, size, offset) = (cursor.u64(), cursor.u64(), cursor.u64());
        let mut is_code = entry.misc & IS_DATA == 0;
        if entry.kind == MMAP2 {
            // The identity of the file, then how the memory is protected, and its flags.
            cursor.take(24);
            is_code = cursor.u32().is_some_and(|protection| protection & EXECUTABLE != 0);
            cursor.u32();
        }
        let (Some(process), Some(start), Some(size), Some(offset)) = (process, start, size, offset)
        else {
            return Ok(None);
        };
        if is_code {
            // The kernel's own code is of no process.
            let process = if process == u32::MAX { 0 } else { process };
            let (start, path) = (A(start as usize), until_zero(cursor.rest));
            let (size, offset) = (size as usize, offset as usize);
            self.out.name(self.now, &Mapping { start, size, offset, process, path })?;
        }
        Ok(Some(Seen::Known))
    }

    /// Ends the log.
    pub(super) fn finish(mut self) -> Result<Made, MakeError> {
        self.tracepoints.finish(&mut self.out)?;
        self.out.finish()
    }
}
