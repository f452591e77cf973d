//! Whether a writer thread is wanted, and whether it runs.
//!
//! ```text
//!  configuration ─▶ wanted ─ something to write ─▶ running │ failed ─ fork ─▶ wanted
//! ```
//!
//! Design: `.sol.writer` in `design/telemetry.md`.

use crate::stream::standing::{Standing, standing};
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

static WANTED: AtomicBool = AtomicBool::new(false);
/// 0 not started, 1 running, 2 could not be started.
static STATE: AtomicU8 = AtomicU8::new(0);

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
