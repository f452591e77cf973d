//! A program that a debugger stops, for the tests to run.
//!
//! ```text
//!  threads record, and end ─▶ here (Rust) ─▶ sched_yield (C) ─▶ more events ─▶ the end
//! ```
//!
//! The events fill no block of any kind: `.control.output` in `design/telemetry.md`.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use telemetry::{add_string, event, label_address};

mod heap {
    telemetry::events! {
        /// The events of a heap.
        registry "heap" version(1, 0, 0);
        kinds standard;

        /// A pool was created.
        PoolInit(0x0001, always, Pool) {
            /// the pool
            pool: P,
            /// which one
            index: W,
        }
        /// A segment was made.
        SegAlloc(0x0002, always, Seg) {
            /// its first byte
            base: A,
            /// the thread that made it
            thread: U,
        }
    }
}

const POOL: usize = 0x1000;
const COUNT: usize = 10;

fn record(from: usize) {
    for index in from..from + COUNT {
        event!(heap::PoolInit, std::ptr::without_provenance::<u8>(POOL), index);
    }
}

/// The function where a debugger stops the program.
#[inline(never)]
fn here(count: usize) {
    black_box(count);
}

fn main() {
    label_address(POOL, add_string("the first pool"));
    record(0);
    let (recorded, seen) = (&Barrier::new(2), &Barrier::new(4));
    thread::scope(|scope| {
        // The threads stay until all have recorded, each into its own blocks.
        for number in 1..4u32 {
            let named = thread::Builder::new().name(format!("maker {number}"));
            let make = move || {
                event!(heap::SegAlloc, 0x7000usize, number);
                recorded.wait();
                seen.wait();
            };
            named.spawn_scoped(scope, make).expect("a thread");
            recorded.wait();
        }
        here(COUNT);
        thread::yield_now();
        seen.wait();
    });
    record(COUNT);
}
