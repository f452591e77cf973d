//! The pages of a recording to its log.
//!
//! ```text
//!  spill ── first pass: markers ──▶ syncs ──▶ ticks of what /proc told
//!        └─ second pass: records ──▶ rows ──▶ log
//! ```
//!
//! Design: `.waits.record` in `design/waits.md`.

use crate::clock::{Clocks, Syncs};
use crate::drain::{Chunk, Spill};
use crate::error::CollectError;
use crate::perf::{Teller, Told};
use crate::rings::each;
use crate::stolen;
use crate::threads::{Place, Places, Symbols, Thread};
use eventdef::field::A;
use eventlog::format::{ClockSource, ClockSync};
use eventlog::writer::{MakeError, Origin};
use lens::waits::events::kernel::{Inside, Mapping, OpenFile, ThreadExists};
use lens::waits::output::Output;
use lens::waits::source::page::Layout;
use lens::waits::source::ring::{Counts, Ring};
use lens::waits::source::stats::Stats;
use lens::waits::source::tracepoints::{Sort, Tracepoints};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// Events of the log.
    pub event_count: u64,
    /// Bytes of the log.
    pub size: u64,
    /// Records, as far as they were read.
    pub counts: Counts,
    /// Records that the kernel reports as read.
    pub read_count: u64,
    /// Records that the kernel reports as lost.
    pub lost_count: u64,
    /// Samples of running threads.
    pub sample_count: u64,
    /// Switches of processors.
    pub switch_count: u64,
    /// From the first to the last event, in ns; of a recording cut short the rate of the clock may
    /// be unknown.
    pub duration: Option<u64>,
    /// What the log lacks, one sentence each.
    pub notes: Vec<String>,
}

/// How the pages are read.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) layout: Layout,
    pub(super) tracepoints: Tracepoints,
    /// Whether ticks are those of the processor's counter.
    pub(super) is_tsc: bool,
}

/// What a thread does while others drain: clock syncs, looks at /proc.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) clocks: Clocks,
    pub(super) places: Places,
}

/// Bytes of the spill that are read in one step.
const STEP: usize = 1 << 20;

/// A recording that ended.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) spill: Arc<Spill>,
    /// The chunks of each thread that drained.
    pub(super) chunks: Vec<Vec<Chunk>>,
    pub(super) work: Work,
    pub(super) before: Vec<Thread>,
    pub(super) after: Vec<Thread>,
    /// The processors that a hypervisor took, and for how long, in ns.
    pub(super) stolen: Vec<(u32, u64)>,
    pub(super) symbols: Symbols,
    /// The samples of threads, and why the last ones are missing, if they are.
    pub(super) samples: Option<(File, Option<io::Error>)>,
    pub(super) stats: Vec<Stats>,
    /// Whether the last pages were left in the kernel.
    pub(super) is_cut: bool,
}

/// Writes the log of a recording.
pub(super) fn decode(
    mut trace: Trace,
    mut decoded: Decoded,
    notes: Vec<String>,
    out: &mut dyn Write,
) -> Result<Recorded, CollectError> {
    let (found, begin) = markers(&trace, &mut decoded)?;
    let syncs = Syncs::new(found);
    let origin = origin(&trace, &syncs);
    let mut output = Output::new(out, &origin)?;
    let told = decoded.before.first().map(|thread| syncs.ticks(thread.at));
    output.begin_at(told.unwrap_or(begin).min(begin));
    for sync in syncs.all() {
        output.sync(*sync)?;
    }
    for thread in &decoded.before {
        trace.tracepoints.member(thread.thread, thread.process);
        put_thread(&mut output, &syncs, thread)?;
    }
    for (at, place) in &decoded.work.places.all {
        put_place(&mut output, syncs.ticks(*at), place)?;
    }
    let counts = records(&mut trace, &mut decoded, &syncs, &mut output)?;
    let told = samples(&mut decoded, &syncs, &mut output)?;
    for thread in &decoded.after {
        put_thread(&mut output, &syncs, thread)?;
    }
    let end = syncs.all().last().map_or(0, |sync| sync.ticks);
    stolen::put(&mut output, end, &decoded.stolen)?;
    let made = output.finish()?;
    let mut recorded = Recorded {
        event_count: made.event_count,
        size: made.size,
        counts,
        read_count: decoded.stats.iter().map(|stats| stats.read).sum(),
        lost_count: counts.lost,
        switch_count: counts.switches,
        sample_count: told.samples,
        duration: duration(&syncs, &counts),
        notes,
    };
    if told.lost > 0 {
        recorded.notes.push(format!("the kernel lost {} samples", told.lost));
    }
    if let Some((_, Some(error))) = &decoded.samples {
        let note = format!("samples are missing at the end: cannot keep them ({error})");
        recorded.notes.push(note);
    }
    if counts.damaged > 0 || counts.damaged_pages > 0 {
        recorded.notes.push(format!(
            "{} records and {} pages of the kernel are damaged",
            counts.damaged, counts.damaged_pages
        ));
    }
    Ok(recorded)
}

