//! Calls in signal handlers: the first of all, and those that interrupt the recording of others.
//!
//! ```text
//!  handler ─ first call ─▶ registers, labels all sites, records
//!  calls ─ signal ─ calls of the handler: the caller is the interrupted function ─ calls
//! ```
//!
//! Design: `.calls.record` in `design/calls.md`.
#![expect(unsafe_code, reason = "signal handlers")]

mod common;

use calls::traced;
use common::{ON, lines_of_one, ran, sources};
use std::sync::atomic::{AtomicU32, Ordering};

#[traced]
fn handled() {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

#[traced]
fn works(depth: u32) -> u32 {
    if depth == 0 { 0 } else { works(depth - 1) + 1 }
}

static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn handle(_: libc::c_int) {
    handled();
}

fn install() {
    // SAFETY: the structure is filled before use; the handler calls only what a handler may.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as extern "C" fn(libc::c_int) as usize;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
    }
}

#[test]
fn the_first_call_may_come_in_a_signal_handler() {
    let test = "the_first_call_may_come_in_a_signal_handler";
    let what = || {
        install();
        // SAFETY: the signal has a handler.
        assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
        works(0);
    };
    let Some(ran) = ran(test, &[ON], what) else { return };
    let log = ran.log();
    let expected =
        ["CallEnter handled -", "CallLeave handled", "CallEnter works -", "CallLeave works"];
    assert_eq!(lines_of_one(&log), expected);
    assert_eq!(sources(&log).into_keys().collect::<Vec<_>>(), ["handled", "works"]);
}

/// A timer interrupts calls from the first on. Each call is recorded, or counted as nested, and
/// callers are right in all that is recorded.
#[test]
fn interrupted_calls_have_the_right_callers() {
    const CALLS: u32 = 200_000;
    let test = "interrupted_calls_have_the_right_callers";
    let what = || {
        install();
        let main = std::thread::current();
        // SAFETY: this thread's number, which stays valid while `main` waits for the other thread.
        let thread = unsafe { libc::pthread_self() };
        let signals = std::thread::spawn(move || {
            // On a busy machine several signals may be one.
            for _ in 0..100_000 {
                if HANDLED.load(Ordering::Relaxed) >= 1000 {
                    break;
                }
                // SAFETY: the thread lives: it joins this one.
                assert_eq!(unsafe { libc::pthread_kill(thread, libc::SIGUSR1) }, 0);
                std::thread::sleep(std::time::Duration::from_micros(50));
            }
            drop(main);
        });
        for _ in 0..CALLS / 10 {
            assert_eq!(works(9), 9);
        }
        signals.join().unwrap();
        let losses = telemetry::losses();
        let handled = u64::from(HANDLED.load(Ordering::Relaxed));
        assert_eq!(losses.requested, 2 * (handled + u64::from(CALLS)));
        assert_eq!(losses.requested, losses.recorded + losses.nested + losses.full);
    };
    let Some(ran) = ran(test, &[ON], what) else { return };
    let lines = lines_of_one(&ran.log());
    let count = |begin: &str| lines.iter().filter(|line| line.starts_with(begin)).count() as u32;
    assert_eq!(count("CallEnter works"), CALLS);
    assert_eq!(count("CallEnter works -"), CALLS / 10, "a handler changed the caller");
    assert!(count("CallEnter handled") > 100);
}
