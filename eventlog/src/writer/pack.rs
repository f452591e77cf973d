//! Events to runs of numbers, and runs to blocks and parts.
//!
//! ```text
//!  buffer 3:  7 8 9 │ 12 13 │ 14 … ──▶ a run ends where a number is missing, or a block is full
//!             part    part    block    a run of less than half a block is a part
//! ```
//!
//! Of each buffer one block at most is in memory. Rules: 3.2, `.event.number`, section 11 of
//! `design/format.md`.

use super::out::Out;
use crate::format::{
    BASE_RECORD_SIZE, BLOCK_HEADER_SIZE, BLOCK_MAGIC, BlockHeader, BlockType, ClockSync,
    EVENT_HEADER_SIZE,
};
use crate::reader::entry;
use crate::reader::{Account, Platform, Registry, Stream};
use bytemuck::Zeroable;
use std::collections::HashMap;
use std::io;

/// Clock syncs that are kept before the first event and after the last one: by two, times beyond
/// are told.
const SYNCS_BEYOND: usize = 2;

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

/// Events of one buffer whose numbers follow on one another: a block that is being filled.
struct Run {
    /// Of its oldest event.
    place: Place,
    count: u32,
    base: u64,
    base_last: u64,
    ticks_max: u64,
    /// The whole block; events from `last` on.
    block: Vec<u8>,
    last: usize,
}

/// The runs of one stream.
pub(super) struct Packer {
    id: [u8; 8],
    log2: u8,
    runs: HashMap<u32, Run>,
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
        let block_size = 1 << self.log2;
        let run =
            self.runs.entry(place.buffer).or_insert_with(|| Run::new(place, ticks, block_size));
        if run.add(place, ticks, event) {
            return Ok(());
        }
        let mut run = std::mem::replace(run, Run::new(place, ticks, 0));
        self.emit(&mut run, out)?;
        run.restart(place, ticks);
        run.add(place, ticks, event);
        self.runs.insert(place.buffer, run);
        Ok(())
    }

    /// Writes all runs.
    pub(super) fn flush_all(&mut self, out: &mut Out<'_>) -> io::Result<()> {
        let mut runs: Vec<Run> = self.runs.drain().map(|(_, run)| run).collect();
        runs.sort_by_key(|run| run.place.buffer);
        runs.iter_mut().try_for_each(|run| self.emit(run, out))
    }

    /// Writes a run.
    fn emit(&mut self, run: &mut Run, out: &mut Out<'_>) -> io::Result<()> {
        if run.count == 0 {
            return Ok(());
        }
        let mut header = self.header(BlockType::Events, &run.place);
        header.last = (run.last as u32).into();
        header.count = run.count.into();
        header.base = run.base.into();
        header.base_last = run.base_last.into();
        // `.block.sync`: no event in the block is later.
        let at = self.syncs.partition_point(|sync| sync.ticks < run.ticks_max);
        if let (Some(sync), Some(is_used)) = (self.syncs.get(at), self.is_used.get_mut(at))
            && sync.ticks != 0
        {
            header.set_sync(*sync);
            *is_used = true;
        }
        let payload = run.block.get(run.last..).unwrap_or_default();
        if payload.len() <= (run.block.len() / 2).min(out.part_room()) {
            out.part(header, payload)
        } else {
            out.block(header, &mut run.block)
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
    fn new(place: &Place, ticks: u64, block_size: usize) -> Run {
        let mut run = Run {
            place: *place,
            count: 0,
            base: ticks,
            base_last: ticks,
            ticks_max: ticks,
            block: vec![0; block_size],
            last: block_size,
        };
        run.restart(place, ticks);
        run
    }

    /// Begins anew.
    fn restart(&mut self, place: &Place, ticks: u64) {
        self.place = *place;
        self.count = 0;
        self.base = ticks;
        self.base_last = ticks;
        self.ticks_max = ticks;
        self.last = self.block.len();
    }

    /// Adds an event, if it is the next one and there is room.
    fn add(&mut self, place: &Place, ticks: u64, event: &[u8]) -> bool {
        let number = self.place.number.wrapping_add(u64::from(self.count));
        if *place != (Place { number, ..self.place }) {
            return false;
        }
        let delta = ticks.checked_sub(self.base_last).and_then(|delta| u32::try_from(delta).ok());
        let record = if delta.is_none() { BASE_RECORD_SIZE } else { 0 };
        let room = self.last.saturating_sub(BLOCK_HEADER_SIZE);
        if event.len() + record > room || event.len() < EVENT_HEADER_SIZE {
            return false;
        }
        let big_endian = place.flags & crate::format::BIG_ENDIAN != 0;
        if delta.is_none() {
            // `.event.base`
            let word =
                |value: u64| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
            let size = BASE_RECORD_SIZE as u16;
            let size = if big_endian { size.to_be_bytes() } else { size.to_le_bytes() };
            let head = [0, 0, size[0], size[1], 0, 0, 0, 0];
            self.put(&[head, word(ticks), word(self.base_last)].concat());
            self.base_last = ticks;
        }
        self.put(event);
        let delta = delta.unwrap_or(0);
        let delta = if big_endian { delta.to_be_bytes() } else { delta.to_le_bytes() };
        let at = self.last + 4;
        if let Some(to) = self.block.get_mut(at..at + 4) {
            to.copy_from_slice(&delta);
        }
        self.count += 1;
        self.ticks_max = self.ticks_max.max(ticks);
        true
    }

    /// Puts bytes below what is there.
    fn put(&mut self, bytes: &[u8]) {
        let end = self.last;
        self.last = end.saturating_sub(bytes.len());
        if let Some(to) = self.block.get_mut(self.last..end).filter(|to| to.len() == bytes.len()) {
            to.copy_from_slice(bytes);
        }
    }
}
