//! A program in a storm of signals, for the tests to run: much of what it requests is lost.
//!
//! ```text
//!  storm ROUNDS     of each round two threads begin, record, and end, while a signal comes, 30 µs
//!                   after the one before, whose handler records the same kinds
//! ```
//!
//! Prints how many events were requested and are not in the log: full, nested, large, io. Design:
//! `.req.loss`, `.sol.nested` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "a signal handler and its timer")]

use std::env;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use telemetry::event;

mod events {
    telemetry::events! {
        /// What happens in a storm.
        registry "storm" version(1, 0, 0);
        kinds standard;

        /// By a thread, or by the handler.
        Gust(0x0001, always, Object) {
            /// which
            index: W,
        }
        /// Of another kind.
        Lightning(0x0002, always, Pool) {
            /// which
            index: W,
        }
        /// Too large for some blocks.
        Thunder(0x0003, always, Pool) {
            /// how it sounds
            text: S,
        }
    }
}

/// Events that a thread records.
const EVENT_COUNT: usize = 3000;
const SIGNAL_INTERVAL_US: libc::suseconds_t = 30;
static IS_OVER: AtomicBool = AtomicBool::new(false);
/// A string that fits into no block of the least size.
static LONG: [u8; 5000] = [b'r'; 5000];

extern "C" fn on_signal(_: libc::c_int) {
    event!(events::Gust, 0usize);
    event!(events::Lightning, 0usize);
    if !IS_OVER.load(Ordering::SeqCst) {
        set_timer(SIGNAL_INTERVAL_US);
    }
}

/// Requests one signal, so that threads make progress between two on any machine; 0 for none.
fn set_timer(time: libc::suseconds_t) {
    let never = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let time = libc::timeval { tv_sec: 0, tv_usec: time };
    let timer = libc::itimerval { it_interval: never, it_value: time };
    // SAFETY: reads a structure that lives through the call.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()) };
}

fn record() {
    for index in 0..EVENT_COUNT {
        event!(events::Gust, index);
        if index.is_multiple_of(8) {
            event!(events::Lightning, index);
        }
    }
    event!(events::Thunder, LONG.as_slice());
}

fn main() {
    let rounds: usize = env::args().nth(1).and_then(|rounds| rounds.parse().ok()).expect("rounds");
    telemetry::prepare();
    let handler: extern "C" fn(libc::c_int) = on_signal;
    // SAFETY: the handler only records, which may be done at any point.
    unsafe { libc::signal(libc::SIGALRM, handler as libc::sighandler_t) };
    // Registers the registry: no kind counts the events of a registry that is being registered.
    event!(events::Gust, 0usize);
    set_timer(SIGNAL_INTERVAL_US);
    for _ in 0..rounds {
        thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(record)));
    }
    IS_OVER.store(true, Ordering::SeqCst);
    set_timer(0);
    // The last signals have passed: the lines below end the program.
    thread::sleep(std::time::Duration::from_millis(1));
    telemetry::flush();
    let losses = telemetry::losses();
    println!("{} {} {} {}", losses.full, losses.nested, losses.large, losses.io);
}
