//! The durations of several runs of a program, and whether those of other runs differ.
//!
//! ```text
//!  old runs  ▪ ▪▪ ▪             a run has one value: the mean of its durations
//!  new runs        ▪▪  ▪▪       p: how often runs of one program are as far apart
//! ```
//!
//! Durations of one run depend on each other: they share its memory, its processor and its time of
//! day. So runs are compared, not durations, by the test of B. L. Welch. Design: `.slice.against`
//! in `design/slices.md`.

use eventlog::reader::Log;
use std::collections::HashMap;
use std::f64::consts::FRAC_PI_2;

/// Processes that forked each other, at most.
const GENERATION_COUNT_MAX: usize = 1000;
/// Steps of the integral.
const STEP_COUNT: u32 = 2000;

/// The durations of groups, added up by run.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// By stream: the number of its run.
    of_streams: Vec<usize>,
    /// By run and group: number and sum.
    sums: Vec<Vec<(u64, u64)>>,
}

impl Runs {
    /// Returns the runs of a log. A run is a process, with all that it forked.
    pub fn of(log: &Log) -> Runs {
        let streams = log.streams();
        let places: HashMap<_, _> = streams.iter().map(|stream| (stream.uuid, stream)).collect();
        let mut numbers = HashMap::new();
        let of_streams = streams.iter().enumerate().map(|(at, stream)| {
            // Children of a process that the log lacks are one run.
            let (mut oldest, mut parent) = (stream.uuid, stream.parent);
            for _ in 0..GENERATION_COUNT_MAX {
                if parent == [0; 16] {
                    break;
                }
                oldest = parent;
                parent = places.get(&parent).map_or([0; 16], |stream| stream.parent);
            }
            // A log of the MPS has no UUID.
            let number = numbers.len();
            let key = (oldest, Some(at).filter(|_| oldest == [0; 16]));
            *numbers.entry(key).or_insert(number)
        });
        let of_streams = of_streams.collect();
        Runs { of_streams, sums: vec![Vec::new(); numbers.len()] }
    }

    /// Returns the number of runs.
    pub fn count(&self) -> usize {
        self.sums.len()
    }

    /// Adds a duration of a group, in a stream.
    #[inline]
    pub fn add(&mut self, group: usize, stream: u16, ns: u64) {
        let run = self.of_streams.get(usize::from(stream));
        let Some(groups) = run.and_then(|run| self.sums.get_mut(*run)) else { return };
        if groups.len() <= group {
            groups.resize(group + 1, (0, 0));
        }
        if let Some((count, sum)) = groups.get_mut(group) {
            *count += 1;
            *sum = sum.saturating_add(ns);
        }
    }

    /// Returns the mean of the durations of a group in each run that has any.
    pub fn means(&self, group: usize) -> Vec<f64> {
        let sums = self.sums.iter().filter_map(|groups| groups.get(group));
        let sums = sums.filter(|(count, _)| *count > 0);
        sums.map(|(count, sum)| *sum as f64 / *count as f64).collect()
    }
}

/// Returns the probability that the means of runs of one program are as far apart as these. One run
/// does not tell how far runs differ: `None` if a side has fewer than two.
pub fn chance(old: &[f64], new: &[f64]) -> Option<f64> {
    let [(old_mean, old_square), (new_mean, new_square)] = [spread(old)?, spread(new)?];
    let square = old_square + new_square;
    let distance = (old_mean - new_mean).abs();
    if square <= 0.0 {
        return Some(if distance > 0.0 { 0.0 } else { 1.0 });
    }
    let freedom = |square: f64, count: usize| square * square / (count as f64 - 1.0);
    let freedom =
        square * square / (freedom(old_square, old.len()) + freedom(new_square, new.len()));
    Some(student(distance / square.sqrt(), freedom))
}

/// Returns the mean of values, and the square of its standard error.
fn spread(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (mean, squares / (count - 1.0) / count))
}

/// Returns the probability that Student's distribution is at least so far from 0.
fn student(t: f64, freedom: f64) -> f64 {
    // With t = √n · tan x, the density is a multiple of cosⁿ⁻¹ x.
    let density = |x: f64| x.cos().max(0.0).powf(freedom - 1.0);
    let integral = |from: f64| {
        let step = (FRAC_PI_2 - from) / f64::from(STEP_COUNT);
        let at = |n: u32| density(from + f64::from(n) * step);
        // Simpson's rule.
        let inner: f64 = (1..STEP_COUNT).map(|n| at(n) * f64::from(2 + n % 2 * 2)).sum();
        (density(from) + inner + density(FRAC_PI_2)) * step / 3.0
    };
    (integral((t / freedom.sqrt()).atan()) / integral(0.0)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The critical values that every table of the test has.
    #[test]
    fn the_probability_is_that_of_the_published_tables() {
        for (freedom, t, p) in [
            (1.0, 12.7062, 0.05),
            (1.0, 63.6567, 0.01),
            (2.0, 4.3027, 0.05),
            (4.0, 2.7764, 0.05),
            (4.0, 8.6103, 0.001),
            (10.0, 3.1693, 0.01),
            (30.0, 2.0423, 0.05),
            (1000.0, 1.9623, 0.05),
            (7.0, 0.0, 1.0),
        ] {
            let found = student(t, freedom);
            assert!((found / p - 1.0).abs() < 1e-3, "{freedom} {t}: {found}");
        }
    }

    /// The data of Student: 10 patients, and two drugs for their sleep.
    #[test]
    fn runs_are_compared_by_the_test_of_welch() {
        let old = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let new = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let found = chance(&old, &new).unwrap();
        assert!((found - 0.07939).abs() < 1e-5, "{found}");
        assert_eq!(chance(&new, &old), Some(found));
        assert_eq!(chance(&[5.0, 5.0], &[5.0, 5.0]), Some(1.0));
        assert_eq!(chance(&[5.0, 5.0], &[6.0, 6.0]), Some(0.0));
    }

    #[test]
    fn one_run_on_a_side_tells_nothing_of_chance() {
        for (old, new) in [(&[1.0][..], &[9.0][..]), (&[1.0, 1.1], &[9.0]), (&[], &[9.0, 9.1])] {
            assert_eq!([chance(old, new), chance(new, old)], [None, None]);
        }
    }

    /// Of pairs of sides with runs of one program, at most 1 in 20 has a p value below 1 in 20.
    #[test]
    fn runs_of_one_program_rarely_have_a_small_p_value() {
        let mut state = 1u64;
        let mut mean = || {
            let parts = (0..12).map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 33) as f64 / f64::from(1u32 << 31)
            });
            // About normal, with a mean of 100 and a deviation of 5.
            100.0 + 5.0 * (parts.sum::<f64>() - 6.0)
        };
        for (counts, least) in [([2, 2], 0), ([3, 5], 60), ([10, 10], 70)] {
            let mut small = 0;
            for _ in 0..2000 {
                let [old, new] = counts.map(|count| (0..count).map(|_| mean()).collect::<Vec<_>>());
                small += u32::from(chance(&old, &new).unwrap() < 0.05);
            }
            assert!((least..135).contains(&small), "{counts:?}: {small} of 2000");
        }
    }
}
