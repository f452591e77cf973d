//! Random operations, against each heap that is built in.
//!
//! ```text
//!  seeds ─▶ operations ─ compile ─▶ workload ─ here ─▶ Guard<Heap> ──▶ nothing wrong, nothing left
//! ```
//!
//! Design: `.rep.heap`, `.rep.truth` in `design/replay.md`.

mod common;
#[path = "common/guard.rs"]
mod guard;

use common::{live_peak, operations};
use guard::Guard;
use replay::heap::Heap;
use replay::heap::global::Global;
use replay::heap::pools::Pools;
use replay::heap::system::System;
use replay::play::{Touch, here};
use replay::script::{Mode, compile};

/// Plays against a heap, of each kind of workload; what is wrong is told with the seed.
fn judge<H: Heap>(make: impl Fn() -> H) {
    for seed in [1, 77, 4711] {
        for (thread_count, pool_count) in [(1, 1), (4, 1), (3, 5)] {
            let all = operations(seed, 12_000, thread_count, pool_count);
            let workload = compile(all.iter().copied(), Mode::default());
            let guard = Guard::new(make());
            let run = here(&workload, &guard, Touch::None).expect("it is sound");
            let book = guard.book();
            let what = format!("seed {seed}, {thread_count} threads, {pool_count} pools");
            assert_eq!(book.wrong, Vec::<String>::new(), "{what}");
            assert_eq!((run.operation_count, run.failure_count), (workload.operation_count, 0));
            assert_eq!(book.live, 0, "{what}: all is freed at the end");
            if thread_count == 1 {
                assert_eq!(book.live_peak, live_peak(&all), "{what}");
                assert_eq!(book.live_peak, workload.live_peak, "{what}");
            }
        }
    }
}

/// `.rep.heap`
#[test]
fn the_system_heap_hands_out_what_is_asked_for() {
    judge(|| System);
}

/// `.rep.heap`
#[test]
fn pools_of_our_own_hand_out_what_is_asked_for() {
    judge(Pools::default);
}

/// `.rep.heap`
#[test]
fn any_global_allocator_is_a_heap() {
    judge(|| Global(std::alloc::System));
}

/// `.rep.heap`
#[cfg(feature = "jemalloc")]
#[test]
fn jemalloc_hands_out_what_is_asked_for() {
    judge(|| Global(tikv_jemallocator::Jemalloc));
}

/// `.rep.heap`
#[cfg(feature = "mimalloc")]
#[test]
fn mimalloc_hands_out_what_is_asked_for() {
    judge(|| Global(mimalloc::MiMalloc));
}

/// `.rep.heap`
#[cfg(feature = "snmalloc")]
#[test]
fn snmalloc_hands_out_what_is_asked_for() {
    judge(|| Global(snmalloc_rs::SnMalloc));
}
