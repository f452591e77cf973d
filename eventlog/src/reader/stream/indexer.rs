//! Indexes streams in our format by their block headers.
//!
//! ```text
//!  │ header block │ events │ hole │ parts: events, registry, end │ ??? │ header block …
//!    head.rs        entry.rs        parts.rs                       look for a stream, go on
//! ```
//!
//! Rules: section 2 and 3.3 of `design/format.md`.

use super::block;
use super::encoding::Pieces;
use super::entry::{self, Grid, is_plausible, segment};
use super::head::{self, Found};
use super::identity;
use super::piece::{Piece, Visitor, What};
use super::volume::Volumes;
use crate::format::{BLOCK_HEADER_SIZE, BLOCK_MAGIC, BlockHeader, BlockType, STREAM_MAGIC};
use crate::reader::fault::kind::{FaultKind, OpenError};
use crate::reader::fault::list::Faults;
use crate::reader::index::segment::{Decoded, Segment};
use crate::reader::index::{Account, Format, Index};
use crate::reader::model::registry::Registry;
use crate::reader::model::stream::Stream;
use crate::reader::source::bytes::Source;
use crate::reader::source::headers::Headers;
use std::collections::{BTreeMap, HashMap};
use std::thread;

/// Streams in one log, at most; the reader skips the others.
const STREAM_COUNT_MAX: usize = 1 << 12;

pub(crate) fn index(source: &(dyn Source + Sync), is_moving: bool) -> Result<Index, OpenError> {
    let mut indexer = Indexer::new(source);
    indexer.walk()?;
    indexer.volumes.check(&mut indexer.faults);
    indexer.drop_late();
    let mut index = Index {
        format: Format::Stream,
        decode: block::decode,
        streams: indexer.streams,
        registries: Vec::new(),
        segments: indexer.segments,
        chosen: HashMap::new(),
        accounts: Vec::new(),
        faults: indexer.faults,
    };
    identity::settle(source, &mut index, indexer.accounts, is_moving);
    entry::resolve(&mut index, indexer.pieces);
    for stream in &mut index.streams {
        stream.syncs.sort_by_key(|sync| sync.ticks);
        stream.syncs.dedup_by_key(|sync| sync.ticks);
    }
    Ok(index)
}

/// The index so far.
pub(crate) struct Indexer<'a> {
    pub(crate) source: &'a (dyn Source + Sync),
    pub(crate) faults: Faults,
    pub(crate) streams: Vec<Stream>,
    pub(crate) volumes: Volumes,
    /// The first eight bytes of each stream's UUID.
    pub(crate) ids: Vec<Option<[u8; 8]>>,
    pub(crate) segments: Vec<Segment>,
    /// Of each buffer, the index of the segment that its next part may extend.
    pub(crate) growing: HashMap<u32, u32>,
    pub(crate) accounts: BTreeMap<(u16, u32), Account>,
    pub(crate) pieces: Pieces,
    /// Offset of the next stream, if the walk met it among parts.
    pub(crate) next_stream: Option<u64>,
    /// Number of blocks, and their size, that the stream's end part states.
    pub(crate) stated: Option<(u64, u64)>,
    /// The size of a block of the stream that is walked.
    pub(crate) block_size: u64,
    pub(crate) visitor: Option<Visitor<'a>>,
    pub(crate) bytes: Vec<u8>,
    scratch: Decoded,
}

