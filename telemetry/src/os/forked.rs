//! What a process knows of its forks: whether it is a child, noticed or not, and whether it still
//! has to start again; and the generation of its locks.
//!
//! ```text
//!  mark: 1 ─ fork ─▶ 0: unnoticed ─ note ─▶ alone, due ─ take_due ─▶ locks free, of a generation
//! ```
//!
//! `entry.rs` acts on it. Design: `.sol.fork` in `design/telemetry.md`.

use crate::os::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::os::link::Link;
use crate::os::{process, sys};

struct Forked {
    is_arranged: AtomicBool,
    /// 1; 0 in a child not yet detected, whichever call made it.
    mark: Link<core::sync::atomic::AtomicU32>,
    /// The process id last seen.
    process: AtomicU64,
    /// The number of forks from the start of the program to this process.
    count: AtomicU32,
    /// Whether the child still has to start again.
    is_due: AtomicBool,
    /// Set in a child, where the holder of a lock may not exist: nothing waits for a lock.
    is_alone: core::sync::atomic::AtomicBool,
    /// The value that a taken lock holds. A child changes it: a lock with another value belonged to
    /// a thread that the child lacks, and so is free.
    generation: AtomicU32,
}

static FORKED: Forked = Forked {
    is_arranged: AtomicBool::new(false),
    mark: Link::none(),
    process: AtomicU64::new(0),
    count: AtomicU32::new(0),
    is_due: AtomicBool::new(false),
    is_alone: core::sync::atomic::AtomicBool::new(false),
    generation: AtomicU32::new(1),
};

/// Sets up the detection of forks, before any lock is taken.
pub(crate) fn arrange() {
    FORKED.process.store(sys::process_ids().0, Ordering::Relaxed);
    FORKED.mark.set(process::map_fork_mark());
    FORKED.is_arranged.store(true, Ordering::Release);
}

pub(crate) fn is_arranged() -> bool {
    FORKED.is_arranged.load(Ordering::Acquire)
}

/// Returns the number of forks from the start of the program to this process; 0: not a forked
/// child.
pub(crate) fn count() -> u32 {
    FORKED.count.load(Ordering::Relaxed)
}

/// Returns whether this is a child for which `in_child` was not called, because a call such as
/// `clone` made it. A child that shares its parent's memory does not count.
pub(crate) fn is_unnoticed() -> bool {
    FORKED.mark.get().is_some_and(|mark| mark.load(Ordering::Relaxed) == 0)
}

/// Notes a fork, in a child. Returns false if it was noted before, or if the parent recorded
/// nothing.
pub(crate) fn note() -> bool {
    let own = sys::process_ids().0;
    let is_wiped = FORKED.mark.get().is_some_and(|mark| mark.swap(1, Ordering::Relaxed) == 0);
    // In a PID namespace of its own a child may have the number of its parent: the mark tells it.
    if FORKED.process.swap(own, Ordering::Relaxed) == own && !is_wiped {
        return false;
    }
    FORKED.count.fetch_add(1, Ordering::Relaxed);
    is_arranged()
}

/// Returns whether the child still has to start again.
pub(crate) fn is_due() -> bool {
    FORKED.is_due.load(Ordering::Relaxed)
}

pub(crate) fn set_due() {
    FORKED.is_due.store(true, Ordering::Relaxed);
}

pub(crate) fn take_due() -> bool {
    is_due() && FORKED.is_due.swap(false, Ordering::Relaxed)
}

/// Returns whether nothing waits for a lock any more.
pub(crate) fn is_alone() -> bool {
    FORKED.is_alone.load(Ordering::Relaxed)
}

/// Returns the value that a lock has which is taken now; never 0.
pub(crate) fn generation() -> u32 {
    FORKED.generation.load(Ordering::Relaxed)
}

/// Ends all waiting, in a forked child.
pub(crate) fn wait_no_more() {
    FORKED.is_alone.store(true, Ordering::Relaxed);
}

/// Frees every lock, wherever it is and whichever thread held it, in a forked child. The child's
/// one thread holds none, and no guard exists. A missing thread may have left a locked value half
/// changed: its owner repairs the value by [`take_over`](crate::os::sync::Locked::take_over).
pub(crate) fn free_all_locks() {
    FORKED.generation.fetch_add(1, Ordering::Relaxed);
    FORKED.is_alone.store(false, Ordering::Relaxed);
}
