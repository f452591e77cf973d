//! The most frequent values, in bounded memory.
//!
//! ```text
//!  value ── has a counter? ── yes ──▶ add 1           no, and room is left ──▶ a counter, 1
//!                          └─ no, and none is left ──▶ subtract 1 from all; drop those at 0
//! ```
//!
//! J. Misra and D. Gries, "Finding repeated elements", 1982; merged as P. Agarwal et al.,
//! "Mergeable summaries", 2012. Exact while every value has a counter. Design:
//! `.cnv.params` in `design/eventcnv.md`.

use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::hash::Hash;

/// Counters. A count is too low by at most one 257th of all values.
pub(super) const COUNTER_COUNT_MAX: usize = 256;

const LABEL_SIZE_MAX: usize = 80;

/// How often a value occurred, and its first label.
#[derive(Clone, Debug, Default)]
struct Counter {
    count: u64,
    label: Option<Box<[u8]>>,
}

/// The most frequent values.
#[derive(Clone, Debug)]
pub(crate) struct Top<T> {
    counters: HashMap<T, Counter, RandomState>,
    /// How much every count may be too low.
    error: u64,
}

impl<T> Default for Top<T> {
    fn default() -> Top<T> {
        Top { counters: HashMap::default(), error: 0 }
    }
}

impl<T: Hash + Eq + Ord + Clone> Top<T> {
    pub(crate) fn add(&mut self, value: T, label: Option<&[u8]>) {
        if let Some(counter) = self.counters.get_mut(&value) {
            counter.count += 1;
            if counter.label.is_none() {
                counter.label = label.map(short);
            }
        } else if self.counters.len() < COUNTER_COUNT_MAX {
            self.counters.insert(value, Counter { count: 1, label: label.map(short) });
        } else {
            self.subtract(1);
        }
    }

    fn subtract(&mut self, count: u64) {
        self.error += count;
        self.counters.retain(|_, counter| {
            counter.count = counter.count.saturating_sub(count);
            counter.count > 0
        });
    }

    /// Adds the counts of another.
    pub(crate) fn merge(&mut self, other: Top<T>) {
        self.error += other.error;
        for (value, counter) in other.counters {
            let own = self.counters.entry(value).or_default();
            own.count += counter.count;
            own.label = own.label.take().or(counter.label);
        }
        if self.counters.len() > COUNTER_COUNT_MAX {
            let mut counts: Vec<u64> =
                self.counters.values().map(|counter| counter.count).collect();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            self.subtract(counts.get(COUNTER_COUNT_MAX).copied().unwrap_or(0));
        }
    }

    /// Returns how much a count may be too low, at most; 0: all are exact, and no value is missing.
    pub(crate) fn error(&self) -> u64 {
        self.error
    }

    /// Returns all values with their counts; `None` if some may be missing.
    pub(crate) fn all(&self) -> Option<impl Iterator<Item = (&T, u64)>> {
        let all = || self.counters.iter().map(|(value, counter)| (value, counter.count));
        (self.error == 0).then(all)
    }

    /// Returns the part of all values that differs from another, from 0 to 1; `None` if either does
    /// not know all its values.
    pub(crate) fn distance(&self, other: &Top<T>) -> Option<f64> {
        if self.error + other.error > 0 {
            return None;
        }
        let sum = |top: &Top<T>| top.counters.values().map(|counter| counter.count).sum::<u64>();
        let part = |top: &Top<T>, all: u64, value: &T| {
            top.counters.get(value).map_or(0.0, |counter| counter.count as f64 / all.max(1) as f64)
        };
        let (own, others) = (sum(self), sum(other));
        let only_there = other.counters.keys().filter(|value| !self.counters.contains_key(*value));
        let all = self.counters.keys().chain(only_there);
        let apart = |value: &T| (part(self, own, value) - part(other, others, value)).abs();
        Some(all.map(apart).sum::<f64>() / 2.0)
    }

    /// Returns the most frequent values, with their counts and labels.
    pub(crate) fn most(&self, count: usize) -> Vec<(&T, u64, Option<&[u8]>)> {
        let row = |(value, counter): (_, &'_ Counter)| (value, counter.count);
        let mut all: Vec<(&T, u64)> = self.counters.iter().map(row).collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        all.truncate(count);
        let label = |value: &T| self.counters.get(value).and_then(|at| at.label.as_deref());
        all.into_iter().map(|(value, count)| (value, count, label(value))).collect()
    }
}

fn short(label: &[u8]) -> Box<[u8]> {
    label.get(..LABEL_SIZE_MAX).unwrap_or(label).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns each value n 10 000 / n times, in a fixed disorder.
    fn values(distinct: u64) -> Vec<u64> {
        let all =
            (1..=distinct).flat_map(|n| (0..10_000 / n).map(move |k| (k * 7919 + n * 104_729, n)));
        let mut all: Vec<(u64, u64)> = all.map(|(key, n)| (key % 1_000_003, n)).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, n)| n).collect()
    }

    fn of(values: &[u64]) -> Top<u64> {
        let mut top = Top::default();
        values.iter().for_each(|&value| top.add(value, None));
        top
    }

    /// `.cnv.params`
    #[test]
    fn counts_are_exact_while_values_are_few() {
        let values = values(COUNTER_COUNT_MAX as u64);
        let (left, right) = values.split_at(values.len() / 3);
        let mut top = of(left);
        top.merge(of(right));
        assert_eq!(top.error(), 0);
        for (value, count, _) in top.most(COUNTER_COUNT_MAX) {
            assert_eq!(count, 10_000 / value);
        }
    }

    /// `.cnv.params`
    #[test]
    fn counts_of_many_values_are_within_the_error() {
        let values = values(5000);
        let (left, right) = values.split_at(values.len() / 2);
        let mut merged = of(left);
        merged.merge(of(right));
        for top in [of(&values), merged] {
            assert!(top.most(usize::MAX).len() <= COUNTER_COUNT_MAX);
            assert!(top.error() <= values.len() as u64 / (COUNTER_COUNT_MAX as u64 + 1));
            let most = top.most(10);
            assert_eq!(
                most.iter().map(|row| *row.0).collect::<Vec<_>>(),
                (1..=10).collect::<Vec<_>>()
            );
            for (value, count, _) in most {
                let exact = 10_000 / value;
                assert!(count <= exact && exact <= count + top.error(), "{value}: {count}");
            }
        }
    }

    #[test]
    fn a_value_keeps_the_first_label_that_it_had() {
        let mut top = Top::default();
        for label in [None, Some(&b"one"[..]), Some(b"two")] {
            top.add(7, label);
        }
        assert_eq!(top.most(1), [(&7, 3, Some(&b"one"[..]))]);
    }
}
