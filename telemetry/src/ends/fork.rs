//! A forked child: it leaves its parent's stream, and starts its own, which names its parent.
//!
//! ```text
//!  leave the parent's stream, new UUID      at once            locks free: restart
//!  restart: registries whole ─ rings empty ─ store to be recorded again ─ no stream yet
//! ```
//!
//! This runs in the child only. The parent reads the clock before the fork, and does nothing after
//! it, so the runtime cannot hold a fork up. The child has one thread, and its stream begins with
//! its first output. Design:
//! `.sol.fork` in `design/telemetry.md`; 2.1, *parent*, in `design/format.md`.

use crate::block::{clock, root};
use crate::os::{observers, process};
use crate::rings::thread;
use crate::store::intern;
use crate::{block, os, registry, service, stream};
use core::sync::atomic::{AtomicU64, Ordering};

/// The ticks before the last fork of this process or of its parent.
static TICKS: AtomicU64 = AtomicU64::new(0);

/// Notes the time, on a thread that is about to fork. The child has a copy of it.
pub(crate) fn note() {
    TICKS.store(clock::ticks(), Ordering::Relaxed);
}

/// Returns the ticks of the fork of this process, or smaller ones: no event of the child is older.
fn earliest() -> u64 {
    let start = process::age().and_then(|age| clock::ticks_before(age, &root::last_sync()?));
    // An earlier fork of the parent.
    start.unwrap_or(0).max(TICKS.load(Ordering::Relaxed))
}

/// Abandons the parent's output, in the child alone, before `fork` returns there: from the rooms
/// that have blocks in a file down to those that lead to it.
/// `noticed_late`: no call told of the fork, and the child may have recorded since.
pub(crate) fn leave_parent(noticed_late: bool) {
    os::leave_parent();
    thread::leave_parent(noticed_late.then(earliest));
    if noticed_late {
        note();
    }
    intern::leave_parent();
    stream::leave_parent();
    registry::leave_parent();
    block::leave_parent();
}

/// Starts again, with all locks free.
pub(crate) fn restart() {
    os::restart();
    thread::restart();
    intern::restart(thread::index(), TICKS.load(Ordering::Relaxed));
    registry::restart();
    service::restart();
    observers::tell_forked();
    // Last: from here on a stream may exist again.
    stream::restart();
}
