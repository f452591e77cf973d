//! Whether a writer thread is wanted, and whether it runs or rests.
//!
//! ```text
//!  configuration ─▶ wanted ─ something to write ─▶ running │ failed ─ fork ─▶ wanted
//!  running ─ nothing to write for a while ─▶ resting ─ a full block ─▶ running
//! ```
//!
//! Design: `.sol.writer` in `design/telemetry.md`.

use crate::os::sys;
use crate::stream::lifecycle::{Standing, standing};
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

static WANTED: AtomicBool = AtomicBool::new(false);
/// 0 not started, 1 running, 2 could not be started.
static STATE: AtomicU8 = AtomicU8::new(0);
/// 1 while it rests.
static RESTING: AtomicU32 = AtomicU32::new(0);

pub(crate) fn want(wanted: bool) {
    WANTED.store(wanted, Ordering::Relaxed);
}

/// Whether full blocks are left to the writer thread.
pub(crate) fn is_on() -> bool {
    STATE.load(Ordering::Relaxed) == 1 && standing() != Standing::Left
}

pub(crate) fn is_running() -> bool {
    STATE.load(Ordering::Relaxed) == 1
}

/// It is not there: this is a forked child, until its stream begins.
pub(crate) fn forget() {
    STATE.store(0, Ordering::Relaxed);
}

/// Whether it is wanted, and nobody tried to start it.
pub(crate) fn is_due() -> bool {
    WANTED.load(Ordering::Relaxed) && STATE.load(Ordering::Relaxed) == 0
}

pub(crate) fn set_running() {
    STATE.store(1, Ordering::Relaxed);
}

pub(crate) fn set_failed() {
    STATE.store(2, Ordering::Relaxed);
}

/// Rests until a thread wakes it, up to a limit in ns. `look` looks for work once more, and returns
/// whether some came. A thread that fills a block at this very moment may not see the rest: then
/// its next block ends it, or the limit.
pub(crate) fn rest(limit: u64, look: impl FnOnce() -> bool) -> bool {
    RESTING.store(1, Ordering::SeqCst);
    let found = look();
    if !found {
        sys::sleep_while(&RESTING, 1, limit);
    }
    RESTING.swap(0, Ordering::Relaxed) == 0 || found
}

/// Wakes it if it rests: a load, unless it does.
pub(crate) fn wake() {
    if RESTING.load(Ordering::Relaxed) != 0 && RESTING.swap(0, Ordering::Relaxed) != 0 {
        sys::wake(&RESTING);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_ends_a_rest() {
        const HOUR: u64 = 3_600_000_000_000;
        let resting = std::thread::spawn(|| while !rest(HOUR, || false) {});
        while !resting.is_finished() {
            wake();
            std::thread::yield_now();
        }
        assert!(rest(HOUR, || true), "work came before the sleep");
    }
}
