//! Whether this process is a forked child, by whatever call, and whether it is to begin again.
//!
//! ```text
//!  fork ─▶ in_child: leave the parent's ─┬─ in no entry ──────────────▶ restart
//!                                        └─ in one (the fork came in a
//!                                           handler) ─ it ends ───────▶ restart
//! ```
//!
//! Design: `.sol.fork` in `design/telemetry.md`.

use crate::os::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::os::link::Link;
use crate::os::sync::{self, Entry};
use crate::os::{hooks, process, sys};

/// Whether forks are known of.
static ARRANGED: AtomicBool = AtomicBool::new(false);
/// 1; in a child of which it is not known yet, 0, whatever call made the child.
static MARK: Link<core::sync::atomic::AtomicU32> = Link::none();
/// The process, as known: where there is no mark.
static PROCESS: AtomicU64 = AtomicU64::new(0);
/// Forks that this process comes of, since its program began.
static COUNT: AtomicU32 = AtomicU32::new(0);
/// Whether the child still has to begin again.
static DUE: AtomicBool = AtomicBool::new(false);

/// Arranges that a fork is known of, before anything is locked; false if that must wait, for this
/// is a nested entry, which may have interrupted just that.
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

/// Has the system tell of forks. Once, when what carries the runtime is loaded: the C library has a
/// lock for it, which a first event in a handler may find taken.
#[cfg(not(miri))]
pub(crate) fn expect() {
    sys::at_fork_in_child(in_child);
}

/// Forks that this process comes of, since its program began: 0 for one that is no forked child.
pub(crate) fn count() -> u32 {
    COUNT.load(Ordering::Relaxed)
}

/// Whether this is a child of which `in_child` was not told: it was made by a call that tells
/// nobody, such as `clone`. Where it shares its parent's memory it is no child in this sense.
pub(crate) fn is_unnoticed() -> bool {
    MARK.get().is_some_and(|mark| mark.load(Ordering::Relaxed) == 0)
}

/// The same as being told. At the beginning of each entry.
pub(crate) fn notice() {
    if is_unnoticed() {
        in_child();
    }
}

/// Runs in the child alone, before `fork` returns there.
extern "C" fn in_child() {
    let own = sys::process_ids().0;
    let is_new = match MARK.get() {
        Some(mark) => mark.swap(1, Ordering::Relaxed) == 0,
        None => PROCESS.load(Ordering::Relaxed) != own,
    };
    if !is_new {
        return;
    }
    PROCESS.store(own, Ordering::Relaxed);
    COUNT.fetch_add(1, Ordering::Relaxed);
    if !ARRANGED.load(Ordering::Acquire) {
        // Its parent recorded nothing.
        return;
    }
    let Some(hooks) = hooks::get() else { return };
    let entry = Entry::new();
    sync::wait_no_more();
    (hooks.leave_parent)();
    DUE.store(true, Ordering::Relaxed);
    // An entry that the fork came in ends first: it has locks, and goes on with what they guard.
    drop(entry);
}

/// Begins again, if that is due. At the end of each entry that is not nested.
pub(crate) fn settle() {
    // Once more where a handler forks meanwhile, in the child of that.
    while DUE.load(Ordering::Relaxed) && DUE.swap(false, Ordering::Relaxed) {
        sync::free_all_locks();
        if let Some(hooks) = hooks::get() {
            (hooks.restart)();
        }
    }
}
