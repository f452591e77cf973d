//! Packs events into runs, and runs into blocks and parts.
//!
//! ```text
//!  event ─▶ the run of its buffer and kind ── full, or all too large ──▶ block
//!                                          └─ at most half a block ────▶ part
//! ```
//!
//! A full run waits for the next clock sync, which then stands in the header of its block.
//!
//! A buffer has a run for each kind of its events. The runs of all buffers together have a memory
//! limit: the largest are written first. Rules: 3.2, `.event.number`, section 11 of
//! `design/format.md`.

use super::out::Out;
use super::run::Run;
use crate::format::{
    BLOCK_HEADER_SIZE, BLOCK_MAGIC, BlockHeader, BlockType, ClockSync, NATIVE_FLAGS, NUMBERED,
};
use bytemuck::Zeroable;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::io;
use std::ops::Range;

/// Clock syncs that are kept before the first and after the last event: two syncs tell the times
/// beyond them.
const SYNCS_BEYOND: usize = 2;

/// Bytes of the waiting events of all buffers, at most (few in a test).
pub(super) const MEMORY_MAX: usize = if cfg!(test) { 1 << 12 } else { 32 << 20 };

/// Full runs that wait for a clock sync, at most.
const WAITING_COUNT_MAX: usize = 64;

/// Memory of a run without its events, about.
const RUN_SIZE: usize = 256;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub(super) flags: u8,
    pub(super) registry: u16,
    pub(super) kind: u8,
    pub(super) thread: u32,
    pub(super) buffer: u32,
    pub(super) number: u64,
}

/// The place of the events of the store (`.store`).
pub(super) const STORE: Place =
    Place { flags: NATIVE_FLAGS, registry: 0, kind: 0, thread: 0, buffer: 0, number: 0 };

impl Place {
    /// Returns what all events of a run share.
    fn key(&self) -> Place {
        Place { number: 0, ..*self }
    }
}

/// The counts of a buffer (`.block.discarded`, `.block.overwritten`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) full: u64,
    pub(super) nested: u64,
    pub(super) large: u64,
    pub(super) io: u64,
    pub(super) overwritten: u64,
}

/// Returns a header without events, which ends where the block does.
pub(super) fn header(block_type: BlockType, log2: u8, id: [u8; 8], place: &Place) -> BlockHeader {
    let mut header = BlockHeader::zeroed();
    header.magic = BLOCK_MAGIC;
    header.block_type = block_type as u8;
    header.flags = place.flags;
    header.block_size_log2 = log2;
    header.header_size_words = (BLOCK_HEADER_SIZE / 8) as u8;
    header.registry = place.registry.into();
    header.kind = place.kind;
    header.stream = id;
    header.top = (1 << log2).into();
    header.last = header.top;
    header.buffer = place.buffer.into();
    header.thread = place.thread.into();
    header.first = place.number.into();
    header.sequence = header.first; // `.cut.sequence`
    header
}

/// The runs of one stream.
pub(super) struct Packer {
    id: [u8; 8],
    log2: u8,
    /// The flags of parts without a buffer.
    flags: u8,
    runs: HashMap<Place, Run, RandomState>,
    /// Full runs, which wait for a clock sync.
    waiting: Vec<Run>,
    /// Bytes of all runs.
    memory: usize,
    /// The block that is being written.
    block: Vec<u8>,
    /// The place of the latest event of each buffer, for parts without events.
    ends: HashMap<u32, Place, RandomState>,
    /// The ticks of the first and the last event.
    span: Option<(u64, u64)>,
    syncs: Vec<ClockSync>,
    /// Whether each sync is in a block.
    is_used: Vec<bool>,
}

impl Packer {
    pub(super) fn new(uuid: &[u8; 16], log2: u8, flags: u8, syncs: Vec<ClockSync>) -> Packer {
        Packer {
            id: uuid.first_chunk().copied().unwrap_or_default(),
            log2,
            flags,
            runs: HashMap::default(),
            waiting: Vec::new(),
            memory: 0,
            block: Vec::new(),
            ends: HashMap::default(),
            span: None,
            is_used: vec![false; syncs.len()],
            syncs,
        }
    }

