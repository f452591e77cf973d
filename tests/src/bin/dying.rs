//! A program that records in four threads and then dies, for the tests of ends.
//!
//! ```text
//!  dying overflow      the stack of the first thread overflows
//!  dying abort
//!  dying wait          waits for a signal
//! ```
//!
//! Prints `ready` when everything is recorded. Design: `.sol.exit.signal` in `design/telemetry.md`.
#![forbid(unsafe_code)]

use std::sync::Barrier;
use std::time::Duration;
use telemetry::event;

mod work {
    telemetry::events! {
        /// What threads do before the program dies.
        registry "work" version(1, 0, 0);
        kinds standard;

        /// An object was made.
        Made(0x0001, always, Object) {
            /// the thread
            thread: W,
            /// which
            index: W,
        }
        /// A segment was made.
        Grown(0x0002, always, Seg) {
            /// the thread
            thread: W,
            /// which
            index: W,
        }
    }
}

const THREAD_COUNT: usize = 4;
const EVENT_COUNT: usize = 2500;

static RECORDED: Barrier = Barrier::new(THREAD_COUNT + 1);

#[expect(unconditional_recursion, reason = "that is what it does")]
fn overflow(depth: usize) -> usize {
    let page = std::hint::black_box([depth; 512]);
    overflow(page[depth % 512] + 1) + page[3]
}

fn main() {
    for thread in 0..THREAD_COUNT {
        std::thread::spawn(move || {
            for index in 0..EVENT_COUNT {
                event!(work::Made, thread, index);
                event!(work::Grown, thread, index);
            }
            RECORDED.wait();
            std::thread::sleep(Duration::from_secs(60));
        });
    }
    RECORDED.wait();
    println!("ready");
    match std::env::args().nth(1).as_deref() {
        Some("overflow") => println!("{}", overflow(0)),
        Some("abort") => std::process::abort(),
        _ => std::thread::sleep(Duration::from_secs(60)),
    }
}
