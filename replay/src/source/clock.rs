//! Converts ticks of a stream to ns.
//!
//! ```text
//!  sync ────── ticks ────── sync     on the line through the two nearest syncs
//! ```
//!
//! The current line is kept from one event to the next, as a factor: an event costs a
//! multiplication. Design: `.rep.time` in `design/replay.md`, `.time.interpolate` in
//! `design/format.md`.

use eventlog::reader::Stream;

/// The clock of a stream.
#[derive(Debug)]
pub(crate) struct Clock {
    /// Ticks and ns, both ascending.
    points: Vec<(u64, u64)>,
    /// The ticks for which the line holds.
    from: u64,
    to: u64,
    /// The line: ns at `origin`, and ns a tick.
    origin: u64,
    at_origin: u64,
    rate: f64,
    /// Whether the log tells how long a tick is: without that, a tick counts as a ns.
    pub(crate) has_rate: bool,
}

impl Clock {
    /// Returns the clock of a stream. `rate` is its rate in ns a tick, if other events tell it.
    /// Streams of several boots have only the time of day in common.
    pub(crate) fn new(stream: &Stream, rate: Option<f64>, by_time_of_day: bool) -> Clock {
        let mut points: Vec<(u64, u64)> = Vec::new();
        for sync in &stream.syncs {
            let time = if by_time_of_day { sync.realtime } else { sync.monotonic };
            if points.last().is_none_or(|last| sync.ticks > last.0 && time >= last.1) {
                points.push((sync.ticks, time));
            }
        }
        let stated = Some(stream.clock_rate).filter(|&rate| rate > 0).map(|rate| 1e9 / rate as f64);
        let rate = rate.or(stated);
        let is_synced = points.len() >= 2;
        let (origin, at_origin) = points.first().copied().unwrap_or_default();
        let (from, to) = if is_synced { (1, 0) } else { (0, u64::MAX) };
        let has_rate = is_synced || rate.is_some();
        Clock { points, from, to, origin, at_origin, rate: rate.unwrap_or(1.0), has_rate }
    }

    /// Returns the time of ticks in ns.
    #[inline]
    pub(crate) fn ns(&mut self, ticks: u64) -> u64 {
        if ticks < self.from || ticks > self.to {
            self.look_up(ticks);
        }
        let distance = ticks as i128 - i128::from(self.origin);
        let distance = (distance as f64 * self.rate) as i64;
        self.at_origin.saturating_add_signed(distance)
    }

    /// Finds the line for ticks: beyond all syncs, the line through the nearest two.
    #[cold]
    fn look_up(&mut self, ticks: u64) {
        let after = self.points.partition_point(|(at, _)| *at <= ticks);
        let pair = after.saturating_sub(1).min(self.points.len().saturating_sub(2));
        let (Some(&a), Some(&b)) = (self.points.get(pair), self.points.get(pair + 1)) else {
            (self.from, self.to) = (0, u64::MAX);
            return;
        };
        self.from = if pair == 0 { 0 } else { a.0 };
        self.to = if pair + 2 == self.points.len() { u64::MAX } else { b.0 - 1 };
        (self.origin, self.at_origin) = a;
        self.rate = (b.1 - a.1) as f64 / (b.0 - a.0) as f64;
    }
}
