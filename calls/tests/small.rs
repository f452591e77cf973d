//! A small program whose threads count and time statements while others tell the sums, and switch
//! the mode. Miri can run it, and reports data races and invalid pointers.
//!
//! ```text
//!  3 threads ∥ flush ∥ switches ─ a thread that adopts a table ─▶ the log in memory ─▶ each count
//! ```
//!
//! `./proofs` runs it under Miri, and under a thread sanitizer. Design: `.statements.table` in
//! `design/statements.md`.

mod common;
#[macro_use]
#[path = "common/sums.rs"]
mod sums;

use calls::__private::block;
use calls::events::{CONTROL, Kinds};
use calls::profile::{self, Mode};
use eventlog::reader::Log;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use telemetry::MemoryPlinth;

const THREAD_COUNT: u64 = 3;
const BLOCK_COUNT: u64 = if cfg!(miri) { 20 } else { 30_000 };
/// Each switch measures the recorder, which takes Miri a second.
const SWITCH_COUNT_MAX: u64 = if cfg!(miri) { 3 } else { u64::MAX };

#[inline(never)]
fn works(depth: u32) {
    let statements = statements!(10 11);
    let mut block = block(statements, 0);
    if depth > 0 {
        works(depth - 1);
    }
    block.at(1);
    black_box(depth);
}

fn record() {
    for index in 0..BLOCK_COUNT / 2 {
        works(1);
        if index % 8 == 0 {
            drop(black_box(calls::pause()));
        }
    }
}

#[test]
fn a_small_program_counts_every_statement() {
    let plinth = MemoryPlinth::new();
    telemetry::setup().block_size_log2(12).plinth(plinth.clone()).start().unwrap();
    profile::set(Mode::Time);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let others = [Mode::Count, Mode::Time].map(|mode| {
            let is_over = &is_over;
            scope.spawn(move || {
                for _ in 0..SWITCH_COUNT_MAX {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    profile::set(mode);
                    telemetry::flush();
                    std::thread::yield_now();
                }
            })
        });
        let recorders: Vec<_> = (0..THREAD_COUNT).map(|_| scope.spawn(record)).collect();
        recorders.into_iter().for_each(|thread| thread.join().unwrap());
        // This thread takes the table of one that ended.
        scope.spawn(record).join().unwrap();
        is_over.store(true, Ordering::Relaxed);
        others.into_iter().for_each(|thread| thread.join().unwrap());
    });
    telemetry::flush();
    let losses = telemetry::losses_of(&CONTROL, Kinds::Profile);
    assert_eq!(losses.full, 0, "{losses:?}");
    let log = Log::from_source(plinth.bytes()).unwrap();
    let sums = sums::sums(&log);
    assert_eq!(sums.len(), 2, "{sums:?}");
    for sum in sums.values() {
        assert_eq!(sum.count, (THREAD_COUNT + 1) * BLOCK_COUNT, "{sums:?}");
        assert!(sum.timed <= sum.count && sum.own <= sum.total, "{sums:?}");
        let (total, timed) = (u128::from(sum.total), u128::from(sum.timed));
        assert!(sum.squares * timed >= total * total, "they belong together: {sums:?}");
    }
}
