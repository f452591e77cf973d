//! Wall time of ticks.
//!
//! ```text
//!  sync ────── ticks ────── sync          between two: on the line through them
//!                           sync ── ticks past the last: on the line of the last two, and says so
//! ```
//!
//! Rules: `.time.sync`, `.time.interpolate` in `design/format.md`.

use super::stream::Stream;
use crate::format::ClockSync;

/// A time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallTime {
    /// ns since 1970-01-01 00:00:00 UTC.
    pub realtime: u64,
    /// Whether the time lies beyond the clock syncs of the stream: the rate of the nearest syncs
    /// was assumed. Open blocks have such events, and events that were recorded before the stream
    /// began.
    pub is_extrapolated: bool,
}

impl Stream {
    /// Returns the wall time of ticks (`.time.interpolate`); `None` if the stream has no two syncs.
    pub fn wall_time(&self, ticks: u64) -> Option<WallTime> {
        self.wall_time_near(ticks, &mut 0)
    }

    /// Returns the wall time of ticks, faster for ascending ticks. `near` keeps the index of the
    /// last pair of syncs; it begins as 0.
    #[inline]
    pub fn wall_time_near(&self, ticks: u64, near: &mut usize) -> Option<WallTime> {
        let pair_at = |pair: usize| Some((self.syncs.get(pair)?, self.syncs.get(pair + 1)?));
        let holds = |(from, to): &(&ClockSync, &ClockSync)| (from.ticks..to.ticks).contains(&ticks);
        let (from, to) = match pair_at(*near).filter(holds) {
            Some(pair) => pair,
            None => {
                let after = self.syncs.partition_point(|sync| sync.ticks <= ticks);
                let last_pair = self.syncs.len().checked_sub(2)?;
                *near = after.saturating_sub(1).min(last_pair);
                pair_at(*near)?
            }
        };
        let is_between = from.ticks <= ticks && ticks <= to.ticks;
        let point = |sync: &ClockSync| (sync.ticks, sync.realtime);
        let realtime = on_line(point(from), point(to), ticks)?;
        Some(WallTime { realtime, is_extrapolated: !is_between })
    }
}

impl Stream {
    /// Returns the ticks of a time of day in ns since 1970. A time before all ticks gives 0.
    pub fn ticks_at(&self, realtime: u64) -> Option<u64> {
        let after = self.syncs.partition_point(|sync| sync.realtime <= realtime);
        let last_pair = self.syncs.len().checked_sub(2)?;
        let pair = after.saturating_sub(1).min(last_pair);
        let (from, to) = (self.syncs.get(pair)?, self.syncs.get(pair + 1)?);
        let run = i128::from(to.realtime) - i128::from(from.realtime);
        let rise = i128::from(to.ticks) - i128::from(from.ticks);
        let way = i128::from(realtime) - i128::from(from.realtime);
        // Rounds up, so that no event lies between the ticks and the time.
        let quotient = way.checked_mul(rise)?.checked_add(run - 1)?.checked_div_euclid(run)?;
        let ticks = i128::from(from.ticks).checked_add(quotient)?;
        Some(u64::try_from(ticks.max(0)).unwrap_or(u64::MAX))
    }
}

/// Ticks, and their time in ns.
type Point = (u64, u64);

/// Returns the time of ticks on the line through two points; `None`: it is below 0, or too large.
#[inline]
pub(crate) fn on_line(from: Point, to: Point, ticks: u64) -> Option<u64> {
    on_short_line(from, to, ticks).or_else(|| on_long_line(from, to, ticks))
}

/// Computes with 64 bits, which suffice between most syncs: a 128-bit division costs more than all
/// other steps.
fn on_short_line(from: Point, to: Point, ticks: u64) -> Option<u64> {
    let (run, rise) = (to.0.checked_sub(from.0)?, to.1.checked_sub(from.1)?);
    let way = ticks.checked_sub(from.0)?;
    from.1.checked_add(way.checked_mul(rise)?.checked_div(run)?)
}

fn on_long_line(from: Point, to: Point, ticks: u64) -> Option<u64> {
    let run = i128::from(to.0) - i128::from(from.0);
    let rise = i128::from(to.1) - i128::from(from.1);
    let way = i128::from(ticks) - i128::from(from.0);
    let time = i128::from(from.1) + (way.checked_mul(rise)?).checked_div(run)?;
    u64::try_from(time).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_64_and_128_bits_agree() {
        let mut compared = 0;
        for shift in 0..63 {
            let far = (1_u64 << shift) + 7;
            for (from, to) in [
                ((100, 5), (100 + far, 5 + far / 3)),
                ((1, 1 << 60), (2 + shift, (1 << 60) + far)),
                ((9, 80), (9, 90)),
                ((50, 70), (60, 40)),
            ] {
                for ticks in [0, 1, 99, 100, 101, 100 + far / 2, 100 + far, 200 + far] {
                    let long = on_long_line(from, to, ticks);
                    if let Some(short) = on_short_line(from, to, ticks) {
                        assert_eq!(Some(short), long, "{from:?} {to:?} {ticks}");
                        compared += 1;
                    }
                    assert_eq!(on_line(from, to, ticks), long);
                }
            }
        }
        assert!(compared > 500, "{compared}");
    }
}
