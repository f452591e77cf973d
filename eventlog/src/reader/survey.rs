//! What is where in a log: each block and part, as the first pass meets it.
//!
//! ```text
//!  Log ── survey ──▶ the walk of the index once more ──▶ Piece, Piece, Piece … in file order
//! ```
//!
//! Nothing of it is kept: a log of any size is surveyed in little memory. Layout: sections 2 to 4
//! of `design/format.md`.

use super::index::Format;
use super::log::Log;
use super::registry::Registry;
use super::segment::KIND_MIXED;
use super::stream::{Grid, Indexer};
use crate::format::{BlockHeader, BlockType};
use bytemuck::Zeroable;
use std::collections::BTreeSet;

/// What is told of each piece.
pub(crate) type Visitor<'a> = &'a mut dyn FnMut(&Piece);

/// What a piece of a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// A stream header, and the block that it begins.
    Stream,
    /// Events: a block or a part; of an MPS log, a run of events.
    Events,
    /// A block of parts.
    Parts,
    /// A piece of a registry.
    Registry,
    /// The mark that the stream was closed.
    End,
    /// A block or part of a type that this reader does not know.
    Unknown,
    /// Blocks that were never written.
    Hole,
    /// Bytes that are no block.
    Damage,
}

impl What {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            What::Stream => "stream",
            What::Events => "events",
            What::Parts => "parts",
            What::Registry => "registry",
            What::End => "end",
            What::Unknown => "unknown",
            What::Hole => "hole",
            What::Damage => "damage",
        }
    }
}

/// A stretch of a log.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Where it begins.
    pub offset: u64,
    /// Its size; of a header block or a parts block the parts in it included, which follow.
    pub size: u64,
    /// The stream, by its index in the log.
    pub stream: u16,
    /// What it is.
    pub what: What,
    /// Whether it is a part, in a header block or a parts block.
    pub is_part: bool,
    /// Whether the checksum of a parts block is right, and the count of a part with events. (Of a
    /// block with events nothing is known without reading it.)
    pub is_right: bool,
    /// What its header says; of an MPS log, what is known of the run. Zero of what has none.
    pub header: BlockHeader,
}

impl Piece {
    /// A block or part.
    pub(crate) fn new(
        grid: Grid,
        offset: u64,
        size: u64,
        is_part: bool,
        header: &BlockHeader,
    ) -> Piece {
        let what = match BlockType::from_byte(header.block_type) {
            Some(BlockType::Events) => What::Events,
            Some(BlockType::Parts) => What::Parts,
            Some(BlockType::Registry) => What::Registry,
            Some(BlockType::End) => What::End,
            None => What::Unknown,
        };
        let stream = grid.stream;
        Piece { offset, size, stream, what, is_part, is_right: true, header: *header }
    }

    /// What has no header of a block.
    pub(crate) fn gap(what: What, start: u64, end: u64, stream: u16) -> Piece {
        let (size, header) = (end.saturating_sub(start), BlockHeader::zeroed());
        Piece { offset: start, size, stream, what, is_part: false, is_right: true, header }
    }
}

impl Indexer<'_> {
    /// Tells of a piece, if this is a survey: then what was indexed is let go of.
    pub(crate) fn visit(&mut self, piece: Piece) {
        if let Some(visitor) = &mut self.visitor {
            self.segments.clear();
            self.growing.clear();
            visitor(&piece);
        }
    }
}

impl Log {
    /// Tells what is where in the log, in file order.
    pub fn survey(&self, visit: &mut dyn FnMut(&Piece)) {
        if self.format() == Format::Mps {
            return self.survey_mps(visit);
        }
        let mut indexer = Indexer::new(self.source());
        indexer.visitor = Some(visit);
        // It was opened, so it begins with a stream; what else is wrong was told then.
        let _ = indexer.walk();
    }

    /// For each registry the streams whose events it declares, by their index: where raw streams
    /// of the MPS follow one another, several may have one.
    pub fn streams_of_registries(&self) -> Vec<BTreeSet<u16>> {
        let own = |registry: &Registry| BTreeSet::from([registry.stream]);
        let mut streams: Vec<BTreeSet<u16>> = self.registries().iter().map(own).collect();
        for segment in self.segments() {
            if let Some(streams) = streams.get_mut(segment.registry as usize) {
                streams.insert(segment.stream);
            }
        }
        streams
    }

    fn survey_mps(&self, visit: &mut dyn FnMut(&Piece)) {
        for segment in self.segments() {
            let end = segment.offset.saturating_add(u64::from(segment.size));
            let mut piece = Piece::gap(What::Events, segment.offset, end, segment.stream);
            let header = &mut piece.header;
            let registry = self.registries().get(segment.registry as usize);
            header.registry = registry.map_or(0, |registry| registry.index).into();
            header.kind = if segment.kind == KIND_MIXED { u8::MAX } else { segment.kind };
            header.first = segment.first.into();
            header.count = segment.count.into();
            header.base = segment.ticks_min.into();
            header.base_last = segment.ticks_max.into();
            visit(&piece);
        }
    }
}
