//! The pages of each processor to rows, with stacks and losses.
//!
//! ```text
//!  pages of processor n, in their order ── page ──▶ records ── their stacks after them ──▶ rows
//!                        └── records were lost before this page ──▶ Lost
//! ```
//!
//! A kernel writes the stacks of a record as the records after it.
//!
//! Design: `.waits.page`, `.waits.lost` in `design/waits.md`.

use super::page::{Layout, Page};
use super::stats::Stats;
use super::tracepoints::{Record, Seen, Sort, Tracepoints};
use crate::waits::output::{CPU_COUNT_MAX, Output};
use eventlog::writer::MakeError;

/// What was found in the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Records with a meaning, stacks included.
    pub known: u64,
    /// Records of other tracepoints.
    pub unknown: u64,
    /// Records that are too short for their format.
    pub damaged: u64,
    /// Pages with damage, whose rest is unknown. A `Lost` stands for it.
    pub damaged_pages: u64,
    /// Times that the kernel lost records.
    pub gaps: u64,
    /// Records that the kernel reports as lost, as far as it counts them.
    pub lost: u64,
    /// Switches of processors, which are among the known records.
    pub switches: u64,
    /// The ticks of the first page; 0 without one.
    pub first: u64,
    /// The ticks of the last record.
    pub last: u64,
}

/// The ring buffers of a trace.
#[derive(Debug)]
pub struct Ring {
    layout: Layout,
    cpus: Vec<Cpu>,
    counts: Counts,
    frames: Vec<u64>,
}

/// A processor's ring buffer, as far as it was read.
#[derive(Debug, Default)]
struct Cpu {
    /// The ticks of its last record.
    last: u64,
    /// The last record of a page, whose stacks may be in the next one.
    held: Option<(u64, Vec<u8>)>,
    /// The ticks from which records are unknown, after a damaged page.
    broken: Option<u64>,
    /// Lost records that pages count.
    lost: u64,
    /// Gaps whose page had no room for a count.
    uncounted: u64,
}

impl Ring {
    /// Returns a reader of pages of this layout.
    pub fn new(layout: Layout) -> Ring {
        Ring { layout, cpus: Vec::new(), counts: Counts::default(), frames: Vec::new() }
    }

    /// Returns what was found up to now.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Adds the rows of the next page of a processor. `text` takes the ticks and the text of each
    /// record of `trace_marker`.
    ///
    /// # Errors
    ///
    /// Fails as [`Output::add`] does.
    pub fn page(
        &mut self,
        tracepoints: &mut Tracepoints,
        out: &mut Output<'_>,
        cpu: u32,
        bytes: &[u8],
        text: &mut dyn FnMut(u64, &[u8]),
    ) -> Result<(), MakeError> {
        let cpu = cpu.min(CPU_COUNT_MAX);
        let mut state = self.take(cpu);
        let Some(mut page) = self.layout.open(bytes) else {
            self.counts.damaged_pages += 1;
            state.broken.get_or_insert(state.last);
            self.put_back(cpu, state);
            return Ok(());
        };
        if let Some(count) = page.lost() {
            state.lost = state.lost.saturating_add(count);
            state.uncounted += u64::from(count == 0);
            self.counts.gaps += 1;
            self.counts.lost = self.counts.lost.saturating_add(count);
        }
        if page.lost().is_some() || state.broken.is_some() {
            self.flush(tracepoints, out, cpu, &mut state)?;
            let from = state.broken.take().unwrap_or(state.last);
            let count = page.lost().unwrap_or(0);
            tracepoints.lose(out, cpu, from, page.begin(), count)?;
        }
        self.records(tracepoints, out, cpu, &mut state, &mut page, text)?;
        if page.is_damaged() {
            self.counts.damaged_pages += 1;
            state.broken = Some(page.ticks());
        }
        state.last = page.ticks();
        if self.counts.first == 0 || page.begin() < self.counts.first {
            self.counts.first = page.begin();
        }
        self.counts.last = self.counts.last.max(state.last);
        self.put_back(cpu, state);
        Ok(())
    }

    /// Counts the losses that a kernel's statistics tell and no page. If the page after a gap had
    /// no room for a count, they belong to that gap; else they came after the pages, until `end`.
    /// `is_cut` states that the last pages were not read.
    ///
    /// # Errors
    ///
    /// Fails as [`Output::add`] does.
    pub fn settle(
        &mut self,
        tracepoints: &mut Tracepoints,
        out: &mut Output<'_>,
        stats: &Stats,
        end: u64,
        is_cut: bool,
    ) -> Result<(), MakeError> {
        let cpu = stats.cpu.min(CPU_COUNT_MAX);
        let mut state = self.take(cpu);
        let rest = stats.overwritten.saturating_sub(state.lost);
        let mut after = stats.dropped.saturating_add(if is_cut { stats.unread } else { 0 });
        if state.uncounted > 0 {
            // Each of these gaps counts as one already.
            out.count_lost(Some(cpu), state.last, rest.saturating_sub(state.uncounted))?;
            self.counts.lost = self.counts.lost.saturating_add(rest);
        } else {
            after = after.saturating_add(rest);
        }
        self.counts.lost = self.counts.lost.saturating_add(after);
        if after > 0 || is_cut {
            self.flush(tracepoints, out, cpu, &mut state)?;
            self.counts.gaps += 1;
            tracepoints.lose(out, cpu, state.last, end.max(state.last), after)?;
        }
        self.put_back(cpu, state);
        Ok(())
    }

