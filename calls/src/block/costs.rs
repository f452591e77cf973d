//! The cost of the recorder: the lower quartile of many batches of empty statements.
//!
//! Design: `.statements.correct` in `design/statements.md`.

use super::block;
use crate::row::Sums;
use crate::site::Site;
use crate::statement::{OWN_ROW_COUNT, Place, Statements};
use crate::table::{self, mode};
use core::hint::black_box;
use telemetry::__private::ticks;

/// Statements without work, which measure the recorder. They are in no log.
static SITE: Site = Site::new(|| "", "", [0; 4]);
static PLACES: [Place; OWN_ROW_COUNT] = [const { Place::new([0; 4]) }; OWN_ROW_COUNT];
static OWN: Statements = Statements::own(&SITE, &PLACES);
const FIRST: usize = 0;
const EMPTY: usize = 1;
const AROUND: usize = 2;
const IN_BLOCK: usize = 3;
/// Empty statements, or empty blocks, in a batch: eight times this. A batch is short, so that most
/// are not disturbed even on a busy machine.
const BATCH_SIZE: usize = 2;
const BATCH_COUNT: usize = if cfg!(miri) { 4 } else { 256 };
/// Each empty statement of a trace records events.
const BATCH_COUNT_OF_TRACE: usize = if cfg!(miri) { 4 } else { 32 };
/// Statements that the program begins by itself take longer.
const BATCH_COUNT_BY_PROGRAM: usize = if cfg!(miri) { 4 } else { 64 };
/// The first batches warm up.
const WARM_COUNT: usize = 2;

/// Measures the cost of the recorder: the lower quartile of many batches. A thread that cannot,
/// because this code interrupts the recorder, measures nothing.
#[cold]
pub(crate) fn calibrate() {
    // The statement around the blocks has one boundary in its own time.
    let share = 1.0 / (BATCH_SIZE * 8) as f64;
    measure(BATCH_COUNT, share, || {
        let [_, empty, around, _] = run_batch();
        [per(empty.total, empty.timed), per(around.own, around.inside.direct), 0.0]
    });
}

/// Measures the cost of statements that the program begins by itself: see
/// [`profile::calibrate`](crate::profile::calibrate).
pub(crate) fn calibrate_by(
    plain: &mut dyn FnMut(),
    profiled: &mut dyn FnMut(&'static Statements, usize),
) {
    if table::word() & mode::TIME == 0 {
        return;
    }
    measure(BATCH_COUNT_BY_PROGRAM, 1.0, || {
        let begin = ticks();
        plain();
        let plain = ticks().wrapping_sub(begin) as usize;
        let around = block(&OWN, AROUND);
        profiled(&OWN, EMPTY);
        let word = around.word;
        drop(around);
        let [_, empty, around, _] = table::take(word);
        [empty.total, around.total, plain].map(|ticks| per(ticks, empty.timed))
    });
}

fn per(ticks: usize, count: usize) -> f64 {
    ticks as f64 / count as f64
}

/// Keeps the costs of many batches. A batch returns inner; what one statement or block takes; and
/// the part of that which it takes without the recorder. The second has a `share` of inner.
fn measure(count: usize, share: f64, mut batch: impl FnMut() -> [f64; 3]) {
    let mode = table::word() & mode::BITS;
    let count = if mode == mode::TRACE { BATCH_COUNT_OF_TRACE } else { count };
    let mut all = [[f64::NAN; BATCH_COUNT]; 3];
    (0..WARM_COUNT).for_each(|_| _ = batch());
    for at in 0..count {
        let costs = batch();
        all.iter_mut().zip(costs).for_each(|(all, cost)| all[at] = cost);
    }
    let [inner, around, plain] = all.each_mut().map(|means| lower_quartile(&mut means[..count]));
    let outer = (around.0 - inner.0 * share - plain.0).max(0.0);
    // No mean of a batch is closer than the last one.
    let spread = inner.1.max(around.1).max(1.0 / (BATCH_SIZE * 8) as f64);
    if (inner.0 + outer + spread).is_finite() {
        table::set_costs(mode, [inner.0, outer, spread]);
        table::tell_costs();
    }
}

/// Returns the lower quartile, and its distance from the least one. What disturbs batches makes
/// them longer, so neither depends on how busy the machine is while a quarter is not disturbed.
fn lower_quartile(means: &mut [f64]) -> (f64, f64) {
    means.sort_by(f64::total_cmp);
    let quartile = means[means.len() / 4];
    (quartile, quartile - means[0])
}

/// Runs empty statements and empty blocks; returns the sums of the rows.
#[inline(never)]
fn run_batch() -> [Sums; OWN_ROW_COUNT] {
    let statements = black_box(&OWN);
    let mut own = block(statements, FIRST);
    macro_rules! eight_times {
        ($code:expr) => {
            for _ in 0..BATCH_SIZE {
                $code;
                $code;
                $code;
                $code;
                $code;
                $code;
                $code;
                $code;
            }
        };
    }
    eight_times!(own.at(EMPTY));
    own.at(AROUND);
    eight_times!(drop(block(statements, IN_BLOCK)));
    let word = own.word;
    drop(own);
    table::take(word)
}

/// Makes an expression a block with one statement: `__block!(STATEMENTS, NUMBER, EXPRESSION)`. It
/// is a block in a block: lints pass over the outer one, since it has no statements. They pass over
/// parentheses of a macro, and do not see that the expression is the last one of a block.
#[doc(hidden)]
#[macro_export]
macro_rules! __block {
    ($statements:expr, $statement:literal, $expression:expr) => {{
        {
            let _block = $crate::__private::block($statements, $statement);
            ($expression)
        }
    }};
}

#[cfg(test)]
mod tests {
    use super::lower_quartile;

    /// Two thirds of the batches are disturbed, some of them for as long as a turn of another
    /// program: the costs and their spread stay.
    #[test]
    fn a_busy_machine_changes_no_costs() {
        let quiet = |at: usize| 40.0 + (at % 4) as f64 * 0.25;
        let mut calm: Vec<f64> = (0..256).map(quiet).collect();
        let mut busy: Vec<f64> = (0..256)
            .map(|at| match at % 12 {
                0..4 => quiet(at),
                4..10 => quiet(at) + 30.0,
                _ => quiet(at) + 1e6,
            })
            .collect();
        let (calm, busy) = (lower_quartile(&mut calm), lower_quartile(&mut busy));
        assert_eq!(calm, (40.25, 0.25));
        assert!((busy.0 - calm.0).abs() <= 0.5 && busy.1 <= 0.75, "{busy:?}");
        // A batch that could not be measured is last.
        assert_eq!(lower_quartile(&mut [f64::NAN, 7.0, 5.0, 6.0]), (6.0, 1.0));
    }
}
