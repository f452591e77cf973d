//! A gate: many threads pass it side by side, and one may shut it and be alone.
//!
//! ```text
//!  write a block ─▶ in ── place, plinth ── out        one addition, one subtraction
//!  change volume ─▶ shut, until all are out ─ alone ─ open
//! ```
//!
//! Design: `.sol.volume`, `.sol.ordering` in `design/telemetry.md`.

use crate::os::atomic::{AtomicU32, Ordering};
use crate::os::sync::wait_until;

/// Marks a gate as shut.
const SHUT: u32 = 1 << 31;

/// Counts the threads inside; while shut, it lets no thread in.
pub(crate) struct Gate {
    state: AtomicU32,
}

/// A stay inside a gate.
pub(crate) struct Pass<'a>(&'a Gate);

/// A gate that is shut, until this is dropped.
pub(crate) struct Shut<'a>(&'a Gate);

impl Gate {
    pub(crate) const fn new() -> Gate {
        Gate { state: AtomicU32::new(0) }
    }

    /// Enters, unless it is shut. Never waits.
    pub(crate) fn try_enter(&self) -> Option<Pass<'_>> {
        // Acquire: a thread inside sees the effect of the change of volume.
        let pass = Pass(self);
        (self.state.fetch_add(1, Ordering::Acquire) & SHUT == 0).then_some(pass)
    }

    /// Enters, and waits until it is open; returns `None` in a forked child where no thread will
    /// open it.
    pub(crate) fn enter(&self) -> Option<Pass<'_>> {
        loop {
            if let Some(pass) = self.try_enter() {
                return Some(pass);
            }
            if !wait_until(|| self.state.load(Ordering::Relaxed) & SHUT == 0) {
                return None;
            }
        }
    }

    /// Shuts it, and waits until all threads are out. Only for the holder of the stream's lock;
    /// threads inside never wait for that lock.
    pub(crate) fn shut(&self) -> Shut<'_> {
        self.state.fetch_or(SHUT, Ordering::Relaxed);
        // Acquire: their writes are done.
        wait_until(|| self.state.load(Ordering::Acquire) == SHUT);
        Shut(self)
    }

    /// Opens it, empty, in a forked child.
    pub(crate) fn restart(&self) {
        self.state.store(0, Ordering::Relaxed);
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_sub(1, Ordering::Release);
    }
}

impl Drop for Shut<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_and(!SHUT, Ordering::Release);
    }
}
