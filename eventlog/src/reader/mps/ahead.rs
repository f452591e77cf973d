//! Parts of an MPS stream that workers walk ahead, from where events seem to begin.
//!
//! ```text
//!  │ part 0         │ part 1         │ part 2         │ …     workers: each part from a guess on
//!  ── index.rs ───▶ ?───────────────▶ ?── damage      │
//!                   └ where the walk arrives is where the guess was: what was found is right
//! ```
//!
//! A guess alone proves nothing. The walk over the whole stream takes a part over only if it
//! arrives at the guessed place: from there, it would find the same. Otherwise it walks the part
//! itself, and so it does with events that are not plain. Design: `.cnv.speed` in
//! `design/eventcnv.md`.

use super::index::{CELL_SIZE, cell_end};
use super::plain::{Plain, Run};
use super::platform::head;
use super::recognise::INIT_SIZE_MAX;
use crate::reader::source::ahead::worker_count;
use crate::reader::source::bytes::Source;
use std::ops::Range;

/// Bytes read beyond a part: no event is larger.
const BEYOND: usize = 1 << 16;
/// Events that must follow one another at a guessed place.
const CHAIN_COUNT: usize = 8;
/// Parts that are worth starting workers, at least.
const PART_COUNT_MIN: u64 = 4;

/// How a stream is divided into parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division {
    /// Size of a part: a multiple of [`CELL_SIZE`].
    pub(super) part_size: u64,
    pub(super) worker_count: usize,
}

impl Division {
    pub(super) fn for_all_processors() -> Division {
        Division { part_size: 1 << 20, worker_count: worker_count() }
    }

    pub(super) fn part_of(self, offset: u64) -> u64 {
        offset / self.part_size
    }

    pub(super) fn part_end(self, offset: u64) -> u64 {
        (self.part_of(offset) + 1).saturating_mul(self.part_size)
    }

    /// Returns the parts of [start, end) that are worth walking ahead; `None` if they are few, or
    /// there is one worker.
    pub(super) fn parts(self, start: u64, end: u64) -> Option<Range<u64>> {
        debug_assert_eq!(self.part_size % CELL_SIZE, 0);
        // A worker reads beyond the end of the last part.
        let last = self.part_of(end.saturating_sub(BEYOND as u64));
        let parts = self.part_of(start).saturating_add(1)..last;
        let is_worth = parts.end.saturating_sub(parts.start) >= PART_COUNT_MIN;
        (is_worth && self.worker_count > 1).then_some(parts)
    }
}

/// A finding of a worker.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// Plain events of one cell.
    Run { size: u32, run: Run },
    /// The first bytes of an event with the code of EventInit.
    Init([u8; INIT_SIZE_MAX as usize]),
}

#[derive(Debug, Default)]
pub(super) struct Part {
    /// Where the walk began, if it began.
    pub(super) start: Option<u64>,
    /// Offsets in order, each with the finding there.
    pub(super) found: Vec<(u64, Found)>,
    /// Where the walk ended: at the first event of the next part, or at an event that is not plain.
    pub(super) end: u64,
}

/// What workers share.
pub(super) struct Work<'e> {
    pub(super) source: &'e (dyn Source + Sync),
    pub(super) plain: &'e Plain,
    pub(super) init_code: Option<u16>,
    pub(super) part_size: u64,
}

impl Work<'_> {
    /// Returns a buffer for the bytes of a part.
    pub(super) fn buffer(&self) -> Vec<u8> {
        vec![0; self.part_size as usize + BEYOND]
    }

    /// Walks a part, with `bytes` as its buffer.
    pub(super) fn part(&self, index: u64, bytes: &mut [u8]) -> Part {
        let from = index * self.part_size;
        let mut part = Part { end: from, ..Part::default() };
        // The walk over the whole stream tries again, and reports a failure.
        if !self.source.read_at(from, bytes).is_ok_and(|size| size == bytes.len()) {
            return part;
        }
        let shapes = self.plain.shapes();
        let may_be_start = |at: &usize| {
            let rest = bytes.get(*at..).unwrap_or_default();
            let start = rest.first_chunk().copied().unwrap_or_default();
            shapes.may_begin(start) && shapes.is_chain(rest, CHAIN_COUNT, false)
        };
        let Some(mut at) = (0..BEYOND).find(may_be_start) else { return part };
        part.start = Some(from + at as u64);
        let size = self.part_size as usize;
        while at < size {
            let offset = from + at as u64;
            let cell_end = (cell_end(offset) - from) as usize;
            let run = self.plain.run(bytes, at, cell_end);
            if run.count > 0 {
                let size = (run.end - at) as u32;
                part.found.push((offset, Found::Run { size, run }));
                at = run.end;
            }
            if at < cell_end {
                let rest = bytes.get(at..).unwrap_or_default();
                let Some(event) = head(shapes.platform, rest) else { break };
                let is_init = Some(event.code) == self.init_code
                    && shapes.size_of(event.code).map(usize::from) == Some(event.size);
                let init = rest.first_chunk().filter(|_| is_init);
                let Some(init) = init else { break };
                part.found.push((from + at as u64, Found::Init(*init)));
                at += event.size;
            }
        }
        part.end = from + at as u64;
        part
    }
}
