//! The gate to the plinth, which a thread that dies of a signal closes behind itself.
//!
//! ```text
//!  block ─▶ begin ─▶ carry: what, and where ─▶ plinth ─▶ drop
//!            └ waits while another thread is on the way out
//! ```
//!
//! Design: `.sol.exit.signal` in `design/telemetry.md`.

use super::{CROSSING, GATE_TIME_MAX, LEAVING, NAP, is_here};
use crate::ends::signal;
use crate::os::atomic::Ordering;
use crate::os::sys;

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
        if signal::is_crossing() {
            return Crossing(if is_here() { Stay::WayOut } else { Stay::Inner });
        }
        loop {
            CROSSING.fetch_add(1, Ordering::SeqCst);
            let other = LEAVING.load(Ordering::SeqCst);
            if other == 0 {
                signal::set_crossing(true);
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
            signal::carry(offset, bytes);
        }
    }
}

impl Drop for Crossing {
    fn drop(&mut self) {
        if self.0 != Stay::WayOut {
            signal::carry(0, &[]);
        }
        if self.0 == Stay::Outer {
            signal::set_crossing(false);
            CROSSING.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
