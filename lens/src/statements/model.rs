//! Statements, their sums, and the cost of the recorder.
//!
//! ```text
//!  StatementSum of each table ── add ──▶ Sum of a stream, in ticks: integers, and exact
//!  Calibration ──▶ Costs
//! ```
//!
//! Design: `.statements.table`, `.statements.events` in `design/statements.md`.

use crate::calls::model::Function;

/// A statement, by its number in [`super::Statements::all`].
pub type Statement = u32;

/// What is known of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its label, or its address if it has none.
    pub label: Box<str>,
    /// Its function.
    pub function: Function,
    /// Its file, as the compiler was given it.
    pub file: Option<Box<str>>,
    /// Its line, from 1; 0 unknown.
    pub line: u32,
    /// Its column, from 1, in characters.
    pub column: u32,
    /// Its place in the file, in bytes.
    pub offset: u32,
    /// Its size in bytes; 0 unknown.
    pub size: u32,
    /// The stream, if it has no label: an address is one statement in its stream alone.
    pub stream: Option<u16>,
    /// Statements of one program at this place: a macro may make several.
    pub places: u32,
    /// Whether the streams state different places for it: they are of different programs.
    pub is_ambiguous: bool,
}

impl Facts {
    /// Returns its file, line and column, or its label.
    #[must_use]
    pub fn place(&self) -> String {
        match self.file.as_deref() {
            Some(file) => format!("{file}:{}:{}", self.line, self.column),
            None => self.label.to_string(),
        }
    }
}

/// The sums of a statement, in ticks of one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// Executions that began.
    pub count: u64,
    /// Executions that ended, and were timed.
    pub timed: u64,
    /// The ticks of the timed ones, with all in them.
    pub total: u64,
    /// The same without the statements in them.
    pub own: u64,
    /// The ticks of the shortest one; `u64::MAX` of none.
    pub shortest: u64,
    /// The ticks of the longest one.
    pub longest: u64,
    /// The sum of the squares of their ticks.
    pub squares: u128,
    /// Statements that ended in them, at any depth.
    pub beneath: u64,
    /// Blocks that ended in them, at any depth.
    pub blocks: u64,
    /// Blocks that ended in them, and in no other statement in them.
    pub direct: u64,
    /// Whether the times contain waiting.
    pub waits: bool,
    /// Whether an addition was too large: the sums are too small then.
    pub is_full: bool,
}

impl Default for Sum {
    fn default() -> Sum {
        Sum {
            count: 0,
            timed: 0,
            total: 0,
            own: 0,
            shortest: u64::MAX,
            longest: 0,
            squares: 0,
            beneath: 0,
            blocks: 0,
            direct: 0,
            waits: false,
            is_full: false,
        }
    }
}

impl Sum {
    /// Adds the sums of other executions.
    pub fn add(&mut self, other: &Sum) {
        let mut is_full = self.is_full | other.is_full;
        let mut plus = |own: &mut u64, more: u64| {
            let (sum, is_over) = own.overflowing_add(more);
            *own = if is_over { u64::MAX } else { sum };
            is_full |= is_over;
        };
        plus(&mut self.count, other.count);
        plus(&mut self.timed, other.timed);
        plus(&mut self.total, other.total);
        plus(&mut self.own, other.own);
        plus(&mut self.beneath, other.beneath);
        plus(&mut self.blocks, other.blocks);
        plus(&mut self.direct, other.direct);
        match self.squares.checked_add(other.squares) {
            Some(sum) => self.squares = sum,
            None => (self.squares, is_full) = (u128::MAX, true),
        }
        // The table of a statement that was not timed has no shortest one.
        if other.timed > 0 {
            self.shortest = self.shortest.min(other.shortest);
            self.longest = self.longest.max(other.longest);
        }
        self.waits |= other.waits;
        self.is_full = is_full;
    }

    /// Adds an execution that was timed, and counted before.
    pub(crate) fn add_time(&mut self, total: u64, own: u64) {
        let square = u128::from(total) * u128::from(total);
        let (shortest, longest) = (total, total);
        let one =
            Sum { timed: 1, total, own, shortest, longest, squares: square, ..Sum::default() };
        self.add(&one);
    }

    /// Returns the exact variance of the times; `None` if none was timed, or if the sums contradict
    /// each other.
    #[must_use]
    pub fn variance(&self) -> Option<Variance> {
        let count = Some(u128::from(self.timed)).filter(|count| *count > 0 && !self.is_full)?;
        let total = u128::from(self.total);
        let (mean, rest) = (total / count, total % count);
        // Of n times x, with the whole part q of their mean and n·mean = n·q + r:
        // Σ(x − q)² = Σx² − q·(Σx + r), and Σ(x − mean)² is smaller by r²/n.
        let above = self.squares.checked_sub(mean.checked_mul(total.checked_add(rest)?)?)?;
        // r < n: r² / n does not exceed `above`, unless the sums contradict each other.
        (rest * rest <= above.saturating_mul(count)).then_some(Variance { above, rest, count })
    }

