//! A program in a storm of signals, for the tests to run: it loses many of the events it requests.
//!
//! ```text
//!  storm ROUNDS     in each round two threads begin, record and end; every 30 µs a signal comes,
//!                   whose handler records the same kinds
//! ```
//!
//! Prints the numbers of lost events: full, nested, large, io. Design: `.req.loss`, `.sol.nested`
//! in `design/telemetry.md`.
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

const EVENT_COUNT: usize = 3000;
const SIGNAL_INTERVAL_US: libc::suseconds_t = 30;
static IS_OVER: AtomicBool = AtomicBool::new(false);
/// A string that exceeds the smallest blocks.
static LONG: [u8; 5000] = [b'r'; 5000];

extern "C" fn on_signal(_: libc::c_int) {
    event!(events::Gust, 0usize);
    event!(events::Lightning, 0usize);
    if !IS_OVER.load(Ordering::SeqCst) {
        set_timer(SIGNAL_INTERVAL_US);
    }
}

/// Requests one signal; 0 for none. Threads make progress between two signals on any machine.
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
    // SAFETY: the handler only records, which is allowed at any point.
    unsafe { libc::signal(libc::SIGALRM, handler as libc::sighandler_t) };
    // Registers the registry: no kind counts events during a registration.
    event!(events::Gust, 0usize);
    set_timer(SIGNAL_INTERVAL_US);
    for _ in 0..rounds {
        thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(record)));
    }
    IS_OVER.store(true, Ordering::SeqCst);
    set_timer(0);
    // The last signals have passed when the program ends.
    thread::sleep(std::time::Duration::from_millis(1));
    telemetry::flush();
    let losses = telemetry::losses();
    println!("{} {} {} {}", losses.full, losses.nested, losses.large, losses.io);
}
