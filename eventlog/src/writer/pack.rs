//! Events to runs of numbers, and runs to blocks and parts.
//!
//! ```text
//!  buffer 3:  7 8 9 · · 12 13 14 … ──▶ a run ends where a block is full; which numbers were left
//!             │ 3 2 │ …  numbers       out stands in it, if any were
//!  a run of less than half a block is a part
//! ```
//!
//! Runs of all buffers together have a bounded size: the largest go first. Rules: 3.2,
//! `.event.number`, section 11 of `design/format.md`.

use super::out::Out;
use crate::format::{
    BASE_RECORD_SIZE, BIG_ENDIAN, BLOCK_HEADER_SIZE, BLOCK_MAGIC, BlockHeader, BlockType,
    ClockSync, EVENT_HEADER_SIZE, EVENT_SIZE_MAX, NUMBERED,
};
use crate::reader::{Account, Platform, Registry, Stream};
use crate::reader::{entry, numbers};
use bytemuck::Zeroable;
use std::collections::HashMap;
use std::{io, iter};

/// Clock syncs that are kept before the first event and after the last one: by two, times beyond
/// are told.
const SYNCS_BEYOND: usize = 2;

/// Bytes of events that wait for their blocks to be filled, of all buffers (few in a test).
const MEMORY_MAX: usize = if cfg!(test) { 1 << 12 } else { 32 << 20 };

/// The flags of the blocks of a platform.
pub(super) fn flags(platform: Platform) -> u8 {
    entry::flags_of(platform)
}

/// Where an event belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) flags: u8,
    pub(super) registry: u16,
    pub(super) kind: u8,
    pub(super) thread: u32,
    pub(super) buffer: u32,
    pub(super) number: u64,
}

/// Events of one buffer in the order of their numbers: a block that is being filled.
struct Run {
    /// Of its oldest event.
    place: Place,
    /// The number after its newest event.
    next: u64,
    count: u32,
    base: u64,
    base_last: u64,
    ticks_max: u64,
    /// Events and base records, the oldest first.
    events: Vec<u8>,
    /// Which numbers were left out (`.cut.numbers`): how many events follow on one another, and how
    /// many numbers are left out after them.
    numbers: Vec<u8>,
    /// Events since numbers were left out.
    followed: u64,
}

/// The runs of one stream.
pub(super) struct Packer {
    id: [u8; 8],
    log2: u8,
    runs: HashMap<u32, Run>,
    /// Bytes of all runs.
    memory: usize,
    /// The block that is being written.
    block: Vec<u8>,
    /// The latest event of each buffer, by number: to say whose an empty part is.
    ends: HashMap<u32, Place>,
    /// From the first event to the last one.
    span: Option<(u64, u64)>,
    syncs: Vec<ClockSync>,
    /// Which of them are in a block.
    is_used: Vec<bool>,
}

impl Packer {
    pub(super) fn new(stream: &Stream, uuid: &[u8; 16], log2: u8) -> Packer {
        let syncs = stream.syncs.clone();
        Packer {
            id: uuid.first_chunk().copied().unwrap_or_default(),
            log2,
            runs: HashMap::new(),
            memory: 0,
            block: Vec::new(),
            ends: HashMap::new(),
            span: None,
            is_used: vec![false; syncs.len()],
            syncs,
        }
    }

    /// Whether any event of a buffer was written.
    pub(super) fn has(&self, buffer: u32) -> bool {
        self.ends.contains_key(&buffer)
    }

    /// Adds an event, in the bytes of its platform.
    pub(super) fn add(
        &mut self,
        place: &Place,
        ticks: u64,
        event: &[u8],
        out: &mut Out<'_>,
    ) -> io::Result<()> {
        let (first, last) = self.span.unwrap_or((ticks, ticks));
        self.span = Some((first.min(ticks), last.max(ticks)));
        let next = Place { number: place.number.wrapping_add(1), ..*place };
        let end = self.ends.entry(place.buffer).or_insert(next);
        *end = if next.number > end.number { next } else { *end };
        let room = (1 << self.log2) - BLOCK_HEADER_SIZE;
        let run = self.runs.entry(place.buffer).or_insert_with(|| Run::new(place, ticks));
        let before = run.size();
        if !run.add(place, ticks, event, room) {
            let full = std::mem::replace(run, Run::new(place, ticks));
            self.memory -= before;
            let added = run.add(place, ticks, event, room).then(|| run.size());
            self.memory += added.unwrap_or(0);
            return self.emit(&full, out);
        }
        self.memory += run.size() - before;
        if self.memory > MEMORY_MAX { self.make_room(out) } else { Ok(()) }
    }

