//! A stream that is read while it arrives: takes bytes, gives the events of whole blocks.
//!
//! ```text
//!  bytes ─▶ │ block, so far │ ── whole? ──▶ parts.rs, block.rs ──▶ Event, as they stand there
//!                                              └ registries, labels, which were given already
//! ```
//!
//! It keeps no past. A [`super::Log`] of the same bytes also finds missing events, and streams that
//! begin within a block. Rules: sections 2 and 3 of `design/format.md`.

use super::events::Events;
use crate::format::{
    BLOCK_HEADER_SIZE, BLOCK_MAGIC, BlockHeader, BlockType, STREAM_HEADER_SIZE, STREAM_MAGIC,
};
use crate::reader::fault::kind::{FaultKind, OpenError};
use crate::reader::fault::list::Faults;
use crate::reader::index::segment::SIZE_KEPT;
use crate::reader::model::event::Event;
use crate::reader::model::registry::Registry;
use crate::reader::model::stream::Stream;
use crate::reader::stream::block;
use crate::reader::stream::encoding;
use crate::reader::stream::entry::Grid;
use crate::reader::stream::entry::{flags_of, is_plausible, segment};
use crate::reader::stream::head::{self, Found};
use crate::reader::stream::indexer::Indexer;
use crate::reader::stream::volume::Volumes;
use std::fmt;

/// The source of an indexer that gets its blocks from here.
static NOTHING: Vec<u8> = Vec::new();

/// A stream that arrives.
///
/// ```
/// use eventlog::reader::Live;
///
/// # let mut header = eventlog::format::StreamHeader::native(12);
/// # header.seal();
/// # let mut stream = bytemuck::bytes_of(&header).to_vec();
/// # stream.resize(4096, 0);
/// let mut live = Live::new();
/// for bytes in stream.chunks(100) {
///     live.feed(bytes, &mut |event| println!("{} {}", event.ticks, event.name()))?;
/// }
/// live.finish(&mut |event| println!("{} {}", event.ticks, event.name()));
/// assert_eq!(live.stream().map(|stream| stream.block_size), Some(4096));
/// # Ok::<(), eventlog::reader::OpenError>(())
/// ```
pub struct Live {
    /// Bytes of the current block.
    bytes: Vec<u8>,
    /// Offset of the current block.
    offset: u64,
    /// Whether its start was checked for a stream header; and where its parts begin, if it has one.
    is_seen: bool,
    parts_at: Option<usize>,
    grid: Option<Grid>,
    /// Start of the current run of blocks that were never written.
    hole: Option<u64>,
    indexer: Indexer<'static>,
    events: Events,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("offset", &self.offset).finish_non_exhaustive()
    }
}

impl Default for Live {
    fn default() -> Live {
        Live::new()
    }
}

impl Live {
    /// Returns a stream before its first byte.
    pub fn new() -> Live {
        Live {
            bytes: Vec::new(),
            offset: 0,
            is_seen: false,
            parts_at: None,
            grid: None,
            hole: None,
            indexer: Indexer::new(&NOTHING),
            events: Events::new(),
        }
    }

    /// Takes bytes, and gives the events of the blocks that they complete: block by block, in each
    /// the oldest event first (in a parts block, buffer by buffer, the store first).
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a stream: at the latest after its header (`.header.magic`,
    /// `.header.crc`, `.read.major`). Later calls give nothing.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        give: &mut dyn FnMut(&Event<'_, '_>),
    ) -> Result<(), OpenError> {
        while !bytes.is_empty() {
            let block_size = self.grid.map_or(STREAM_HEADER_SIZE, |grid| grid.block_size as usize);
            let wanted = if self.is_seen { block_size } else { STREAM_HEADER_SIZE };
            let size = wanted.saturating_sub(self.bytes.len()).min(bytes.len());
            let (now, later) = bytes.split_at_checked(size).unwrap_or((bytes, &[]));
            self.bytes.extend_from_slice(now);
            bytes = later;
            if self.grid.is_none() && !self.bytes.iter().zip(&STREAM_MAGIC).all(|(a, b)| a == b) {
                return Err(OpenError::NotALog);
            }
            if self.bytes.len() < wanted {
                break;
            }
            if self.is_seen {
                self.block(wanted, give);
            } else {
                self.look()?;
            }
        }
        Ok(())
    }

    /// Gives the events in the last block, which may be short (`.stream.tail`).
    pub fn finish(&mut self, give: &mut dyn FnMut(&Event<'_, '_>)) {
        if let Some(grid) = self.grid
            && !self.bytes.is_empty()
        {
            let present = self.bytes.len();
            self.bytes.resize(grid.block_size as usize, 0);
            self.block(present, give);
        }
    }

    /// Returns the stream, once its header has arrived.
    pub fn stream(&self) -> Option<&Stream> {
        self.indexer.streams.first()
    }

    /// Returns the registries that have arrived.
    pub fn registries(&self) -> impl Iterator<Item = &Registry> {
        self.events.registries()
    }

    /// Returns the faults so far.
    pub fn faults(&self) -> &Faults {
        &self.indexer.faults
    }

    /// Returns the memory of registries, strings and labels in bytes, about.
    pub fn memory(&self) -> usize {
        self.events.memory() + self.indexer.pieces.size()
    }

    /// Returns whether the stream was closed (`.read.end`).
    pub fn is_closed(&self) -> bool {
        self.stream().is_some_and(|stream| stream.closed)
    }

