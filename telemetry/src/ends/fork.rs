//! A forked child begins anew: a stream of its own, which names its parent.
//!
//! ```text
//!  fork ─▶ in_child: leave the parent's stream, new UUID ─┬─ in no entry ──────────────▶ restart
//!                                                         └─ in one (the fork came in a
//!                                                            handler) ─ it ends ───────▶ restart
//!  restart: locks free ─ registries whole ─ rings empty ─ store to be told again ─ no stream yet
//! ```
//!
//! Only in the child: the parent does nothing before or after, so that nothing of ours can hold a
//! fork up. The child has one thread, and its stream begins with the first thing that is to go out.
//! Design: `.sol.fork` in `design/telemetry.md`; 2.1, *parent*, in `design/format.md`.

use crate::block::{identity, losses, root};
use crate::ends::crash;
use crate::os::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::os::link::Link;
use crate::os::sync::{self, Entry};
use crate::os::{ordinary, process, sys};
use crate::registry::registration;
use crate::rings::thread;
use crate::service::{flush, listener, writer};
use crate::store::intern;
use crate::stream;

/// Whether forks are known of.
static ARRANGED: AtomicBool = AtomicBool::new(false);
/// 1; in a child of which it is not known yet, 0, whatever call made the child.
static MARK: Link<core::sync::atomic::AtomicU32> = Link::none();
/// The process, as known: where there is no mark.
static PROCESS: AtomicU64 = AtomicU64::new(0);
/// Forks that this process comes of, since its program began.
static COUNT: AtomicU32 = AtomicU32::new(0);
/// Whether the child still has to begin anew.
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
    let entry = Entry::new();
    sync::wait_no_more();
    crash::forget_others();
    thread::leave_file();
    intern::leave_file_at_fork();
    stream::leave();
    root::leave();
    identity::fork();
    losses::reset();
    intern::leave_parent();
    thread::leave_parent();
    DUE.store(true, Ordering::Relaxed);
    // An entry that the fork came in ends first: it has locks, and goes on with what they guard.
    drop(entry);
}

/// Begins anew, if that is due. At the end of each entry that is not nested.
pub(crate) fn settle() {
    // Once more where a handler forks meanwhile, in the child of that.
    while DUE.load(Ordering::Relaxed) && DUE.swap(false, Ordering::Relaxed) {
        restart();
    }
}

fn restart() {
    sync::free_all_locks();
    flush::forget_exit();
    writer::forget();
    listener::restart_in_child();
    registration::restart();
    thread::restart();
    intern::restart(thread::index());
    root::restart();
    ordinary::expect();
    // Last: from here on there may be a stream again.
    stream::restart();
}
