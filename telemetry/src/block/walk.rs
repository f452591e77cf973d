//! A walk through a block in memory, from its newest event to its oldest.
//!
//! ```text
//!  last ─▶ │ newest │ older │ base record │ oldest │ ◀─ top      base ─ at last ─▶ … ─ before ─▶ …
//! ```
//!
//! Takes no lock and allocates nothing. The block's thread goes on recording meanwhile: after each
//! read a check shows whether it is still the same block. Design: `.sol.traceback` in
//! `design/telemetry.md`; `.event.fill`, `.event.base`, `.time.order` in `design/format.md`.

use crate::block::memory::Block;
use bytemuck::{Pod, Zeroable};
use core::cmp::Ordering;
use eventlog::format::{
    BASE_RECORD_CODE, BASE_RECORD_SIZE, BLOCK_MAGIC, BlockHeader, EVENT_HEADER_SIZE, EventHeader,
};

/// The place of an event in memory, and its time. Ordered by age: the oldest is the least
/// (`.time.order`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Spot {
    pub(crate) ticks: u64,
    pub(crate) number: u64,
    pub(crate) sequence: u64,
    pub(crate) buffer: u32,
    pub(crate) offset: u32,
}

impl Ord for Spot {
    fn cmp(&self, other: &Spot) -> Ordering {
        let key = |spot: &Spot| (spot.ticks, spot.buffer, spot.number);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Spot {
    fn partial_cmp(&self, other: &Spot) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A block that is being read, from its newest event to its oldest.
pub(crate) struct Walk {
    block: Block,
    pub(crate) header: BlockHeader,
    at: usize,
    top: usize,
    /// One more than the number of the event at `at`.
    number: u64,
    pub(crate) base: u64,
}

impl Walk {
    /// Begins at the newest event of a block; returns `None` if another block has its place.
    pub(crate) fn begin(block: Block, sequence: u64, buffer: u32) -> Option<Walk> {
        let mut walk = Walk::open(block, sequence, buffer)?;
        walk.base = walk.base_at_last();
        Some(walk)
    }

    /// Begins without the base in force there, for which the block must be walked.
    pub(crate) fn open(block: Block, sequence: u64, buffer: u32) -> Option<Walk> {
        let header = block.header();
        let (at, top) = (header.last.get() as usize, header.top.get() as usize);
        let is_it = header.magic == BLOCK_MAGIC
            && (header.sequence.get(), header.buffer.get()) == (sequence, buffer);
        let number = header.first.get() + u64::from(header.count.get());
        is_it.then_some(Walk { block, header, at, top, number, base: header.base.get() })
    }

    /// Returns the base in force at *last*: *base last* may be ahead of the chain (`.read.open`).
    pub(crate) fn base_at_last(&self) -> u64 {
        let mut at = self.at;
        while let Some(header) = self.event(at) {
            if header.code == BASE_RECORD_CODE {
                return word(self.block, at + 8);
            }
            at += usize::from(header.size);
        }
        self.base
    }

    /// Returns the header of the event at an offset, if the event fits the block.
    pub(crate) fn event(&self, at: usize) -> Option<EventHeader> {
        if at + EVENT_HEADER_SIZE > self.top {
            return None;
        }
        let header: EventHeader = bytemuck::cast(word(self.block, at));
        let size = usize::from(header.size);
        let is_base = header.code == BASE_RECORD_CODE;
        let size_min = if is_base { BASE_RECORD_SIZE } else { EVENT_HEADER_SIZE };
        (size >= size_min && size.is_multiple_of(8) && at + size <= self.top).then_some(header)
    }
}

impl Iterator for Walk {
    type Item = Spot;

    fn next(&mut self) -> Option<Spot> {
        loop {
            let header = self.event(self.at)?;
            let offset = self.at;
            self.at += usize::from(header.size);
            if header.code == BASE_RECORD_CODE {
                self.base = word(self.block, offset + 16);
                continue;
            }
            self.number = self.number.checked_sub(1)?;
            let spot = Spot {
                ticks: self.base.wrapping_add(header.delta.into()),
                number: self.number,
                sequence: self.header.sequence.get(),
                buffer: self.header.buffer.get(),
                offset: offset as u32,
            };
            return self.block.is_still(&self.header).then_some(spot);
        }
    }
}

/// Returns the word at an offset, a multiple of 8.
fn word(block: Block, at: usize) -> u64 {
    let mut bytes = [0; 8];
    block.peek(at, at + 8, &mut bytes);
    u64::from_ne_bytes(bytes)
}
