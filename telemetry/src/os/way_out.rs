//! The way out of a dying program: one thread is on it, and it keeps the others out of the plinth.
//!
//! ```text
//!  block ─▶ begin ─▶ carry: bytes, offset ─▶ plinth ─▶ drop
//!            └ waits while another thread is on the way out
//! ```
//!
//! Design: `.sol.exit.signal` in `design/telemetry.md`.

use crate::os::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use crate::os::{signals, sys};

/// The longest time that a handler waits for blocks that other threads are writing, in ns.
const DRAIN_TIME_MAX: u64 = 1_000_000_000;
/// The longest time that a thread waits for another one that is on the way out, in ns.
const GATE_TIME_MAX: u64 = 5_000_000_000;
/// The time between two checks, in ns.
const NAP: u64 = 100_000;

/// The operating system's number of the thread on the way out; 0: none.
static LEAVING: AtomicUsize = AtomicUsize::new(0);
/// The number of threads in a call of the plinth.
static CROSSING: AtomicU32 = AtomicU32::new(0);
static FAILURE_TOLD: AtomicBool = AtomicBool::new(false);
/// Whether a debugger called for the way out; the program then goes on.
static CALLED: AtomicBool = AtomicBool::new(false);

pub(crate) fn is_here() -> bool {
    match LEAVING.load(Ordering::SeqCst) {
        0 => false,
        thread => thread == sys::thread_number(),
    }
}

/// Puts this thread on the way out, and waits for other threads to leave the plinth. Returns false
/// if this thread or another one already is on it, and the other one does not finish.
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

/// Lets other threads go on, because the program goes on.
pub(crate) fn come_back() {
    let me = sys::thread_number();
    let _ = LEAVING.compare_exchange(me, 0, Ordering::SeqCst, Ordering::SeqCst);
}

/// Forgets the other threads, which a forked child does not have.
pub(crate) fn forget_others() {
    LEAVING.store(0, Ordering::SeqCst);
    CROSSING.store(u32::from(signals::is_crossing()), Ordering::SeqCst);
}

pub(crate) fn set_called(is_called: bool) {
    CALLED.store(is_called, Ordering::Relaxed);
}

/// Reports once that the host failed; not to a debugger, which gets the error.
pub(crate) fn tell_failure() {
    if !(CALLED.load(Ordering::Relaxed) && is_here()) {
        tell_once(b"telemetry: a fatal signal: some buffered events could not be written\n");
    }
}

/// Reports a failure, only the first time.
pub(crate) fn tell_once(text: &[u8]) {
    if !FAILURE_TOLD.swap(true, Ordering::Relaxed) {
        sys::write_error(text);
    }
}

/// A call of the plinth by this thread. While another thread is on the way out none begins, so that
/// a dying program leaves no hole and no torn block.
pub(crate) struct Crossing(Stay);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stay {
    /// Counted in `CROSSING`.
    Outer,
    /// Inside another one of the thread, which is counted.
    Inner,
    /// This thread is on the way out, and may have interrupted another call.
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
                // It left without coming back, for example by `longjmp`.
                let _ = LEAVING.compare_exchange(other, 0, Ordering::SeqCst, Ordering::SeqCst);
            }
            sys::nap(NAP);
            waited += NAP;
        }
    }

    /// Notes the bytes about to be written, in one piece: a signal handler that interrupts the
    /// write writes the same bytes again.
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
