//! Records of perf_event_open to rows.
//!
//! ```text
//!  SWITCH of a thread ──▶ Switch, with the idle thread as the other     EXIT ──▶ Exit, Switch
//!  SAMPLE ──▶ Frame, CpuSample     COMM ──▶ ThreadName, Exec     FORK ──▶ Fork     LOST ──▶ Lost
//! ```
//!
//! Design: `.waits.samples`, `.waits.degrees` in `design/waits.md`.

use crate::rings::Entry;
use eventdef::field::A;
use eventlog::writer::MakeError;
use lens::waits::events::kernel::{CpuSample, Exec, Exit, Fork, Mapping};
use lens::waits::output::Output;
use lens::waits::source::cursor::{Cursor, until_zero};
use lens::waits::source::format::Machine;
use lens::waits::source::switches::{GONE, IS_OUT, Switches};

// The kinds of records; linux/perf_event.h.
const MMAP: u16 = 1;
const LOST: u16 = 2;
const COMM: u16 = 3;
const EXIT: u16 = 4;
const FORK: u16 = 7;
const SAMPLE: u16 = 9;
const LOST_SAMPLES: u16 = 13;
const SWITCH: u16 = 14;
/// From here on, a stack has markers of its context, and no addresses.
const MARKER_MIN: u64 = 4096_u64.wrapping_neg();
/// The end of each record but a sample: process, thread, time, processor.
const TAIL_SIZE: usize = 24;

/// What the rings told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) samples: u64,
    pub(super) switches: u64,
    pub(super) lost: u64,
    pub(super) gaps: u64,
    pub(super) damaged: u64,
    /// Times of the first and the last record; 0 without one.
    pub(super) first: u64,
    pub(super) last: u64,
}

/// Turns records to rows.
pub(super) struct Teller<'t> {
    /// Whether the rings alone tell of switches, names and losses: else tracefs does.
    is_own: bool,
    /// The ticks of a time of CLOCK_MONOTONIC.
    ticks: &'t dyn Fn(u64) -> u64,
    pub(super) counts: Told,
    /// The ticks of the last row, by processor.
    last: Vec<u64>,
    switches: Switches,
    frames: Vec<u64>,
}

/// A record but a sample: where and when it was written, and its body.
struct Record<'e> {
    cpu: u32,
    misc: u16,
    thread: u32,
    ns: u64,
    body: Cursor<'e>,
}

/// What becomes of a record: `None` if it is damaged.
type Taken = Result<Option<()>, MakeError>;

