//! Whether the program exits, and which thread of it does.
//!
//! ```text
//!  expect ─▶ atexit, or the linker ─▶ at_exit ─▶ the exiting thread alone outputs: end_stream
//! ```
//!
//! Design: `.sol.exit` in `design/telemetry.md`.

use crate::os::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::os::sync::{Entry, without_unwinding};
use crate::os::{depth, hooks, ordinary, sys};

/// The [`depth::place`] of the thread that exits the program; 0: none does so far. From then on it
/// alone puts something into the stream.
static EXITING: AtomicUsize = AtomicUsize::new(0);
/// Whether `at_exit` will be called, or called once more.
static EXPECTED: AtomicBool = AtomicBool::new(false);

/// Asks for the normal exit of the program. Where this may be no ordinary code the linker has asked
/// for it: that call comes last of all.
pub(crate) fn expect(entry: &Entry) {
    if !EXPECTED.swap(true, Ordering::Relaxed)
        && (!sys::IS_EXIT_LINKED || ordinary::is_ordinary(entry))
    {
        sys::at_exit(at_exit);
    }
}

/// The same where the program is not exiting, for a stream that begins.
pub(crate) fn expect_for_stream(entry: &Entry) {
    if !is_exiting() {
        expect(entry);
    }
}

/// Whether the program exits.
pub(crate) fn is_exiting() -> bool {
    EXITING.load(Ordering::Relaxed) != 0
}

/// The same once the program is exiting, for what a function of the program's own records that is
/// called at exit after ours. For the slow path, where such an event comes, as `at_exit` has left
/// the thread without rings.
pub(crate) fn expect_again(entry: &Entry) {
    if is_exiting() && !is_elsewhere() {
        expect(entry);
    }
}

/// In a forked child no other thread exits the program; the call for its exit may have been used up
/// by one, or have been about to be arranged.
pub(crate) fn forget() {
    if is_elsewhere() {
        EXITING.store(0, Ordering::Relaxed);
        EXPECTED.store(false, Ordering::Relaxed);
    }
}

/// Whether another thread exits the program: what this one records waits for it, and stays in
/// memory when the process is gone. To be asked under the lock of what is to go out: whoever passed
/// before the exit began, and still writes, holds that lock, for which `at_exit` waits.
pub(crate) fn is_elsewhere() -> bool {
    match EXITING.load(Ordering::Relaxed) {
        0 => false,
        thread => thread != depth::place(),
    }
}

/// Whether this thread exits the program: it alone may wait for a slow host, for a while.
pub(crate) fn is_here() -> bool {
    match EXITING.load(Ordering::Relaxed) {
        0 => false,
        thread => thread == depth::place(),
    }
}

/// The normal exit of the program: everything goes out, and the stream ends (`.part.end`).
pub(crate) extern "C" fn at_exit() {
    // Arranged twice, by a thread that a fork left half-way: once is enough.
    if EXPECTED.swap(false, Ordering::Relaxed) {
        EXITING.store(depth::place(), Ordering::Relaxed);
        if let Some(hooks) = hooks::get() {
            without_unwinding(hooks.end_stream);
        }
    }
}
