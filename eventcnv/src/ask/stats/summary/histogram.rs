//! A histogram of numbers, in bounded memory.
//!
//! ```text
//!  value ──▶ octave (power of two) and 64 steps in it ──▶ a count     1 … 127 exact, else 1/64 low
//!            └ a page of 64 counts, made when first needed
//! ```
//!
//! A log-linear histogram (G. Tene, HdrHistogram) over the bits of doubles: the exponent and the
//! upper six bits of the mantissa. Design: `.cnv.params` in `design/eventcnv.md`.

use std::collections::{BTreeMap, BTreeSet};

/// Steps of an octave, as bits of the mantissa. A percentile is at most 1/64 = 1.6 % too low.
const STEP_BITS: u32 = 6;
const STEP_COUNT: usize = 1 << STEP_BITS;
const SHIFT: u32 = 52 - STEP_BITS;

/// Up to here whole numbers have a step each.
pub(super) const EXACT_MAX: f64 = 127.0;

/// Pages of all histograms of a summary, at most: 8 MiB.
pub(super) const PAGE_COUNT_MAX: usize = 1 << 14;

#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    /// By octave; negative values have negative octaves.
    pages: BTreeMap<i16, Box<[u64; STEP_COUNT]>>,
    count: u64,
    /// Values without a page.
    beyond: u64,
    sum: f64,
    range: Option<(f64, f64)>,
    nan_count: u64,
}

impl Histogram {
    /// Counts a value; a new page reduces `room`.
    pub(crate) fn add(&mut self, value: f64, room: &mut usize) {
        if value.is_nan() {
            self.nan_count += 1;
            return;
        }
        self.count += 1;
        self.sum += value;
        let (min, max) = self.range.unwrap_or((value, value));
        self.range = Some((min.min(value), max.max(value)));
        let (octave, step) = place(value);
        match self.page(octave, room).and_then(|page| page.get_mut(step)) {
            Some(count) => *count += 1,
            None => self.beyond += 1,
        }
    }

    fn page(&mut self, octave: i16, room: &mut usize) -> Option<&mut [u64; STEP_COUNT]> {
        if *room == 0 {
            return self.pages.get_mut(&octave).map(|page| &mut **page);
        }
        let page = self.pages.entry(octave).or_insert_with(|| {
            *room -= 1;
            Box::new([0; STEP_COUNT])
        });
        Some(page)
    }

    /// Returns the greatest distance of the two distribution functions (A. Kolmogorov, N. Smirnov),
    /// from 0 to 1.
    pub(crate) fn distance(&self, other: &Histogram) -> f64 {
        let octaves: BTreeSet<i16> = self.pages.keys().chain(other.pages.keys()).copied().collect();
        let count = |histogram: &Histogram, octave: i16, step: usize| {
            histogram.pages.get(&octave).and_then(|page| page.get(step)).copied().unwrap_or(0)
        };
        let part = |seen: u64, all: u64| seen as f64 / all.max(1) as f64;
        let (mut own, mut others, mut greatest) = (0, 0, 0.0_f64);
        for octave in octaves {
            for step in 0..STEP_COUNT {
                own += count(self, octave, step);
                others += count(other, octave, step);
                let apart = part(own, self.count) - part(others, other.count);
                greatest = greatest.max(apart.abs());
            }
        }
        greatest
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Adds the counts of another histogram.
    pub(crate) fn merge(&mut self, other: &Histogram) {
        self.count += other.count;
        self.beyond += other.beyond;
        self.nan_count += other.nan_count;
        self.sum += other.sum;
        self.range = match (self.range, other.range) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, another) => one.or(another),
        };
        for (&octave, page) in &other.pages {
            let own = self.pages.entry(octave).or_insert_with(|| Box::new([0; STEP_COUNT]));
            own.iter_mut().zip(page.iter()).for_each(|(own, count)| *own += count);
        }
    }

    /// Returns the least and the greatest value.
    pub(crate) fn range(&self) -> Option<(f64, f64)> {
        self.range
    }

    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// Returns the least value that `percent` of all do not exceed, at most 1/64 too low; `None` if
    /// a value had no page.
    pub(crate) fn percentile(&self, percent: f64) -> Option<f64> {
        let (min, max) = self.range.filter(|_| self.beyond == 0)?;
        let rank = rank(self.count, percent);
        let mut seen = 0;
        for (&octave, page) in &self.pages {
            for (step, &count) in page.iter().enumerate() {
                seen += count;
                if seen >= rank {
                    return Some(value(octave, step).clamp(min, max));
                }
            }
        }
        Some(max)
    }
}

