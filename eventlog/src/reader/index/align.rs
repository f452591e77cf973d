//! The clocks of several eras on one line of time. Eras of one boot are aligned by CLOCK_MONOTONIC,
//! all others by the time of day.
//!
//! ```text
//!  era 0, ticks   ──┬────────┬──────┬──   its syncs    at: eighths of a ns since 1970, so that
//!  one boot, ns   ──┴──┬─────┴──┬───┴──                ticks of one clock keep their order
//!  era 1, ticks   ─────┴────────┴──────
//! ```
//!
//! Order: `.time.align` in `design/format.md`.

use crate::format::ClockSync;
use crate::reader::model::stream::Stream;
use std::collections::BTreeMap;

/// Parts of a ns on the line. A counter with up to 8 ticks per ns keeps the order of its ticks.
const PARTS: u64 = 8;

/// How the ticks of an era map to the common line of time.
#[derive(Debug)]
pub(crate) struct Line {
    /// Ticks and their positions on the line, both ascending: at least two.
    points: Vec<(u64, u64)>,
}

impl Line {
    /// Returns the line through the clock syncs of streams; `None` without two syncs.
    fn new<'a>(streams: impl Iterator<Item = &'a Stream>, clock: Clock) -> Option<Line> {
        let syncs = streams.flat_map(|stream| &stream.syncs);
        let mut points: Vec<(u64, u64)> = syncs
            .filter_map(|sync| Some((sync.ticks, clock.ns(sync)?.saturating_mul(PARTS))))
            .collect();
        points.sort_unstable();
        // The time of day may be set back: events still keep the order of their ticks.
        let mut last = None;
        points.retain(|&(ticks, at)| {
            let is_later = last.is_none_or(|(before, time)| ticks > before && at > time);
            if is_later {
                last = Some((ticks, at));
            }
            is_later
        });
        (points.len() >= 2).then_some(Line { points })
    }

    /// Returns the position of ticks on the line. Beyond the ends, the nearest rate holds.
    pub(crate) fn at(&self, ticks: u64) -> u64 {
        let after = self.points.partition_point(|(at, _)| *at <= ticks);
        let pair = after.saturating_sub(1).min(self.points.len().saturating_sub(2));
        let (Some(&from), Some(&to)) = (self.points.get(pair), self.points.get(pair + 1)) else {
            return ticks;
        };
        let way = i128::from(ticks) - i128::from(from.0);
        let (run, rise) = (i128::from(to.0 - from.0), i128::from(to.1 - from.1));
        let at = i128::from(from.1) + way.saturating_mul(rise).div_euclid(run.max(1));
        u64::try_from(at.max(0)).unwrap_or(u64::MAX)
    }
}

/// The clock that aligns the streams of a boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// The time of day.
    Realtime,
    /// CLOCK_MONOTONIC, and the ns from it to the time of day.
    Monotonic(i128),
}

impl Clock {
    /// Returns the time of a sync; `None` if unknown (0).
    fn ns(self, sync: &ClockSync) -> Option<u64> {
        match self {
            Clock::Realtime => Some(sync.realtime).filter(|&ns| ns > 0),
            Clock::Monotonic(_) if sync.monotonic == 0 => None,
            Clock::Monotonic(offset) => u64::try_from(i128::from(sync.monotonic) + offset).ok(),
        }
    }

    /// Chooses the clock for the streams of a boot, each with its era.
    fn of_boot(of_boot: &[(&Stream, u16)], is_only_boot: bool) -> Clock {
        let is_monotonic = |era: u16| {
            let of_era = of_boot.iter().filter(|(_, other)| *other == era);
            let syncs = of_era.flat_map(|(stream, _)| &stream.syncs);
            syncs.filter(|sync| sync.monotonic > 0).count() >= 2
        };
        let mut eras: Vec<u16> = of_boot.iter().map(|(_, era)| *era).collect();
        eras.sort_unstable();
        eras.dedup();
        if eras.len() < 2 || !eras.iter().all(|&era| is_monotonic(era)) {
            return Clock::Realtime;
        }
        // The time of day may have been set: the last one holds.
        let syncs = of_boot.iter().flat_map(|(stream, _)| &stream.syncs);
        let last = syncs
            .filter(|sync| sync.monotonic > 0 && sync.realtime > 0)
            .max_by_key(|sync| sync.monotonic);
        match last {
            Some(last) => Clock::Monotonic(i128::from(last.realtime) - i128::from(last.monotonic)),
            None if is_only_boot => Clock::Monotonic(0),
            None => Clock::Realtime,
        }
    }
}

/// Returns the line of each stream, by index. `None`: the streams are of one era, or an era has no
/// line.
pub(crate) fn lines(streams: &[Stream], eras: &[u16]) -> Option<Vec<Line>> {
    let first = eras.first()?;
    if eras.iter().all(|era| era == first) {
        return None;
    }
    // A stream of an unknown boot has a boot of its own.
    let mut boots: BTreeMap<_, Vec<(&Stream, u16)>> = BTreeMap::new();
    let boot_of = |stream: &Stream, era: u16| {
        (stream.boot_id, if stream.boot_id == [0; 16] { era } else { 0 })
    };
    for (stream, &era) in streams.iter().zip(eras) {
        boots.entry(boot_of(stream, era)).or_default().push((stream, era));
    }
    let is_only_boot = boots.len() == 1;
    let clocks: BTreeMap<_, Clock> = boots
        .iter()
        .map(|(boot, of_boot)| (*boot, Clock::of_boot(of_boot, is_only_boot)))
        .collect();
    let line = |(stream, &era): (&Stream, &u16)| {
        let boot = boot_of(stream, era);
        let of_era = boots.get(&boot)?.iter().filter(|(_, other)| *other == era);
        Line::new(of_era.map(|(stream, _)| *stream), *clocks.get(&boot)?)
    };
    streams.iter().zip(eras).map(line).collect()
}
