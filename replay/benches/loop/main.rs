//! Measures the cost of the replayer's loop: alone, and relative to the bare calls of malloc and
//! free.
//!
//! ```text
//!  the same operations ─┬─ play::in_process, null heap ───▶ ns an operation: the cost of the loop
//!                       ├─ play::in_process, malloc ──────▶ ns ┐ in turns; the median ratio:
//!                       └─ bare.rs, malloc ─────────▶ ns ┘ its overhead
//!  programs ── recorded.rs ──▶ how many times as fast their logs are replayed
//! ```
//!
//! Rows are `name ⇥ value ⇥ unit ⇥ ratio to the requirement` (5 ns; 1.1 × the bare calls). `steady`
//! frees in an order that a processor can predict, `random` does not. `docs/benchmarks.md` explains
//! the names.

mod bare;
#[path = "../../../interpose/benches/record/programs.rs"]
mod programs;
mod recorded;
#[path = "../../../telemetry/benches/recording/row.rs"]
mod row;

use replay::heap::Heap;
use replay::heap::Null;
use replay::heap::system::System;
use replay::play::{Touch, in_process};
use replay::workload::{LIVE_STEP, Op, OpKind, Thread, Workload};
use std::path::Path;

/// The number of operations for `.rep.loop`.
const OPERATION_COUNT: usize = 10_000_000;
/// The number of operations for the null heap: runs are short, so that some run is not interrupted.
const NULL_COUNT: usize = 1_000_000;
const NULL_RUN_COUNT: usize = 50;
/// The number of live objects, about.
const LIVE_COUNT: usize = 20_000;
/// The number of runs of each, in turns; the run with the median ratio counts.
const RUN_COUNT: usize = 7;
/// The maximum ns of an operation against the null heap.
const LOOP_NS_MAX: f64 = 5.0;
/// The maximum ratio to the bare calls.
const OVERHEAD_MAX: f64 = 1.1;

fn main() {
    let mut lines = String::new();
    for (name, is_random) in [("steady", false), ("random", true)] {
        let short = workload(is_random, NULL_COUNT);
        let runs = (0..NULL_RUN_COUNT).map(|_| ns(&short, &Null));
        let null = runs.fold(f64::MAX, f64::min);
        let workload = workload(is_random, OPERATION_COUNT);
        let bare = bare::script(&workload);
        let mut pairs = Vec::new();
        for _ in 0..RUN_COUNT {
            // Alternating order: changes of the machine affect both.
            let floor = || bare::ns(&bare, workload.slot_count as usize);
            let (first, ours) = (floor(), ns(&workload, &System) + ns(&workload, &System));
            pairs.push((ours / 2.0, (first + floor()) / 2.0));
        }
        pairs.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
        let (system, floor) = pairs[RUN_COUNT / 2];
        lines += &row::print(&format!("loop-null-{name}"), null, "ns", Some(null / LOOP_NS_MAX));
        let required = floor * OVERHEAD_MAX;
        lines += &row::print(&format!("loop-system-{name}"), system, "ns", Some(system / required));
        lines += &row::print(&format!("floor-loop-system-{name}"), floor, "ns", None);
    }
    lines += &recorded::rows();
    row::record(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../telemetry/benches"), &lines);
}

fn ns(workload: &Workload, heap: &impl Heap) -> f64 {
    let run = in_process(workload, heap, Touch::None).expect("it is sound");
    run.duration_ns as f64 / run.operation_count as f64
}

/// Returns operations on one thread, with sizes like those of programs: many small and few large.
fn workload(is_random: bool, count: usize) -> Workload {
    let mut seed = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let mut thread = Thread { live: vec![0], ..Thread::default() };
    let (mut full, mut empty): (Vec<(u32, u64)>, Vec<u32>) = (Vec::new(), Vec::new());
    let (mut slot_count, mut live) = (0, 0);
    for index in 0..count {
        let is_free = match is_random {
            true => random() % (2 * LIVE_COUNT as u64) < full.len() as u64,
            false => full.len() >= LIVE_COUNT && index % 8 >= 4,
        };
        if is_free {
            let which = random() as usize % full.len();
            let (slot, size) = full.swap_remove(which);
            empty.push(slot);
            live -= size as i64;
            thread.ops.push(Op::of_slot(OpKind::Free, slot, size));
        } else {
            let size = 16 + random() % (16 << (random() % 8));
            let slot = empty.pop().unwrap_or(slot_count);
            slot_count = slot_count.max(slot + 1);
            full.push((slot, size));
            live += size as i64;
            thread.ops.push(Op::of_slot(OpKind::Allocate, slot, size));
        }
        if thread.ops.len().is_multiple_of(LIVE_STEP) || index + 1 == count {
            thread.live.push(live);
        }
    }
    thread.left = full;
    let operation_count = count as u64;
    Workload {
        threads: vec![thread],
        slot_count,
        pool_count: 1,
        operation_count,
        ..Workload::default()
    }
}
