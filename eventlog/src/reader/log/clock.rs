//! Ticks of all streams as nanoseconds of one clock.
//!
//! ```text
//!  all streams of one boot ─ yes ─▶ CLOCK_MONOTONIC, through the syncs
//!                          └ no ──▶ do all have syncs? ─ yes ─▶ CLOCK_REALTIME
//!                                   a rate? ─ yes ─▶ ns since the first event, else ticks as ns
//! ```
//!
//! Times between two syncs lie on the line through them; times beyond lie on the nearest line.
//! Design: `.cnv.clock` in `design/eventcnv.md`, `.rep.time` in `design/replay.md`.

use super::Log;
use crate::format::ClockSync;
use crate::reader::model::stream::Stream;
use crate::reader::model::time::on_line;

/// The zero of a [`Clock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockBase {
    /// CLOCK_MONOTONIC.
    Monotonic,
    /// CLOCK_REALTIME: ns since 1970.
    Realtime,
    /// The first event of each stream.
    Start,
    /// The log does not tell how long a tick is: each counts as a ns.
    Ticks,
}

/// A point of a line: ticks and ns.
type Point = (u64, u64);

/// The common clock of the streams of a log, in ns.
#[derive(Debug)]
pub struct Clock {
    /// The zero of the clock.
    pub base: ClockBase,
    /// CLOCK_MONOTONIC and CLOCK_REALTIME of one moment, if both are known.
    pub sync: Option<(u64, u64)>,
    /// At least two points for each stream, in ascending order of ticks.
    lines: Vec<Vec<Point>>,
}

impl Clock {
    /// Returns the clock of a log.
    pub fn new(log: &Log) -> Clock {
        let spans: Vec<Option<Point>> = log.spans();
        let streams = || log.streams().iter().zip(&spans).filter(|(_, span)| span.is_some());
        let first = streams().next().map(|(stream, _)| stream);
        let is_one_boot = streams().count() == 1
            || streams().all(|(stream, _)| {
                stream.boot_id != [0; 16]
                    && Some(stream.boot_id) == first.map(|first| first.boot_id)
            });
        let has = |ns: fn(&ClockSync) -> u64| {
            let is_line = |(stream, _): (&Stream, _)| {
                stream.syncs.iter().all(|sync| ns(sync) > 0) && through(stream, ns).len() > 1
            };
            streams().all(is_line)
        };
        let base = match first {
            None => ClockBase::Ticks,
            Some(_) if is_one_boot && has(|sync| sync.monotonic) => ClockBase::Monotonic,
            Some(_) if has(|sync| sync.realtime) => ClockBase::Realtime,
            Some(_) if streams().all(|(stream, _)| stream.clock_rate > 0) => ClockBase::Start,
            Some(_) => ClockBase::Ticks,
        };
        let line = |(stream, span): (&Stream, &Option<Point>)| match base {
            ClockBase::Monotonic => through(stream, |sync| sync.monotonic),
            ClockBase::Realtime => through(stream, |sync| sync.realtime),
            ClockBase::Start => at_rate((span.map_or(0, |(first, _)| first), 0), stream.clock_rate),
            ClockBase::Ticks => Vec::new(),
        };
        let lines = log.streams().iter().zip(&spans).map(line).collect();
        let sync = first.and_then(|stream| stream.syncs.first());
        let sync = sync.filter(|_| base == ClockBase::Monotonic);
        Clock { base, sync: sync.map(|sync| (sync.monotonic, sync.realtime)), lines }
    }

    /// Returns the ns of ticks of a stream.
    pub fn ns(&self, stream: u16, ticks: u64) -> u64 {
        self.ns_near(stream, ticks, &mut 0)
    }

    /// Returns the length of ticks of a stream in all: ticks, and their ns. Of (1, 1) each tick
    /// counts as a ns.
    pub fn scale(&self, stream: u16) -> (u64, u64) {
        let points = self.lines.get(usize::from(stream)).map_or(&[][..], |points| points);
        match points {
            [(from, start), .., (to, end)] if to > from => (to - from, end.saturating_sub(*start)),
            _ => (1, 1),
        }
    }

    /// Returns the ns of ticks of a stream, faster for ascending ticks. `near` keeps the index of
    /// the last line of the stream; it begins as 0.
    #[inline]
    pub fn ns_near(&self, stream: u16, ticks: u64, near: &mut usize) -> u64 {
        let Some(points) = self.lines.get(usize::from(stream)) else { return ticks };
        let pair_at = |pair: usize| Some((*points.get(pair)?, *points.get(pair + 1)?));
        let pair = pair_at(*near).filter(|(from, to)| (from.0..to.0).contains(&ticks));
        let pair = pair.or_else(|| {
            let after = points.partition_point(|(at, _)| *at <= ticks);
            *near = after.saturating_sub(1).min(points.len().saturating_sub(2));
            pair_at(*near)
        });
        let Some((from, to)) = pair else { return ticks };
        on_line(from, to, ticks).unwrap_or(if ticks < from.0 { 0 } else { u64::MAX })
    }
}

/// Returns the points of a stream's syncs; from a single sync, a line by the stream's rate.
fn through(stream: &Stream, ns: fn(&ClockSync) -> u64) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::with_capacity(stream.syncs.len());
    for sync in &stream.syncs {
        let point = (sync.ticks, ns(sync));
        // A line never goes back: a clock that was set back stands still.
        match points.last() {
            Some(last) if point.0 <= last.0 => {}
            Some(last) => points.push((point.0, point.1.max(last.1))),
            None => points.push(point),
        }
    }
    match points.as_slice() {
        [one] => at_rate(*one, stream.clock_rate),
        _ => points,
    }
}

/// Returns the line from a point on, at a rate in ticks a second.
fn at_rate(from: Point, rate: u64) -> Vec<Point> {
    match rate {
        0 => Vec::new(),
        rate => vec![from, (from.0.saturating_add(rate), from.1.saturating_add(1_000_000_000))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(line: Vec<Point>) -> Clock {
        Clock { base: ClockBase::Monotonic, sync: Some((1000, 5000)), lines: vec![line] }
    }

    /// `.cnv.clock`
    #[test]
    fn ticks_lie_on_the_lines_through_the_syncs() {
        let clock = clock(vec![(100, 1000), (200, 2000), (300, 2500)]);
        for (ticks, ns) in
            [(0, 0), (50, 500), (100, 1000), (150, 1500), (200, 2000), (250, 2250), (400, 3000)]
        {
            assert_eq!(clock.ns(0, ticks), ns, "{ticks}");
        }
        assert_eq!(clock.ns(7, 42), 42, "an unknown stream");
        assert_eq!([clock.scale(0), clock.scale(7)], [(200, 1500), (1, 1)]);
        assert!(clock.ns(0, u64::MAX) > 1 << 60);
        assert_eq!(at_rate((7, 70), 0), []);
        assert_eq!(at_rate((7, 70), 500), [(7, 70), (507, 1_000_000_070)]);
    }
}