    /// Writes the largest runs, until half of what all may take is left.
    fn make_room(&mut self, out: &mut Out<'_>) -> io::Result<()> {
        let mut sizes: Vec<_> = self.runs.iter().map(|(key, run)| (run.size(), *key)).collect();
        sizes.sort_unstable();
        while self.memory > MEMORY_MAX / 2
            && let Some((_, buffer)) = sizes.pop()
            && let Some(run) = self.runs.remove(&buffer)
        {
            self.memory -= run.size();
            self.emit(&run, out)?;
        }
        Ok(())
    }

    /// Writes all runs.
    pub(super) fn flush_all(&mut self, out: &mut Out<'_>) -> io::Result<()> {
        self.memory = 0;
        let mut runs: Vec<Run> = self.runs.drain().map(|(_, run)| run).collect();
        runs.sort_by_key(|run| run.place.buffer);
        runs.iter().try_for_each(|run| self.emit(run, out))
    }

    /// Writes a run.
    fn emit(&mut self, run: &Run, out: &mut Out<'_>) -> io::Result<()> {
        if run.count == 0 {
            return Ok(());
        }
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
        if run.size() <= (block_size / 2).min(out.part_room()) {
            out.part(header, self.block.get(last..).unwrap_or_default())
        } else {
            out.block(header, &mut self.block)
        }
    }

    /// A header with no events, which ends where the block does.
    fn header(&self, block_type: BlockType, place: &Place) -> BlockHeader {
        let mut header = BlockHeader::zeroed();
        header.magic = BLOCK_MAGIC;
        header.block_type = block_type as u8;
        header.flags = place.flags;
        header.block_size_log2 = self.log2;
        header.header_size_words = (BLOCK_HEADER_SIZE / 8) as u8;
        header.registry = place.registry.into();
        header.kind = place.kind;
        header.stream = self.id;
        header.top = (1 << self.log2).into();
        header.last = header.top;
        header.buffer = place.buffer.into();
        header.thread = place.thread.into();
        header.first = place.number.into();
        header.sequence = header.first; // `.cut.sequence`
        header
    }

    /// Writes those clock syncs that tell the times of the events and are in no block
    /// (`.cut.sync`).
    pub(super) fn write_syncs(&mut self, stream: &Stream, out: &mut Out<'_>) -> io::Result<()> {
        let Some((first, last)) = self.span else { return Ok(()) };
        let Some(place) = self.ends.values().min_by_key(|place| place.buffer).copied() else {
            return Ok(());
        };
        let from = self.syncs.partition_point(|sync| sync.ticks <= first);
        let to = self.syncs.partition_point(|sync| sync.ticks < last);
        let to = to.saturating_add(SYNCS_BEYOND).max(from.saturating_add(SYNCS_BEYOND));
        // Beyond the ends the first two of all and the last two tell.
        let is_told = |at: usize| at + SYNCS_BEYOND >= from && at < to.min(stream.syncs.len());
        for (at, sync) in self.syncs.iter().enumerate() {
            let is_used = self.is_used.get(at).copied().unwrap_or(true);
            if is_told(at) && !is_used && sync.ticks != 0 {
                let mut header = self.header(BlockType::Events, &place);
                header.set_sync(*sync);
                out.part(header, &[])?;
            }
        }
        Ok(())
    }

    /// Writes what a buffer counted, as a part without events (`.cut.account`).
    pub(super) fn write_account(
        &self,
        account: &Account,
        registry: &Registry,
        out: &mut Out<'_>,
    ) -> io::Result<()> {
        let place = Place {
            flags: flags(registry.platform),
            registry: registry.index,
            kind: account.kind,
            thread: account.thread,
            buffer: account.buffer,
            number: account.recorded,
        };
        let mut header = self.header(BlockType::Events, &place);
        header.overwritten = account.overwritten.into();
        header.discarded_full = account.discarded_full.into();
        header.discarded_nested = account.discarded_nested.into();
        header.discarded_large = account.discarded_large.into();
        header.discarded_io = account.discarded_io.into();
        out.part(header, &[])
    }

