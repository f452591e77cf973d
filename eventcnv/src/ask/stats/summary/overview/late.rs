//! The time before the history of a log, and of its kinds.
//!
//! ```text
//!  │ overwritten │ history of the log                       │
//!                │ Object: overwritten │ complete           │
//! ```
//!
//! Design: `.cnv.history` in `design/eventcnv.md`.

use crate::ask::stats::summary::overview::{
    Identity, Overview, Parts, identity, kind_name, seconds_of,
};
use eventlog::reader::{Held, Stream};
use std::collections::HashMap;

/// A time before which the log lacks events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late {
    pub(crate) stream: u16,
    /// In ticks of the stream, and after its first event.
    pub(crate) at: u64,
    pub(crate) ticks_after: u64,
    pub(crate) seconds_after: Option<f64>,
}

/// Returns why a log lacks events from before the history of a stream.
pub(crate) fn reason(stream: &Stream) -> &'static str {
    match (stream.is_ring, stream.is_cut) {
        (_, true) => "left out",
        (true, _) => "overwritten",
        _ => "missing",
    }
}

impl Overview<'_> {
    /// Notes when the history of each kind is complete, if that is later than the log begins.
    pub(super) fn add_lates(
        &mut self,
        parts: &Parts<'_, '_>,
        prefixes: &HashMap<Identity, String>,
    ) {
        for held in parts.history.held().filter(|held| held.is_late) {
            let Held { stream, registry, kind, span: (at, _), .. } = *held;
            let Some(registry) = parts.registries.get(registry as usize) else { continue };
            let prefix = prefixes.get(&identity(registry)).map_or("", String::as_str);
            let name = format!("{prefix}{}", kind_name(registry, kind));
            let first = self.times.get(&stream).map_or(at, |times| times.0);
            let Some(row) = self.kinds.iter_mut().find(|row| row.name == name) else { continue };
            let ticks_after = at.saturating_sub(first);
            if ticks_after > row.late.map_or(0, |late| late.ticks_after) {
                let seconds_after = seconds_of(parts.streams, stream, first, at);
                row.late = Some(Late { stream, at, ticks_after, seconds_after });
            }
        }
    }

    /// Returns the longest time before the history of a stream, in seconds or in ticks.
    pub(crate) fn longest_before(&self, is_seconds: bool) -> Option<f64> {
        let length = |(&stream, &(from, to)): (&u16, &(u64, u64))| match is_seconds {
            true => seconds_of(self.streams, stream, from, to),
            false => Some((to - from) as f64),
        };
        self.before.iter().filter_map(length).max_by(f64::total_cmp)
    }

    /// Returns what became of the events that the log lacks from before its history.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        let lates = self.kinds.iter().filter_map(|row| row.late);
        let streams = self.before.keys().copied().chain(lates.map(|late| late.stream));
        let mut streams = streams.filter_map(|stream| self.streams.get(usize::from(stream)));
        streams.next().map(reason)
    }
}