impl<'a> Indexer<'a> {
    pub(crate) fn new(source: &'a (dyn Source + Sync)) -> Indexer<'a> {
        Indexer {
            source,
            faults: Faults::default(),
            streams: Vec::new(),
            volumes: Volumes::default(),
            ids: Vec::new(),
            segments: Vec::new(),
            growing: HashMap::new(),
            accounts: BTreeMap::new(),
            pieces: Pieces::default(),
            next_stream: None,
            stated: None,
            block_size: 1,
            visitor: None,
            bytes: Vec::new(),
            scratch: Decoded::default(),
        }
    }

    pub(crate) fn walk(&mut self) -> Result<(), OpenError> {
        let mut start = 0;
        while let Some(next) = self.stream(start)? {
            self.check_count(start, next);
            start = next;
        }
        self.check_count(start, self.source.size());
        Ok(())
    }

    /// Reads into `self.bytes`: fewer bytes at the end, and none if the host fails.
    pub(crate) fn read(&mut self, offset: u64, size: usize) {
        let left = self.source.size().saturating_sub(offset);
        let size = size.min(usize::try_from(left).unwrap_or(usize::MAX));
        self.bytes.resize(size, 0);
        match self.source.read_at(offset, &mut self.bytes) {
            Ok(size) => self.bytes.truncate(size),
            Err(error) => {
                self.bytes.clear();
                self.faults.push(offset, FaultKind::Io { message: error.to_string() });
            }
        }
    }

    /// Reads into `self.bytes`, and fills missing bytes with zeros (`.stream.tail`). Returns the
    /// number of bytes in the log.
    fn read_padded(&mut self, offset: u64, size: usize) -> usize {
        self.read(offset, size);
        let present = self.bytes.len();
        self.bytes.resize(size, 0);
        present
    }

    /// Indexes the stream at `start`, and returns the offset of the next stream (`.stream.again`).
    fn stream(&mut self, start: u64) -> Result<Option<u64>, OpenError> {
        let (head, first) = match head::read(self.source, start, &mut self.faults) {
            Ok(Found::Head(head)) => (head, None),
            Ok(Found::Blocks(head, first)) => (head, Some(first)),
            Ok(Found::Behind(next)) => return Ok(Some(next)),
            Err(OpenError::Major { found, known }) if start > 0 => {
                self.faults.push(start, FaultKind::HeaderMajor { found, known });
                return Ok(self.find_stream(start + 1, self.source.size()));
            }
            Err(error) => return Err(error),
        };
        // Another volume or a second copy continues the same stream: `.event.identity` applies to
        // both.
        let flags = head.is_right.then(|| entry::flags_of(head.stream.platform));
        let is_ring = head.stream.is_ring;
        let same = self.ids.iter().position(|id| head.id.is_some() && *id == head.id);
        if same.is_none() && self.streams.len() >= STREAM_COUNT_MAX {
            self.faults.push(start, FaultKind::StreamLimit);
            return Ok(None);
        }
        let stream = same.unwrap_or(self.streams.len()) as u16;
        self.ids.extend(same.is_none().then_some(head.id));
        self.volumes.begin(stream, &mut self.streams, &head);
        let block_size = 1 << head.block_size_log2;
        self.block_size = block_size;
        let grid =
            Grid { stream, block_size_log2: head.block_size_log2, block_size, flags, is_ring };
        if let Some(first) = first {
            self.visit(Piece::gap(What::Hole, start, first, stream));
            return Ok(self.blocks(grid, first, first));
        }
        let present = self.read_padded(start, block_size as usize);
        self.visit(Piece::gap(What::Stream, start, start + present as u64, stream));
        let bytes = std::mem::take(&mut self.bytes);
        let loose = start + self.parts(grid, start, &bytes, present, head.parts_at) as u64;
        self.bytes = bytes;
        if let Some(next) = self.next_stream.take() {
            return Ok(Some(next));
        }
        let first = start.saturating_add(grid.block_size);
        // Another stream may begin within the header block.
        if first > self.source.size() || loose.saturating_add(8) < first {
            let next = self.find_stream(loose.max(start + 1), first.min(self.source.size()));
            if next.is_some() {
                return Ok(next);
            }
        }
        Ok(self.blocks(grid, first, loose))
    }

    /// Puts the header of a block into `self.bytes`: the one that a worker read, or its own
    /// reading.
    fn read_header(&mut self, offset: u64, headers: &mut Headers<'_, '_>) {
        match headers.at(offset) {
            Some(header) => {
                self.bytes.clear();
                self.bytes.extend_from_slice(header);
            }
            None => drop(self.read_padded(offset, BLOCK_HEADER_SIZE)),
        }
    }

    /// Walks the blocks from the first one after the header block on (`.stream.first`). Bytes
    /// before `loose` belong to this stream.
    fn blocks(&mut self, grid: Grid, first: u64, loose: u64) -> Option<u64> {
        let source = self.source;
        thread::scope(|scope| {
            let headers = Headers::new(scope, source, first, grid.block_size);
            self.each_block(grid, first, loose, headers)
        })
    }

    fn each_block(
        &mut self,
        grid: Grid,
        mut offset: u64,
        mut loose: u64,
        mut headers: Headers<'_, '_>,
    ) -> Option<u64> {
        let size = self.source.size();
        let mut hole = None;
        let mut garbage = None;
        while offset < size {
            let end = offset.saturating_add(grid.block_size);
            self.read_header(offset, &mut headers);
            if self.bytes.starts_with(&STREAM_MAGIC) {
                return Some(offset);
            }
            let is_block = self.bytes.starts_with(&BLOCK_MAGIC);
            let is_zero = self.bytes.iter().take(4).all(|&byte| byte == 0);
            if !(is_block && self.is_of(grid)) {
                loose = self.settle_block(grid, loose, offset);
                let next = self.find_stream(loose, end.min(size));
                if next.is_some() {
                    return next;
                }
                self.read_padded(offset, BLOCK_HEADER_SIZE);
                // Search no byte twice, except for a magic that crosses the end.
                loose = loose.max(end.min(size).saturating_sub(STREAM_MAGIC.len() as u64 - 1));
            }
            if is_block {
                self.report_gap(grid, hole.take(), garbage.take(), offset);
                loose = self.block(grid, offset);
                if self.next_stream.is_some() {
                    return self.next_stream.take();
                }
            } else if is_zero {
                self.report_gap(grid, None, garbage.take(), offset);
                hole = hole.or(Some(offset).filter(|_| !grid.is_ring)); // `.stream.hole`
            } else {
                self.report_gap(grid, hole.take(), None, offset);
                garbage = garbage.or(Some(offset)); // `.read.resync`
            }
            offset = end;
        }
        self.report_gap(grid, None, garbage, size);
        if hole.is_none() && garbage.is_none() {
            loose = self.settle_block(grid, loose, offset);
            return self.find_stream(loose, size);
        }
        None
    }

    /// Returns the end of the bytes that belong to this stream, if an event block precedes
    /// `offset`: the whole block if its checksum is right.
    fn settle_block(&mut self, grid: Grid, loose: u64, offset: u64) -> u64 {
        let Some(start) = offset.checked_sub(grid.block_size).filter(|start| loose == start + 1)
        else {
            return loose;
        };
        self.read_padded(start, grid.block_size as usize);
        match BlockHeader::read(&self.bytes) {
            // The payload reaches the end of the block: if it is sound, all of the block belongs.
            Some(header) if block::is_intact(&header, &self.bytes, false) => {
                if header.payload_size() > 0 { offset } else { start + BLOCK_HEADER_SIZE as u64 }
            }
            _ => loose,
        }
    }

    /// Indexes the block at `offset`, whose header is in `self.bytes`. Returns the end of the bytes
    /// that belong to this stream. For an event block, which is not checked yet, this is one byte
    /// in.
    fn block(&mut self, grid: Grid, offset: u64) -> u64 {
        let Some(header) = BlockHeader::read(&self.bytes) else { return offset + 1 };
        match BlockType::from_byte(header.block_type) {
            Some(BlockType::Events) => {
                if self.is_ours(grid, offset, &header)
                    && is_plausible(&mut self.faults, grid, offset, &header, false)
                {
                    self.event_block(grid, offset, &header);
                }
            }
            Some(BlockType::Parts) => {
                // `.parts.header`: the checksum covers only the header. If it is wrong, the parts
                // may still be sound.
                let present = self.read_padded(offset, grid.block_size as usize);
                let bytes = std::mem::take(&mut self.bytes);
                let is_right = header.is_sealed() && block::is_header_intact(&header, &bytes);
                let size = present as u64;
                self.visit(Piece {
                    is_right,
                    ..Piece::new(grid.stream, offset, size, false, &header)
                });
                if !is_right {
                    self.faults.push(offset, FaultKind::BlockChecksum { count: 0 });
                } else if !self.is_ours(grid, offset, &header) {
                    return offset + 1;
                }
                // `.block.header-size`
                let from = if is_right { block::header_size(&header) } else { BLOCK_HEADER_SIZE };
                let end = self.parts(grid, offset, &bytes, present, from.max(BLOCK_HEADER_SIZE));
                self.bytes = bytes;
                let is_proven = is_right || end > BLOCK_HEADER_SIZE;
                return if is_proven { offset + end as u64 } else { offset + 1 };
            }
            _ => self.faults.push_once(offset, FaultKind::BlockType { found: header.block_type }),
        }
        offset + 1
    }

    /// Returns whether the block header in `self.bytes` may be that of a block of this stream. It
    /// may also be that of a part, which follows the header of another file or volume.
    fn is_of(&self, grid: Grid) -> bool {
        let id = self.ids.get(usize::from(grid.stream)).copied().flatten();
        let Some(header) = BlockHeader::read(&self.bytes) else { return true };
        let of_parts = [BlockType::Registry, BlockType::End].map(|of| of as u8);
        id.is_none_or(|id| header.stream == id) && !of_parts.contains(&header.block_type)
    }

    /// Returns whether a block or part is of this stream (`.block.stream`).
    pub(crate) fn is_ours(&mut self, grid: Grid, offset: u64, header: &BlockHeader) -> bool {
        let Some(id) = self.ids.get_mut(usize::from(grid.stream)) else { return false };
        if *id.get_or_insert(header.stream) == header.stream {
            return true;
        }
        self.faults.push(offset, FaultKind::BlockForeign);
        false
    }

    fn event_block(&mut self, grid: Grid, offset: u64, header: &BlockHeader) {
        let size = grid.block_size as u32;
        self.visit(Piece::new(grid.stream, offset, u64::from(size), false, header));
        let segment = segment(grid, offset, size, 0, header);
        if grid.is_ring && !header.is_sealed() {
            // `.ring.overwritten`: the open block of a ring may have no event yet. Its count is the
            // count of the chain, so none of its events is counted here.
            let key = (grid.stream, header.buffer.get());
            let counts = BlockHeader { count: 0.into(), ..*header };
            self.accounts.entry(key).or_default().fold(&counts);
        }
        // The sync of an open block holds too, if no program writes it meanwhile.
        if header.is_sealed() || self.source.is_still() {
            self.sync(grid, header);
        }
        // The header of a sealed block without a base record states all facts. Other blocks need a
        // walk.
        if header.is_sealed() && header.base.get() == header.base_last.get() {
            if header.count.get() > 0 {
                self.segments.push(segment);
            }
            return;
        }
        self.read(offset, size as usize);
        std::mem::swap(&mut self.scratch.bytes, &mut self.bytes);
        let walked = self.walked(segment, header);
        self.segments.extend(walked);
    }

    /// Completes a segment by walking its chain (`.read.open`); its bytes are in `self.scratch`.
    /// Returns `None` if it holds no event.
    pub(crate) fn walked(&mut self, mut segment: Segment, header: &BlockHeader) -> Option<Segment> {
        let registry = Registry::unknown(0, 0, block::platform(header));
        // The reading of its events reports its faults, unless it has no events.
        let mut faults = Faults::default();
        block::decode(&segment, &registry, &mut self.scratch, &mut faults);
        if header.is_sealed() && self.scratch.located.is_empty() {
            return Some(segment);
        }
        let ticks = || self.scratch.located.iter().map(|located| located.ticks);
        let (Some(min), Some(max)) = (ticks().min(), ticks().max()) else {
            for fault in &faults {
                self.faults.push(fault.offset, fault.kind.clone());
            }
            return None;
        };
        segment.ticks_min = min;
        segment.ticks_max = max;
        if !header.is_sealed() {
            segment.first = self.scratch.first;
            segment.count = self.scratch.located.len() as u32;
        }
        Some(segment)
    }

    /// Takes the bytes for [`Indexer::walked`].
    pub(crate) fn set_scratch(&mut self, bytes: &[u8]) {
        self.scratch.bytes.clear();
        self.scratch.bytes.extend_from_slice(bytes);
    }

    /// Keeps the clock sync of a sealed block or part (`.block.sync`).
    pub(crate) fn sync(&mut self, grid: Grid, header: &BlockHeader) {
        if let Some(stream) = self.streams.get_mut(usize::from(grid.stream))
            && header.sync_ticks.get() != 0
        {
            stream.add_sync(header.sync());
        }
    }
}
