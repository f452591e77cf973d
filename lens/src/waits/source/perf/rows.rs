//! Records of perf.data to rows, in order of time.
//!
//! ```text
//!  SAMPLE ── raw ──▶ tracepoints ──▶ rows       ── no raw, a clock ──▶ CpuSample
//!  COMM, FORK, EXIT, MMAP2, SWITCH, LOST ──▶ ThreadName, Member, Exit, Mapping, Switch, Lost
//! ```
//!
//! Design: `.waits.perf` in `design/waits.md`.

use super::attrs::{Attrs, Conversion};
use super::layout::{Facts, Layout};
use super::losses::{Losses, Rest};
use super::places::Places;
use super::records::{
    self, COMM, EXIT, FORK, LOST, LOST_SAMPLES, MMAP, MMAP2, SAMPLE, SWITCH, SWITCH_CPU_WIDE,
};
use super::rounds::Entry;
use crate::waits::events::kernel::{CpuSample, Exec, Exit, Fork, Mapping, Member};
use crate::waits::output::Output;
use crate::waits::source::cursor::{Cursor, until_zero};
use crate::waits::source::import::Imported;
use crate::waits::source::switches::{IS_OUT, Switches};
use crate::waits::source::tracepoints::{Record, Seen, Tracepoints};
use eventdef::field::A;
use eventlog::writer::{Made, MakeError};
use foldhash::fast::RandomState;
use std::collections::{HashMap, HashSet};

/// Addresses from here on are markers: the frames after it are of the kernel, of the program.
const MARKER_MIN: u64 = -4095i64 as u64;
/// Flag of MMAP: the file is not code.
const IS_DATA: u16 = 1 << 13;
/// The protection of code.
const EXECUTABLE: u32 = 4;
/// Flag of LOST_SAMPLES: a filter dropped them, as the user wished.
const IS_FILTERED: u16 = 1 << 15;
/// How records get a time.
const WITH_TIME: &str = "record with --timestamp";
/// Threads with a second number, at most.
const THREAD_COUNT_MAX: usize = 1 << 20;

