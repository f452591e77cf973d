//! Durations by group: count, sum, least, greatest, percentiles.
//!
//! ```text
//!  group 0 ─ [17, 4, 90, …]        exact, as long as all lists together have room
//!  group 1 ─ histogram             the longest lists become histograms, with three digits
//!  group 2 ─ count, sum, max       no room for a histogram: no percentiles
//! ```
//!
//! The histogram is that of G. Tene, HdrHistogram. Design: `.slice.durations` in
//! `design/slices.md`.

use crate::slices::model::Limits;
use hdrhistogram::Histogram;
use std::cmp::Reverse;

/// Digits of a histogram's values: an error of at most a thousandth.
const DIGITS: u8 = 3;
/// The greatest duration that a histogram tells from others: 146 years in ns.
const HISTOGRAM_MAX: u64 = (1 << 62) - 1;

/// A part of all durations, in thousandths of a percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(pub u32);

impl Percent {
    /// A half.
    pub const P50: Percent = Percent(50_000);
    /// 90 %.
    pub const P90: Percent = Percent(90_000);
    /// 99 %.
    pub const P99: Percent = Percent(99_000);
    /// 99.9 %.
    pub const P99_9: Percent = Percent(99_900);

    /// Returns how many of `count` durations are this part, at least one.
    pub(crate) fn rank(self, count: u64) -> u64 {
        let rank = (u128::from(count) * u128::from(self.0)).div_ceil(100_000);
        (rank as u64).clamp(1, count.max(1))
    }
}

/// The least duration that a part of all does not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentile {
    /// The duration.
    pub ns: u64,
    /// Whether it is one of the durations; else it has three digits.
    pub is_exact: bool,
}

/// The durations of a group.
#[derive(Clone, Debug, Default)]
pub struct Group {
    count: u64,
    sum: u128,
    range: Option<(u64, u64)>,
    pub(crate) values: Values,
    /// By octave: the durations, unless a list has them.
    octaves: Vec<u64>,
}

/// What is known of each duration.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    /// All; in order once they are settled.
    List(Vec<u64>),
    /// Their histogram.
    Histogram(Box<Histogram<u64>>),
    /// Nothing.
    None,
}

impl Default for Values {
    fn default() -> Values {
        Values::List(Vec::new())
    }
}

/// Returns an empty histogram, which grows with its greatest value.
pub(crate) fn histogram() -> Option<Box<Histogram<u64>>> {
    Histogram::new(DIGITS).ok().map(Box::new)
}

/// Counts a duration in a histogram.
pub(crate) fn record(histogram: &mut Histogram<u64>, ns: u64) {
    // A histogram that grows refuses nothing up to this.
    let _ = histogram.record(ns.min(HISTOGRAM_MAX));
}

/// Counts durations by octave: the number of their bits.
fn count_octaves(octaves: &mut Vec<u64>, durations: &[u64]) {
    for ns in durations {
        let octave = (u64::BITS - ns.leading_zeros()) as usize;
        if octaves.len() <= octave {
            octaves.resize(octave + 1, 0);
        }
        if let Some(count) = octaves.get_mut(octave) {
            *count += 1;
        }
    }
}

impl Group {
    /// Returns the number of durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum in ns.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Returns the mean in ns.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns the least and the greatest duration in ns.
    pub fn range(&self) -> Option<(u64, u64)> {
        self.range
    }

    /// Returns the percentile of a part; `None` without durations, or if their memory was full.
    /// [`Durations::settle`] must come before.
    pub fn percentile(&self, percent: Percent) -> Option<Percentile> {
        let rank = percent.rank(self.count);
        match &self.values {
            Values::List(list) => {
                let at = usize::try_from(rank.checked_sub(1)?).ok()?;
                list.get(at).map(|ns| Percentile { ns: *ns, is_exact: true })
            }
            Values::Histogram(histogram) => {
                let (min, max) = self.range?;
                let mut seen = 0;
                let found = histogram.iter_recorded().find(|step| {
                    seen += step.count_since_last_iteration();
                    seen >= rank
                });
                let ns = found.map_or(max, |step| step.value_iterated_to());
                Some(Percentile { ns: ns.clamp(min, max), is_exact: false })
            }
            Values::None => None,
        }
    }