impl<'t> Teller<'t> {
    pub(super) fn new(is_own: bool, ticks: &'t dyn Fn(u64) -> u64) -> Teller<'t> {
        let (counts, switches) = (Told::default(), Switches::default());
        Teller { is_own, ticks, counts, last: Vec::new(), switches, frames: Vec::new() }
    }

    /// Returns the addresses of the last stack.
    pub(super) fn frames(&self) -> &[u64] {
        &self.frames
    }

    /// Adds the rows of a record.
    pub(super) fn take(&mut self, out: &mut Output<'_>, entry: &Entry) -> Result<(), MakeError> {
        let is_known = match entry.kind {
            SAMPLE => self.sample(out, entry)?,
            MMAP | LOST | LOST_SAMPLES => self.other(out, entry)?,
            // The kernel tells ends and forks with mappings, too.
            COMM | EXIT | FORK | SWITCH if self.is_own => self.other(out, entry)?,
            _ => Some(()),
        };
        self.counts.damaged += u64::from(is_known.is_none());
        Ok(())
    }

    /// Returns the ticks of a record, which are never before those of the row before.
    fn now(&mut self, cpu: u32, ns: u64) -> u64 {
        let at = cpu.min(lens::waits::output::CPU_COUNT_MAX) as usize;
        if self.last.len() <= at {
            self.last.resize(at + 1, 0);
        }
        if self.counts.first == 0 || ns < self.counts.first {
            self.counts.first = ns;
        }
        self.counts.last = self.counts.last.max(ns);
        let ticks = (self.ticks)(ns);
        match self.last.get_mut(at) {
            Some(last) => {
                *last = ticks.max(*last);
                *last
            }
            None => ticks,
        }
    }

    fn sample(&mut self, out: &mut Output<'_>, entry: &Entry) -> Taken {
        let mut cursor = Cursor::new(Machine::HERE, &entry.bytes);
        let head = (cursor.u32(), cursor.u32(), cursor.u64(), cursor.u64(), cursor.u64());
        let (Some(_), Some(thread), Some(ns), Some(_), Some(count)) = head else {
            return Ok(None);
        };
        if thread == 0 || thread == GONE {
            return Ok(Some(()));
        }
        let ticks = self.now(entry.cpu, ns);
        self.frames.clear();
        for _ in 0..count {
            let Some(address) = cursor.u64() else { return Ok(None) };
            if address < MARKER_MIN {
                self.frames.push(address);
            }
        }
        let stack = out.stack(ticks, self.frames.iter().copied())?;
        self.counts.samples += 1;
        out.sample(entry.cpu, ticks, &CpuSample { thread, stack })?;
        Ok(Some(()))
    }

    fn other(&mut self, out: &mut Output<'_>, entry: &Entry) -> Taken {
        let Some(size) = entry.bytes.len().checked_sub(TAIL_SIZE) else { return Ok(None) };
        let Some((body, tail)) = entry.bytes.split_at_checked(size) else { return Ok(None) };
        let mut tail = Cursor::new(Machine::HERE, tail);
        let facts = (tail.u32(), tail.u32(), tail.u64());
        let (Some(_), Some(thread), Some(ns)) = facts else { return Ok(None) };
        let mut body = Cursor::new(Machine::HERE, body);
        let record = |body| Record { cpu: entry.cpu, misc: entry.misc, thread, ns, body };
        match entry.kind {
            SWITCH => return self.switch(out, &record(body)),
            MMAP => return self.mapping(out, record(body)),
            FORK | EXIT => return self.task(out, entry.kind, record(body)),
            COMM => {
                let (Some(process), Some(thread)) = (body.u32(), body.u32()) else {
                    return Ok(None);
                };
                let ticks = self.now(entry.cpu, ns);
                let name = until_zero(body.rest);
                out.thread(ticks, thread, process, name)?;
                if entry.misc & IS_OUT != 0 {
                    // The number before is not told: it differs only if a later thread ran it.
                    out.add(entry.cpu, ticks, &Exec { thread, was: thread, path: name })?;
                    self.switches.told(entry.cpu, 0, thread);
                }
            }
            LOST | LOST_SAMPLES => {
                let skipped = if entry.kind == LOST { body.u64() } else { Some(0) };
                let (Some(_), Some(count)) = (skipped, body.u64()) else { return Ok(None) };
                let at = self.last.get(entry.cpu as usize).copied().unwrap_or(0);
                let ticks = self.now(entry.cpu, ns);
                self.switches.lost(entry.cpu);
                self.counts.lost = self.counts.lost.saturating_add(count);
                self.counts.gaps += 1;
                if self.is_own {
                    out.lose(entry.cpu, at, ticks, count)?;
                }
            }
            _ => {}
        }
        Ok(Some(()))
    }

    fn switch(&mut self, out: &mut Output<'_>, record: &Record<'_>) -> Taken {
        let ticks = self.now(record.cpu, record.ns);
        self.counts.switches += 1;
        if let Some(row) = self.switches.switch(record.cpu, record.thread, record.misc, 0) {
            out.add(record.cpu, ticks, &row)?;
        }
        Ok(Some(()))
    }

    fn mapping(&mut self, out: &mut Output<'_>, mut record: Record<'_>) -> Taken {
        let body = &mut record.body;
        let head = (body.u32(), body.u32(), body.u64(), body.u64(), body.u64());
        let (Some(process), Some(_), Some(start), Some(size), Some(offset)) = head else {
            return Ok(None);
        };
        let path = until_zero(body.rest);
        let is_file = path.first() == Some(&b'/') && !path.starts_with(b"//");
        if is_file && process != GONE {
            let (start, size) = (A(start as usize), size as usize);
            let ticks = self.now(record.cpu, record.ns);
            let offset = offset as usize;
            out.name(ticks, &Mapping { start, size, offset, process, path })?;
        }
        Ok(Some(()))
    }

    /// FORK and EXIT.
    fn task(&mut self, out: &mut Output<'_>, kind: u16, mut record: Record<'_>) -> Taken {
        let body = &mut record.body;
        let head = (body.u32(), body.u32(), body.u32(), body.u32());
        let (Some(process), Some(_), Some(thread), Some(parent)) = head else { return Ok(None) };
        let ticks = self.now(record.cpu, record.ns);
        if kind == FORK {
            out.add(record.cpu, ticks, &Fork { parent, child: thread, process })?;
            return Ok(Some(()));
        }
        let thread = if thread == GONE { record.thread } else { thread };
        if thread != GONE {
            out.add(record.cpu, ticks, &Exit { thread })?;
            if let Some(row) = self.switches.exit(record.cpu, thread) {
                out.add(record.cpu, ticks, &row)?;
            }
        }
        Ok(Some(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eventlog::reader::{Filter, Log, Order};
    use eventlog::writer::Origin;
    use lens::waits::source::switches::IS_PREEMPTED;

    /// Returns a record: its words of 32 bits, and the end that names its thread and time.
    fn entry(kind: u16, misc: u16, words: &[u32], thread: u32, ns: u64) -> Entry {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend([thread, thread].into_iter().flat_map(u32::to_ne_bytes));
        bytes.extend([ns, 0].into_iter().flat_map(u64::to_ne_bytes));
        Entry { cpu: 0, kind, misc, bytes }
    }

    fn sample(thread: u32, ns: u64, frames: &[u64]) -> Entry {
        let mut entry = entry(SAMPLE, 0, &[], thread, ns);
        let words = [&[frames.len() as u64], frames].concat();
        entry.bytes.extend(words.into_iter().flat_map(u64::to_ne_bytes));
        entry
    }

    fn rows(is_own: bool, entries: &[Entry]) -> (Told, Vec<String>) {
        let (ticks, mut bytes) = (|ns| ns, Vec::new());
        let mut teller = Teller::new(is_own, &ticks);
        let mut out = Output::new(&mut bytes, &Origin::new()).unwrap();
        for entry in entries {
            teller.take(&mut out, entry).unwrap();
        }
        out.finish().unwrap();
        let log = Log::from_source(bytes).unwrap();
        let mut events = log.events(Order::Time, &Filter::default());
        let mut rows = Vec::new();
        while let Some(event) = events.next() {
            if event.name() != "Thread" {
                let values = event.params().map(|(_, value)| format!(" {value}"));
                rows.push(format!("{}{}", event.name(), values.collect::<String>()));
            }
        }
        (teller.counts, rows)
    }

    fn all() -> Vec<Entry> {
        let name = u32::from_ne_bytes(*b"cat\0");
        vec![
            entry(COMM, IS_OUT, &[7, 7, name, 0], 7, 100),
            entry(SWITCH, IS_OUT | IS_PREEMPTED, &[], 7, 200),
            entry(SWITCH, 0, &[], 7, 300),
            sample(7, 350, &[MARKER_MIN, 0x10, 0x20]),
            entry(FORK, 0, &[8, 7, 8, 7], 7, 400),
            entry(LOST, 0, &[0, 0, 5, 0], 7, 450),
            entry(EXIT, 0, &[7, 1, 7, 1], 7, 500),
            entry(SWITCH, 0, &[], 9, 600),
            entry(SWITCH, IS_OUT, &[], GONE, 700),
        ]
    }

    #[test]
    fn own_records_become_rows() {
        let (counts, rows) = rows(true, &all());
        let expected = [
            "ThreadName 7 7 cat",
            "Frame 1 0 0x20",
            "Frame 2 1 0x10",
            "Exec 7 7 cat",
            "Switch 7 0 0 0",
            "Switch 0 7 0 0",
            "CpuSample 7 2",
            "Fork 7 8 8",
            "Lost 400 5",
            "Exit 7",
            "Switch 7 0 32 0",
            "Switch 0 9 0 0",
            "Switch 9 0 32 0",
        ];
        assert_eq!(rows, expected);
        assert_eq!((counts.samples, counts.switches, counts.lost, counts.damaged), (1, 4, 5, 0));
    }

    #[test]
    fn next_to_tracefs_only_samples_become_rows() {
        let (counts, rows) = rows(false, &all());
        assert_eq!(rows, ["Frame 1 0 0x20", "Frame 2 1 0x10", "CpuSample 7 2"]);
        assert_eq!((counts.lost, counts.damaged), (5, 0));
    }

    #[test]
    fn a_record_that_is_cut_or_changed_is_counted_or_read() {
        for (at, whole) in all().into_iter().enumerate() {
            for size in 0..whole.bytes.len() {
                let bytes = whole.bytes[..size].to_vec();
                let entry = Entry { bytes, ..whole };
                let (counts, _) = rows(true, &[entry]);
                // Only text may be shorter.
                let is_fixed = !matches!(whole.kind, COMM);
                assert!(!is_fixed || size >= TAIL_SIZE || counts.damaged == 1, "{at}, {size}");
            }
            for at in 0..whole.bytes.len() {
                let mut bytes = whole.bytes.clone();
                bytes[at] ^= 0xFF;
                rows(true, &[Entry { bytes, ..whole }]);
            }
        }
    }
}