    /// Checks the beginning of a block for a stream header (`.stream.again`).
    fn look(&mut self) -> Result<(), OpenError> {
        self.is_seen = true;
        self.parts_at = None;
        if !head::is_sound(&self.bytes) {
            return if self.grid.is_none() { Err(OpenError::NotALog) } else { Ok(()) };
        }
        let mut faults = Faults::default();
        let head = match head::read(&self.bytes, 0, &mut faults) {
            Ok(Found::Head(head)) => head,
            Ok(Found::Behind(_)) => return Err(OpenError::NotALog),
            Err(OpenError::Major { found, known }) if self.grid.is_some() => {
                let kind = FaultKind::HeaderMajor { found, known };
                self.indexer.faults.push(self.offset, kind);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        for fault in &faults {
            self.indexer.faults.push(self.offset, fault.kind.clone());
        }
        // A further volume has the same UUID (`.header.volume`).
        if self.indexer.ids.first() != Some(&head.id) {
            self.events.forget();
            self.indexer.pieces = encoding::Pieces::default();
            self.indexer.ids = vec![head.id];
            self.indexer.streams.clear();
            self.indexer.volumes = Volumes::default();
        }
        self.indexer.volumes.begin(0, &mut self.indexer.streams, &head);
        self.parts_at = Some(head.parts_at);
        self.grid = Some(Grid {
            stream: 0,
            block_size_log2: head.block_size_log2,
            block_size: 1 << head.block_size_log2,
            flags: Some(flags_of(head.stream.platform)),
            is_ring: head.stream.is_ring,
        });
        Ok(())
    }

    /// Reads the current block; `present` of its bytes have arrived.
    fn block(&mut self, present: usize, give: &mut dyn FnMut(&Event<'_, '_>)) {
        let Some(grid) = self.grid else { return };
        let bytes = std::mem::take(&mut self.bytes);
        match self.parts_at.take() {
            Some(at) => {
                self.report_hole();
                self.parts(grid, &bytes, present, at);
            }
            None => self.index(grid, &bytes, present),
        }
        // Only a reader of the whole log needs accounts and the next stream.
        self.indexer.accounts.clear();
        self.indexer.next_stream = None;
        self.indexer.stated = None;
        self.events.take_registries(&mut self.indexer);
        // A flush puts strings and labels after the events that use them.
        let mut segments = std::mem::take(&mut self.indexer.segments);
        segments.sort_by_key(|segment| segment.registry as u16 != 0);
        for segment in segments {
            let at = segment.offset.saturating_sub(self.offset) as usize;
            let end = at.saturating_add(segment.size as usize).min(present);
            let bytes = bytes.get(at..end).unwrap_or_default();
            let origin = self.indexer.streams.first();
            self.events.give(&segment, bytes, origin, &mut self.indexer.faults, give);
        }
        self.offset = self.offset.saturating_add(grid.block_size);
        self.is_seen = false;
        self.bytes = bytes;
        self.bytes.clear();
        self.bytes.shrink_to(SIZE_KEPT);
        self.events.shrink();
        self.indexer.shrink();
    }

    /// Indexes a block, as `Indexer::block` indexes a block of a source.
    fn index(&mut self, grid: Grid, bytes: &[u8], present: usize) {
        let Some(header) = BlockHeader::read(bytes) else { return };
        if header.magic != BLOCK_MAGIC {
            if bytes.starts_with(&[0; 4]) {
                // `.stream.hole`
                self.hole = self.hole.or(Some(self.offset).filter(|_| !grid.is_ring));
            } else {
                let kind = FaultKind::BlockMagic { size: grid.block_size }; // `.read.resync`
                self.indexer.faults.push(self.offset, kind);
            }
            return;
        }
        self.report_hole();
        let offset = self.offset;
        let indexer = &mut self.indexer;
        match BlockType::from_byte(header.block_type) {
            Some(BlockType::Events) => {
                if indexer.is_ours(grid, offset, &header)
                    && is_plausible(&mut indexer.faults, grid, offset, &header, false)
                {
                    let size = grid.block_size as u32;
                    indexer.segments.push(segment(grid, offset, size, 0, &header));
                }
            }
            // `.parts.header`
            Some(BlockType::Parts) => {
                if !(header.is_sealed() && block::is_header_intact(&header, bytes)) {
                    indexer.faults.push(offset, FaultKind::BlockChecksum { count: 0 });
                    self.parts(grid, bytes, present, BLOCK_HEADER_SIZE);
                } else if indexer.is_ours(grid, offset, &header) {
                    let from = block::header_size(&header).max(BLOCK_HEADER_SIZE);
                    self.parts(grid, bytes, present, from);
                }
            }
            _ => {
                let kind = FaultKind::BlockType { found: header.block_type };
                indexer.faults.push_once(offset, kind);
            }
        }
    }

    fn parts(&mut self, grid: Grid, bytes: &[u8], present: usize, from: usize) {
        self.indexer.parts(grid, self.offset, bytes, present, from);
    }

    /// Reports the blocks before a written block that were never written.
    fn report_hole(&mut self) {
        if let Some(start) = self.hole.take() {
            let kind = FaultKind::BlockHole { size: self.offset.saturating_sub(start) };
            self.indexer.faults.push(start, kind);
        }
    }
}
