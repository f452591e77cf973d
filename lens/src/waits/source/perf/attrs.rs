//! The attributes of a source: how each record is read, and what its times mean.
//!
//! ```text
//!  record ── all alike │ its number ──▶ Layout       time ── TIME_CONV ──▶ ticks of the counter
//! ```
//!
//! Design: `.waits.perf` in `design/waits.md`.

use super::layout::Layout;
use super::records::SAMPLE;
use crate::waits::source::format::Machine;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// The attributes of a source.
#[derive(Debug)]
pub(super) struct Attrs {
    pub(super) machine: Machine,
    pub(super) layouts: Vec<Layout>,
    by_id: HashMap<u64, usize, RandomState>,
    /// Whether the first layout reads the records of all.
    is_alike: bool,
    /// Whether a sample of any attribute has a tracepoint's number or is a clock's.
    pub(super) has_clock: bool,
}

impl Attrs {
    /// Returns the attributes; `None` if their records cannot be told apart.
    pub(super) fn new(machine: Machine, layouts: Vec<Layout>) -> Option<Attrs> {
        let first = layouts.first()?;
        let is_alike = layouts.iter().all(|layout| layout.is_like(first));
        if !is_alike && !layouts.iter().all(Layout::has_identifier) {
            return None;
        }
        let ids = layouts.iter().enumerate();
        let ids = ids.flat_map(|(index, layout)| layout.ids.iter().map(move |id| (*id, index)));
        let by_id = ids.collect();
        let has_clock = layouts.iter().any(Layout::is_clock);
        Some(Attrs { machine, layouts, by_id, is_alike, has_clock })
    }

    /// Returns the layout of a record's fields.
    #[inline]
    pub(super) fn layout(&self, kind: u32, body: &[u8]) -> Option<&Layout> {
        let first = self.layouts.first()?;
        if self.is_alike { Some(first) } else { self.attr(kind, body) }
    }

    /// Returns the attribute of a record.
    pub(super) fn attr(&self, kind: u32, body: &[u8]) -> Option<&Layout> {
        let first = self.layouts.first()?;
        if self.layouts.len() == 1 {
            return Some(first);
        }
        let index = match kind {
            SAMPLE => return self.layouts.get(self.index(body)),
            _ => body.last_chunk::<8>().and_then(|bytes| self.machine.number(bytes)),
        };
        let index = index.and_then(|id| self.by_id.get(&id));
        index.map_or(Some(first), |index| self.layouts.get(*index))
    }

    /// Returns the index of the attribute of a sample; beyond all of them if it is unknown.
    pub(super) fn index(&self, body: &[u8]) -> usize {
        if self.layouts.len() == 1 {
            return 0;
        }
        let id = self.layouts.first().and_then(|first| first.id(self.machine, body));
        id.and_then(|id| self.by_id.get(&id)).copied().unwrap_or(usize::MAX)
    }

    /// Returns the time of a record; 0 if unknown.
    #[inline]
    pub(super) fn time(&self, kind: u32, body: &[u8]) -> u64 {
        let Some(layout) = self.layout(kind, body) else { return 0 };
        match kind {
            SAMPLE => layout.sample(self.machine, body).map_or(0, |sample| sample.facts.time),
            _ => layout.end(self.machine, body).map_or(0, |facts| facts.time),
        }
    }
}

/// The rate of the processor's counter, as TIME_CONV tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Conversion {
    pub(super) shift: u32,
    pub(super) mult: u64,
    pub(super) zero: u64,
}

impl Conversion {
    /// Returns the ticks of the counter at a time of the kernel's scheduler.
    pub(super) fn ticks(&self, time: u64) -> u64 {
        let ns = u128::from(time.wrapping_sub(self.zero));
        let mult = u128::from(self.mult.max(1));
        ((ns << self.shift.min(63)) / mult) as u64
    }

    /// Returns the ticks in a second.
    pub(super) fn rate(&self) -> u64 {
        let ticks = (1_000_000_000u128 << self.shift.min(63)) / u128::from(self.mult.max(1));
        u64::try_from(ticks).unwrap_or(0)
    }
}
