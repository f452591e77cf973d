//! Decides event by event whether a selection has it, in a reading of all events.
//!
//! ```text
//!  an event ── Filter ── --where ── --first, --last: counted ──▶ yes │ no
//! ```
//!
//! Design: `.cnv.select`, `.cnv.pairs` in `design/eventcnv.md`.

use crate::open::select::condition::Expression;
use crate::open::select::{Found, Selection};
use eventlog::reader::{Event, Log, Order, Picker};
use std::sync::atomic::Ordering;

impl Selection {
    /// Returns a chooser, for a reading of all events in order of time.
    pub(crate) fn chooser(&self, log: &Log) -> Chooser<'_> {
        self.found.is_read.store(true, Ordering::Relaxed);
        let count = |last: u64| self.count(log, Order::Time).saturating_sub(last);
        let picker = self.is_given.then(|| Picker::new(&self.filter, log.registries()));
        Chooser {
            picker,
            condition: self.condition.as_ref(),
            skip: self.last.map_or(0, count),
            left: self.first.unwrap_or(u64::MAX),
            is_counted: self.is_counted(),
            found: &self.found,
            has_any: false,
        }
    }
}

/// Decides for each event of a log whether a selection has it.
#[derive(Clone)]
pub(crate) struct Chooser<'l> {
    /// `None` if all events are selected.
    picker: Option<Picker>,
    condition: Option<&'l Expression>,
    skip: u64,
    left: u64,
    is_counted: bool,
    found: &'l Found,
    has_any: bool,
}

impl Chooser<'_> {
    /// Returns whether the selection has an event. If the selection counts events, all must be
    /// asked for, in order of time. The answer matters only if `is_wanted`.
    #[inline]
    pub(crate) fn has(&mut self, event: &Event<'_, '_>, is_wanted: bool) -> bool {
        let Some(picker) = &self.picker else { return true };
        if !is_wanted && !self.is_counted && self.has_any {
            return false;
        }
        let holds = |condition: &Expression| condition.holds(event) == Some(true);
        if !picker.has(event) || !self.condition.is_none_or(holds) {
            return false;
        }
        if self.skip > 0 || self.left == 0 {
            self.skip = self.skip.saturating_sub(1);
            return false;
        }
        self.left -= 1;
        if !self.has_any {
            self.has_any = true;
            self.found.has_any.store(true, Ordering::Relaxed);
        }
        true
    }
}
