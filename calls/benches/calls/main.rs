//! The cost of recording calls: each operation next to its least possible cost, measured in turn
//! with it.
//!
//! ```text
//!  cargo bench -p mps-calls ─▶ call-off, call-pair, call-pair-two-threads, statement-off, …
//! ```
//!
//! The floors are those of the benchmark of telemetry: `off` and `memory`. `RECORD=name` keeps the
//! rows. What the names mean: `docs/benchmarks.md`.

#[path = "../../../telemetry/benches/recording/floor.rs"]
#[expect(dead_code, reason = "other benchmarks use the rest")]
mod floor;
#[path = "../../../telemetry/benches/recording/measure.rs"]
#[expect(dead_code, reason = "other benchmarks use the rest")]
mod measure;
#[path = "../../../telemetry/benches/recording/row.rs"]
mod row;
mod statements;

use calls::events::{CONTROL, Kinds};
use calls::traced;
use measure::{EVENT_COUNT, in_turn, run, threads_in_turn};
use std::hint::black_box;
use std::path::Path;

/// A function with a call's cost and nothing else.
#[traced]
#[inline(never)]
fn called(a: u64, b: u64, c: u64) {
    black_box((a, b, c));
}

#[inline(never)]
fn plain(a: u64, b: u64, c: u64) {
    black_box((a, b, c));
}

/// The floor of a call that is off: the same function with a load, a test and a branch.
#[inline(never)]
fn off(a: u64, b: u64, c: u64) {
    floor::off(a, b, c);
    black_box((a, b, c));
}

/// The floor of a call that is recorded: the same function with one event of 32 bytes.
#[inline(never)]
fn memory(a: u64, b: u64, c: u64) {
    floor::memory(a, b, c);
    black_box((a, b, c));
}

/// Measures two things several times, for about a second; the best of each. A virtual processor can
/// take 7 ns longer for a pair of events for some tenths of a second.
#[inline(always)]
fn undisturbed(mut a: impl FnMut(), mut b: impl FnMut()) -> (f64, f64) {
    let lower = |best: (f64, f64), new: (f64, f64)| (best.0.min(new.0), best.1.min(new.1));
    (0..5).map(|_| in_turn(&mut a, &mut b)).fold((f64::INFINITY, f64::INFINITY), lower)
}

/// Takes the log, and keeps nothing of it.
struct Nowhere;

impl telemetry::Plinth for Nowhere {
    fn create(&self, _: usize) -> Result<(), telemetry::PlinthError> {
        Ok(())
    }

    fn write_block(&self, _: u64, _: &[u8]) -> Result<(), telemetry::PlinthError> {
        Ok(())
    }

    fn can_rewrite(&self) -> bool {
        true
    }
}

fn main() {
    floor::begin(None);
    let mut rows = String::new();
    let mut give = |(value, floor): (f64, f64), name: &str, unit: &str| {
        rows += &row::print(name, value, unit, Some(value / floor));
        rows += &row::print(&format!("floor-{name}"), floor, unit, None);
    };
    let control = calls::control();
    assert_eq!(control.recorded(), Kinds::empty(), "MPS_TELEMETRY_CONTROL is set");
    give(in_turn(|| run(called), || run(off)), "call-off", "ns");
    control.set_recorded(Kinds::Call);
    let (pair, bare) = undisturbed(|| run(called), || run(plain));
    let (one, bare_again) = undisturbed(|| run(memory), || run(plain));
    give((pair - bare, one - bare_again), "call-pair", "ns");
    let (ours, floors) = threads_in_turn(called, || floor::begin(None), memory);
    give((ours[1], floors[1]), "call-pair-two-threads", "ns");
    give((ours[0] / ours[1], floors[0] / floors[1]), "call-pair-two-threads-speedup", "×");
    let losses = telemetry::losses_of(&CONTROL, Kinds::Call);
    assert!(losses.recorded > 2 * EVENT_COUNT, "nothing was recorded: {losses:?}");
    assert_eq!(losses.requested, losses.recorded, "calls were discarded: {losses:?}");
    control.reset_recorded(Kinds::Call);
    telemetry::setup().plinth(Nowhere).start().expect("no log has begun");
    statements::measure(&mut |values, name| give(values, name, "ns"));
    row::record(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../telemetry/benches"), &rows);
}