fn duration(syncs: &Syncs, counts: &Counts) -> Option<u64> {
    let ticks = u128::from(counts.last.saturating_sub(counts.first));
    (ticks * 1_000_000_000).checked_div(u128::from(syncs.rate()))?.try_into().ok()
}

fn origin(trace: &Trace, syncs: &Syncs) -> Origin {
    let mut origin = machine_facts();
    if trace.is_tsc {
        origin.clock_source = ClockSource::Tsc;
        origin.clock_rate = syncs.rate();
    }
    if let Some(first) = syncs.all().first() {
        origin.sync = *first;
    }
    origin
}

/// Returns the facts of a log of this machine, without its clock.
pub(super) fn machine_facts() -> Origin {
    let mut origin = Origin::new();
    let text = |path| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let boot = text("/proc/sys/kernel/random/boot_id").replace('-', "");
    origin.boot_id = u128::from_str_radix(&boot, 16).unwrap_or(0).to_be_bytes();
    origin.host = text("/proc/sys/kernel/hostname");
    origin.program = "kernel".into();
    origin.producer = concat!("waits record ", env!("CARGO_PKG_VERSION")).into();
    origin
}

/// The pages that one thread drained, in their order.
struct Pages<'s> {
    spill: &'s File,
    chunks: std::slice::Iter<'s, Chunk>,
    page_size: usize,
    /// What is left of the chunk.
    chunk: Chunk,
    /// A part of it, and how much of that was read.
    bytes: Vec<u8>,
    at: usize,
}

impl<'s> Pages<'s> {
    fn new(
        spill: &'s File,
        chunks: &'s [Chunk],
        page_size: usize,
    ) -> Result<Pages<'s>, CollectError> {
        let (chunks, chunk) = (chunks.iter(), Chunk { cpu: 0, place: 0, size: 0 });
        let mut pages = Pages { spill, chunks, page_size, chunk, bytes: Vec::new(), at: 0 };
        pages.turn()?;
        Ok(pages)
    }

    /// Returns the page that is next, and its processor.
    fn page(&self) -> Option<(u32, &[u8])> {
        Some((self.chunk.cpu, self.bytes.get(self.at..self.at + self.page_size)?))
    }

    /// Goes on to the next page.
    fn turn(&mut self) -> Result<(), CollectError> {
        self.at += self.page_size;
        if self.at < self.bytes.len() {
            return Ok(());
        }
        if self.chunk.size == 0
            && let Some(next) = self.chunks.next()
        {
            self.chunk = *next;
        }
        let most = (STEP / self.page_size).max(1) * self.page_size;
        let size = self.chunk.size.min(most as u64);
        self.bytes.resize(size as usize, 0);
        let read = self.spill.read_exact_at(&mut self.bytes, self.chunk.place);
        read.map_err(CollectError::Spill)?;
        (self.chunk.place, self.chunk.size) = (self.chunk.place + size, self.chunk.size - size);
        self.at = 0;
        Ok(())
    }
}

/// Calls `page` with each page of the spill and its processor. Of the pages that are next, each of
/// another thread that drained, the one that begins first comes first.
fn pages(
    spill: &Spill,
    chunks: &[Vec<Chunk>],
    layout: &Layout,
    mut page: impl FnMut(u32, &[u8]) -> Result<(), CollectError>,
) -> Result<(), CollectError> {
    let begun = chunks.iter().map(|chunks| Pages::new(&spill.file, chunks, layout.page_size));
    let mut all = begun.collect::<Result<Vec<_>, _>>()?;
    let begin = |own: &Pages<'_>| {
        let (_, bytes) = own.page()?;
        Some(layout.open(bytes).map_or(0, |page| page.begin()))
    };
    let mut begins: Vec<Option<u64>> = all.iter().map(begin).collect();
    let next = |begins: &[Option<u64>]| {
        (0..).zip(begins).filter_map(|(at, own)| Some(((*own)?, at))).min()
    };
    while let Some((_, at)) = next(&begins) {
        let (Some(own), Some(place)) = (all.get_mut(at), begins.get_mut(at)) else { break };
        if let Some((cpu, bytes)) = own.page() {
            page(cpu, bytes)?;
        }
        own.turn()?;
        *place = begin(own);
    }
    Ok(())
}

