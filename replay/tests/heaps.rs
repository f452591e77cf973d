//! Plays random operations against each built-in heap.
//!
//! ```text
//!  seeds ─▶ operations ─ compile ─▶ workload ─ in_process ─▶ Guard<Heap> ─▶ no errors
//! ```
//!
//! Design: `.rep.heap`, `.rep.truth` in `design/replay.md`.

mod common;
#[path = "common/guard.rs"]
mod guard;

use common::{live_steps, operations};
use guard::Guard;
use replay::heap::Heap;
use replay::heap::global::Global;
use replay::heap::pools::Pools;
use replay::heap::system::System;
use replay::operation::{Action, Operation};
use replay::play::{Touch, in_process};
use replay::script::{Mode, compile};
use replay::workload::{LIVE_STEP, OpKind, Thread};

/// Plays workloads of each kind against a heap; an error names the seed.
fn judge<H: Heap>(make: impl Fn() -> H) {
    for seed in [1, 77, 4711] {
        for (thread_count, pool_count) in [(1, 1), (4, 1), (3, 5)] {
            let all = operations(seed, 12_000, thread_count, pool_count);
            let workload = compile(all.iter().copied(), Mode::default());
            let guard = Guard::new(make());
            let run = in_process(&workload, &guard, Touch::None).expect("a sound workload");
            let book = guard.book();
            let what = format!("seed {seed}, {thread_count} threads, {pool_count} pools");
            assert_eq!(book.wrong, Vec::<String>::new(), "{what}");
            assert_eq!((run.operation_count, run.failure_count), (workload.operation_count, 0));
            assert_eq!(book.live, 0, "{what}: some objects remain");
            if thread_count == 1 {
                // Operations keep their order, although the loop does several at once.
                let steps = live_steps(&all);
                assert_eq!(book.steps[..steps.len()], steps, "{what}");
                assert_eq!(book.live_peak, workload.live_peak, "{what}");
                judge_steps(&workload.threads[0], &book.steps, &what);
            }
        }
    }
}

/// Returns operations: the threads allocate one after the other, then free in the same order.
fn in_turns(thread_count: u32, count: u32, size: u64) -> Vec<Operation> {
    let objects = (0..thread_count * count).map(|object| (object, object / count));
    let allocate =
        |object| Action::Allocate { object, size, alignment: 1, is_zeroed: false, pool: 0 };
    let made = objects.clone().map(|(object, thread)| (thread, allocate(object)));
    let freed = objects.map(|(object, thread)| (thread, Action::Free { object }));
    let all = made.chain(freed).zip(0..);
    all.map(|((thread, action), time)| Operation { time, thread, action }).collect()
}

/// `.rep.skew`
#[test]
fn several_threads_reach_the_recorded_live_peak() {
    let all = in_turns(3, 400, 1000);
    // At the second skew no thread waits, except at the live peak, where all threads meet.
    for skew in [64, 1 << 20].repeat(5) {
        let mode = Mode { skew: Some(skew), ..Mode::default() };
        let workload = compile(all.iter().copied(), mode);
        let guard = Guard::new(System);
        in_process(&workload, &guard, Touch::None).expect("a sound workload");
        let most = guard.book().live_peak;
        assert_eq!(most, workload.live_peak, "the threads did not meet at the peak");
    }
}

/// Checks that the live bytes at each step are those that the heap counted.
fn judge_steps(thread: &Thread, steps: &[u64], what: &str) {
    let (mut at, mut done) = (0, 0);
    for (index, live) in thread.live.iter().enumerate() {
        let end = (index * LIVE_STEP).min(thread.ops.len());
        // A group of words across the step may count on either side of the step.
        let mut counted = vec![steps[..done].last().copied().unwrap_or(0)];
        while at < end {
            let prefix = usize::from(thread.ops[at].kind() == OpKind::Prefix);
            let kind = thread.ops[at + prefix].kind();
            at += prefix + if kind == OpKind::Reallocate { 2 } else { 1 };
            use OpKind::{Allocate, AllocateZeroed, Free, Reallocate};
            done += usize::from(matches!(kind, Allocate | AllocateZeroed | Free | Reallocate));
            let now = steps[..done].last().copied().unwrap_or(0);
            counted = if at > end { vec![counted[0], now] } else { vec![now] };
        }
        assert!(counted.contains(&(*live as u64)), "{what}, step {index}: {live}, {counted:?}");
    }
}

/// `.rep.heap` `.rep.truth`
#[test]
fn the_system_heap_serves_all_requests() {
    judge(|| System);
}

/// `.rep.heap`
#[test]
fn the_heap_with_pools_serves_all_requests() {
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
fn jemalloc_serves_all_requests() {
    judge(|| Global(tikv_jemallocator::Jemalloc));
}

/// `.rep.heap`
#[cfg(feature = "mimalloc")]
#[test]
fn mimalloc_serves_all_requests() {
    judge(|| Global(mimalloc::MiMalloc));
}

/// `.rep.heap`
#[cfg(feature = "snmalloc")]
#[test]
fn snmalloc_serves_all_requests() {
    judge(|| Global(snmalloc_rs::SnMalloc));
}
