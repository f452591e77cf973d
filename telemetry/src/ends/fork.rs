//! A forked child: it leaves its parent's stream, and starts its own, which names its parent.
//!
//! ```text
//!  leave the parent's stream, new UUID      forked.rs: now     locks free: restart
//!  restart: registries whole ─ rings empty ─ store to be recorded again ─ no stream yet
//! ```
//!
//! This runs in the child only. The parent reads the clock before the fork, and does nothing after
//! it, so the runtime cannot hold a fork up. The child has one thread, and its stream begins with
//! its first output. Design:
//! `.sol.fork` in `design/telemetry.md`; 2.1, *parent*, in `design/format.md`.

use crate::block::{clock, identity, root};
use crate::ends::crash;
use crate::os::{exit, observers, ordinary, process, way_out};
use crate::registry::{preamble, registration, unhoused};
use crate::rings::thread;
use crate::service::{listener, mask_changes};
use crate::store::intern;
use crate::stream::{self, writer};
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

/// Abandons the parent's output, in the child alone, before `fork` returns there.
/// `noticed_late`: no call told of the fork, and the child may have recorded since.
pub(crate) fn leave_parent(noticed_late: bool) {
    thread::leave_counts(noticed_late.then(earliest));
    if noticed_late {
        note();
    }
    way_out::forget_others();
    crash::forget_store();
    thread::leave_file();
    intern::leave_file_at_fork();
    stream::leave();
    root::leave();
    identity::fork();
    unhoused::reset();
    intern::leave_parent();
    thread::leave_parent();
}

/// Starts again, with all locks free.
pub(crate) fn restart() {
    exit::forget();
    writer::forget();
    listener::restart_in_child();
    registration::restart();
    thread::restart();
    intern::restart(thread::index(), TICKS.load(Ordering::Relaxed));
    preamble::restart();
    ordinary::expect();
    stream::restart();
    mask_changes::accept();
    observers::tell_forked();
    // Last: from here on a stream may exist again.
    stream::stand_again();
}
