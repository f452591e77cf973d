//! What has to wait for ordinary code: all that may allocate memory or wait for a lock of the C
//! library, which a signal handler, or the program's own memory manager, may have interrupted.
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

/// Whether something waits.
static IS_DUE: AtomicBool = AtomicBool::new(false);

/// Something waits for ordinary code.
pub(crate) fn expect() {
    IS_DUE.store(true, Ordering::Relaxed);
}

/// Whether this entry is surely from ordinary code.
pub(crate) fn is_ordinary(entry: &Entry) -> bool {
    entry.is_promised() || !entry.is_nested() && sys::is_ordinary()
}

/// Does what waits, if this is surely ordinary code. On the cold path, with no lock held.
#[inline]
pub(crate) fn catch_up(entry: &Entry) {
    if IS_DUE.load(Ordering::Relaxed) {
        catch_up_if_ordinary(entry);
    }
}

#[cold]
fn catch_up_if_ordinary(entry: &Entry) {
    // A program that exits needs none of it, and a thread that begins then only holds it up.
    if exit::is_exiting() || !is_ordinary(entry) || !IS_DUE.swap(false, Ordering::Relaxed) {
        return;
    }
    if let Some(hooks) = hooks::get() {
        (hooks.catch_up)(entry);
    }
}
