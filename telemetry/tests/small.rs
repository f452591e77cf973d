//! A small program that uses the whole runtime: threads record, advance, flush and end. Miri can
//! run it, and reports data races and invalid pointers.
//!
//! ```text
//!  3 threads ∥ flush ∥ another that adopts their rings ─▶ the log in memory ─▶ each event once
//! ```
//!
//! `./proofs` runs it under Miri, and under a thread sanitizer. Design: `.sol.ordering` in
//! `design/telemetry.md`.

mod common;

use common::{CONTROL, Kinds, Sorts, Three};
use std::sync::atomic::{AtomicBool, Ordering};
use telemetry::{MemoryPlinth, control, event};

const THREAD_COUNT: usize = 3;
/// More events than a block holds.
const EVENT_COUNT: usize = if cfg!(miri) { 150 } else { 30_000 };

#[test]
fn a_small_program_records_every_event_once() {
    let plinth = MemoryPlinth::new();
    telemetry::setup().block_size_log2(12).plinth(plinth.clone()).start().unwrap();
    control::of(&CONTROL).set_output(Kinds::Object | Kinds::User);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flusher = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                telemetry::flush();
                std::thread::yield_now();
            }
        });
        let recorders: Vec<_> =
            (1..=THREAD_COUNT).map(|thread| scope.spawn(move || record(thread))).collect();
        recorders.into_iter().for_each(|thread| thread.join().unwrap());
        // This thread reuses the rings of the ended ones.
        scope.spawn(|| record(THREAD_COUNT + 1)).join().unwrap();
        done.store(true, Ordering::Relaxed);
        flusher.join().unwrap();
    });
    telemetry::flush();
    let stream = common::read(&plinth.bytes());
    let mut indexes: Vec<_> = stream.of(1).iter().map(|e| (e.word(0), e.word(1))).collect();
    indexes.sort_unstable();
    let threads = 1..=THREAD_COUNT as u64 + 1;
    assert!(
        indexes.into_iter().eq(threads.flat_map(|t| (0..EVENT_COUNT as u64).map(move |i| (t, i))))
    );
    let losses = telemetry::losses();
    assert_eq!(losses.requested, losses.recorded);
    assert_eq!(stream.of(3).len(), (THREAD_COUNT + 1) * EVENT_COUNT.div_ceil(10));
}

fn record(thread: usize) {
    let text = telemetry::add_string(format!("thread {thread}"));
    telemetry::label_address(thread, text);
    for index in 0..EVENT_COUNT {
        event!(Three, thread, index, index * 3);
        if index % 10 == 0 {
            let p = std::ptr::null::<u8>();
            event!(Sorts, p, true, 7u32, 0.5, index, thread, "a string");
        }
    }
}
