//! Work deferred to ordinary code: it may allocate memory or wait for a lock of the C library, and
//! a signal handler or the program's own memory manager may have interrupted such a call.
//!
//! ```text
//!  first event, in a handler ─▶ due          next full block, new ring, flush, `prepare`
//!                                └──────────▶ ordinary? ─▶ threads · hooks · resolver
//! ```
//!
//! Design: `.sol.ordinary` in `design/telemetry.md`.

use crate::os::atomic::{AtomicBool, Ordering};
use crate::os::sync::Entry;
use crate::os::{exit, hooks, sys};

static IS_DUE: AtomicBool = AtomicBool::new(false);

/// Defers work to ordinary code.
pub(crate) fn expect() {
    IS_DUE.store(true, Ordering::Relaxed);
}

/// Returns whether this entry certainly comes from ordinary code.
pub(crate) fn is_ordinary(entry: &Entry) -> bool {
    entry.is_promised() || !entry.is_nested() && sys::is_ordinary()
}

/// Does the deferred work if this is certainly ordinary code. Called on the cold path, with no lock
/// held.
#[inline]
pub(crate) fn catch_up(entry: &Entry) {
    if IS_DUE.load(Ordering::Relaxed) {
        catch_up_if_ordinary(entry);
    }
}

#[cold]
fn catch_up_if_ordinary(entry: &Entry) {
    // An exiting program needs none of it, and a new thread would only delay the exit.
    if exit::is_exiting() || !is_ordinary(entry) || !IS_DUE.swap(false, Ordering::Relaxed) {
        return;
    }
    if let Some(hooks) = hooks::get() {
        (hooks.catch_up)(entry);
    }
}
