//! Finds the registry and the wall time of an event.
//!
//! ```text
//!  event ── the registry of the last event? ── no ──▶ by stream and index
//! ```
//!
//! Design: `.cnv.sql`, `.cnv.parquet` in `design/eventcnv.md`.

use eventlog::reader::{Event, Log};
use std::collections::HashMap;

/// The registries and clocks of a log.
pub(crate) struct Places<'l> {
    log: &'l Log,
    places: HashMap<(u16, u16), usize>,
    last: usize,
    /// The position of the last event among the syncs of each stream.
    near: Vec<usize>,
}

impl<'l> Places<'l> {
    pub(crate) fn new(log: &'l Log) -> Places<'l> {
        let registries = log.registries().iter().enumerate();
        let places = registries.map(|(place, at)| ((at.stream, at.index), place)).collect();
        Places { log, places, last: 0, near: vec![0; log.streams().len()] }
    }

    /// Returns the index of an event's registry; `usize::MAX` if the log lacks it.
    #[inline]
    pub(crate) fn registry(&mut self, event: &Event<'_, '_>) -> usize {
        let last = self.log.registries().get(self.last);
        if !last.is_some_and(|last| std::ptr::eq(last, event.registry)) {
            let key = (event.registry.stream, event.registry.index);
            self.last = self.places.get(&key).copied().unwrap_or(usize::MAX);
        }
        self.last
    }

    /// Returns the time of an event in ns since 1970, if its stream states it.
    #[inline]
    pub(crate) fn wall(&mut self, event: &Event<'_, '_>) -> Option<u64> {
        let stream = usize::from(event.stream);
        let (stream, near) = self.log.streams().get(stream).zip(self.near.get_mut(stream))?;
        Some(stream.wall_time_near(event.ticks, near)?.realtime)
    }
}
