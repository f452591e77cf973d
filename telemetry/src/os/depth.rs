//! How deep a thread is in the cold path, and which thread it is.
//!
//! ```text
//!  event! ─▶ deepen ── signal ─▶ event! ─▶ deepen: in it already ─ rise ── rise
//! ```
//!
//! Thread-local storage is zero at first and has no destructor. Design: `.sol.nested` in
//! `design/telemetry.md`.

use core::sync::atomic::{AtomicU32, Ordering, compiler_fence};

thread_local! {
    static DEPTH: AtomicU32 = const { AtomicU32::new(0) };
}

/// Counts an entry of this thread; true if it was in one already.
pub(crate) fn deepen() -> bool {
    DEPTH.with(|depth| {
        let before = depth.load(Ordering::Relaxed);
        depth.store(before + 1, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        before != 0
    })
}

/// The opposite.
pub(crate) fn rise() {
    DEPTH.with(|depth| {
        compiler_fence(Ordering::SeqCst);
        depth.store(depth.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    });
}

/// A number that no other thread has at the same time, never 0, and that a forked child keeps: the
/// place of what is thread-local.
pub(crate) fn place() -> usize {
    DEPTH.with(|depth| core::ptr::from_ref(depth).addr())
}
