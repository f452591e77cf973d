//! A program that forks under load, for the tests to run.
//!
//! ```text
//!  forker FORKS     8 threads record, label, flush and end meanwhile; children record and
//!                   exit, each third one after forking again
//!  counts-PID       the events of each process since its fork, by thread
//! ```
//!
//! Design: `.sol.fork` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "fork")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use std::{env, fs, process, thread};
use tests::work;

const THREAD_COUNT: usize = 8;
/// The thread that forks, and the one thread of each child.
const FORKER: usize = THREAD_COUNT;
static COUNTS: [AtomicUsize; THREAD_COUNT + 1] = [const { AtomicUsize::new(0) }; THREAD_COUNT + 1];
static DONE: AtomicBool = AtomicBool::new(false);

fn main() {
    let forks = env::args().nth(1).and_then(|forks| forks.parse().ok()).expect("a number");
    telemetry::label_address(0x77, telemetry::add_string("of before"));
    thread::scope(|scope| {
        for thread in 0..THREAD_COUNT {
            scope.spawn(move || work(thread));
        }
        for number in 0..forks {
            record(FORKER, 40);
            fork(number, true);
        }
        DONE.store(true, Ordering::Relaxed);
    });
    tell();
}

fn record(thread: usize, count: usize) {
    let process = process::id() as usize;
    for _ in 0..count {
        let index = COUNTS[thread].fetch_add(1, Ordering::Relaxed);
        work::record(index % 3, thread, index, process);
    }
}

/// Uses everything that has a lock: full blocks, the store, flushes, threads that begin and end.
fn work(thread: usize) {
    while !DONE.load(Ordering::Relaxed) {
        match thread {
            0 => telemetry::flush(),
            1 => thread::scope(|scope| _ = scope.spawn(|| record(thread, 50))),
            2 => telemetry::label_address(0x100 + thread, telemetry::add_string("under load")),
            _ => {}
        }
        record(thread, 200);
        thread::sleep(Duration::from_micros(200));
    }
}

fn fork(number: usize, is_again: bool) {
    // SAFETY: the child has this thread, which records, writes a file, and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        COUNTS.iter().for_each(|count| count.store(0, Ordering::Relaxed));
        assert_eq!(telemetry::losses(), telemetry::Losses::default());
        if is_again && number.is_multiple_of(3) {
            fork(number, false);
        }
        record(FORKER, 100 + number * 10);
        tell();
        // SAFETY: ends the child.
        unsafe { libc::exit(0) };
    }
    let mut status = 1;
    // SAFETY: waits for a child; `status` lives through the call.
    unsafe { assert_eq!((libc::waitpid(child, &mut status, 0), status), (child, 0)) };
}

/// Writes the counts of this process to its file.
fn tell() {
    let counts = COUNTS.each_ref().map(|count| count.load(Ordering::Relaxed).to_string());
    fs::write(format!("counts-{}", process::id()), counts.join(" ")).expect("a writable file");
}
