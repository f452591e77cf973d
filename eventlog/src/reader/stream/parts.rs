//! Indexes the parts in a parts block or in the header block.
//!
//! ```text
//!  │ header │ part: events │ part: registry │ ??? │ part: end │ 0 0 0 … │
//!                                             └ look for the next part that checks
//! ```
//!
//! Layout: section 4 of `design/format.md`.

use super::block;
use super::entry::Grid;
use super::entry::{is_plausible, registry_key, segment};
use super::head;
use super::indexer::Indexer;
use super::piece::Piece;
use crate::format::{
    BLOCK_HEADER_SIZE, BLOCK_MAGIC, BlockHeader, BlockType, STREAM_HEADER_SIZE, STREAM_MAGIC,
};
use crate::reader::fault::kind::FaultKind;
use crate::reader::index::Account;
use crate::reader::index::segment::Segment;

/// Bytes that may be checked in vain in one block, in blocks: a block full of magics must not take
/// forever.
const EFFORT: usize = 16;

/// The longest stretch of a parts block in one segment, and the longest for each of its events: a
/// reading of the segment also reads the parts of other buffers in it.
const SPAN_MAX: u64 = 1 << 16;
const SPAN_BY_EVENT_MAX: u64 = 1 << 13;

impl Indexer<'_> {
    /// Indexes the parts of the block at `offset`, from `at` on (`.parts.chain`). `present` of its
    /// bytes are in the log. Returns the end of the last part of this stream.
    pub(crate) fn parts(
        &mut self,
        grid: Grid,
        offset: u64,
        bytes: &[u8],
        present: usize,
        mut at: usize,
    ) -> usize {
        let mut effort = bytes.len().saturating_mul(EFFORT);
        let mut end = at.min(bytes.len());
        self.growing.clear();
        while let Some(rest) = bytes.get(at..) {
            let start = offset.saturating_add(at as u64);
            if rest.len() < BLOCK_HEADER_SIZE || self.is_stream(start, rest) {
                break; // The walk over blocks handles the rest.
            }
            if let Some(header) = head::part(rest) {
                let size = block::payload(&header, true).end;
                let part = rest.get(..size).unwrap_or(rest);
                let is_ours = self.is_ours(grid, start, &header);
                at = at.saturating_add(size);
                if is_ours {
                    self.part(grid, start, &header, part);
                    end = at;
                }
                at = at.next_multiple_of(8);
                continue;
            }
            // A segment holds adjacent sound parts only.
            self.growing.clear();
            let next = head::find_sound(bytes, at + 8, false, &mut effort).map(|(next, _)| next);
            // `.stream.again`: it may begin within a part that was cut.
            self.next_stream = head::next_sound(bytes, at, next.unwrap_or(bytes.len()))
                .map(|at| offset.saturating_add(at as u64));
            // Zeros end the parts, unless a part follows: then the host failed to write the part
            // here.
            let is_zero = rest.iter().take(4).all(|&byte| byte == 0);
            if is_zero && (next.is_none() || self.next_stream.is_some()) {
                break;
            }
            let size = next.unwrap_or(present).saturating_sub(at) as u64;
            let kind = if is_zero {
                FaultKind::BlockHole { size }
            } else {
                damage(rest, size, present.saturating_sub(at))
            };
            self.faults.push(start, kind);
            match next {
                Some(next) if self.next_stream.is_none() => at = next,
                _ => break,
            }
        }
        end
    }

    /// Returns whether another stream begins here (`.stream.again`). `rest` is the rest of a block.
    fn is_stream(&mut self, offset: u64, rest: &[u8]) -> bool {
        if rest.len() < STREAM_HEADER_SIZE && rest.starts_with(&STREAM_MAGIC) {
            self.read(offset, STREAM_HEADER_SIZE);
            return head::is_sound(&self.bytes);
        }
        head::is_sound(rest)
    }

    /// Indexes a part of this stream, whose checksum is right.
    fn part(&mut self, grid: Grid, offset: u64, header: &BlockHeader, bytes: &[u8]) {
        if self.visitor.is_some() {
            let is_events = header.block_type == BlockType::Events as u8;
            let is_right = !is_events || block::is_count_right(header, bytes);
            let size = bytes.len() as u64;
            self.visit(Piece { is_right, ..Piece::new(grid.stream, offset, size, true, header) });
        }
        match BlockType::from_byte(header.block_type) {
            // `.part.events`
            Some(BlockType::Events)
                if is_plausible(&mut self.faults, grid, offset, header, true) =>
            {
                self.sync(grid, header);
                if !self.is_late(offset) || header.buffer.get() == 0 {
                    let key = (grid.stream, header.buffer.get());
                    self.accounts.entry(key).or_default().fold(header);
                }
                let segment = segment(grid, offset, bytes.len() as u32, block::PART, header);
                let segment = if header.base.get() != header.base_last.get() {
                    self.set_scratch(bytes);
                    self.walked(segment, header)
                } else {
                    Some(segment).filter(|segment| segment.count > 0)
                };
                if let Some(segment) = segment {
                    self.add(segment, block::is_count_right(header, bytes));
                }
            }
            Some(BlockType::Events) => {}
            Some(BlockType::Registry) => {
                let piece = bytes.get(block::payload(header, true)).unwrap_or_default();
                self.pieces.add(grid.stream, offset, header, piece, &mut self.faults);
            }
            Some(BlockType::End) if self.is_late(offset) => {}
            // `.part.end`
            Some(BlockType::End) => {
                let stated = header.sequence.get().max(self.stated.map_or(0, |(count, _)| count));
                self.stated = Some((stated, grid.block_size));
                if let Some(stream) = self.streams.get_mut(usize::from(grid.stream)) {
                    let payload = bytes.get(block::payload(header, true)).unwrap_or_default();
                    self.volumes.end(stream, header, payload);
                }
            }
            Some(BlockType::Parts) | None => {
                self.faults.push_once(offset, FaultKind::BlockType { found: header.block_type });
            }
        }
    }
}

