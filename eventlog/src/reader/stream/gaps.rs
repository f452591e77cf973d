//! What lies between blocks: holes, damage, the next stream; and what lies too far ahead.
//!
//! ```text
//!  │ block │ 0 0 0 0 │ block │ ??? │ block │ … │ header block of another stream
//!            hole              damage            find_stream
//! ```
//!
//! Rules: `.directory.instant`, `.stream.hole`, `.stream.again`, `.read.resync`, `.read.cut` in
//! `design/format.md`.

use super::entry::Grid;
use super::head;
use super::indexer::Indexer;
use super::piece::{Piece, What};
use crate::format::{STREAM_HEADER_SIZE, STREAM_MAGIC};
use crate::reader::fault::kind::FaultKind;
use crate::reader::index::segment::Segment;
use std::collections::HashMap;

/// Bytes that are searched for a stream header in one step.
const SEARCH_SIZE: usize = 1 << 20;

impl Indexer<'_> {
    /// Reports the blocks that the stream in [start, end) had when it was closed and that the log
    /// lacks (`.read.cut`).
    pub(crate) fn check_count(&mut self, start: u64, end: u64) {
        let size = end.saturating_sub(start);
        let is_one_of_several = self.volumes.end_file(size.div_ceil(self.block_size), end);
        if let Some((stated, block_size)) = self.stated.take().filter(|_| !is_one_of_several) {
            let count = size.div_ceil(block_size);
            if let Some(missing) = stated.checked_sub(count).filter(|&missing| missing > 0) {
                self.faults.push(end, FaultKind::StreamCut { missing, stated });
            }
        }
    }

    /// Reports a run of holes or damage that ends at `end`.
    pub(crate) fn report_gap(
        &mut self,
        grid: Grid,
        hole: Option<u64>,
        garbage: Option<u64>,
        end: u64,
    ) {
        if let Some(start) = hole {
            self.visit(Piece::gap(What::Hole, start, end, grid.stream));
            self.faults.push(start, FaultKind::BlockHole { size: end - start });
        }
        if let Some(start) = garbage {
            self.visit(Piece::gap(What::Damage, start, end, grid.stream));
            self.faults.push(start, FaultKind::BlockMagic { size: end - start });
        }
    }

    /// Finds a stream header in [from, to).
    pub(crate) fn find_stream(&mut self, mut from: u64, to: u64) -> Option<u64> {
        while from < to {
            let size = (to - from).min(SEARCH_SIZE as u64) as usize;
            self.read(from, size + STREAM_HEADER_SIZE - 1);
            let end = self.bytes.len().min(size + STREAM_MAGIC.len() - 1);
            if let Some(at) = head::next_sound(&self.bytes, 0, end) {
                return Some(from + at as u64);
            }
            from += size as u64;
        }
        None
    }

    /// Returns whether these bytes were added while the files of a directory were opened.
    pub(crate) fn is_late(&self, offset: u64) -> bool {
        let late = self.source.late();
        let at = late.partition_point(|late| late.end <= offset);
        late.get(at).is_some_and(|late| late.contains(&offset))
    }

    /// Leaves out what was added while the files of a directory were opened, except events that are
    /// older than some that were there before, and the store (`.directory.instant`).
    pub(crate) fn drop_late(&mut self) {
        if self.source.late().is_empty() {
            return;
        }
        let mut segments = std::mem::take(&mut self.segments);
        let end = |segment: &Segment| segment.first.saturating_add(segment.count.into());
        let mut ends: HashMap<(u16, u32), u64> = HashMap::new();
        for segment in segments.iter().filter(|segment| !self.is_late(segment.offset)) {
            let known = ends.entry((segment.stream, segment.buffer)).or_default();
            *known = (*known).max(end(segment));
        }
        segments.retain(|segment| {
            let known = ends.get(&(segment.stream, segment.buffer));
            segment.buffer == 0 || known.is_some_and(|known| segment.first < *known)
        });
        self.segments = segments;
    }

    /// Passes a piece to the visitor of a survey. A survey keeps no index.
    pub(crate) fn visit(&mut self, piece: Piece) {
        if let Some(visitor) = &mut self.visitor {
            self.segments.clear();
            self.growing.clear();
            visitor(&piece);
        }
    }
}
