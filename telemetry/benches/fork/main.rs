//! The cost of a fork with the runtime, next to one without, in turn in one process.
//!
//! ```text
//!  8 threads × 3 kinds have rings, a stream is open
//!  parent: clock ─ fork ─▶ child: clock, as soon as it returns ─ gone        the best of the runs
//! ```
//!
//! The floor is the kernel's call alone, by which nobody is told of the child. Rows as those of
//! `recording`; what the names mean: `docs/benchmarks.md`.
#![expect(unsafe_code, reason = "fork, and a clock that two processes read")]

#[path = "../recording/row.rs"]
mod row;

use std::path::Path;
use std::sync::Barrier;
use telemetry::event;

mod events {
    telemetry::events! {
        /// The events of the benchmark.
        registry "fork" version(1, 0, 0);
        kinds standard;

        /// One kind.
        First(0x0001, always, Pool) {
            /// which
            index: W,
        }
        /// Another one.
        Second(0x0002, always, Object) {
            /// which
            index: W,
        }
        /// A third one.
        Third(0x0003, always, User) {
            /// which
            index: W,
        }
    }
}

const THREAD_COUNT: usize = 8;
const EVENT_COUNT: usize = 10_000;
const RUN_COUNT: usize = 201;

fn main() {
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fork.log");
    let plinth = telemetry::FilePlinth::new(&log).expect("no NUL");
    telemetry::setup().plinth(plinth).start().expect("it is the first setup");
    telemetry::control::of(&events::CONTROL).set_output(events::Kinds::all());
    let (begun, done) = (Barrier::new(THREAD_COUNT + 1), Barrier::new(THREAD_COUNT + 1));
    let (ours, floor) = std::thread::scope(|scope| {
        for _ in 0..THREAD_COUNT {
            scope.spawn(|| {
                record();
                begun.wait();
                done.wait();
            });
        }
        begun.wait();
        let times = in_turn();
        done.wait();
        times
    });
    let _ = std::fs::remove_file(log);
    let mut lines = row::print("fork", ours, "ms", Some(ours / floor));
    lines += &row::print("floor-fork", floor, "ms", None);
    lines += &row::print("fork-added", ours - floor, "ms", None);
    row::record(&Path::new(env!("CARGO_MANIFEST_DIR")).join("benches"), &lines);
}

fn record() {
    for index in 0..EVENT_COUNT {
        event!(events::First, index);
        event!(events::Second, index);
        event!(events::Third, index);
    }
}

/// The best time of each, in ms.
fn in_turn() -> (f64, f64) {
    let mut best = (f64::INFINITY, f64::INFINITY);
    for _ in 0..RUN_COUNT {
        // SAFETY: the child reads the clock, writes to a pipe, and leaves.
        best.0 = best.0.min(time(|| unsafe { libc::fork() }));
        // SAFETY: as `fork`, without the C library, from which the child needs nothing.
        let bare = || unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } as i32;
        best.1 = best.1.min(time(bare));
    }
    best
}

/// How long it is from the call until it returns in the child, in ms.
fn time(fork: impl Fn() -> i32) -> f64 {
    let mut ends = [0; 2];
    let mut after = 0u64;
    // SAFETY: a pipe of this process's own; numbers and clocks that live through the calls.
    unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        let before = now();
        let child = fork();
        if child == 0 {
            let after = now();
            libc::write(ends[1], (&raw const after).cast(), size_of::<u64>());
            libc::_exit(0);
        }
        let size = libc::read(ends[0], (&raw mut after).cast(), size_of::<u64>());
        assert_eq!((size, libc::waitpid(child, std::ptr::null_mut(), 0)), (8, child));
        ends.into_iter().for_each(|end| _ = libc::close(end));
        (after - before) as f64 / 1e6
    }
}

fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` lives through the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
