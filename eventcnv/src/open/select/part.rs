//! A part of a log: what a command did not know, or what the processes of a family share.
//!
//! ```text
//!  known ──│── taken ──│ until ──        each buffer by numbers, each stream by ticks
//! ```
//!
//! Design: `.cnv.follow`, `.cnv.follow.sql` in `design/eventcnv.md`; `.calls.family` in
//! `design/calls.md`.

use lens::calls::Family;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Numbers of events of buffers, by stream and buffer.
pub(crate) type BufferCounts = BTreeMap<(u16, u32), u64>;

/// A part of a log that grows: what follows the known events, up to a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// How many first events of each buffer it lacks.
    pub(crate) known: Arc<BufferCounts>,
    /// Its last ticks, by stream; if empty, all are in it.
    pub(crate) until: Vec<u64>,
    /// The processes that count as one.
    pub(crate) family: Option<Family>,
}

impl Part {
    /// Returns the part that a process shares with its ancestors.
    pub(crate) fn of_family(family: Family) -> Part {
        let until = family.until.iter().map(|ticks| ticks.unwrap_or(0)).collect();
        Part { until, family: Some(family), ..Part::default() }
    }

    /// Returns whether it has an event of this buffer and number, as far as events are known.
    #[inline]
    pub(crate) fn has(&self, stream: u16, buffer: u32, number: u64) -> bool {
        self.known.get(&(stream, buffer)).is_none_or(|known| number >= *known)
    }
}
