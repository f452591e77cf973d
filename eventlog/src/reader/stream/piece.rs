//! A stretch of a log that the walk meets: a block, a part, a hole, damage.
//!
//! Layout: sections 2 to 4 of `design/format.md`.

use crate::format::{BlockHeader, BlockType};
use bytemuck::Zeroable;

/// A function that takes each piece.
pub(crate) type Visitor<'a> = &'a mut dyn FnMut(&Piece);

/// The type of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// A stream header and its block.
    Stream,
    /// Events: a block or a part. In an MPS log: a run of events.
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
    /// Bytes that are not a block.
    Damage,
}

impl What {
    /// Returns the name of the type.
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
#[non_exhaustive]
pub struct Piece {
    /// Offset in the source.
    pub offset: u64,
    /// Size in bytes. For a header block or a parts block, it includes the parts, which follow as
    /// pieces.
    pub size: u64,
    /// The stream, by its index in the log.
    pub stream: u16,
    /// Its type.
    pub what: What,
    /// Whether it is a part, in a header block or a parts block.
    pub is_part: bool,
    /// Whether the checksum of a parts block, or the count of a part with events, is right. A block
    /// with events is not checked.
    pub is_right: bool,
    /// Its header; zero if it has none. In an MPS log: what is known of the run.
    pub header: BlockHeader,
}

impl Piece {
    pub(crate) fn new(
        stream: u16,
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
        Piece { offset, size, stream, what, is_part, is_right: true, header: *header }
    }

    /// Returns a piece without a block header.
    pub(crate) fn gap(what: What, start: u64, end: u64, stream: u16) -> Piece {
        let (size, header) = (end.saturating_sub(start), BlockHeader::zeroed());
        Piece { offset: start, size, stream, what, is_part: false, is_right: true, header }
    }
}
