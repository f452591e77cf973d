//! A copy of a mapped ring as of one instant, while a program may write the ring.
//!
//! ```text
//!  file ── each block, again if it changed meanwhile ──▶ copy ── headers once more ──▶ the same?
//!                                                          ▲                              │ no
//!                                                          └──── what changed, again ◀────┘
//! ```
//!
//! If a whole round finds no change, the copy is the file at the beginning of that round. What the
//! program kept behind the ring never changes, and is read where it is. Rules: `.ring.read`,
//! `.ring.kept` in `design/format.md`.

use super::bytes::Source;
use crate::format::{BLOCK_HEADER_SIZE, BlockHeader, BlockType, STREAM_RING, StreamHeader};
use std::collections::HashMap;
use std::io;

const COPY_SIZE_MAX: u64 = 1 << 30;
/// Tries to copy a block that changes meanwhile.
const TRY_COUNT_MAX: usize = 16;
/// Rounds over the changed blocks.
const ROUND_COUNT_MAX: usize = 8;

pub(crate) struct Copy {
    bytes: Vec<u8>,
    /// The size of the file once the ring was copied: what left the ring before is within it.
    size: u64,
    /// Whether the ring changed faster than it was copied: the copy may lack blocks.
    pub(crate) is_moving: bool,
}

/// A copied ring, and the file with what was kept behind it.
struct Kept {
    copy: Copy,
    file: Box<dyn Source + Send + Sync>,
}

/// Copies the ring in a source, if the log is a ring (`.header.ring`) that is not too large.
pub(crate) fn copy(source: &dyn Source, head: &[u8]) -> io::Result<Option<Copy>> {
    let Some((block_size, size)) = extent(head) else { return Ok(None) };
    let size = source.size().min(size);
    let Some(size) = usize::try_from(size).ok().filter(|_| size <= COPY_SIZE_MAX) else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    if bytes.try_reserve_exact(size).is_err() {
        return Ok(None);
    }
    bytes.resize(size, 0);
    let mut copy = Copy { bytes, size: 0, is_moving: false };
    // A program writes names before the events that use them, and they lie earlier in the file. So
    // this copies the later blocks first.
    for (index, block) in copy.bytes.chunks_mut(block_size).enumerate().rev() {
        copy.is_moving |= !take(source, (index * block_size) as u64, block)?;
    }
    for _ in 0..ROUND_COUNT_MAX {
        let mut changed = false;
        let newest = Newest::of(&copy.bytes, block_size);
        for (index, block) in copy.bytes.chunks_mut(block_size).enumerate().skip(1).rev() {
            let offset = (index * block_size) as u64;
            if !is_same(source, offset, block, !newest.is_newest(block))? {
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

impl Source for Kept {
    fn size(&self) -> u64 {
        self.copy.size
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let done = self.copy.bytes.read_at(offset, buf)?;
        match buf.get_mut(done..) {
            Some(rest) if !rest.is_empty() => {
                Ok(done + self.file.read_at(offset.saturating_add(done as u64), rest)?)
            }
            _ => Ok(done),
        }
    }
}

impl Copy {
    /// Returns the log of a file whose ring this is.
    pub(crate) fn log_of(
        self,
        file: Box<dyn Source + Send + Sync>,
    ) -> Box<dyn Source + Send + Sync> {
        match self.size > self.bytes.len() as u64 {
            true => Box::new(Kept { copy: self, file }),
            false => Box::new(self.bytes),
        }
    }

    /// Copies the blocks before the blocks of events again: those only grow.
    fn refer(&mut self, source: &dyn Source, block_size: usize) -> io::Result<()> {
        self.size = source.size_now()?;
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

/// The highest sequence of each buffer's blocks in a copy.
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

    /// Returns whether the program may have recorded into a block after it was copied. An older
    /// block was full when the newer one began, though it may be sealed later (`.ring.newest`).
    fn is_newest(&self, block: &[u8]) -> bool {
        BlockHeader::read(block).is_none_or(|header| {
            self.0.get(&header.buffer.get()).is_none_or(|newest| header.sequence.get() >= *newest)
        })
    }
}

/// Returns the block size, and the size of the ring (`.header.ring-blocks`), if the header is sound
/// and the log is a ring.
fn extent(head: &[u8]) -> Option<(usize, u64)> {
    let header = StreamHeader::read(head)?;
    let is_ring = header.is_sound() && header.flags.get() & STREAM_RING != 0;
    let block_size = header.block_size_log2().filter(|_| is_ring).map(|log2| 1 << log2)?;
    let size = match header.ring_count.get() {
        0 => u64::MAX,
        count => count.saturating_mul(block_size as u64),
    };
    Some((block_size, size))
}

/// The header fields that change when the block is used again, sealed, or updated with counts.
/// Recording an event does not change them.
fn identity(header: &BlockHeader) -> impl PartialEq + use<> {
    let whose = (header.stream, header.buffer.get(), header.sequence.get(), header.first.get());
    let state = (header.magic, header.flags, header.base.get(), header.overwritten.get());
    (whose, state, header.crc.get(), header.thread.get(), header.discarded_io.get())
}

/// Returns whether the copy and the source have the same block, and optionally the same events.
fn is_same(source: &dyn Source, offset: u64, block: &[u8], with_events: bool) -> io::Result<bool> {
    let mut now = [0; BLOCK_HEADER_SIZE];
    let present = source.read_at(offset, &mut now)?;
    let (Some(now), Some(before)) =
        (BlockHeader::read(&now).filter(|_| present == now.len()), BlockHeader::read(block))
    else {
        // Less than a header holds no event.
        return Ok(true);
    };
    let events = |header: &BlockHeader| (header.last.get(), header.count.get());
    let is_same = identity(&now) == identity(&before);
    Ok(is_same && !(with_events && events(&now) != events(&before)))
}

/// Copies a block as of one instant. Returns false, and clears the copy, if the block changed each
/// time.
fn take(source: &dyn Source, offset: u64, block: &mut [u8]) -> io::Result<bool> {
    for _ in 0..TRY_COUNT_MAX {
        source.read_at(offset, block)?;
        if offset == 0 || is_same(source, offset, block, false)? {
            return Ok(true);
        }
    }
    block.fill(0);
    Ok(false)
}
