//! The numbers of events, and the missing numbers.
//!
//! ```text
//!  0 1 2 3     7 8 9     12 …      runs 0..4, 7..10, 12..     holes 4..7, 10..12
//! ```
//!
//! Design: `.cnv.gaps` in `design/eventcnv.md`; numbers: `.event.number` in `design/format.md`.

/// Runs of a buffer, at most; of more, the nearest neighbours are joined.
const RUN_COUNT_MAX: usize = 256;

/// Numbers of a buffer, as runs without a hole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    /// First number, and the one after the last. [`Runs::settle`] orders them and joins those that
    /// meet.
    runs: Vec<(u64, u64)>,
    /// Whether holes are left out.
    is_cut: bool,
}

impl Runs {
    /// Adds `count` numbers from `number` on.
    #[inline]
    pub(crate) fn add(&mut self, number: u64, count: u64) {
        let end = number.saturating_add(count);
        if let Some(last) = self.runs.last_mut()
            && last.1 == number
        {
            last.1 = end;
            return;
        }
        self.begin(number, end);
    }

    #[cold]
    fn begin(&mut self, number: u64, end: u64) {
        if self.runs.len() >= 2 * RUN_COUNT_MAX {
            self.settle();
        }
        self.runs.push((number, end));
    }

    /// Puts runs in order and joins those that meet.
    fn settle(&mut self) {
        self.runs.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for &(from, to) in &self.runs {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        let excess = joined.len().saturating_sub(RUN_COUNT_MAX);
        if excess > 0 {
            self.is_cut = true;
            join_nearest(&mut joined, excess);
        }
        self.runs = joined;
    }

    /// Adds the numbers of other runs.
    pub(crate) fn merge(&mut self, other: &Runs) {
        self.runs.extend_from_slice(&other.runs);
        self.is_cut |= other.is_cut;
        self.settle();
    }

    /// Returns the holes: the first missing number, and the one after the last.
    pub(crate) fn holes(mut self) -> Vec<(u64, u64)> {
        self.settle();
        self.runs.windows(2).filter_map(|pair| Some((pair.first()?.1, pair.get(1)?.0))).collect()
    }
}

/// Joins runs across the `count` smallest holes; of equal holes, across the first.
fn join_nearest(runs: &mut Vec<(u64, u64)>, count: usize) {
    let holes = || runs.iter().zip(runs.iter().skip(1)).map(|(run, next)| next.0 - run.1);
    let mut sizes: Vec<u64> = holes().collect();
    let size = *sizes.select_nth_unstable(count - 1).1;
    let mut equal_count = count - holes().filter(|hole| *hole < size).count();
    runs.dedup_by(|next, run| {
        let hole = next.0 - run.1;
        let is_first = hole == size && equal_count > 0;
        equal_count -= usize::from(is_first);
        let is_joined = hole < size || is_first;
        run.1 = if is_joined { next.1 } else { run.1 };
        is_joined
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: impl IntoIterator<Item = u64>) -> Runs {
        let mut runs = Runs::default();
        numbers.into_iter().for_each(|number| runs.add(number, 1));
        runs
    }

    /// `.cnv.gaps`
    #[test]
    fn holes_do_not_depend_on_the_order_of_numbers() {
        let mut runs = of((50..60).chain(0..10).chain(10..20));
        runs.merge(&of((25..40).chain([u64::MAX])));
        assert_eq!(runs.holes(), [(20, 25), (40, 50), (60, u64::MAX)]);
        assert_eq!(of([]).holes(), []);
        assert_eq!(of(5..9).holes(), []);
        let mut runs = of([0, 1]);
        [(2, 7), (20, 5)].into_iter().for_each(|(number, count)| runs.add(number, count));
        assert_eq!(runs.holes(), [(9, 20)]);
    }

    /// The naive twin closes the smallest hole, again and again.
    #[test]
    fn the_smallest_holes_are_closed_first() {
        let (mut random, mut numbers, mut next) = (1u64, Vec::new(), 0);
        for _ in 0..2 * RUN_COUNT_MAX - 1 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            next += 2 + (random >> 33) % 40;
            numbers.push(next);
        }
        let mut twin: Vec<(u64, u64)> = numbers.iter().map(|&n| (n, n + 1)).collect();
        while twin.len() > RUN_COUNT_MAX {
            let at = (1..twin.len()).min_by_key(|&at| twin[at].0 - twin[at - 1].1).unwrap();
            twin[at - 1].1 = twin.remove(at).1;
        }
        let expected: Vec<_> = twin.windows(2).map(|pair| (pair[0].1, pair[1].0)).collect();
        let mut runs = of(numbers);
        runs.settle();
        assert!(runs.is_cut && runs.holes() == expected);
    }
}
