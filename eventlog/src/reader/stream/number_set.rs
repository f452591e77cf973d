//! Numbers of events of one buffer, as ranges that neither overlap nor touch.
//!
//! ```text
//!  0 ──── a range ────┤   gap   ├── a range ──┤
//! ```
//!
//! Rules: `.event.identity`, `.event.number` in `design/format.md`.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of numbers: the end of each range by its start.
#[derive(Debug, Default)]
pub(crate) struct NumberSet(BTreeMap<u64, u64>);

impl NumberSet {
    /// Forgets the ranges below a number. The caller adds nothing below it later.
    pub(crate) fn forget_below(&mut self, number: u64) {
        while let Some(range) = self.0.first_entry().filter(|range| *range.get() <= number) {
            range.remove();
        }
    }

    /// Adds a range, and appends the parts of it that are new to `new`.
    pub(crate) fn add(&mut self, range: Range<u64>, new: &mut Vec<Range<u64>>) {
        let before = self.0.range(..range.start).next_back();
        let before = before.filter(|(_, end)| **end >= range.start).map(|(start, _)| *start);
        let mut joined = before.unwrap_or(range.start)..range.end;
        let mut at = range.start;
        while let Some((&start, &end)) = self.0.range(joined.start..=range.end).next() {
            self.0.remove(&start);
            if start > at {
                new.push(at..start);
            }
            at = at.max(end);
            joined.start = joined.start.min(start);
            joined.end = joined.end.max(end);
        }
        if at < range.end {
            new.push(at..range.end);
        }
        self.0.insert(joined.start, joined.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// `.event.identity`
    #[test]
    fn a_number_is_new_once_whatever_the_order() {
        let mut random = 1u64;
        for _ in 0..200 {
            let (mut set, mut twin) = (NumberSet::default(), BTreeSet::new());
            for _ in 0..30 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let start = (random >> 40) % 60;
                let range = start..start + 1 + (random >> 50) % 9;
                let mut new = Vec::new();
                set.add(range.clone(), &mut new);
                let expected: Vec<u64> = range.filter(|&number| twin.insert(number)).collect();
                assert_eq!(new.into_iter().flatten().collect::<Vec<_>>(), expected);
            }
        }
    }
}
