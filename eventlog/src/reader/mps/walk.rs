//! Walks an MPS stream from event to event, or takes over parts that workers walked.
//!
//! ```text
//!  walk ─┬─ walk_parts ── a worker walked from here? ── take_over ──▶ Indexer: segments, faults
//!        └─ walk_to ──┬── plain events ── add_run ────────▶
//!                     ├── another ── add ─────────────────▶
//!                     └── none ── resume.rs: skip ────────▶
//! ```
//!
//! Design: `.req.robust` in `design/telemetry.md`; `.cnv.speed` in `design/eventcnv.md`.

use super::ahead::{Division, Found, Part, Work};
use super::index::{CLOCK_DISTANCE_MAX, Indexer, LOOKAHEAD_SIZE, LOOSE_CHAIN_COUNT, cell_end};
use super::platform::{Fit, Head, head};
use super::window::Window;
use crate::reader::fault::kind::FaultKind;
use crate::reader::source::ahead::Ahead;
use crate::reader::source::bytes::Source;
use std::ops::Range;
use std::thread;

const CUT: &str = "the log ends within this event";
const UNREAD: &str = "the rest of this event cannot be read";
const BAD_SIZE: &str = "no event has the size that stands here";
const WRONG_SIZE: &str = "an event has another size than its type";
const LONE: &str = "what may be an event of unknown type leads to none";

/// What begins at a place.
enum Step {
    Event(Head),
    Damage(&'static str),
}

impl Indexer {
    /// Walks to the first event that begins at `end` or later. Returns whether more follows.
    pub(super) fn walk(
        &mut self,
        source: &(dyn Source + Sync),
        window: &mut Window,
        division: Division,
        end: u64,
    ) -> bool {
        while window.offset() < end {
            let parts = division.parts(window.offset(), window.source_size.min(end));
            let is_more = match parts.filter(|_| self.is_registry_right) {
                None => self.walk_to(window, end),
                Some(parts) => {
                    let plain = self.plain.clone();
                    let Division { part_size, worker_count } = division;
                    let init_code = self.init_code;
                    let work = &Work { source, plain: &plain, init_code, part_size };
                    thread::scope(|scope| {
                        let ahead = Ahead::begin(scope, worker_count, parts.clone(), || {
                            let mut bytes = work.buffer();
                            move |part| work.part(part, &mut bytes)
                        });
                        self.walk_parts(window, division, parts, ahead)
                    })
                }
            };
            if !is_more {
                return false;
            }
        }
        true
    }

    /// Walks the parts that workers walk with the current registry. Returns whether more follows.
    fn walk_parts(
        &mut self,
        window: &mut Window,
        division: Division,
        parts: Range<u64>,
        mut ahead: Ahead<Part>,
    ) -> bool {
        let registry_count = self.registries.len();
        while self.registries.len() == registry_count {
            let index = division.part_of(window.offset());
            if index >= parts.end {
                break;
            }
            let part_end = division.part_end(window.offset());
            let part = if parts.contains(&index) { ahead.take(index) } else { None };
            // A walk from here would find the same as the worker.
            if let Some(part) = part.filter(|part| part.start == Some(window.offset())) {
                let end = self.take_over(&part);
                window.go_to(end);
            }
            if self.registries.len() == registry_count && !self.walk_to(window, part_end) {
                return false;
            }
        }
        true
    }

    /// Takes over the findings of a worker: all, or up to the first event of another registry.
    /// Returns where the walk goes on.
    fn take_over(&mut self, part: &Part) -> u64 {
        let registry_count = self.registries.len();
        for &(offset, found) in &part.found {
            match found {
                Found::Run { size, run } => self.add_run(offset, size, &run),
                Found::Init(bytes) => {
                    let Some(event) = head(self.shapes.platform, &bytes) else { return offset };
                    self.add(offset, event, &bytes);
                    if self.registries.len() != registry_count {
                        return offset + event.size as u64;
                    }
                }
            }
        }
        part.end
    }

    /// Walks on to the first event that begins at `end` or later. Returns whether more follows.
    fn walk_to(&mut self, window: &mut Window, end: u64) -> bool {
        while window.offset() < end {
            window.need(LOOKAHEAD_SIZE + 1);
            // Before the last `safe` bytes of the window, every check has all bytes it needs.
            let safe = if window.is_last() { 0 } else { LOOKAHEAD_SIZE };
            while window.rest().len() > safe && window.offset() < end {
                if self.add_plain(window, safe, end) {
                    continue;
                }
                match self.step(window.rest(), window.is_last()) {
                    Step::Event(event) => {
                        self.add(window.offset(), event, window.rest());
                        window.at += event.size;
                    }
                    Step::Damage(what) => {
                        let is_unread = what == CUT && window.failure.is_some();
                        let what = if is_unread { UNREAD } else { what };
                        self.skip(window, what);
                        break;
                    }
                }
            }
            if window.is_last() && window.rest().is_empty() {
                self.cut();
                let Some((offset, message)) = window.pass() else { return false };
                self.faults.push(offset, FaultKind::Io { message });
            }
        }
        true
    }

    /// Adds the next plain events up to the end of the cell, to `end`, or to the last `safe` bytes
    /// of the window. Returns whether there was any.
    #[inline]
    fn add_plain(&mut self, window: &mut Window, safe: usize, end: u64) -> bool {
        let offset = window.offset();
        let size = window.rest().len() - safe;
        let size = (end.min(cell_end(offset)) - offset).min(size as u64) as usize;
        let run = self.plain.run(window.rest(), 0, size);
        if run.count > 0 {
            self.add_run(offset, run.end as u32, &run);
            window.at += run.end;
        }
        run.count > 0
    }

    /// Returns what begins at the start of `rest`. The stream ends after it if `is_last`.
    #[inline]
    fn step(&self, rest: &[u8], is_last: bool) -> Step {
        let Some(event) = head(self.shapes.platform, rest) else { return Step::Damage(CUT) };
        let fit = self.shapes.fit(event, rest);
        if event.size > rest.len() && is_last && fit != Fit::Impossible {
            return Step::Damage(CUT);
        }
        match fit {
            Fit::Exact => Step::Event(event),
            Fit::Unknown if self.leads_on(event, rest) => Step::Event(event),
            Fit::Unknown => Step::Damage(LONE),
            Fit::Wrong => Step::Damage(WRONG_SIZE),
            Fit::Impossible => Step::Damage(BAD_SIZE),
        }
    }

    /// Returns whether bytes can be an event of unknown type: clocks are near, and then comes an
    /// event of a known type, the end, or a long chain.
    fn leads_on(&self, event: Head, rest: &[u8]) -> bool {
        let (mut event, mut rest) = (event, rest);
        let mut clock = if self.clock == 0 { event.clock } else { self.clock };
        for _ in 0..LOOSE_CHAIN_COUNT {
            let is_near = event.clock.abs_diff(clock) < CLOCK_DISTANCE_MAX;
            if event.code == 0 || event.clock == 0 || !is_near {
                return false;
            }
            clock = event.clock;
            let Some(next) = rest.get(event.size..) else { return false };
            let Some(next_event) = head(self.shapes.platform, next) else { return true };
            match self.shapes.fit(next_event, next) {
                Fit::Exact => return next_event.clock.abs_diff(clock) < CLOCK_DISTANCE_MAX,
                Fit::Unknown => (event, rest) = (next_event, next),
                Fit::Wrong | Fit::Impossible => return false,
            }
        }
        true
    }
}
