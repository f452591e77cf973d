//! The cost of the recorder, among several neighbours.
//!
//! ```text
//!  at at at at ─▶ a statement after another one ─┐
//!  {} {} {} {} ─▶ the only one of a block ───────┼─▶ inner, and how far it may be off
//!  {work} − the same work ─▶ one that works ─────┘
//!  the last two ─▶ blocks next to others ────────┐
//!  {{{{…}}}} − the same calls without blocks ────┴─▶ a block in others, and how far it may be off
//! ```
//!
//! Design: `.statements.correct` in `design/statements.md`.

use super::block;
use crate::body::{apart, is_profiled};
use crate::row::Sums;
use crate::site::Site;
use crate::statement::{OWN_ROW_COUNT, Place, Statements};
use crate::table::{self, mode};
use core::hint::black_box;
use core::ops::{Add, Sub};
use telemetry::__private::ticks;

/// Statements without work, which measure the recorder. They are in no log.
static SITE: Site = Site::new(|| "", "", [0; 4]);
static PLACES: [Place; OWN_ROW_COUNT] = [const { Place::new([0; 4]) }; OWN_ROW_COUNT];
static OWN: Statements = Statements::own(&SITE, &PLACES);
const FIRST: usize = 0;
const EMPTY: usize = 1;
const AROUND: usize = 2;
const IN_BLOCK: usize = 3;
const AROUND_NEST: usize = 4;
const IN_NEST: usize = 5;
const AROUND_WORK: usize = 7;
const WORK: usize = 8;
/// Empty statements, or empty blocks, in a batch: eight times this. A batch is short, so that most
/// are not disturbed even on a busy machine.
const BATCH_SIZE: usize = 2;
const BATCH_COUNT: usize = if cfg!(miri) { 4 } else { 64 };
/// Levels of a nest: deep, since most of the time of a deep statement may be the cost of the blocks
/// in it. A level takes 180 bytes of the stack, and 530 if it is not optimised.
const NEST_DEPTH: usize = match (cfg!(miri), cfg!(debug_assertions)) {
    (true, _) => 2,
    (_, true) => 16,
    _ => 64,
};
/// Blocks of a nest: each level but the last one has two.
const NEST_BLOCK_COUNT: usize = 2 * NEST_DEPTH - 1;
/// Turns of a statement that works: a processor has no more than these in flight at once.
const TURN_COUNT: usize = if cfg!(miri) { 2 } else { 50 };
/// Statements that work in a batch.
const WORK_COUNT: usize = 16;
/// Each empty statement of a trace records events.
const BATCH_COUNT_OF_TRACE: usize = if cfg!(miri) { 4 } else { 8 };
/// Statements that the program begins by itself take longer.
const BATCH_COUNT_BY_PROGRAM: usize = if cfg!(miri) { 4 } else { 64 };
/// The first batches warm up.
const WARM_COUNT: usize = 2;

/// What a batch measures: ticks of one of many.
type Batch<const COUNT: usize> = [f64; COUNT];

/// A cost, and how far it may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost(f64, f64);

impl Sub for Cost {
    type Output = Cost;

    fn sub(self, other: Cost) -> Cost {
        Cost(self.0 - other.0, self.1 + other.1)
    }
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost(self.0 + other.0, self.1 + other.1)
    }
}

/// Measures the cost of the recorder. A thread that cannot, because this code interrupts the
/// recorder, measures nothing.
#[cold]
pub(crate) fn calibrate() {
    let batch = || {
        let rows = run_batch();
        [
            per(rows[EMPTY].own, rows[EMPTY].timed),
            per(rows[IN_BLOCK].own, rows[IN_BLOCK].timed),
            per(rows[AROUND].own, rows[AROUND].inside.direct),
            per(rows[AROUND_NEST].total, NEST_BLOCK_COUNT),
            per_unit(NEST_BLOCK_COUNT, || plain_nest(NEST_DEPTH), 1),
            per(rows[WORK].own, rows[WORK].timed),
            per(rows[AROUND_WORK].total, WORK_COUNT),
            per_unit(WORK_COUNT, || work(TURN_COUNT), WORK_COUNT),
        ]
    };
    let Some(costs) = measure(BATCH_COUNT, batch) else { return };
    let [after, single, outside, nest, plain_nest, working, around_work, plain_work] = costs;
    let inner = [after, single, working - plain_work];
    let in_others = nest - plain_nest;
    keep(&inner, in_others, &[in_others, outside + single, around_work - plain_work]);
}

/// Runs code some times, and returns its ticks, each time divided into units.
fn per_unit(unit_count: usize, code: impl Fn(), count: usize) -> f64 {
    let begin = ticks();
    (0..count).for_each(|_| code());
    per(ticks().wrapping_sub(begin) as usize, unit_count)
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
    let costs = measure(BATCH_COUNT_BY_PROGRAM, || {
        let begin = ticks();
        plain();
        let plain = ticks().wrapping_sub(begin) as usize;
        let around = block(&OWN, AROUND);
        profiled(&OWN, EMPTY);
        let word = around.word();
        drop(around);
        let rows = table::take(word);
        let (empty, around) = (&rows[EMPTY], &rows[AROUND]);
        [empty.total, around.total, plain].map(|ticks| per(ticks, empty.timed))
    });
    if let Some([inner, around, plain]) = costs {
        keep(&[inner], around - plain, &[around - plain]);
    }
}