    /// Writes the mark that the stream was closed, or goes on in another volume (`.part.end`,
    /// `.volume.end`).
    pub(super) fn write_end(&self, stream: &Stream, out: &mut Out<'_>) -> io::Result<()> {
        let mut place = Place {
            flags: flags(stream.platform),
            registry: 0,
            kind: 0,
            thread: 0,
            buffer: 0,
            number: 0,
        };
        place.number = stream.next_volume.filter(|_| !stream.closed).unwrap_or(0);
        let mut header = self.header(BlockType::End, &place);
        header.last = 0.into();
        header.top = 0.into();
        out.part(header, &[])
    }
}

impl Run {
    fn new(place: &Place, ticks: u64) -> Run {
        Run {
            place: *place,
            next: place.number,
            count: 0,
            base: ticks,
            base_last: ticks,
            ticks_max: ticks,
            events: Vec::new(),
            numbers: Vec::new(),
            followed: 0,
        }
    }

    /// What it takes of a block.
    fn size(&self) -> usize {
        self.events.len() + self.record_size()
    }

    /// The size of the record that has its numbers.
    fn record_size(&self) -> usize {
        let size = (BASE_RECORD_SIZE + self.numbers.len()).next_multiple_of(8);
        if self.numbers.is_empty() { 0 } else { size }
    }

    /// Adds an event, if it comes after the others and there is room.
    fn add(&mut self, place: &Place, ticks: u64, event: &[u8], room: usize) -> bool {
        let Some(skipped) = place.number.checked_sub(self.next) else { return false };
        if *place != (Place { number: place.number, ..self.place })
            || event.len() < EVENT_HEADER_SIZE
        {
            return false;
        }
        let delta = ticks.checked_sub(self.base_last).and_then(|delta| u32::try_from(delta).ok());
        let record = if delta.is_none() { BASE_RECORD_SIZE } else { 0 };
        let before = self.numbers.len();
        if skipped > 0 {
            numbers::put(&mut self.numbers, self.followed);
            numbers::put(&mut self.numbers, skipped);
        }
        let is_room = self.size() + event.len() + record <= room;
        if !(is_room && self.record_size() <= EVENT_SIZE_MAX) {
            self.numbers.truncate(before);
            return false;
        }
        let big_endian = place.flags & BIG_ENDIAN != 0;
        if delta.is_none() {
            self.events.extend(base_record(BASE_RECORD_SIZE, ticks, self.base_last, big_endian));
            self.base_last = ticks;
        }
        let at = self.events.len() + 4;
        self.events.extend_from_slice(event);
        let delta = delta.unwrap_or(0);
        let delta = if big_endian { delta.to_be_bytes() } else { delta.to_le_bytes() };
        if let Some(to) = self.events.get_mut(at..at + 4) {
            to.copy_from_slice(&delta);
        }
        self.followed = if skipped > 0 { 1 } else { self.followed + 1 };
        self.next = place.number.saturating_add(1);
        self.count += 1;
        self.ticks_max = self.ticks_max.max(ticks);
        true
    }

    /// Puts what it has into the end of a block, which has that size: the newest first.
    fn put(&self, to: &mut [u8]) {
        let big_endian = self.place.flags & BIG_ENDIAN != 0;
        let (mut rest, mut end) = (self.events.as_slice(), to.len());
        while let Some(size) = event_size(rest, big_endian)
            && let Some((event, newer)) = rest.split_at_checked(size)
            && let Some(start) = end.checked_sub(size)
            && let Some(place) = to.get_mut(start..end)
        {
            place.copy_from_slice(event);
            (rest, end) = (newer, start);
        }
        let size = self.record_size();
        if size > 0 {
            let base = self.base_last;
            let record = base_record(size, base, base, big_endian).into_iter();
            let record = record.chain(self.numbers.iter().copied()).chain(iter::repeat(0));
            to.iter_mut().zip(record.take(size)).for_each(|(to, from)| *to = from);
        }
    }
}

/// A base record, or as much of a longer one (`.event.base`).
fn base_record(size: usize, base: u64, before: u64, big_endian: bool) -> Vec<u8> {
    let word = |value: u64| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let size = size as u16;
    let size = if big_endian { size.to_be_bytes() } else { size.to_le_bytes() };
    [[0, 0, size[0], size[1], 0, 0, 0, 0], word(base), word(before)].concat()
}

/// The size of the event or record that these bytes begin with; none at their end.
fn event_size(bytes: &[u8], big_endian: bool) -> Option<usize> {
    let size = *bytes.get(2..)?.first_chunk()?;
    let size = if big_endian { u16::from_be_bytes(size) } else { u16::from_le_bytes(size) };
    Some(usize::from(size)).filter(|&size| size > 0)
}