/// Returns the clock syncs of the markers, and the ticks of the first page.
fn markers(trace: &Trace, decoded: &mut Decoded) -> Result<(Vec<ClockSync>, u64), CollectError> {
    let (mut found, mut begin) = (Vec::new(), u64::MAX);
    let Decoded { spill, chunks, work, .. } = decoded;
    pages(spill, chunks, &trace.layout, |_, bytes| {
        let page = trace.layout.open(bytes);
        begin = begin.min(page.as_ref().map_or(begin, |page| page.begin()));
        for record in page.into_iter().flatten() {
            if trace.tracepoints.sort(record.bytes) == Sort::Print {
                let text = trace.tracepoints.text(record.bytes).unwrap_or_default();
                found.extend(work.clocks.sync(text, record.ticks));
            }
        }
        Ok(())
    })?;
    Ok((found, begin))
}

/// Adds the rows of all records.
fn records(
    trace: &mut Trace,
    decoded: &mut Decoded,
    syncs: &Syncs,
    output: &mut Output<'_>,
) -> Result<Counts, CollectError> {
    let Trace { layout, tracepoints, .. } = trace;
    let mut ring = Ring::new(*layout);
    let Decoded { spill, chunks, symbols, stats, is_cut, .. } = decoded;
    let mut named = Named { symbols, first: syncs.all().first().map_or(0, |sync| sync.ticks) };
    pages(spill, chunks, layout, |cpu, bytes| {
        named.name(layout, tracepoints, output, bytes)?;
        Ok(ring.page(tracepoints, output, cpu, bytes, &mut |_, _| {})?)
    })?;
    let end = syncs.all().last().map_or(0, |sync| sync.ticks);
    for stats in stats {
        ring.settle(tracepoints, output, stats, end, *is_cut)?;
    }
    ring.finish(tracepoints, output)?;
    Ok(ring.counts())
}

/// Adds the samples of threads.
fn samples(
    decoded: &mut Decoded,
    syncs: &Syncs,
    output: &mut Output<'_>,
) -> Result<Told, CollectError> {
    let ticks = |ns| syncs.ticks(ns);
    let mut told = Teller::new(false, &ticks);
    let Decoded { samples: Some((spill, _)), symbols, .. } = decoded else {
        return Ok(told.counts);
    };
    let first = syncs.all().first().map_or(0, |sync| sync.ticks);
    each(spill, |entry| {
        told.take(output, entry)?;
        for frame in told.frames() {
            if let Some(name) = symbols.name(*frame) {
                output.symbol(first, *frame, name)?;
            }
        }
        Ok(())
    })?;
    Ok(told.counts)
}

/// The functions of the kernel that stacks have.
struct Named<'s> {
    symbols: &'s Symbols,
    /// The ticks from which on they have names.
    first: u64,
}

impl Named<'_> {
    /// Names the addresses in the stacks of a page.
    fn name(
        &mut self,
        layout: &Layout,
        tracepoints: &Tracepoints,
        output: &mut Output<'_>,
        page: &[u8],
    ) -> Result<(), MakeError> {
        if self.symbols.first().is_none() {
            return Ok(());
        }
        let mut frames = Vec::new();
        for record in layout.open(page).into_iter().flatten() {
            if tracepoints.sort(record.bytes) == Sort::KernelStack {
                frames.clear();
                tracepoints.addresses(record.bytes, &mut frames);
                for frame in &frames {
                    if let Some(name) = self.symbols.name(*frame) {
                        output.symbol(self.first, *frame, name)?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn put_thread(
    output: &mut Output<'_>,
    syncs: &Syncs,
    &Thread { at, thread, process, number, state, ref name }: &Thread,
) -> Result<(), MakeError> {
    let ticks = syncs.ticks(at);
    output.thread(ticks, thread, process, name)?;
    output.seen(ticks, &ThreadExists { thread, process, state })?;
    if number != thread {
        output.seen(ticks, &Inside { thread, number })?;
    }
    Ok(())
}

pub(super) fn put_place(
    output: &mut Output<'_>,
    ticks: u64,
    place: &Place,
) -> Result<(), MakeError> {
    match place {
        Place::File { process, file, path } => {
            output.name(ticks, &OpenFile { process: *process, file: *file, path })
        }
        Place::Code { process, start, size, offset, path } => {
            let (size, offset) = (*size as usize, *offset as usize);
            let start = A(*start as usize);
            output.name(ticks, &Mapping { start, size, offset, process: *process, path })
        }
    }
}
