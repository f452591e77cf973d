//! The normal exit of the program, and the thread that exits it.
//!
//! ```text
//!  expect ─▶ atexit, or the linker ─▶ at_exit ─▶ the exiting thread alone outputs: end_stream
//! ```
//!
//! Design: `.sol.exit` in `design/telemetry.md`.

use crate::os::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::os::entry::{Entry, hooks, without_unwinding};
use crate::os::{depth, sys};

/// The [`depth::place`] of the thread that exits the program; 0: no thread does yet. Afterwards
/// this thread alone outputs to the stream.
static EXITING: AtomicUsize = AtomicUsize::new(0);
/// Whether `at_exit` will be called, or called again.
static EXPECTED: AtomicBool = AtomicBool::new(false);
/// Whether the C library is about to call the functions that the linker arranged.
static IS_ENDING: AtomicBool = AtomicBool::new(false);
/// Whether the C library has called the function that the linker arranged, and may call another.
static IS_LAST: AtomicBool = AtomicBool::new(false);

/// Registers `at_exit`. Outside ordinary code, and during the exit, it relies on the call that the
/// linker arranged, which comes after nearly all others.
pub(crate) fn expect(entry: &Entry) {
    let is_free = || match is_exiting() || IS_ENDING.load(Ordering::Relaxed) {
        true => IS_LAST.load(Ordering::Relaxed),
        false => true,
    };
    let can_register = || !sys::IS_EXIT_LINKED || entry.is_ordinary() && is_free();
    if !EXPECTED.swap(true, Ordering::Relaxed) && can_register() {
        sys::at_exit(at_exit);
    }
}

/// Notes that the program exits. The C library calls it after the functions that were registered
/// since the program or library was loaded, and before those that the linker arranged.
#[cfg(not(any(miri, target_vendor = "apple")))]
pub(crate) extern "C" fn note_end() {
    IS_ENDING.store(true, Ordering::Relaxed);
}

/// The call of [`at_exit`] that the linker arranged. A destructor of another library, or one with a
/// smaller number, comes later.
#[cfg(not(any(miri, target_vendor = "apple")))]
pub(crate) extern "C" fn at_linked_exit() {
    // `musl` calls the linked functions while it holds the lock of `atexit`.
    IS_LAST.store(cfg!(not(target_env = "musl")), Ordering::Relaxed);
    at_exit();
}

/// Registers `at_exit` for a stream that begins, unless the program is exiting.
pub(crate) fn expect_for_stream(entry: &Entry) {
    if !is_exiting() {
        expect(entry);
    }
}

pub(crate) fn is_exiting() -> bool {
    EXITING.load(Ordering::Relaxed) != 0
}

/// Registers `at_exit` again if this thread is exiting the program: one of the program's own exit
/// functions records. The slow path calls this, since `at_exit` left the thread without rings.
pub(crate) fn expect_again(entry: &Entry) {
    if is_exiting() && !is_elsewhere() {
        expect(entry);
    }
}

/// Takes back that `at_exit` will be called again: it goes on to output what was recorded so far.
pub(crate) fn expect_no_more() {
    EXPECTED.store(false, Ordering::Relaxed);
}

/// Forgets an exit by another thread, which a forked child does not have. That thread may have used
/// up the call of `at_exit`, or was about to register it.
pub(crate) fn forget() {
    if is_elsewhere() {
        EXITING.store(0, Ordering::Relaxed);
        EXPECTED.store(false, Ordering::Relaxed);
        IS_ENDING.store(false, Ordering::Relaxed);
    }
}

/// Returns whether another thread exits the program. Events of this thread then wait for that
/// thread, and stay in memory when the process ends. Call it under the lock of the output: a thread
/// that passed before the exit began holds that lock while it writes, and `at_exit` waits for it.
pub(crate) fn is_elsewhere() -> bool {
    is_exiting() && !is_here()
}

/// Returns whether this thread exits the program: it alone may wait some time for a slow host.
pub(crate) fn is_here() -> bool {
    EXITING.load(Ordering::Relaxed) == depth::place()
}

/// Outputs all events and ends the stream (`.part.end`) when the program exits normally.
pub(crate) extern "C" fn at_exit() {
    // A thread that a fork stopped half-way may have registered it twice: one call is enough.
    if EXPECTED.swap(false, Ordering::Relaxed) {
        EXITING.store(depth::place(), Ordering::Relaxed);
        if let Some(hooks) = hooks() {
            without_unwinding(hooks.end_stream);
        }
    }
}
