//! The clocks of several eras on one line of time: by the syncs that their streams have with the
//! time of day.
//!
//! ```text
//!  era 0, ticks  ──┬────────┬──────┬──   its syncs     at: eighths of a ns since 1970, so that
//!  time of day   ──┴────────┴──────┴──                 ticks of one clock keep their order
//!  era 1, ticks  ───────┬──────┬──────
//! ```
//!
//! Order: `.time.align` in `design/format.md`.

use crate::reader::model::stream::Stream;

/// Parts of a ns that are told apart: of a counter that ticks up to 8 times in one, every tick.
const PARTS: u64 = 8;

/// How the ticks of an era lie on the common line of time.
#[derive(Debug)]
pub(crate) struct Line {
    /// Ticks and where they are on the line, both ascending; two at least.
    points: Vec<(u64, u64)>,
}

impl Line {
    /// The line through the syncs of streams; none if there are no two of them.
    fn new<'a>(streams: impl Iterator<Item = &'a Stream>) -> Option<Line> {
        // A time of day that is 0 is not known.
        let syncs = streams.flat_map(|stream| &stream.syncs).filter(|sync| sync.realtime != 0);
        let mut points: Vec<(u64, u64)> =
            syncs.map(|sync| (sync.ticks, sync.realtime.saturating_mul(PARTS))).collect();
        points.sort_unstable();
        // The time of day may be set back: events keep the order of their ticks all the same.
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

    /// Where ticks are on the line; beyond its ends, by the rate that is nearest.
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

/// The line of each stream, by its index; none if the streams are of one era, or one era has no
/// line.
pub(crate) fn lines(streams: &[Stream], eras: &[u16]) -> Option<Vec<Line>> {
    let first = eras.first()?;
    if eras.iter().all(|era| era == first) {
        return None;
    }
    let line = |era: &u16| {
        let of_era = streams.iter().zip(eras).filter(move |(_, other)| *other == era);
        Line::new(of_era.map(|(stream, _)| stream))
    };
    eras.iter().map(line).collect()
}