    /// Returns whether an event of a buffer was written.
    pub(super) fn has(&self, buffer: u32) -> bool {
        self.ends.contains_key(&buffer)
    }

    /// Returns the bytes of the waiting events.
    pub(super) fn memory(&self) -> usize {
        self.memory
    }

    /// Adds an event in the bytes of its platform. Returns the previous run of its place if the
    /// event does not fit in it: the caller writes that run.
    #[must_use]
    pub(super) fn add(&mut self, place: &Place, ticks: u64, event: &[u8]) -> Option<Run> {
        let (first, last) = self.span.unwrap_or((ticks, ticks));
        self.span = Some((first.min(ticks), last.max(ticks)));
        let room = (1 << self.log2) - BLOCK_HEADER_SIZE;
        let run = self.runs.entry(place.key()).or_insert_with(|| {
            self.memory += RUN_SIZE;
            Run::new(place, ticks)
        });
        let before = run.size();
        let full = (!run.add(place, ticks, event, room)).then(|| {
            let full = std::mem::replace(run, Run::new(place, ticks));
            run.add(place, ticks, event, room);
            full
        });
        self.memory = self.memory + run.size() - before;
        full
    }

    /// Keeps a full run until the next clock sync. Returns whether too many runs wait.
    #[must_use]
    pub(super) fn wait(&mut self, full: Run) -> bool {
        self.memory += full.size();
        self.waiting.push(full);
        self.waiting.len() >= WAITING_COUNT_MAX
    }

    /// Returns whether runs wait for a clock sync.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Writes the runs that wait, after the store (`.made.names`).
    pub(super) fn flush_waiting(&mut self, out: &mut Out<'_>) -> io::Result<()> {
        if !self.waiting.is_empty() {
            self.flush(&STORE, out)?;
        }
        for run in std::mem::take(&mut self.waiting) {
            self.memory -= run.size();
            self.emit(&run, out)?;
        }
        Ok(())
    }

    /// Writes the largest runs, until the others take at most `to` bytes.
    pub(super) fn shrink(&mut self, to: usize, out: &mut Out<'_>) -> io::Result<()> {
        self.flush_waiting(out)?;
        let mut sizes: Vec<_> = self.runs.iter().map(|(key, run)| (run.size(), *key)).collect();
        sizes.sort_unstable();
        while self.memory > to
            && let Some((_, place)) = sizes.pop()
        {
            self.flush(&place, out)?;
        }
        Ok(())
    }

    pub(super) fn flush(&mut self, place: &Place, out: &mut Out<'_>) -> io::Result<()> {
        let Some(run) = self.runs.remove(&place.key()) else { return Ok(()) };
        self.memory -= run.size() + RUN_SIZE;
        self.emit(&run, out)
    }

    pub(super) fn flush_all(&mut self, out: &mut Out<'_>) -> io::Result<()> {
        self.flush_waiting(out)?;
        self.memory = 0;
        let mut runs: Vec<Run> = self.runs.drain().map(|(_, run)| run).collect();
        runs.sort_by_key(|run| (run.place.buffer, run.place.number));
        runs.iter().try_for_each(|run| self.emit(run, out))
    }

