//! The cost of profiling statements: in blocks of four, as `#[profiled]` inserts them.
//!
//! ```text
//!  statement-off ─ statement-count ─ statement-time ─ statement-trace    each next to its floor
//! ```
//!
//! What the names mean: `docs/benchmarks.md`.

use crate::measure::{EVENT_COUNT, in_turn, run, threads_in_turn};
use crate::{floor, undisturbed};
use calls::__private::block;
use calls::profile::{self, Mode};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

/// The statements of the function that it stands in.
macro_rules! statements {
    ($($line:literal)*) => {
        calls::__statements!(calls::__site!("bench.rs" [1, 1, 0, 0]), [$([$line, 1, 0, 0]),*])
    };
}

/// Statements of a block.
const COUNT: f64 = 4.0;
/// Boundaries that measure times: one more than statements.
const BOUNDARIES: f64 = COUNT + 1.0;

#[inline(never)]
fn profiled(a: u64, b: u64, c: u64) {
    let mut block = block(statements!(1 2 3 4), 0);
    black_box(a);
    block.at(1);
    black_box(b);
    block.at(2);
    black_box(c);
    block.at(3);
    black_box(a);
}

#[inline(never)]
fn plain(a: u64, b: u64, c: u64) {
    black_box(a);
    black_box(b);
    black_box(c);
    black_box(a);
}

/// The floor of statements that are off: a load, a test and a branch for the block.
#[inline(never)]
fn off(a: u64, b: u64, c: u64) {
    floor::off(a, b, c);
    plain(a, b, c);
}

/// The floor of statements that are counted: a word in memory each.
#[inline(never)]
fn counted(a: u64, b: u64, c: u64) {
    static COUNTS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
    let count = |at: usize| {
        let word = &COUNTS[at];
        word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    };
    count(0);
    black_box(a);
    count(1);
    black_box(b);
    count(2);
    black_box(c);
    count(3);
    black_box(a);
}

/// The floor of times: the clock is read once for each boundary.
#[inline(never)]
fn clock(a: u64, b: u64, c: u64) {
    for value in [a, b, c, a] {
        black_box((value, floor::ticks()));
    }
    black_box(floor::ticks());
}

/// Measures each mode. Passes the cost of a statement or a boundary, that of its floor, and a name.
pub(crate) fn measure(give: &mut dyn FnMut((f64, f64), &str)) {
    profile::set(Mode::Off);
    // With the rest of the function: the difference is too small for a ratio.
    let (ours, floor) = in_turn(|| run(profiled), || run(off));
    give((ours / COUNT, floor / COUNT), "statement-off");
    let mut of = |mode: Mode, floor: fn(u64, u64, u64), per: f64, name: &str| {
        profile::set(mode);
        // Both in turn: the processor may change its speed for tenths of a second.
        let (ours, floor) = undisturbed(|| run(profiled), || run(floor));
        let (bare, _) = undisturbed(|| run(plain), || {});
        give(((ours - bare) / per, (floor - bare) / per), name);
    };
    of(Mode::Count, counted, COUNT, "statement-count");
    of(Mode::Time, clock, BOUNDARIES, "statement-time");
    of(Mode::Trace, clock, BOUNDARIES, "statement-trace");
    profile::set(Mode::Time);
    let (ours, floors) = threads_in_turn(profiled, || {}, clock);
    give((ours[1] / BOUNDARIES, floors[1] / BOUNDARIES), "statement-time-two-threads");
    profile::set(Mode::Off);
    let losses = telemetry::losses_of(&calls::events::CONTROL, calls::events::Kinds::all());
    assert!(losses.recorded > EVENT_COUNT, "nothing was recorded: {losses:?}");
    assert_eq!(losses.requested, losses.recorded, "events were discarded: {losses:?}");
}
