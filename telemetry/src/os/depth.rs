//! The depth of a thread's entries into the cold path, and a number for the thread.
//!
//! ```text
//!  event! ─▶ deepen ── signal ─▶ event! ─▶ deepen: nested ─▶ rise ─▶ rise
//! ```
//!
//! Thread-local storage is zero at first and has no destructor. Design: `.sol.nested` in
//! `design/telemetry.md`.

use crate::os::atomic::{AtomicU32, Ordering, compiler_fence};

thread_local! {
    static DEPTH: AtomicU32 = const { AtomicU32::new(0) };
}

/// Counts an entry of this thread; returns true if the entry is nested in another one.
pub(crate) fn deepen() -> bool {
    DEPTH.with(|depth| {
        let before = depth.load(Ordering::Relaxed);
        depth.store(before + 1, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        before != 0
    })
}

/// Counts the end of an entry.
pub(crate) fn rise() {
    DEPTH.with(|depth| {
        compiler_fence(Ordering::SeqCst);
        depth.store(depth.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    });
}

/// Returns a number that is never 0 and that no other live thread has: the address of a
/// thread-local variable. A forked child keeps it.
pub(crate) fn place() -> usize {
    DEPTH.with(|depth| core::ptr::from_ref(depth).addr())
}