    pub(super) fn emit(&mut self, run: &Run, out: &mut Out<'_>) -> io::Result<()> {
        if run.count == 0 {
            return Ok(());
        }
        let next = Place { number: run.next, ..run.place };
        let end = self.ends.entry(next.buffer).or_insert(next);
        *end = if next.number > end.number { next } else { *end };
        let block_size = 1 << self.log2;
        let mut header = self.header(BlockType::Events, &run.place);
        let last = block_size - run.size();
        header.last = (last as u32).into();
        header.count = run.count.into();
        header.base = run.base.into();
        header.base_last = run.base_last.into();
        if !run.numbers.is_empty() {
            header.flags |= NUMBERED;
        }
        // `.block.sync`: no event in the block is later.
        let at = self.syncs.partition_point(|sync| sync.ticks < run.ticks_max);
        if let (Some(sync), Some(is_used)) = (self.syncs.get(at), self.is_used.get_mut(at))
            && sync.ticks != 0
        {
            header.set_sync(*sync);
            *is_used = true;
        }
        self.block.resize(block_size, 0);
        run.put(self.block.get_mut(last..).unwrap_or_default());
        if run.size() <= block_size / 2 {
            out.part(header, self.block.get(last..).unwrap_or_default())
        } else {
            out.block(header, &mut self.block)
        }
    }

    fn header(&self, block_type: BlockType, place: &Place) -> BlockHeader {
        header(block_type, self.log2, self.id, place)
    }

    /// Returns the clock syncs that tell the times of the events: between the first and the last,
    /// and two on either side (`.cut.sync`).
    pub(super) fn syncs_of_events(&self) -> Range<usize> {
        let Some((first, last)) = self.span else { return 0..0 };
        let from = self.syncs.partition_point(|sync| sync.ticks <= first);
        let to = self.syncs.partition_point(|sync| sync.ticks < last);
        let to = to.saturating_add(SYNCS_BEYOND).max(from.saturating_add(SYNCS_BEYOND));
        // The first and last two syncs tell the times beyond the ends.
        from.saturating_sub(SYNCS_BEYOND)..to.min(self.syncs.len())
    }

    pub(super) fn add_sync(&mut self, sync: ClockSync) {
        let at = self.syncs.partition_point(|other| other.ticks <= sync.ticks);
        self.syncs.insert(at, sync);
        self.is_used.insert(at, false);
    }

    pub(super) fn sync_count(&self) -> usize {
        self.syncs.len()
    }

    /// Writes all clock syncs that are in no block, and removes them.
    pub(super) fn flush_syncs(&mut self, out: &mut Out<'_>) -> io::Result<()> {
        self.write_syncs(0..self.syncs.len(), out)?;
        self.syncs.clear();
        self.is_used.clear();
        Ok(())
    }

    /// Writes the clock syncs of a range that are in no block.
    pub(super) fn write_syncs(&mut self, which: Range<usize>, out: &mut Out<'_>) -> io::Result<()> {
        let first = self.ends.values().min_by_key(|place| place.buffer).copied();
        let place = first.unwrap_or(Place { flags: self.flags, ..Place::default() });
        for at in which {
            if let (Some(sync), Some(false)) = (self.syncs.get(at), self.is_used.get(at))
                && sync.ticks != 0
            {
                let mut header = self.header(BlockType::Events, &place);
                header.set_sync(*sync);
                out.part(header, &[])?;
            }
        }
        Ok(())
    }

    /// Writes the counts of a buffer as a part without events (`.cut.account`).
    pub(super) fn write_account(
        &self,
        place: &Place,
        counts: &Counts,
        out: &mut Out<'_>,
    ) -> io::Result<()> {
        let short = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let io = short(counts.io);
        let beyond = counts.io - u64::from(io);
        let mut header = self.header(BlockType::Events, place);
        header.overwritten = counts.overwritten.saturating_add(beyond).into();
        header.discarded_full = short(counts.full).into();
        header.discarded_nested = short(counts.nested).into();
        header.discarded_large = short(counts.large).into();
        header.discarded_io = io.into();
        out.part(header, &[])
    }

    /// Writes the end mark: the stream was closed, or goes on in another volume (`.part.end`,
    /// `.volume.end`).
    pub(super) fn write_end(&self, next_volume: u64, out: &mut Out<'_>) -> io::Result<()> {
        let place = Place { flags: self.flags, number: next_volume, ..Place::default() };
        let mut header = self.header(BlockType::End, &place);
        header.last = 0.into();
        header.top = 0.into();
        out.part(header, &[])
    }
}
