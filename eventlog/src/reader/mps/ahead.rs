//! Parts of an MPS stream that are walked ahead, side by side, from where events seem to begin.
//!
//! ```text
//!  │ part 0         │ part 1         │ part 2         │ …     workers: each part from a guess on
//!  ── index.rs ───▶ ?───────────────▶ ?── damage      │
//!                   └ where the walk arrives is where the guess was: what was found is right
//! ```
//!
//! A guess says nothing by itself. The walk of the whole stream takes over what was found ahead
//! only if it arrives at that very place, from which it would have found the same; else it walks
//! the part itself. So does it what is not plain. Design: `.cnv.speed` in `design/eventcnv.md`.

use super::index::{CELL_SIZE, cell_end};
use super::plain::{Plain, Run};
use super::platform::head;
use super::recognise::INIT_SIZE_MAX;
use crate::reader::source::bytes::Source;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope};

/// Bytes read beyond a part: no event is larger.
const BEYOND: usize = 1 << 16;
/// How many events must follow one another where they seem to begin.
const CHAIN_COUNT: usize = 8;
/// Parts that may wait to be taken, for each worker.
const WAITING_COUNT_MAX: usize = 4;
/// Workers at most.
const WORKER_COUNT_MAX: usize = 16;
/// What is walked ahead at a time, at least: fewer parts are not worth a thread.
const PART_COUNT_MIN: u64 = 4;

/// How a stream is divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division {
    /// Size of a part: a multiple of [`CELL_SIZE`].
    pub(super) part_size: u64,
    pub(super) worker_count: usize,
}

impl Division {
    /// As many workers as there are processors.
    pub(super) fn for_all_processors() -> Division {
        let worker_count = thread::available_parallelism().map_or(1, NonZero::get);
        Division { part_size: 1 << 20, worker_count: worker_count.min(WORKER_COUNT_MAX) }
    }

    /// The index of the part in which this place is.
    fn part_of(self, offset: u64) -> u64 {
        offset / self.part_size
    }

    /// The parts of [start, end) that are worth walking ahead; none if they are few, or would wait
    /// for one worker.
    pub(super) fn parts(self, start: u64, end: u64) -> Option<Range<u64>> {
        debug_assert_eq!(self.part_size % CELL_SIZE, 0);
        // The last part ends where more can be read.
        let last = self.part_of(end.saturating_sub(BEYOND as u64));
        let parts = self.part_of(start).saturating_add(1)..last;
        let is_worth = parts.end.saturating_sub(parts.start) >= PART_COUNT_MIN;
        (is_worth && self.worker_count > 1).then_some(parts)
    }
}

/// What was found at a place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// Plain events of one cell.
    Run { size: u32, run: Run },
    /// What has the code of an EventInit: its first bytes.
    Init([u8; INIT_SIZE_MAX as usize]),
}

/// A part that was walked ahead.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// Where the walk began, if it did.
    pub(super) start: Option<u64>,
    /// Places, one after the other, and what was found there.
    pub(super) found: Vec<(u64, Found)>,
    /// Where the walk ended: at the first event of the next part, or at what is not plain.
    pub(super) end: u64,
}

/// Parts that are being walked by workers.
pub(super) struct Ahead<'e> {
    division: Division,
    receiver: Receiver<(u64, Part)>,
    /// Those that came before their turn.
    waiting: BTreeMap<u64, Part>,
    parts: Range<u64>,
    is_over: &'e AtomicBool,
}

/// What workers share.
pub(super) struct Work<'e> {
    pub(super) source: &'e (dyn Source + Sync),
    pub(super) plain: &'e Plain,
    pub(super) init_code: Option<u16>,
    pub(super) division: Division,
    pub(super) parts: Range<u64>,
    /// How many of them somebody walks, or has walked.
    pub(super) begun: AtomicU64,
    pub(super) is_over: AtomicBool,
}

impl<'e> Work<'e> {
    /// Has workers begin.
    pub(super) fn begin<'s>(&'e self, scope: &'s Scope<'s, 'e>) -> Ahead<'e> {
        let Division { worker_count, .. } = self.division;
        let (sender, receiver) = sync_channel(WAITING_COUNT_MAX * worker_count);
        for _ in 0..worker_count {
            let sender = sender.clone();
            scope.spawn(move || self.walk(&sender));
        }
        let (division, is_over) = (self.division, &self.is_over);
        let parts = self.parts.clone();
        Ahead { division, receiver, waiting: BTreeMap::new(), parts, is_over }
    }

    fn walk(&self, sender: &SyncSender<(u64, Part)>) {
        let mut bytes = vec![0; self.division.part_size as usize + BEYOND];
        while !self.is_over.load(Ordering::Relaxed) {
            let index = self.parts.start + self.begun.fetch_add(1, Ordering::Relaxed);
            if index >= self.parts.end
                || sender.send((index, self.part(index, &mut bytes))).is_err()
            {
                return;
            }
        }
    }

    /// Walks a part, whose bytes go to `bytes`.
    pub(super) fn part(&self, index: u64, bytes: &mut [u8]) -> Part {
        let from = index * self.division.part_size;
        let mut part = Part { end: from, ..Part::default() };
        // What cannot be read now is tried again when its turn has come, and reported then.
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
        let size = self.division.part_size as usize;
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

impl Ahead<'_> {
    /// The part in which `offset` is, if it is walked ahead; waits for it. Each is given once.
    pub(super) fn take(&mut self, offset: u64) -> Option<Part> {
        let index = self.division.part_of(offset);
        if !self.parts.contains(&index) {
            return None;
        }
        // Those before it were passed over.
        self.waiting = self.waiting.split_off(&index);
        loop {
            if let Some(part) = self.waiting.remove(&index) {
                return Some(part);
            }
            let (found, part) = self.receiver.recv().ok()?;
            if found >= index {
                self.waiting.insert(found, part);
            }
        }
    }

    /// Whether there are parts from `offset` on.
    pub(super) fn is_before_end(&self, offset: u64) -> bool {
        self.division.part_of(offset) < self.parts.end
    }

    /// Where the part ends in which `offset` is.
    pub(super) fn part_end(&self, offset: u64) -> u64 {
        (self.division.part_of(offset) + 1).saturating_mul(self.division.part_size)
    }
}

impl Drop for Ahead<'_> {
    /// Nothing more is wanted: who waits to send finds nobody.
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}