    /// Returns the number of durations in each octave that has any: the least duration of the
    /// octave, and the count.
    pub fn octaves(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut octaves = self.octaves.clone();
        count_octaves(&mut octaves, self.list());
        let counts = octaves.into_iter().enumerate().filter(|(_, count)| *count > 0);
        counts.map(|(octave, count)| (if octave == 0 { 0 } else { 1 << (octave - 1) }, count))
    }

    #[inline]
    fn add(&mut self, ns: u64) -> bool {
        self.count += 1;
        self.sum += u128::from(ns);
        let (min, max) = self.range.unwrap_or((ns, ns));
        self.range = Some((min.min(ns), max.max(ns)));
        match &mut self.values {
            Values::List(list) => {
                list.push(ns);
                return true;
            }
            Values::Histogram(histogram) => record(histogram, ns),
            Values::None => {}
        }
        count_octaves(&mut self.octaves, &[ns]);
        false
    }

    fn list(&self) -> &[u64] {
        if let Values::List(list) = &self.values { list } else { &[] }
    }
}

/// The durations of all groups.
#[derive(Clone, Debug)]
pub struct Durations {
    groups: Vec<Group>,
    /// Durations in all lists.
    listed: usize,
    histogram_count: usize,
    limits: Limits,
}

impl Durations {
    /// Returns durations without a group.
    pub fn new(limits: Limits) -> Durations {
        Durations { groups: Vec::new(), listed: 0, histogram_count: 0, limits }
    }

    /// Adds a duration to a group; groups up to it are made if necessary.
    #[inline]
    pub fn add(&mut self, group: usize, ns: u64) {
        if self.groups.len() <= group {
            self.groups.resize_with(group + 1, Group::default);
        }
        if let Some(group) = self.groups.get_mut(group)
            && group.add(ns)
        {
            self.listed += 1;
            if self.listed > self.limits.duration_count {
                self.make_room();
            }
        }
    }

    /// Puts all lists in order: percentiles are known then.
    pub fn settle(&mut self) {
        for group in &mut self.groups {
            if let Values::List(list) = &mut group.values {
                list.sort_unstable();
            }
        }
    }

    /// Returns the groups by their number.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Returns a group; one without durations if nothing was added to it.
    pub fn group(&self, group: usize) -> &Group {
        static EMPTY: Group = Group {
            count: 0,
            sum: 0,
            range: None,
            values: Values::List(Vec::new()),
            octaves: Vec::new(),
        };
        self.groups.get(group).unwrap_or(&EMPTY)
    }

    /// Returns the number of groups that found no room for a histogram: they have no percentiles.
    pub fn lost_count(&self) -> usize {
        self.groups.iter().filter(|group| matches!(group.values, Values::None)).count()
    }

    /// Turns the longest lists into histograms, until half of the room is free.
    #[cold]
    fn make_room(&mut self) {
        let mut order: Vec<(usize, usize)> =
            self.groups.iter().map(|group| group.list().len()).zip(0..).collect();
        order.sort_unstable_by_key(|&(size, at)| (Reverse(size), at));
        for (_, at) in order {
            if self.listed <= self.limits.duration_count / 2 {
                break;
            }
            let Some(group) = self.groups.get_mut(at) else { continue };
            let room = self.histogram_count < self.limits.histogram_count;
            let mut histogram = histogram().filter(|_| room);
            self.histogram_count += usize::from(histogram.is_some());
            if let Some(histogram) = &mut histogram {
                group.list().iter().for_each(|&ns| record(histogram, ns));
            }
            self.listed -= group.list().len();
            let mut octaves = Vec::new();
            count_octaves(&mut octaves, group.list());
            group.octaves = octaves;
            group.values = histogram.map_or(Values::None, Values::Histogram);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERCENTS: [Percent; 5] =
        [Percent(1), Percent::P50, Percent::P90, Percent::P99, Percent::P99_9];

    /// Returns the percentile of a sorted list by its definition: the naive twin.
    fn naive(values: &[u64], percent: Percent) -> u64 {
        let is_part = |value: u64| {
            let below = values.iter().filter(|&&other| other <= value).count() as u128;
            below * 100_000 >= u128::from(percent.0) * values.len() as u128
        };
        values.iter().copied().filter(|&value| is_part(value)).min().unwrap()
    }

    fn random(count: usize, spread: u64) -> Vec<u64> {
        let mut state = 12345u64;
        let step = |_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) % spread
        };
        (0..count).map(step).collect()
    }