    /// Adds the rows that wait. Call it after the last page.
    ///
    /// # Errors
    ///
    /// Fails as [`Output::add`] does.
    pub fn finish(
        &mut self,
        tracepoints: &mut Tracepoints,
        out: &mut Output<'_>,
    ) -> Result<(), MakeError> {
        for cpu in 0..self.cpus.len() as u32 {
            let mut state = self.take(cpu);
            self.flush(tracepoints, out, cpu, &mut state)?;
            if let Some(from) = state.broken {
                tracepoints.lose(out, cpu, from, state.last.max(from), 0)?;
            }
        }
        tracepoints.finish(out)
    }

    fn records(
        &mut self,
        tracepoints: &mut Tracepoints,
        out: &mut Output<'_>,
        cpu: u32,
        state: &mut Cpu,
        page: &mut Page<'_>,
        text: &mut dyn FnMut(u64, &[u8]),
    ) -> Result<(), MakeError> {
        let mut next = page.next();
        if state.held.is_some() {
            next = self.stacks(tracepoints, next, page);
            let (ticks, bytes) = state.held.take().unwrap_or_default();
            self.row(tracepoints, out, cpu, ticks, &bytes)?;
        }
        while let Some(record) = next {
            next = page.next();
            match tracepoints.sort(record.bytes) {
                Sort::Event if next.is_none() => {
                    state.held = Some((record.ticks, record.bytes.to_vec()));
                }
                Sort::Event => {
                    next = self.stacks(tracepoints, next, page);
                    self.row(tracepoints, out, cpu, record.ticks, record.bytes)?;
                }
                Sort::Print => {
                    self.counts.known += 1;
                    text(record.ticks, tracepoints.text(record.bytes).unwrap_or_default());
                }
                Sort::KernelStack | Sort::UserStack => self.counts.known += 1,
                Sort::Unknown => {
                    self.counts.unknown += 1;
                    tracepoints.leave_out(record.bytes);
                }
            }
        }
        Ok(())
    }

    /// Reads the stacks of a record: the records after it. Returns the first that is none.
    #[inline]
    fn stacks<'p>(
        &mut self,
        tracepoints: &Tracepoints,
        mut next: Option<super::page::Record<'p>>,
        page: &mut Page<'p>,
    ) -> Option<super::page::Record<'p>> {
        self.frames.clear();
        while let Some(record) = next {
            if !matches!(tracepoints.sort(record.bytes), Sort::KernelStack | Sort::UserStack) {
                break;
            }
            self.counts.known += 1;
            tracepoints.addresses(record.bytes, &mut self.frames);
            next = page.next();
        }
        next
    }

    /// Adds the row of a record, whose stack is in `frames`.
    fn row(
        &mut self,
        tracepoints: &mut Tracepoints,
        out: &mut Output<'_>,
        cpu: u32,
        ticks: u64,
        bytes: &[u8],
    ) -> Result<(), MakeError> {
        let has_stack = !self.frames.is_empty() && tracepoints.has_stack(bytes);
        let frames = self.frames.iter().copied();
        let stack = if has_stack { out.stack(ticks, frames)? } else { 0 };
        match tracepoints.put(out, &Record { cpu, ticks, stack, bytes })? {
            Seen::Known => {
                self.counts.known += 1;
                self.counts.switches += u64::from(tracepoints.is_switch(bytes));
            }
            Seen::Unknown => self.counts.unknown += 1,
            Seen::Damaged => self.counts.damaged += 1,
        }
        Ok(())
    }

    /// Adds the row of the record that waits for its stacks.
    fn flush(
        &mut self,
        tracepoints: &mut Tracepoints,
        out: &mut Output<'_>,
        cpu: u32,
        state: &mut Cpu,
    ) -> Result<(), MakeError> {
        self.frames.clear();
        let Some((ticks, bytes)) = state.held.take() else { return Ok(()) };
        self.row(tracepoints, out, cpu, ticks, &bytes)
    }

    fn take(&mut self, cpu: u32) -> Cpu {
        let at = cpu as usize;
        if self.cpus.len() <= at {
            self.cpus.resize_with(at + 1, Cpu::default);
        }
        self.cpus.get_mut(at).map(std::mem::take).unwrap_or_default()
    }

    fn put_back(&mut self, cpu: u32, state: Cpu) {
        if let Some(place) = self.cpus.get_mut(cpu as usize) {
            *place = state;
        }
    }
}
