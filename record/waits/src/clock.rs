//! Clock syncs: the ticks of the trace at a time of CLOCK_MONOTONIC.
//!
//! ```text
//!  monotonic a ── write to trace_marker ── monotonic b ── realtime ── monotonic c
//!                    │ the kernel stamps it
//!                    └▶ a record with its ticks ── meets its readings again by their number
//! ```
//!
//! Design: `.waits.record` in `design/waits.md`; `.time.sync` in `design/format.md`.

use crate::error::CollectError;
use crate::tracefs::Instance;
use eventlog::format::ClockSync;
use rustix::time::{ClockId, clock_gettime};
use std::fs::{File, OpenOptions};
use std::io::Write;

/// Readings of a recording, at most. One a second: twelve days.
const READING_COUNT_MAX: usize = 1 << 20;
/// The text of a marker, before its number.
const TEXT: &str = "eventcnv sync ";

/// The readings of the clocks around a marker.
#[derive(Clone, Copy, Debug)]
struct Reading {
    monotonic: u64,
    realtime: u64,
    uncertainty: u64,
}

/// The clocks of a recording.
#[derive(Debug)]
pub(super) struct Clocks {
    /// `None` after the end.
    marker: Option<File>,
    readings: Vec<Reading>,
}

impl Clocks {
    pub(super) fn new(instance: &Instance) -> Result<Clocks, CollectError> {
        let path = instance.path("trace_marker");
        match OpenOptions::new().write(true).open(&path) {
            Ok(marker) => Ok(Clocks { marker: Some(marker), readings: Vec::new() }),
            Err(error) => Err(CollectError::File { path, what: "cannot be opened", error }),
        }
    }

    /// Writes markers, and reads the clocks around each. A failure costs one clock sync of several.
    pub(super) fn mark(&mut self, count: usize) {
        let Some(marker) = &mut self.marker else { return };
        for _ in 0..count {
            if self.readings.len() >= READING_COUNT_MAX {
                return;
            }
            let text = format!("{TEXT}{}\n", self.readings.len());
            let a = ns(ClockId::Monotonic);
            let is_written = marker.write_all(text.as_bytes()).is_ok();
            let b = ns(ClockId::Monotonic);
            let realtime = ns(ClockId::Realtime);
            let c = ns(ClockId::Monotonic);
            if is_written {
                let monotonic = a + b.saturating_sub(a) / 2;
                // The time of day at that time.
                let later = (b + c.saturating_sub(b) / 2).saturating_sub(monotonic);
                let realtime = realtime.saturating_sub(later);
                self.readings.push(Reading {
                    monotonic,
                    realtime,
                    uncertainty: c.saturating_sub(a),
                });
            }
        }
    }

    /// Closes the kernel's file.
    pub(super) fn close(&mut self) {
        self.marker = None;
    }

    /// Returns the clock sync of a marker, by its text and ticks.
    pub(super) fn sync(&self, text: &[u8], ticks: u64) -> Option<ClockSync> {
        let number = str::from_utf8(text).ok()?.strip_prefix(TEXT)?.trim().parse::<usize>().ok()?;
        let &Reading { monotonic, realtime, uncertainty } = self.readings.get(number)?;
        let uncertainty = uncertainty.try_into().unwrap_or(u32::MAX);
        (ticks != 0).then_some(ClockSync { ticks, monotonic, realtime, uncertainty })
    }
}

/// Returns a clock sync of a log whose ticks are those of CLOCK_MONOTONIC.
pub(super) fn now() -> ClockSync {
    let a = ns(ClockId::Monotonic);
    let realtime = ns(ClockId::Realtime);
    let uncertainty = ns(ClockId::Monotonic).saturating_sub(a);
    let monotonic = a + uncertainty / 2;
    let uncertainty = uncertainty.try_into().unwrap_or(u32::MAX);
    ClockSync { ticks: monotonic, monotonic, realtime, uncertainty }
}

/// Returns the time of CLOCK_MONOTONIC, in ns.
pub(super) fn monotonic() -> u64 {
    ns(ClockId::Monotonic)
}

fn ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec.unsigned_abs())
}

/// The best clock syncs of a recording, and ticks at times of CLOCK_MONOTONIC.
#[derive(Debug, Default)]
pub(super) struct Syncs {
    all: Vec<ClockSync>,
}

impl Syncs {
    /// Keeps, of syncs that are close together, the one with the least uncertainty.
    pub(super) fn new(mut found: Vec<ClockSync>) -> Syncs {
        /// Syncs within this time are close together, in ns.
        const CLOSE: u64 = 10_000_000;
        found.sort_unstable_by_key(|sync| sync.ticks);
        let mut all: Vec<ClockSync> = Vec::new();
        for sync in found {
            match all.last_mut() {
                Some(last) if sync.monotonic.saturating_sub(last.monotonic) < CLOSE => {
                    if sync.uncertainty < last.uncertainty {
                        *last = sync;
                    }
                }
                _ => all.push(sync),
            }
        }
        Syncs { all }
    }

    pub(super) fn all(&self) -> &[ClockSync] {
        &self.all
    }

    /// Returns the ticks at a time of CLOCK_MONOTONIC, interpolated between the first and the last
    /// sync.
    pub(super) fn ticks(&self, monotonic: u64) -> u64 {
        let (Some(first), Some(last)) = (self.all.first(), self.all.last()) else { return 0 };
        let at = self.all.partition_point(|sync| sync.monotonic <= monotonic);
        let before = at.checked_sub(1).and_then(|at| self.all.get(at)).unwrap_or(first);
        let after = self.all.get(at).unwrap_or(last);
        let (from, to) = if before.ticks == after.ticks { (first, last) } else { (before, after) };
        let span = i128::from(to.monotonic) - i128::from(from.monotonic);
        if span == 0 {
            return from.ticks;
        }
        let ticks = i128::from(to.ticks) - i128::from(from.ticks);
        let past = i128::from(monotonic) - i128::from(from.monotonic);
        (i128::from(from.ticks) + past * ticks / span).clamp(1, u64::MAX.into()) as u64
    }

    /// Returns the ticks per second between the first and the last sync; 0 if unknown.
    pub(super) fn rate(&self) -> u64 {
        let (Some(first), Some(last)) = (self.all.first(), self.all.last()) else { return 0 };
        let ns = u128::from(last.monotonic.saturating_sub(first.monotonic));
        let ticks = u128::from(last.ticks.saturating_sub(first.ticks)) * 1_000_000_000;
        ticks.checked_div(ns).unwrap_or(0).try_into().unwrap_or(0)
    }
}