    /// Returns how the sums contradict each other, if they do.
    #[must_use]
    pub fn contradiction(&self) -> Option<&'static str> {
        let Sum { count, timed, total, own, shortest, longest, .. } = *self;
        let product = |ticks: u64| u128::from(ticks) * u128::from(timed);
        let is_any = total > 0 || own > 0 || longest > 0 || self.squares > 0;
        let all = [
            (self.is_full, "a sum is too large"),
            (timed > count, "more executions were timed than began"),
            (timed == 0 && is_any, "no execution was timed, and there are times"),
            (own > total, "the own time exceeds the total time"),
            (timed > 0 && shortest > longest, "the shortest time exceeds the longest one"),
            (
                timed > 0 && (product(shortest) > total.into() || product(longest) < total.into()),
                "the mean time is not between the shortest and the longest one",
            ),
            (timed > 0 && self.variance().is_none(), "no times have these squares"),
            (self.direct > self.blocks, "more blocks are direct than there are"),
        ];
        all.into_iter().find(|(is_so, _)| *is_so).map(|(_, what)| what)
    }
}

/// The variance of times: the sum of the squares of their distances from the mean is
/// `above − rest²/count`, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variance {
    /// The sum of the squares of the distances from the whole part of the mean.
    pub above: u128,
    /// The sum of the times, modulo their count.
    pub rest: u128,
    /// The number of times.
    pub count: u128,
}

impl Variance {
    /// Returns the sum of the squared distances from the mean.
    #[must_use]
    pub fn squares(&self) -> f64 {
        let below = self.rest * self.rest;
        let (whole, part) = (below / self.count, below % self.count);
        self.above.saturating_sub(whole) as f64 - part as f64 / self.count as f64
    }
}

/// The cost of the recorder itself, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// The part of a boundary in an execution's own time.
    pub inner: f64,
    /// What a block adds to the statement around it.
    pub outer: f64,
    /// How far `inner` may be off.
    pub spread: f64,
    /// How far the sum of `inner` and `outer` may be off: the cost of a block.
    pub block_spread: f64,
}

impl Costs {
    /// Returns whether the numbers can be costs: of a boundary, no clock has 2^40 ticks.
    #[must_use]
    pub fn is_right(&self) -> bool {
        let Costs { inner, outer, spread, block_spread } = self;
        [inner, outer, spread, block_spread]
            .iter()
            .all(|ticks| (0.0..(1u64 << 40) as f64).contains(*ticks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum_of(times: impl Iterator<Item = u64>) -> Sum {
        let mut sum = Sum::default();
        times.for_each(|ticks| {
            sum.count += 1;
            sum.add_time(ticks, ticks);
        });
        sum
    }

    /// K3: of 10^7 values, against exact arithmetic: n·Σx² − (Σx)² of n² times the variance.
    #[test]
    fn the_variance_is_exact() {
        let mut state = 7u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 33
        };
        for (count, base) in [(10_000_000u64, 1_000_000u64), (1000, 1 << 40), (3, 0), (1, 77)] {
            let (mut sum, mut square, mut total) = (Sum::default(), 0u128, 0u128);
            for _ in 0..count {
                let ticks = base + random() % 1000;
                sum.count += 1;
                sum.add_time(ticks, ticks);
                (square, total) = (square + u128::from(ticks).pow(2), total + u128::from(ticks));
            }
            let exact = u128::from(count) * square - total * total;
            let found = sum.variance().unwrap();
            assert_eq!(found.above * found.count - found.rest * found.rest, exact, "{count}");
            let near = exact as f64 / count as f64;
            assert!((found.squares() - near).abs() <= near * 1e-14, "{count}: {found:?}");
        }
    }

    /// K10: nothing is rounded, and no addition goes round, above 2^63.
    #[test]
    fn ticks_above_2_63_are_summed_up() {
        let times = [1 << 63, (1 << 63) - 1];
        let sum = sum_of(times.into_iter());
        assert_eq!((sum.total, sum.contradiction()), (u64::MAX, None));
        assert_eq!(sum.variance().map(|found| found.squares()), Some(0.5));
        let mut twice = sum;
        twice.add(&sum);
        assert_eq!((twice.total, twice.variance()), (u64::MAX, None));
        assert_eq!(twice.contradiction(), Some("a sum is too large"));
    }

    #[test]
    fn sums_that_contradict_each_other_are_told() {
        let right = sum_of([3, 5, 10].into_iter());
        assert_eq!(right.contradiction(), None);
        for (wrong, what) in [
            (Sum { timed: 4, ..right }, "timed than began"),
            (Sum { timed: 0, ..right }, "no execution"),
            (Sum { own: 19, ..right }, "own time exceeds"),
            (Sum { shortest: 11, ..right }, "shortest time exceeds"),
            (Sum { shortest: 7, ..right }, "mean time"),
            (Sum { longest: 5, ..right }, "mean time"),
            (Sum { squares: 107, ..right }, "squares"),
            (Sum { direct: 1, ..right }, "direct"),
        ] {
            let found = wrong.contradiction().unwrap_or_default();
            assert!(found.contains(what), "{wrong:?}: {found}");
        }
    }
}