/// The tracepoints that a source has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Has {
    pub(super) switch: bool,
    pub(super) fork: bool,
    pub(super) exec: bool,
    pub(super) exit: bool,
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
    pub(super) has: Has,
    pub(super) switches: Switches,
    /// Whether all records, switches among them, are of one thread and of those that it makes.
    pub(super) is_bound: bool,
    /// The kernel's numbers of threads that perf numbers otherwise: in a namespace of processes.
    pub(super) aliases: HashMap<u32, u32, RandomState>,
    pub(super) places: Places,
    /// Addresses of a stack.
    pub(super) frames: Vec<u64>,
    pub(super) losses: Losses,
    /// Records without a meaning here, by their kind and the attribute of samples.
    pub(super) others: HashMap<(u32, usize), u64, RandomState>,
    /// Records that would need a time and have none.
    pub(super) timeless_count: u64,
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
                let facts = facts.unwrap_or_default();
                if facts.time == 0 && matches!(kind, SWITCH | SWITCH_CPU_WIDE | EXIT) {
                    self.timeless_count += 1;
                    return Ok(());
                }
                self.other(entry, body, facts, done)?.unwrap_or(Seen::Damaged)
            }
        };
        match seen {
            Seen::Known => done.known_count += 1,
            Seen::Unknown => {
                done.unknown_count += 1;
                self.leave_out(entry.kind, body);
            }
            Seen::Damaged => done.damaged_count += 1,
        }
        Ok(())
    }

    /// Counts a record without a meaning here, unless a tracepoint has counted it.
    fn leave_out(&mut self, kind: u32, body: &[u8]) {
        let attr = match kind {
            SAMPLE => self.attrs.index(body),
            _ => 0,
        };
        let is_tracepoint = |own: &Layout| own.tracepoint().is_some();
        if kind != SAMPLE || !self.attrs.layouts.get(attr).is_some_and(is_tracepoint) {
            *self.others.entry((kind, attr)).or_default() += 1;
        }
    }

    /// Returns the names of the types of records that have no meaning here.
    fn left_out(&self) -> impl Iterator<Item = (String, u64)> {
        self.others.iter().map(|((kind, attr), count)| {
            let attr = self.attrs.layouts.get(*attr).filter(|_| *kind == SAMPLE);
            let name = match attr.map(|attr| &*attr.name) {
                Some("") => "samples of an event without a name".into(),
                Some(name) => name.into(),
                None => records::name(*kind),
            };
            (name, *count)
        })
    }

    /// Returns the kernel's number of a thread.
    fn alias(&self, thread: u32) -> u32 {
        self.aliases.get(&thread).copied().unwrap_or(thread)
    }

    fn sample(&mut self, body: &[u8]) -> Result<Seen, MakeError> {
        let machine = self.attrs.machine;
        let layout = self.attrs.layout(SAMPLE, body);
        let Some(sample) = layout.and_then(|layout| layout.sample(machine, body)) else {
            return Ok(Seen::Damaged);
        };
        if sample.facts.time == 0 {
            self.timeless_count += 1;
            return Ok(Seen::Known);
        }
        let (cpu, ticks) = (self.places.of(&sample.facts), self.now);
        self.losses.note(cpu, ticks);
        if sample.raw.is_empty() {
            let is_clock =
                self.attrs.has_clock && self.attrs.attr(SAMPLE, body).is_some_and(Layout::is_clock);
            if !is_clock {
                return Ok(Seen::Unknown);
            }
            let stack = self.stack(sample.chain)?;
            let thread = self.alias(sample.facts.thread);
            self.out.add(cpu, ticks, &CpuSample { thread, stack })?;
            return Ok(Seen::Known);
        }
        if let Some((prev, next)) = self.tracepoints.switched(sample.raw) {
            self.switches.told(cpu, prev, next);
            let own = sample.facts.thread;
            if own != prev && own != 0 && self.aliases.len() < THREAD_COUNT_MAX {
                self.aliases.insert(own, prev);
            }
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
                let name = until_zero(cursor.rest);
                if thread != 0 {
                    self.out.thread(ticks, thread, process, name)?;
                }
                // The number before is not told: it differs only if a later thread ran it.
                if entry.misc & IS_OUT != 0 && facts.time != 0 && !self.has.exec {
                    let cpu = self.places.of(&facts);
                    self.out.add(cpu, ticks, &Exec { thread, was: thread, path: name })?;
                }
            }
            FORK | EXIT => return self.task(entry.kind, &mut cursor, facts),
            MMAP | MMAP2 => return self.mapping(entry, &mut cursor),
            LOST | LOST_SAMPLES => {
                let id = if entry.kind == LOST { cursor.u64() } else { Some(0) };
                let (Some(_), Some(count)) = (id, cursor.u64()) else { return Ok(None) };
                self.lost(entry, facts, count, done)?;
            }
            SWITCH | SWITCH_CPU_WIDE => {
                let other = match entry.kind {
                    SWITCH => 0,
                    _ => match (cursor.u32(), cursor.u32()) {
                        (Some(_), Some(thread)) => thread,
                        _ => return Ok(None),
                    },
                };
                self.switch(entry, &facts, other)?;
            }
            _ => return Ok(Some(Seen::Unknown)),
        }
        Ok(Some(Seen::Known))
    }

    /// Takes a loss. LOST_SAMPLES without a time is of the tool: all that an event lost. LOST has
    /// told a part of that.
    fn lost(
        &mut self,
        entry: &Entry,
        facts: Facts,
        count: u64,
        done: &mut Imported,
    ) -> Result<(), MakeError> {
        if facts.time == 0 {
            match entry.kind {
                LOST => self.losses.timeless(count),
                _ if entry.misc & IS_FILTERED != 0 => {}
                _ => self.losses.total(self.places.of_event(facts.id), count),
            }
            return Ok(());
        }
        let cpu = self.places.of(&facts);
        let from = self.losses.note(cpu, self.now);
        if entry.kind == LOST {
            self.losses.placed(cpu, count);
        }
        self.lose(cpu, from, count, done)
    }

    fn lose(
        &mut self,
        cpu: u32,
        from: u64,
        count: u64,
        done: &mut Imported,
    ) -> Result<(), MakeError> {
        self.switches.lost(cpu);
        done.lost_count = done.lost_count.saturating_add(count.max(1));
        self.tracepoints.lose(&mut self.out, cpu, from, self.now, count)
    }

    /// Adds the row of SWITCH, which is of one thread, unless the tracepoint has told it. That of a
    /// processor names both threads, and comes twice: at the end of a run, and as the next begins.
    fn switch(&mut self, entry: &Entry, facts: &Facts, other: u32) -> Result<(), MakeError> {
        let cpu = self.places.of(facts);
        self.losses.note(cpu, self.now);
        if entry.kind == SWITCH_CPU_WIDE && (self.has.switch || entry.misc & IS_OUT == 0) {
            return Ok(());
        }
        self.places.switched(facts.thread, entry.misc);
        self.is_bound |= entry.kind == SWITCH;
        let thread = self.alias(facts.thread);
        match self.switches.switch(cpu, thread, entry.misc, other) {
            Some(row) => self.out.add(cpu, self.now, &row),
            None => Ok(()),
        }
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
        let (cpu, ticks) = (self.places.of(&facts), self.now);
        if kind == EXIT {
            let thread = self.alias(child);
            if !self.has.exit {
                self.out.add(cpu, ticks, &Exit { thread })?;
            }
            self.places.leave(child);
            // The events of a thread end before its last switch.
            let row = self.is_bound.then(|| self.switches.exit(cpu, thread)).flatten();
            if let Some(row) = row {
                self.out.add(cpu, ticks, &row)?;
            }
            return Ok(Some(Seen::Known));
        }
        self.tracepoints.member(child, process);
        // Those of the beginning have no time: the thread exists.
        match self.has.fork || facts.time == 0 {
            true => self.out.add(cpu, ticks, &Member { thread: child, process })?,
            false => self.out.add(cpu, ticks, &Fork { parent, child, process })?,
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
    pub(super) fn finish(mut self, done: &mut Imported) -> Result<Made, MakeError> {
        for Rest { after, count } in self.losses.rests() {
            match after {
                Some((cpu, from)) => self.lose(cpu, from, count, done)?,
                None => {
                    done.lost_count = done.lost_count.saturating_add(count);
                    self.out.count_lost(None, self.now, count)?;
                }
            }
        }
        done.leave_out(self.left_out().chain(self.tracepoints.left_out()));
        if self.timeless_count > 0 {
            let count = self.timeless_count;
            done.notes.push(format!("{count} records have no time and are left out; {WITH_TIME}"));
        }
        self.tracepoints.finish(&mut self.out)?;
        self.out.finish()
    }
}
