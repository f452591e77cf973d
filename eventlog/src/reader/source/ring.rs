//! A mapped ring, which may be written while it is read: a copy of it as of one instant.
//!
//! ```text
//!  file ── each block, again if it changed meanwhile ──▶ copy ── headers once more ──▶ the same?
//!                                                          ▲                              │ no
//!                                                          └──── what changed, again ◀────┘
//! ```
//!
//! Where a whole round finds nothing changed, the copy is the file as it was when that began.
//! Rules: `.ring.read` in `design/format.md`.

use super::bytes::Source;
use crate::format::{BLOCK_HEADER_SIZE, BlockHeader, BlockType, STREAM_RING, StreamHeader};
use std::collections::HashMap;
use std::io;

/// The largest ring that is copied, in bytes.
const COPY_SIZE_MAX: u64 = 1 << 30;
/// Tries at a block that changes while it is copied.
const TRY_COUNT_MAX: usize = 16;
/// Rounds over what changed.
const ROUND_COUNT_MAX: usize = 8;

/// A copy of a ring.
pub(crate) struct Copy {
    pub(crate) bytes: Vec<u8>,
    /// It changed faster than it could be copied: what is missing may have been there.
    pub(crate) is_moving: bool,
}

/// Copies the log in a source, if it is a ring (`.header.ring`) that is not too large.
pub(crate) fn copy(source: &dyn Source, head: &[u8]) -> io::Result<Option<Copy>> {
    let Some(block_size) = block_size(head) else { return Ok(None) };
    let size = source.size();
    let Some(size) = usize::try_from(size).ok().filter(|_| size <= COPY_SIZE_MAX) else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    if bytes.try_reserve_exact(size).is_err() {
        return Ok(None);
    }
    bytes.resize(size, 0);
    let mut copy = Copy { bytes, is_moving: false };
    // What events refer to is written before them, and stands before them in the file: it is copied
    // after them.
    for (index, block) in copy.bytes.chunks_mut(block_size).enumerate().rev() {
        copy.is_moving |= !take(source, (index * block_size) as u64, block)?;
    }
    for _ in 0..ROUND_COUNT_MAX {
        let mut changed = false;
        let newest = Newest::of(&copy.bytes, block_size);
        for (index, block) in copy.bytes.chunks_mut(block_size).enumerate().skip(1).rev() {
            let offset = (index * block_size) as u64;
            let is_same = is_same(source, offset, block)?
                && (newest.is_newest(block) || has_same_events(source, offset, block)?);
            if !is_same {
                changed = true;
                copy.is_moving |= !take(source, offset, block)?;
            }
        }
        if !changed {
            copy.refer(source, block_size)?;
            return Ok(Some(copy));
        }
    }
    copy.is_moving = true;
    copy.refer(source, block_size)?;
    Ok(Some(copy))
}

impl Copy {
    /// Copies once more what stands before the blocks of events, which only grows.
    fn refer(&mut self, source: &dyn Source, block_size: usize) -> io::Result<()> {
        for (index, block) in self.bytes.chunks_mut(block_size).enumerate() {
            let is_events = BlockHeader::read(block).is_some_and(|header| {
                header.block_type == BlockType::Events as u8 && header.registry.get() != 0
            });
            if is_events && index != 0 {
                break;
            }
            self.is_moving |= !take(source, (index * block_size) as u64, block)?;
        }
        Ok(())
    }
}

/// The newest block of each buffer in a copy, by its sequence.
struct Newest(HashMap<u32, u64>);

impl Newest {
    fn of(bytes: &[u8], block_size: usize) -> Newest {
        let mut newest = HashMap::new();
        for header in bytes.chunks(block_size).skip(1).filter_map(BlockHeader::read) {
            let sequence = newest.entry(header.buffer.get()).or_default();
            *sequence = header.sequence.get().max(*sequence);
        }
        Newest(newest)
    }

    /// Whether a block may be recorded into after it was copied. An older one was full when the
    /// newer one began, though it is sealed only later (`.ring.newest`).
    fn is_newest(&self, block: &[u8]) -> bool {
        BlockHeader::read(block).is_none_or(|header| {
            self.0.get(&header.buffer.get()).is_none_or(|newest| header.sequence.get() >= *newest)
        })
    }
}

/// The block size of a sound stream header of a ring.
fn block_size(head: &[u8]) -> Option<usize> {
    let header = StreamHeader::read(head)?;
    let is_ring = header.is_sound() && header.flags.get() & STREAM_RING != 0;
    header.block_size_log2().filter(|_| is_ring).map(|log2| 1 << log2)
}

/// What of a header is another one's when the block began anew, was sealed, or was told of what was
/// overwritten. (Not: what goes on as events are recorded.)
fn identity(header: &BlockHeader) -> impl PartialEq + use<> {
    let whose = (header.stream, header.buffer.get(), header.sequence.get(), header.first.get());
    let state = (header.magic, header.flags, header.base.get(), header.overwritten.get());
    (whose, state, header.crc.get(), header.thread.get(), header.discarded_io.get())
}

/// Whether the block in the source is still the one in the copy.
fn is_same(source: &dyn Source, offset: u64, block: &[u8]) -> io::Result<bool> {
    let mut now = [0; BLOCK_HEADER_SIZE];
    let there = source.read_at(offset, &mut now)?;
    let (Some(now), Some(before)) =
        (BlockHeader::read(&now).filter(|_| there == now.len()), BlockHeader::read(block))
    else {
        // Less than a header: there is nothing in it.
        return Ok(true);
    };
    Ok(identity(&now) == identity(&before))
}

/// Whether the block in the source has no more events than the one in the copy.
fn has_same_events(source: &dyn Source, offset: u64, block: &[u8]) -> io::Result<bool> {
    let mut now = [0; BLOCK_HEADER_SIZE];
    source.read_at(offset, &mut now)?;
    let events = |header: BlockHeader| (header.last.get(), header.count.get());
    Ok(BlockHeader::read(&now).map(events) == BlockHeader::read(block).map(events))
}

/// Copies a block, as it was at one instant. False: it changed each time, and is left out.
fn take(source: &dyn Source, offset: u64, block: &mut [u8]) -> io::Result<bool> {
    for _ in 0..TRY_COUNT_MAX {
        source.read_at(offset, block)?;
        if offset == 0 || is_same(source, offset, block)? {
            return Ok(true);
        }
    }
    block.fill(0);
    Ok(false)
}