fn per(ticks: usize, count: usize) -> f64 {
    ticks as f64 / count as f64
}

/// Returns the costs of many batches; `None` if one cannot be measured.
fn measure<const COUNT: usize>(
    batch_count: usize,
    mut batch: impl FnMut() -> Batch<COUNT>,
) -> Option<[Cost; COUNT]> {
    let is_trace = table::word() & mode::BITS == mode::TRACE;
    let batch_count = if is_trace { BATCH_COUNT_OF_TRACE } else { batch_count };
    let mut all = [[f64::NAN; BATCH_COUNT]; COUNT];
    (0..WARM_COUNT).for_each(|_| _ = batch());
    for at in 0..batch_count {
        all.iter_mut().zip(batch()).for_each(|(all, cost)| all[at] = cost);
    }
    let costs = all.each_mut().map(|all| undisturbed(&mut all[..batch_count]));
    costs.iter().all(|Cost(cost, error)| (cost + error).is_finite()).then_some(costs)
}

/// Keeps the costs of the recorder: of a boundary in the own time of an execution, and of a block,
/// which is in others, each with all values that neighbours give it.
fn keep(inner: &[Cost], block: Cost, blocks: &[Cost]) {
    let (least, most) = range(inner);
    let (centre, spread) = ((least + most) / 2.0, (most - least) / 2.0);
    let (least, most) = range(blocks);
    let block_spread = (most - block.0).max(block.0 - least);
    let costs = [centre, (block.0 - centre).max(0.0), spread, block_spread];
    table::set_costs(table::word() & mode::BITS, costs);
    table::tell_costs();
}

/// Returns the least and the greatest value that costs with their errors may have.
fn range(costs: &[Cost]) -> (f64, f64) {
    costs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), Cost(cost, error)| {
        (least.min(cost - error), most.max(cost + error))
    })
}

/// Returns what three eighths of the costs are below, and its distance from what a sixteenth is
/// below. What disturbs batches makes them longer, so neither depends on how busy the machine is
/// while three eighths are not disturbed. On a quiet machine all count, and it is near their mean:
/// the lower quartile is 2 % below, which is a quarter of a short time at depth 64.
fn undisturbed(costs: &mut [f64]) -> Cost {
    costs.sort_by(f64::total_cmp);
    let cost = costs[costs.len() * 3 / 8];
    Cost(cost, cost - costs[costs.len() / 16])
}

/// Runs statements among several neighbours; returns the sums of the rows.
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
    own.at(AROUND_NEST);
    nest(statements, NEST_DEPTH);
    own.at(AROUND_WORK);
    (0..WORK_COUNT).for_each(|_| nest_work(statements));
    let word = own.word();
    drop(own);
    table::take(word)
}

/// A function as `#[profiled]` makes it, with a choice between two bodies.
#[inline(never)]
fn nest(statements: &'static Statements, depth: usize) {
    if is_profiled() {
        return apart(move || {
            let _function = block(statements, IN_NEST);
            if depth > 1 {
                let _arm = block(statements, IN_NEST + 1);
                nest(statements, depth - 1);
            }
        });
    }
    plain_nest(depth);
}

/// Works in a block.
#[inline(never)]
fn nest_work(statements: &'static Statements) {
    let _block = block(statements, WORK);
    work(TURN_COUNT);
}

#[inline(never)]
fn work(turns: usize) {
    let mut value = turns;
    for _ in 0..turns {
        value = black_box(value.wrapping_mul(31));
    }
}

/// `nest` without blocks.
#[inline(never)]
fn plain_nest(depth: usize) {
    if depth > 1 {
        plain_nest(depth - 1);
    }
    // No tail call: `nest` has none.
    black_box(depth);
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
    use super::{Cost, undisturbed};

    /// Seven of twelve batches are disturbed, some for as long as a turn of another program: the
    /// costs and their spread stay.
    #[test]
    fn a_busy_machine_changes_no_costs() {
        let quiet = |at: usize| 40.0 + (at % 4) as f64 * 0.25;
        let mut calm: Vec<f64> = (0..256).map(quiet).collect();
        let mut busy: Vec<f64> = (0..256)
            .map(|at| match at % 12 {
                0..5 => quiet(at),
                5..10 => quiet(at) + 30.0,
                _ => quiet(at) + 1e6,
            })
            .collect();
        let (calm, busy) = (undisturbed(&mut calm), undisturbed(&mut busy));
        assert_eq!(calm, Cost(40.25, 0.25));
        assert!((busy.0 - calm.0).abs() <= 0.5 && busy.1 <= 0.75, "{busy:?}");
        // A batch that could not be measured is last.
        assert_eq!(undisturbed(&mut [f64::NAN, 7.0, 5.0, 6.0]), Cost(6.0, 1.0));
    }
}
