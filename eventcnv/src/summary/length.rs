//! The time in which any stream existed.
//!
//! ```text
//!  times of day:  ├ stream 0 ┤           ┤ counted once where they overlap
//!                       ├ stream 1 ┤
//!  others:        ├ stream 2 ┤├ stream 3 ┤ one after the other
//! ```
//!
//! Design: `.cnv.stats` in `design/eventcnv.md`.

use eventlog::reader::Stream;
use std::collections::BTreeMap;

/// Returns the seconds between two ticks, if known: by the clock syncs, else by the stated rate.
pub(crate) fn seconds(stream: &Stream, first: u64, last: u64) -> Option<f64> {
    if let (Some(first), Some(last)) = (stream.wall_time(first), stream.wall_time(last)) {
        return Some(last.realtime.checked_sub(first.realtime)? as f64 / 1e9);
    }
    let ticks = last.checked_sub(first)?;
    (stream.clock_rate > 0).then(|| ticks as f64 / stream.clock_rate as f64)
}

/// Returns the seconds in which any of these streams existed. Streams with times of day may
/// overlap; others came one after the other.
pub(super) fn all_seconds(streams: &[Stream], times: &BTreeMap<u16, (u64, u64)>) -> Option<f64> {
    let (mut alone, mut walls) = (None, Vec::new());
    for (&index, &(first, last)) in times {
        let stream = streams.get(usize::from(index))?;
        match (stream.wall_time(first), stream.wall_time(last)) {
            (Some(from), Some(to)) if from.realtime > 0 && from.realtime <= to.realtime => {
                walls.push((from.realtime, to.realtime));
            }
            _ => *alone.get_or_insert(0.0) += seconds(stream, first, last)?,
        }
    }
    walls.sort_unstable();
    let mut side_by_side = (!walls.is_empty()).then_some(0);
    let mut end = 0;
    for (from, to) in walls {
        let length = to.saturating_sub(from.max(end));
        side_by_side = side_by_side.map(|sum: u64| sum.saturating_add(length));
        end = end.max(to);
    }
    match (alone, side_by_side.map(|ns| ns as f64 / 1e9)) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}
