//! The longest slices.
//!
//! ```text
//!  slices ──▶ a map of the N longest so far ──▶ the longest first
//! ```
//!
//! Design: `design/slices.md`.

use crate::slices::model::{Edge, Id, Slice};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A long slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Long {
    /// The duration in ns.
    pub ns: u64,
    /// Its beginning.
    pub begin: Edge,
    /// Its end.
    pub end: Edge,
}

/// Longer slices come first; of equal ones, those that begin earlier.
type Rank = (Reverse<u64>, u64, Id);

/// Keeps the longest slices with a duration.
#[derive(Clone, Debug)]
pub struct Slowest {
    count_max: usize,
    kept: BTreeMap<Rank, (Edge, Edge)>,
}

impl Slowest {
    /// Returns a keeper of the `count` longest slices.
    pub fn new(count: usize) -> Slowest {
        Slowest { count_max: count, kept: BTreeMap::new() }
    }

    /// Keeps a slice if it is one of the longest.
    #[inline]
    pub fn add(&mut self, slice: &Slice<'_>) {
        let (Some(ns), Some(end)) = (slice.duration(), slice.end) else { return };
        let is_full = self.kept.len() >= self.count_max;
        let last = || self.kept.last_key_value().map(|((Reverse(ns), ..), _)| *ns);
        if is_full && last().is_none_or(|least| ns < least) {
            return;
        }
        let rank = (Reverse(ns), slice.begin.ns, slice.begin.id);
        self.kept.insert(rank, (*slice.begin, *end));
        if is_full {
            self.kept.pop_last();
        }
    }

    /// Returns the slices, the longest first.
    pub fn sorted(&self) -> impl Iterator<Item = Long> {
        self.kept.iter().map(|(&(Reverse(ns), ..), &(begin, end))| Long { ns, begin, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slices::model::Verdict;

    #[test]
    fn the_longest_slices_stay_in_order() {
        let mut slowest = Slowest::new(3);
        for (number, ns) in [5, 9, 2, 9, 7, 9].into_iter().enumerate() {
            let id = Id { number: number as u64, ..Id::default() };
            let begin = Edge { id, ns: 100 + number as u64, ..Edge::default() };
            let end = Edge { ns: begin.ns + ns, ..begin };
            let (begin, end, verdict) = (&begin, Some(&end), Verdict::Whole);
            slowest.add(&Slice { slot: 0, depth: 0, begin, end, verdict });
            let verdict = Verdict::Doubtful;
            slowest.add(&Slice { slot: 0, depth: 0, begin, end, verdict });
        }
        let kept: Vec<_> = slowest.sorted().map(|long| (long.ns, long.begin.id.number)).collect();
        assert_eq!(kept, [(9, 1), (9, 3), (9, 5)]);
    }

    #[test]
    fn none_are_kept_if_none_are_wanted() {
        let mut slowest = Slowest::new(0);
        let edge = Edge::default();
        let verdict = Verdict::Whole;
        slowest.add(&Slice { slot: 0, depth: 0, begin: &edge, end: Some(&edge), verdict });
        assert_eq!(slowest.sorted().count(), 0);
    }
}
