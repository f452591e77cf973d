//! Which thread is on the way out of a program that dies, and the gate to the plinth that it closes
//! behind itself.
//!
//! ```text
//!  block ─▶ begin ─▶ carry: what, and where ─▶ plinth ─▶ drop
//!            └ waits while another thread is on the way out
//! ```
//!
//! Design: `.sol.exit.signal` in `design/telemetry.md`.

use crate::os::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use crate::os::{signals, sys};

/// How long a handler waits for blocks that other threads are writing, in ns.
const DRAIN_TIME_MAX: u64 = 1_000_000_000;
/// How long a thread waits for another one that is on the way out, in ns.
const GATE_TIME_MAX: u64 = 5_000_000_000;
/// How long it sleeps between two looks.
const NAP: u64 = 100_000;

/// The operating system's number of the thread that is on the way out; 0: none is.
static LEAVING: AtomicUsize = AtomicUsize::new(0);
/// Threads that are giving something to the plinth.
static CROSSING: AtomicU32 = AtomicU32::new(0);
static FAILURE_TOLD: AtomicBool = AtomicBool::new(false);
/// Whether a debugger called for the way out, which comes back.
static CALLED: AtomicBool = AtomicBool::new(false);

/// Whether this thread is on the way out.
pub(crate) fn is_here() -> bool {
    match LEAVING.load(Ordering::SeqCst) {
        0 => false,
        thread => thread == sys::thread_number(),
    }
}

/// Makes this thread the one on the way out, and waits for others that are with the plinth. False:
/// it is already, or another one is and does not come to an end.
pub(crate) fn begin() -> bool {
    let me = sys::thread_number();
    let mut waited = 0;
    while let Err(other) = LEAVING.compare_exchange(0, me, Ordering::SeqCst, Ordering::SeqCst) {
        if other == me || waited >= GATE_TIME_MAX {
            return false;
        }
        sys::nap(NAP);
        waited += NAP;
    }
    let mine = u32::from(signals::is_crossing());
    let mut waited = 0;
    while CROSSING.load(Ordering::SeqCst) > mine && waited < DRAIN_TIME_MAX {
        sys::nap(NAP);
        waited += NAP;
    }
    true
}

/// Lets other threads go on: the program does.
pub(crate) fn come_back() {
    let me = sys::thread_number();
    let _ = LEAVING.compare_exchange(me, 0, Ordering::SeqCst, Ordering::SeqCst);
}

/// In a forked child, where other threads do not exist.
pub(crate) fn forget_others() {
    LEAVING.store(0, Ordering::SeqCst);
    CROSSING.store(u32::from(signals::is_crossing()), Ordering::SeqCst);
}

/// Notes whether a debugger called for it.
pub(crate) fn set_called(is_called: bool) {
    CALLED.store(is_called, Ordering::Relaxed);
}

/// Reports once that the host failed; not to a debugger, which is given the error.
pub(crate) fn tell_failure() {
    if !(CALLED.load(Ordering::Relaxed) && is_here()) {
        tell_once(b"telemetry: a fatal signal: the log does not take all that is in memory\n");
    }
}

/// Reports one failure.
pub(crate) fn tell_once(text: &[u8]) {
    if !FAILURE_TOLD.swap(true, Ordering::Relaxed) {
        sys::write_error(text);
    }
}

/// A stay of this thread with the plinth. While another thread is on the way out none begins, so
/// that a program that dies leaves no hole and tears nothing.
pub(crate) struct Crossing(Stay);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stay {
    /// It is counted.
    Outer,
    /// Within another one of the thread, which is.
    Inner,
    /// This thread itself is on the way out, and may have interrupted another stay.
    WayOut,
}

impl Crossing {
    pub(crate) fn begin() -> Crossing {
        let mut waited = 0;
        if signals::is_crossing() {
            return Crossing(if is_here() { Stay::WayOut } else { Stay::Inner });
        }
        loop {
            CROSSING.fetch_add(1, Ordering::SeqCst);
            let other = LEAVING.load(Ordering::SeqCst);
            if other == 0 {
                signals::set_crossing(true);
                return Crossing(Stay::Outer);
            }
            if other == sys::thread_number() {
                CROSSING.fetch_sub(1, Ordering::SeqCst);
                return Crossing(Stay::WayOut);
            }
            CROSSING.fetch_sub(1, Ordering::SeqCst);
            if waited >= GATE_TIME_MAX {
                // It went somewhere else, by `longjmp` for one.
                let _ = LEAVING.compare_exchange(other, 0, Ordering::SeqCst, Ordering::SeqCst);
            }
            sys::nap(NAP);
            waited += NAP;
        }
    }

    /// Says what is about to be written, in one piece: a signal handler that interrupts it writes
    /// the same once more.
    pub(crate) fn carry(&self, offset: u64, bytes: &[u8]) {
        if self.0 != Stay::WayOut {
            signals::carry(offset, bytes);
        }
    }
}

impl Drop for Crossing {
    fn drop(&mut self) {
        if self.0 != Stay::WayOut {
            signals::carry(0, &[]);
        }
        if self.0 == Stay::Outer {
            signals::set_crossing(false);
            CROSSING.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
