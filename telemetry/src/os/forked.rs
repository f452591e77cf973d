//! Detection of a forked child, whichever call made it, and when the child starts again.
//!
//! ```text
//!  before: note the time ─ fork ─▶ in_child: leave ─┬─ outside an entry ─────────▶ restart
//!                                  the parent's     └─ inside one (a handler
//!                                                      forked) ─ its end ────────▶ restart
//! ```
//!
//! Design: `.sol.fork` in `design/telemetry.md`.

use crate::os::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::os::link::Link;
use crate::os::sync::{self, Entry};
use crate::os::{hooks, process, sys};

static ARRANGED: AtomicBool = AtomicBool::new(false);
/// 1; 0 in a child not yet detected, whichever call made it.
static MARK: Link<core::sync::atomic::AtomicU32> = Link::none();
/// The process id last seen.
static PROCESS: AtomicU64 = AtomicU64::new(0);
/// The number of forks from the start of the program to this process.
static COUNT: AtomicU32 = AtomicU32::new(0);
/// Whether the child still has to start again.
static DUE: AtomicBool = AtomicBool::new(false);

/// Sets up the detection of forks, before any lock is taken. Returns false in a nested entry, which
/// may have interrupted this very function: the setup must wait.
pub(crate) fn arrange(entry: &Entry) -> bool {
    if ARRANGED.load(Ordering::Acquire) {
        return true;
    }
    if entry.is_nested() {
        return false;
    }
    PROCESS.store(sys::process_ids().0, Ordering::Relaxed);
    MARK.set(process::map_fork_mark());
    ARRANGED.store(true, Ordering::Release);
    true
}

/// Asks the system to call `before` and `in_child` at each fork. Called once, when the program or
/// library with the runtime is loaded: the C library takes a lock, which a first event in a handler
/// may find taken.
#[cfg(not(miri))]
pub(crate) fn expect() {
    sys::at_fork(before, in_child);
}

/// Returns the number of forks from the start of the program to this process; 0: not a forked
/// child.
pub(crate) fn count() -> u32 {
    COUNT.load(Ordering::Relaxed)
}

/// Returns whether this is a child for which `in_child` was not called, because a call such as
/// `clone` made it. A child that shares its parent's memory does not count.
pub(crate) fn is_unnoticed() -> bool {
    MARK.get().is_some_and(|mark| mark.load(Ordering::Relaxed) == 0)
}

/// Prepares such a child. Runs at the beginning of each entry.
pub(crate) fn notice() {
    if is_unnoticed() {
        leave_parent(true);
    }
}

/// The C library calls it on a thread that is about to fork.
extern "C" fn before() {
    if let Some(hooks) = hooks::get() {
        (hooks.note_fork)();
    }
}

/// Prepares a forked child. The C library calls it in the child, before `fork` returns.
extern "C" fn in_child() {
    leave_parent(false);
}

fn leave_parent(noticed_late: bool) {
    let own = sys::process_ids().0;
    let is_wiped = MARK.get().is_some_and(|mark| mark.swap(1, Ordering::Relaxed) == 0);
    // In a PID namespace of its own a child may have the number of its parent: the mark tells it.
    if PROCESS.swap(own, Ordering::Relaxed) == own && !is_wiped {
        return;
    }
    COUNT.fetch_add(1, Ordering::Relaxed);
    if !ARRANGED.load(Ordering::Acquire) {
        // The parent recorded nothing.
        return;
    }
    let Some(hooks) = hooks::get() else { return };
    let entry = Entry::new();
    sync::wait_no_more();
    (hooks.leave_parent)(noticed_late);
    DUE.store(true, Ordering::Relaxed);
    // The entry that forked ends first: it holds locks and still uses what they guard.
    drop(entry);
}

/// Returns whether the child still has to start again.
pub(crate) fn is_due() -> bool {
    DUE.load(Ordering::Relaxed)
}

/// Starts the child again if that is due. Runs at the end of each entry that is not nested.
pub(crate) fn settle() {
    // Repeats when a handler forks meanwhile, in the child of that fork.
    while is_due() && DUE.swap(false, Ordering::Relaxed) {
        sync::free_all_locks();
        if let Some(hooks) = hooks::get() {
            (hooks.restart)();
        }
    }
}
