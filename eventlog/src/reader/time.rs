//! Wall time of ticks.
//!
//! ```text
//!  sync ────── ticks ────── sync          between two: on the line through them
//!                           sync ── ticks past the last: on the line of the last two, and says so
//! ```
//!
//! Rules: `.time.sync`, `.time.interpolate` in `design/format.md`.

use super::index::Stream;
use crate::format::ClockSync;

/// When something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallTime {
    /// ns since 1970-01-01 00:00:00 UTC.
    pub realtime: u64,
    /// It lies beyond the syncs of the stream, as only what an open block holds does (or what was
    /// recorded before there was a stream): the rate of the syncs nearest to it was assumed.
    pub is_extrapolated: bool,
}

impl Stream {
    /// The wall time of ticks of this stream (`.time.interpolate`); `None` if it has no two syncs.
    pub fn wall_time(&self, ticks: u64) -> Option<WallTime> {
        let after = self.syncs.partition_point(|sync| sync.ticks <= ticks);
        let last_pair = self.syncs.len().checked_sub(2)?;
        let pair = after.saturating_sub(1).min(last_pair);
        let (from, to) = (self.syncs.get(pair)?, self.syncs.get(pair + 1)?);
        let is_between = from.ticks <= ticks && ticks <= to.ticks;
        Some(WallTime { realtime: on_line(from, to, ticks)?, is_extrapolated: !is_between })
    }
}

impl Stream {
    /// The ticks of a wall time, in ns since 1970: the opposite of [`Stream::wall_time`]. What is
    /// before any ticks is 0.
    pub fn ticks_at(&self, realtime: u64) -> Option<u64> {
        let after = self.syncs.partition_point(|sync| sync.realtime <= realtime);
        let last_pair = self.syncs.len().checked_sub(2)?;
        let pair = after.saturating_sub(1).min(last_pair);
        let (from, to) = (self.syncs.get(pair)?, self.syncs.get(pair + 1)?);
        let run = i128::from(to.realtime) - i128::from(from.realtime);
        let rise = i128::from(to.ticks) - i128::from(from.ticks);
        let way = i128::from(realtime) - i128::from(from.realtime);
        // Up, so that no event is between the ticks and the time.
        let quotient = way.checked_mul(rise)?.checked_add(run - 1)?.checked_div_euclid(run)?;
        let ticks = i128::from(from.ticks).checked_add(quotient)?;
        Some(u64::try_from(ticks.max(0)).unwrap_or(u64::MAX))
    }
}

/// The realtime of ticks on the line through two syncs.
fn on_line(from: &ClockSync, to: &ClockSync, ticks: u64) -> Option<u64> {
    let run = i128::from(to.ticks) - i128::from(from.ticks);
    let rise = i128::from(to.realtime) - i128::from(from.realtime);
    let way = i128::from(ticks) - i128::from(from.ticks);
    let realtime = i128::from(from.realtime) + (way.checked_mul(rise)?).checked_div(run)?;
    u64::try_from(realtime).ok()
}
