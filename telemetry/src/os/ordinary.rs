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
use crate::os::entry::{Entry, hooks};
use crate::os::exit;

static IS_DUE: AtomicBool = AtomicBool::new(false);

/// Defers work to ordinary code.
pub(crate) fn expect() {
    IS_DUE.store(true, Ordering::Relaxed);
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
    if exit::is_exiting() || !entry.is_ordinary() || !IS_DUE.swap(false, Ordering::Relaxed) {
        return;
    }
    if let Some(hooks) = hooks() {
        (hooks.catch_up)(entry);
    }
}