/// Returns the place of a percentile in the sorted list of `count` numbers, from 1.
pub(super) fn rank(count: u64, percent: f64) -> u64 {
    (count as f64 * percent / 100.0).ceil().max(1.0) as u64
}

/// Returns the octave and step of a value, which have the order of values: steps of negative
/// octaves are reversed.
fn place(value: f64) -> (i16, usize) {
    let magnitude = value.abs().to_bits() >> SHIFT;
    let step = magnitude as usize % STEP_COUNT;
    let octave = (magnitude >> STEP_BITS) as i16;
    if value < 0.0 { (!octave, STEP_COUNT - 1 - step) } else { (octave, step) }
}

/// Returns the value nearest to zero of an octave and step.
fn value(octave: i16, step: usize) -> f64 {
    let value =
        |octave: i16, step: usize| f64::from_bits((octave as u64) << 52 | (step as u64) << SHIFT);
    if octave < 0 { -value(!octave, STEP_COUNT - 1 - step) } else { value(octave, step) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the percentile of a sorted list: the naive twin.
    fn naive(values: &[f64], percent: f64) -> f64 {
        let rank = (values.len() as f64 * percent / 100.0).ceil().max(1.0) as usize;
        values[rank - 1]
    }

    fn of(values: &[f64]) -> Histogram {
        let (mut histogram, mut room) = (Histogram::default(), PAGE_COUNT_MAX);
        values.iter().for_each(|&value| histogram.add(value, &mut room));
        histogram
    }

    /// `.cnv.params`: small numbers exactly, large ones to 1.6 %.
    #[test]
    fn a_percentile_differs_from_the_sorted_list_by_a_64th() {
        let mut state = 12345u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 11
        };
        for spread in [100, 100_000, u64::MAX >> 11] {
            let mut values: Vec<f64> = (0..5000).map(|_| (random() % spread) as f64).collect();
            values.extend((0..500).map(|_| -((random() % spread) as f64) / 3.0));
            values.sort_by(f64::total_cmp);
            let histogram = of(&values);
            for percent in [0.1, 5.0, 50.0, 90.0, 99.0, 100.0] {
                let (found, exact) =
                    (histogram.percentile(percent).unwrap(), naive(&values, percent));
                assert!((found - exact).abs() <= exact.abs() / 64.0, "{percent}: {found} {exact}");
                if spread == 100 && exact >= 0.0 {
                    assert_eq!(found, exact);
                }
            }
            assert_eq!(histogram.range(), Some((values[0], values[values.len() - 1])));
        }
    }

    #[test]
    fn merged_halves_are_the_whole_and_nan_counts_apart() {
        let values: Vec<f64> = (0..1000).map(|n| f64::from(n) * 1.5 - 100.0).collect();
        let mut merged = of(&values[..300]);
        merged.merge(&of(&values[300..]));
        let whole = of(&values);
        for percent in [1.0, 50.0, 99.0] {
            assert_eq!(merged.percentile(percent), whole.percentile(percent));
        }
        assert_eq!(merged.mean(), whole.mean());
        let odd = of(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 5e-324]);
        assert_eq!((odd.nan_count, odd.range()), (1, Some((f64::NEG_INFINITY, f64::INFINITY))));
        assert_eq!(odd.percentile(50.0), Some(0.0));
    }

    /// `.cnv.diff`
    #[test]
    fn the_distance_is_from_0_to_1() {
        let [low, high, all] =
            [0..50, 50..100, 0..100].map(|range| of(&range.map(f64::from).collect::<Vec<f64>>()));
        for (a, b, expected) in [(&low, &high, 1.0), (&low, &all, 0.5), (&all, &all, 0.0)] {
            assert_eq!((a.distance(b), b.distance(a)), (expected, expected));
        }
    }

    #[test]
    fn without_a_page_a_percentile_is_unknown() {
        let (mut histogram, mut room) = (Histogram::default(), 1);
        histogram.add(5.0, &mut room);
        histogram.add(6.0, &mut room);
        assert_eq!((histogram.percentile(100.0), room), (Some(6.0), 0));
        histogram.add(5000.0, &mut room);
        assert_eq!(histogram.percentile(50.0), None);
        assert_eq!(
            (histogram.mean(), histogram.range()),
            (Some(5011.0 / 3.0), Some((5.0, 5000.0)))
        );
    }
}