impl Indexer<'_> {
    /// Adds a part to the index. If both chains are right and the numbers follow, it extends the
    /// entry of its buffer's previous part: many small parts then need few entries.
    fn add(&mut self, part: Segment, is_count_right: bool) {
        if !is_count_right || part.flags & block::NUMBERED != 0 {
            self.growing.remove(&part.buffer);
            self.segments.push(part);
            return;
        }
        let is_late = self.is_late(part.offset);
        let before = self.growing.get(&part.buffer).filter(|_| !is_late);
        if let Some(before) = before.and_then(|&place| self.segments.get_mut(place as usize))
            && let Some(both) = joined(before, &part)
        {
            *before = both;
            return;
        }
        self.growing.insert(part.buffer, self.segments.len() as u32);
        self.segments.push(part);
    }
}

/// Joins two parts of one block to one segment, if possible.
fn joined(before: &Segment, part: &Segment) -> Option<Segment> {
    let whose = |at: &Segment| (at.stream, at.registry, at.kind, at.thread);
    let span = part.offset.checked_sub(before.offset)?.checked_add(u64::from(part.size))?;
    let is_next = before.first.checked_add(u64::from(before.count)) == Some(part.first);
    let count = before.count.checked_add(part.count)?;
    let span_max = SPAN_MAX.min(SPAN_BY_EVENT_MAX * u64::from(count));
    (is_next && whose(before) == whose(part) && span <= span_max).then(|| Segment {
        ticks_min: before.ticks_min.min(part.ticks_min),
        ticks_max: before.ticks_max.max(part.ticks_max),
        count,
        size: span as u32,
        flags: before.flags | block::SEVERAL,
        ..*before
    })
}

/// Returns the fault of the part at the start of these bytes; the log has `present` of them. A part
/// that crosses the end of its block is damaged (`.parts.fits`).
fn damage(rest: &[u8], skipped: u64, present: usize) -> FaultKind {
    let header = BlockHeader::read(rest).filter(|header| header.magic == BLOCK_MAGIC);
    let Some(header) = header else { return FaultKind::PartMagic { size: skipped } };
    let end = block::payload(&header, true).end;
    if header.block_type == BlockType::Events as u8 || (present < end && end < rest.len()) {
        block::damage(&header, end.min(rest.len()), present)
    } else {
        FaultKind::PartMagic { size: skipped }
    }
}

impl Account {
    /// Takes the counts of a sound block or part header. Counts are totals, so the highest is the
    /// latest (`.block.discarded`, `.block.overwritten`).
    pub(crate) fn fold(&mut self, header: &BlockHeader) {
        self.buffer = header.buffer.get();
        self.registry = registry_key(header.registry.get(), header.flags);
        self.kind = header.kind;
        self.thread = header.thread.get();
        let last = header.first.get().saturating_add(u64::from(header.count.get()));
        if last >= self.recorded {
            // `.block.sync`, `.event.delta`
            let sealed = header.sync_ticks.get();
            let sealed = if header.is_sealed() && sealed > 0 { sealed } else { u64::MAX };
            self.until = sealed.min(header.base_last.get().saturating_add(u32::MAX.into()));
        }
        self.recorded = self.recorded.max(last);
        self.overwritten = self.overwritten.max(header.overwritten.get());
        self.discarded_full = self.discarded_full.max(header.discarded_full.get());
        self.discarded_nested = self.discarded_nested.max(header.discarded_nested.get());
        self.discarded_large = self.discarded_large.max(header.discarded_large.get());
        self.discarded_io = self.discarded_io.max(header.discarded_io.get());
    }
}
