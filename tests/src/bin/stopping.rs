//! A program that debuggers stop, for the tests of gdb.
//!
//! ```text
//!  stopping threads N M    N threads record M events of each of three kinds and stay; `stop_here`;
//!                          an event; `stop_here`; ten events; `stop_here`
//!  stopping abort N M      the same, but it aborts instead of the first `stop_here`
//!  stopping steps N        N events, each recorded in a call of `step_here`
//!  stopping never          records nothing
//! ```
//!
//! Design: `.debug` in `design/telemetry.md`.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::sync::Barrier;
use std::{env, process, thread};
use telemetry::{add_string, event, label, label_address};

mod work {
    telemetry::events! {
        /// What threads do before they are stopped.
        registry "work" version(1, 2, 3);
        kinds standard;

        /// An object was made.
        Made(0x0001, always, Object) {
            /// the thread
            thread: W,
            /// which
            index: W,
            /// its square
            square: W,
        }
        /// A segment was made.
        Grown(0x0002, always, Seg) {
            /// its first byte
            base: A,
            /// the pool that it is for
            pool: P,
            /// which
            index: U,
        }
        /// Somebody said something.
        Said(0x0003, always, User) {
            /// how loud, at most 1
            loudness: D,
            /// whether anybody heard it
            heard: B,
            /// what
            what: S,
        }
    }
}

mod rest {
    telemetry::events! {
        /// A registry with kinds of its own.
        registry "rest" version(0, 1, 0);
        kinds {
            /// Nobody does anything.
            Pause = 0,
        }

        /// Everybody waits.
        Paused(0x0001, always, Pause) {}
    }
}

/// The function where a debugger stops the program.
#[inline(never)]
fn stop_here(index: usize) {
    black_box(index);
}

/// A debugger steps through this function, instruction by instruction.
#[inline(never)]
fn step_here(index: usize) {
    event!(work::Made, 0usize, index, index * index);
}

fn record(thread: usize, index: usize) {
    let pool = 0x7F49_6000_4000 as *const u8;
    event!(work::Made, thread, index, index * index);
    event!(work::Grown, 0x7F49_6000_8000 + index % 4, pool, index as u32);
    let words = ["", "one \"two\"\n", "drei \u{fc}ber \\ vier", "5\0", "sechs"];
    let what = words[index % words.len()];
    event!(work::Said, thread as f64 + index as f64 / 7.0, index.is_multiple_of(2), what);
}

fn record_in_threads(thread_count: usize, event_count: usize, then: impl FnOnce()) {
    label(0x7F49_6000_4000 as *const u8, add_string("the \"word\" pool"));
    label_address(0x7F49_6000_8001_usize, add_string("second"));
    let recorded = Barrier::new(thread_count + 1);
    let done = Barrier::new(thread_count + 1);
    thread::scope(|scope| {
        for thread in 0..thread_count {
            let (recorded, done) = (&recorded, &done);
            let work = move || {
                (0..event_count).for_each(|index| record(thread, index));
                recorded.wait();
                done.wait();
            };
            let worker = thread::Builder::new().name(format!("worker {thread}"));
            worker.spawn_scoped(scope, work).expect("a thread can be started");
        }
        recorded.wait();
        event!(rest::Paused);
        label_address(0x7F49_6000_8001_usize, add_string("second, later"));
        event!(work::Grown, 0x7F49_6000_8001_usize, 0x7F49_6000_4000 as *const u8, 7u32);
        then();
        done.wait();
    });
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let numbers: Vec<usize> = arguments.iter().filter_map(|word| word.parse().ok()).collect();
    match (arguments.first().map(String::as_str), &numbers[..]) {
        (Some("threads"), &[threads, events]) => record_in_threads(threads, events, || {
            stop_here(0);
            event!(work::Made, 99usize, 0usize, 0usize);
            stop_here(1);
            (1..11usize).for_each(|index| event!(work::Made, 99usize, index, index * index));
            stop_here(2);
        }),
        (Some("abort"), &[threads, events]) => {
            record_in_threads(threads, events, || process::abort());
        }
        (Some("steps"), &[events]) => (0..events).for_each(step_here),
        _ => stop_here(0),
    }
}
