//! Converts ticks of all streams to nanoseconds of one clock.
//!
//! ```text
//!  all streams of one boot ─ yes ─▶ CLOCK_MONOTONIC, through the syncs
//!                          └ no ──▶ do all have syncs? ─ yes ─▶ CLOCK_REALTIME
//!                                   a rate? ─ yes ─▶ ns since the first event, else ticks as ns
//! ```
//!
//! Times between two syncs lie on the line through them; times beyond lie on the nearest line.
//! Design: `.cnv.clock` in `design/eventcnv.md`.

use eventlog::format::ClockSync;
use eventlog::reader::{Log, Stream};

/// The clock of the nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Monotonic,
    Realtime,
    /// They count from the first event of each stream.
    Start,
    /// They are ticks of unknown length.
    Ticks,
}

/// A point of a line: ticks and ns.
type Point = (u64, u64);

/// The clock of a log.
#[derive(Debug)]
pub(crate) struct Clock {
    pub(crate) base: Base,
    /// CLOCK_MONOTONIC and CLOCK_REALTIME of one moment, if both are known.
    pub(crate) sync: Option<(u64, u64)>,
    /// At least two points for each stream, in ascending order of ticks.
    lines: Vec<Vec<Point>>,
}

impl Clock {
    pub(crate) fn new(log: &Log) -> Clock {
        let spans: Vec<Option<Point>> =
            (0..log.streams().len() as u16).map(|stream| log.span(stream)).collect();
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
            None => Base::Ticks,
            Some(_) if is_one_boot && has(|sync| sync.monotonic) => Base::Monotonic,
            Some(_) if has(|sync| sync.realtime) => Base::Realtime,
            Some(_) if streams().all(|(stream, _)| stream.clock_rate > 0) => Base::Start,
            Some(_) => Base::Ticks,
        };
        let line = |(stream, span): (&Stream, &Option<Point>)| match base {
            Base::Monotonic => through(stream, |sync| sync.monotonic),
            Base::Realtime => through(stream, |sync| sync.realtime),
            Base::Start => at_rate((span.map_or(0, |(first, _)| first), 0), stream.clock_rate),
            Base::Ticks => Vec::new(),
        };
        let lines = log.streams().iter().zip(&spans).map(line).collect();
        let sync = first.and_then(|stream| stream.syncs.first());
        let sync = sync.filter(|_| base == Base::Monotonic);
        Clock { base, sync: sync.map(|sync| (sync.monotonic, sync.realtime)), lines }
    }

    /// Returns the ns of ticks of a stream.
    pub(crate) fn ns(&self, stream: u16, ticks: u64) -> u64 {
        let Some(line) = self.lines.get(usize::from(stream)) else { return ticks };
        let after = line.partition_point(|(at, _)| *at <= ticks);
        let first = after.saturating_sub(1).min(line.len().saturating_sub(2));
        match line.get(first..) {
            Some([from, to, ..]) => on_line(*from, *to, ticks),
            _ => ticks,
        }
    }

    /// Returns a note for the user, if the times are ticks.
    pub(crate) fn note(&self) -> Option<&'static str> {
        (self.base == Base::Ticks).then_some(
            "the log does not state the length of a tick; each is exported as a nanosecond",
        )
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

fn on_line(from: Point, to: Point, ticks: u64) -> u64 {
    let run = i128::from(to.0) - i128::from(from.0);
    let rise = i128::from(to.1) - i128::from(from.1);
    let distance = i128::from(ticks) - i128::from(from.0);
    let Some(ns) = distance.checked_mul(rise).and_then(|product| product.checked_div(run)) else {
        return from.1;
    };
    u64::try_from((i128::from(from.1) + ns).max(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(line: Vec<Point>) -> Clock {
        Clock { base: Base::Monotonic, sync: Some((1000, 5000)), lines: vec![line] }
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
        assert!(clock.ns(0, u64::MAX) > 1 << 60);
        assert_eq!(at_rate((7, 70), 0), []);
        assert_eq!(at_rate((7, 70), 500), [(7, 70), (507, 1_000_000_070)]);
    }
}
