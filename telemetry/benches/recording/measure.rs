//! Measuring two things in turn, so that both see the same machine.
//!
//! ```text
//!  warm-up ─ A B A B A B … ─▶ the best of each
//! ```
//!
//! The best run is the one that was disturbed least. Names: `docs/benchmarks.md`.

use crate::floor::ticks;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// Events in a run: about a millisecond, so that some runs are not disturbed even on a
/// busy machine.
pub(crate) const EVENT_COUNT: u64 = 100_000;
/// Runs of each thing, after one to warm up.
pub(crate) const RUN_COUNT: usize = 101;
/// Events in a run whose calls are timed one by one, and runs.
const TAIL_EVENT_COUNT: usize = 500_000;
const TAIL_RUN_COUNT: usize = 11;

/// Runs two things in turn; the best time of each, in ns for one event.
pub(crate) fn in_turn(mut a: impl FnMut(), mut b: impl FnMut()) -> (f64, f64) {
    let mut best = (f64::INFINITY, f64::INFINITY);
    a();
    b();
    for _ in 0..RUN_COUNT {
        best.0 = best.0.min(time(&mut a));
        best.1 = best.1.min(time(&mut b));
    }
    best
}

fn time(run: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64() * 1e9 / EVENT_COUNT as f64
}

/// Calls `record` for every event of a run.
#[inline(always)]
pub(crate) fn run(record: impl Fn(u64, u64, u64)) {
    for i in 0..EVENT_COUNT {
        record(i, i + 1, i + 2);
    }
}

/// Runs two things in turn, each on one thread and on two: the best times of each, in ns for one
/// event of all that were recorded. Threads `begin` the second thing before the clock starts.
pub(crate) fn threads_in_turn(
    a: impl Fn(u64, u64, u64) + Sync,
    begin: impl Fn() + Sync,
    b: impl Fn(u64, u64, u64) + Sync,
) -> ([f64; 2], [f64; 2]) {
    let mut best = ([f64::INFINITY; 2], [f64::INFINITY; 2]);
    for _ in 0..RUN_COUNT {
        for count in [1, 2] {
            best.0[count - 1] = best.0[count - 1].min(threads(count, &|| {}, &a));
            best.1[count - 1] = best.1[count - 1].min(threads(count, &begin, &b));
        }
    }
    best
}

fn threads(
    count: usize,
    begin: &(impl Fn() + Sync),
    record: &(impl Fn(u64, u64, u64) + Sync),
) -> f64 {
    let (start, end) = span(count, 1, begin, record);
    (end - start).as_secs_f64() * 1e9 / (EVENT_COUNT * count as u64) as f64
}

/// Lets threads begin, warm up, and then do `run_count` runs at once; returns the first start and
/// the last end.
pub(crate) fn span(
    count: usize,
    run_count: u64,
    begin: &(impl Fn() + Sync),
    record: &(impl Fn(u64, u64, u64) + Sync),
) -> (Instant, Instant) {
    let arrived = AtomicUsize::new(0);
    let body = || {
        begin();
        run(record);
        // They start at once, without being woken.
        arrived.fetch_add(1, Ordering::AcqRel);
        while arrived.load(Ordering::Acquire) < count {
            std::hint::spin_loop();
        }
        let start = Instant::now();
        (0..run_count).for_each(|_| run(record));
        (start, Instant::now())
    };
    let spans: Vec<(Instant, Instant)> = thread::scope(|scope| {
        let handles: Vec<_> = (0..count).map(|_| scope.spawn(body)).collect();
        handles.into_iter().map(|handle| handle.join().expect("no thread panics")).collect()
    });
    let start = spans.iter().map(|span| span.0).min().expect("there is a thread");
    let end = spans.iter().map(|span| span.1).max().expect("there is a thread");
    (start, end)
}

/// The points of a tail, with their names.
pub(crate) const TAIL: [(&str, f64); 5] =
    [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("max", 1.0)];

/// Times single calls of two things, a run of each in turn: of each point of the tail the best run,
/// in ns. Each fills in the ticks of its calls, by `tail`.
pub(crate) fn tails(
    mut a: impl FnMut(&mut [u32]),
    mut b: impl FnMut(&mut [u32]),
) -> ([f64; 5], [f64; 5]) {
    let mut best = ([f64::INFINITY; 5], [f64::INFINITY; 5]);
    let mut times = vec![0u32; TAIL_EVENT_COUNT];
    let rate = ticks_per_ns();
    for _ in 0..TAIL_RUN_COUNT {
        a(&mut times);
        lower(&mut best.0, points(&mut times, rate));
        b(&mut times);
        lower(&mut best.1, points(&mut times, rate));
    }
    best
}

/// Times single calls: the ticks of each, which include one reading of the counter.
#[inline(always)]
pub(crate) fn tail(record: impl Fn(u64, u64, u64), times: &mut [u32]) {
    let mut before = ticks();
    for (i, time) in (0..).zip(times.iter_mut()) {
        record(i, i + 1, i + 2);
        let after = ticks();
        *time = u32::try_from(after.saturating_sub(before)).unwrap_or(u32::MAX);
        before = after;
    }
}

fn points(times: &mut [u32], rate: f64) -> [f64; 5] {
    times.sort_unstable();
    let last = times.len() - 1;
    TAIL.map(|(_, part)| f64::from(times[(last as f64 * part) as usize]) / rate)
}

fn lower(best: &mut [f64; 5], other: [f64; 5]) {
    for (best, other) in best.iter_mut().zip(other) {
        *best = best.min(other);
    }
}

fn ticks_per_ns() -> f64 {
    let (start, from) = (Instant::now(), ticks());
    thread::sleep(std::time::Duration::from_millis(50));
    (ticks() - from) as f64 / start.elapsed().as_nanos() as f64
}