    /// `.slice.durations`
    #[test]
    fn percentiles_are_those_of_the_sorted_list() {
        for count in [1, 2, 3, 10, 99, 100, 101, 999, 1000, 1001] {
            let mut durations = Durations::new(Limits::default());
            let values = random(count, 300);
            values.iter().for_each(|&ns| durations.add(2, ns));
            durations.settle();
            for percent in PERCENTS {
                let found = durations.group(2).percentile(percent).unwrap();
                assert_eq!(found.ns, naive(&values, percent), "{count} {percent:?}");
                assert!(found.is_exact);
            }
            assert_eq!(durations.group(2).sum(), values.iter().map(|&ns| u128::from(ns)).sum());
            assert_eq!(durations.group(0).percentile(Percent::P50), None);
            assert_eq!(durations.group(9).count(), 0);
        }
    }

    #[test]
    fn a_histogram_differs_from_the_list_by_a_thousandth() {
        let limits = Limits { duration_count: 100, ..Limits::default() };
        for spread in [1000, 1 << 40, u64::MAX >> 11] {
            let (mut durations, values) = (Durations::new(limits), random(3000, spread));
            values.iter().for_each(|&ns| durations.add(0, ns));
            durations.settle();
            for percent in PERCENTS {
                let found = durations.group(0).percentile(percent).unwrap();
                let (exact, near) = (naive(&values, percent), found.ns);
                assert!(near.abs_diff(exact) <= exact / 1000, "{percent:?}: {near} {exact}");
                assert!(!found.is_exact);
            }
        }
    }

    /// `.slice.durations`: the longest lists become histograms, and a full memory has no
    /// percentiles.
    #[test]
    fn the_longest_lists_give_way() {
        let limits = Limits { duration_count: 100, histogram_count: 1, ..Limits::default() };
        let mut durations = Durations::new(limits);
        (0..5).for_each(|ns| durations.add(0, ns));
        (0..90).for_each(|ns| durations.add(1, ns));
        (0..10).for_each(|ns| durations.add(0, ns));
        durations.settle();
        let p50 = |durations: &Durations, group: usize| {
            durations.group(group).percentile(Percent::P50).map(|found| found.is_exact)
        };
        assert_eq!([p50(&durations, 0), p50(&durations, 1)], [Some(true), Some(false)]);
        (0..90).for_each(|ns| durations.add(2, ns));
        durations.settle();
        assert_eq!([0, 1, 2].map(|group| p50(&durations, group)), [Some(true), Some(false), None]);
        assert_eq!(durations.group(2).count(), 90);
        assert_eq!(durations.group(2).range(), Some((0, 89)));
        for ns in [0, 1, u64::MAX] {
            durations.add(1, ns);
        }
        let top = durations.group(1).percentile(Percent(100_000)).unwrap();
        assert!(top.ns >= HISTOGRAM_MAX);
    }

    #[test]
    fn an_octave_begins_with_a_power_of_two() {
        let mut durations = Durations::new(Limits::default());
        [0, 1, 2, 3, 4, 7, 8, u64::MAX].iter().for_each(|&ns| durations.add(0, ns));
        let octaves: Vec<_> = durations.group(0).octaves().collect();
        assert_eq!(octaves, [(0, 1), (1, 1), (2, 2), (4, 2), (8, 1), (1 << 63, 1)]);
    }
}
