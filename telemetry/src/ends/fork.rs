//! What a forked child leaves to its parent, and how it begins again: a stream of its own, which
//! names its parent.
//!
//! ```text
//!  leave the parent's stream, new UUID      forked.rs: now     locks free: restart
//!  restart: registries whole ─ rings empty ─ store to be told again ─ no stream yet
//! ```
//!
//! Only in the child: the parent does nothing before or after, so that nothing of ours can hold a
//! fork up. The child has one thread, and its stream begins with the first thing that is to go out.
//! Design: `.sol.fork` in `design/telemetry.md`; 2.1, *parent*, in `design/format.md`.

use crate::block::{identity, root};
use crate::ends::crash;
use crate::os::{exit, ordinary, way_out};
use crate::registry::{preamble, registration, unhoused};
use crate::rings::thread;
use crate::service::{listener, mask_changes};
use crate::store::intern;
use crate::stream::{self, writer};

/// Leaves what is the parent's, in the child alone, before `fork` returns there.
pub(crate) fn leave_parent() {
    way_out::forget_others();
    crash::forget_parent();
    thread::leave_file();
    intern::leave_file_at_fork();
    stream::leave();
    root::leave();
    identity::fork();
    unhoused::reset();
    intern::leave_parent();
    thread::leave_parent();
}

/// Begins again, with all locks free.
pub(crate) fn restart() {
    exit::forget();
    writer::forget();
    listener::restart_in_child();
    registration::restart();
    thread::restart();
    intern::restart(thread::index());
    preamble::restart();
    ordinary::expect();
    stream::restart();
    mask_changes::accept();
    // Last: from here on there may be a stream again.
    stream::stand_again();
}
