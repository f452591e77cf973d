//! Which registry of a log an event is of, by its index in the log.
//!
//! ```text
//!  event ── the registry of the event before it? ── no ──▶ by stream and index
//! ```
//!
//! Design: `.cnv.sql`, `.cnv.parquet` in `design/eventcnv.md`.

use eventlog::reader::{Event, Log};
use std::collections::HashMap;

/// The registries of a log.
pub(crate) struct Places<'l> {
    log: &'l Log,
    places: HashMap<(u16, u16), usize>,
    last: usize,
}

impl<'l> Places<'l> {
    pub(crate) fn new(log: &'l Log) -> Places<'l> {
        let registries = log.registries().iter().enumerate();
        let places = registries.map(|(place, at)| ((at.stream, at.index), place)).collect();
        Places { log, places, last: 0 }
    }

    /// The index of an event's registry; beyond all if it is not there.
    #[inline]
    pub(crate) fn of(&mut self, event: &Event<'_, '_>) -> usize {
        let last = self.log.registries().get(self.last);
        if !last.is_some_and(|last| std::ptr::eq(last, event.registry)) {
            let key = (event.registry.stream, event.registry.index);
            self.last = self.places.get(&key).copied().unwrap_or(usize::MAX);
        }
        self.last
    }
}
