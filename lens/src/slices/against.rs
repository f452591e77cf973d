//! Compares the durations of two groups.
//!
//! ```text
//!  old  ─────╮ ╭──────      distance: the greatest difference of the two distributions
//!  new  ───────╯
//! ```
//!
//! The distance is that of Kolmogorov and Smirnov. It describes two logs; whether it is chance,
//! runs tell alone (`runs`). Design: `.slice.against` in `design/slices.md`.

use crate::slices::durations::{Group, Values, histogram, record};
use hdrhistogram::Histogram;

/// How much two distributions of durations differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The greatest distance of the two distribution functions, from 0 to 1.
    pub distance: f64,
    /// Whether the distance is exact; else it is that of histograms with three digits.
    pub is_exact: bool,
}

/// Compares the durations of two groups, which must be settled. Returns `None` if one has no
/// durations, or if their memory was full.
pub fn compare(old: &Group, new: &Group) -> Option<Comparison> {
    let counts = [old.count(), new.count()];
    if counts.contains(&0) {
        return None;
    }
    let (distance, is_exact) = match (&old.values, &new.values) {
        (Values::List(old), Values::List(new)) => {
            let pairs = |list: &[u64]| list.iter().map(|ns| (*ns, 1)).collect::<Vec<_>>();
            (distance(&pairs(old), &pairs(new), counts), true)
        }
        (old, new) => (distance(&steps(old)?, &steps(new)?, counts), false),
    };
    Some(Comparison { distance, is_exact })
}

/// Returns the values of a histogram, or of the histogram of a list, with their counts.
fn steps(values: &Values) -> Option<Vec<(u64, u64)>> {
    let pairs = |histogram: &Histogram<u64>| {
        let recorded = histogram.iter_recorded();
        recorded.map(|step| (step.value_iterated_to(), step.count_since_last_iteration())).collect()
    };
    match values {
        Values::Histogram(histogram) => Some(pairs(histogram)),
        Values::List(list) => {
            let mut own = histogram()?;
            list.iter().for_each(|ns| record(&mut own, *ns));
            Some(pairs(&own))
        }
        Values::None => None,
    }
}

/// Returns the greatest distance of two distribution functions, of values in order with counts.
fn distance(old: &[(u64, u64)], new: &[(u64, u64)], counts: [u64; 2]) -> f64 {
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    let (mut seen, mut greatest) = ([0u64; 2], 0.0_f64);
    let [old_count, new_count] = counts.map(|count| count as f64);
    while let Some(value) =
        [old.peek(), new.peek()].into_iter().flatten().map(|(value, _)| *value).min()
    {
        for (values, seen) in [&mut old, &mut new].into_iter().zip(&mut seen) {
            while let Some((_, count)) = values.next_if(|(at, _)| *at == value) {
                *seen += count;
            }
        }
        let [old, new] = seen.map(|seen| seen as f64);
        greatest = greatest.max((old / old_count - new / new_count).abs());
    }
    greatest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slices::durations::Durations;
    use crate::slices::model::Limits;

    fn durations(groups: [&[u64]; 2], limits: Limits) -> Durations {
        let mut durations = Durations::new(limits);
        for (group, values) in groups.into_iter().enumerate() {
            values.iter().for_each(|&ns| durations.add(group, ns));
        }
        durations.settle();
        durations
    }

    #[test]
    fn the_distance_is_the_greatest_of_all_values() {
        let (low, high): (Vec<u64>, Vec<u64>) = ((0..50).collect(), (50..100).collect());
        let all: Vec<u64> = (0..100).collect();
        for (old, new, expected) in [(&low, &high, 1.0), (&low, &all, 0.5), (&all, &all, 0.0)] {
            let of = durations([old, new], Limits::default());
            let [old, new] = of.groups() else { panic!() };
            let found = compare(old, new).unwrap();
            assert_eq!((found.distance, found.is_exact), (expected, true));
            assert_eq!(compare(new, old), Some(found));
        }
    }

    #[test]
    fn histograms_compare_as_lists_do() {
        let old: Vec<u64> = (0..4000).map(|n| 1_000_000 + n * 977 % 500_000).collect();
        let new: Vec<u64> = (0..3000).map(|n| 1_100_000 + n * 977 % 500_000).collect();
        let exact = durations([&old, &new], Limits::default());
        let exact = compare(exact.group(0), exact.group(1)).unwrap();
        for duration_count in [0, 3500] {
            let limits = Limits { duration_count, ..Limits::default() };
            let near = durations([&old, &new], limits);
            let near = compare(near.group(0), near.group(1)).unwrap();
            assert!((near.distance - exact.distance).abs() < 0.01, "{near:?} {exact:?}");
            assert!(!near.is_exact);
        }
        let none = Limits { duration_count: 0, histogram_count: 0, ..Limits::default() };
        let none = durations([&old, &new], none);
        assert_eq!(compare(none.group(0), none.group(1)), None);
        let empty = durations([&old, &[]], Limits::default());
        assert_eq!(compare(empty.group(0), empty.group(1)), None);
    }
}
