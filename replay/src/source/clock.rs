//! Ticks of a stream to ns.
//!
//! ```text
//!  sync ────── ticks ────── sync     on the line through the two between which they are
//! ```
//!
//! Which two is kept from one event to the next, and the line as a factor: an event costs a
//! multiplication. Design: `.rep.time` in `design/replay.md`, `.time.interpolate` in
//! `design/format.md`.

use eventlog::reader::Stream;

/// What the clock of a stream tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeBase {
    /// ns, by clock syncs.
    Syncs,
    /// ns, by the rate that the platform states.
    Rate,
    /// Ticks, for want of anything else: taken as ns.
    Ticks,
}

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
    pub(crate) base: TimeBase,
}

impl Clock {
    /// The clock of a stream, with a rate (ns a tick) that is known of it otherwise. Streams of
    /// several boots have only the time of day in common.
    pub(crate) fn new(stream: &Stream, rate: Option<f64>, by_time_of_day: bool) -> Clock {
        let mut points: Vec<(u64, u64)> = Vec::new();
        for sync in &stream.syncs {
            let time = if by_time_of_day { sync.realtime } else { sync.monotonic };
            if points.last().is_none_or(|last| sync.ticks > last.0 && time >= last.1) {
                points.push((sync.ticks, time));
            }
        }
        let stated = Some(stream.clock_rate).filter(|&rate| rate > 0).map(|rate| 1e9 / rate as f64);
        let (rate, base) = match rate.or(stated) {
            Some(rate) => (rate, TimeBase::Rate),
            None => (1.0, TimeBase::Ticks),
        };
        let is_synced = points.len() >= 2;
        let (origin, at_origin) = points.first().copied().unwrap_or_default();
        let (from, to) = if is_synced { (1, 0) } else { (0, u64::MAX) };
        let base = if is_synced { TimeBase::Syncs } else { base };
        Clock { points, from, to, origin, at_origin, rate, base }
    }

    /// The ns of ticks.
    #[inline]
    pub(crate) fn ns(&mut self, ticks: u64) -> u64 {
        if ticks < self.from || ticks > self.to {
            self.look_up(ticks);
        }
        let way = ticks as i128 - i128::from(self.origin);
        let way = (way as f64 * self.rate) as i64;
        self.at_origin.saturating_add_signed(way)
    }

    /// Finds the line for ticks: beyond the syncs that of the nearest two.
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
