//! The one table of calls that run upward: higher rooms act at moments that only this room sees.
//!
//! ```text
//!  fork ─▶ leave_parent … restart     exit ─▶ end_stream     ordinary code ─▶ catch_up
//! ```
//!
//! `record/setup.rs` sets it before the first event, and never changes it; no fast path reads it.

use crate::os::link::Link;
use crate::os::sync::Entry;

pub(crate) struct Hooks {
    /// Before a fork, on the thread that forks: notes the time.
    pub(crate) note_fork: fn(),
    /// In a forked child: abandons the parent's output. `noticed_late`: no call told of the fork.
    pub(crate) leave_parent: fn(noticed_late: bool),
    /// In a forked child, outside any entry: starts again.
    pub(crate) restart: fn(),
    /// At the exit of the program: outputs everything and ends the stream.
    pub(crate) end_stream: fn(),
    /// In ordinary code: does the deferred work.
    pub(crate) catch_up: fn(&Entry),
    /// Counts the events that the host refused.
    pub(crate) refused: fn() -> u64,
}

static HOOKS: Link<Hooks> = Link::none();

pub(crate) fn set(hooks: &'static Hooks) {
    HOOKS.set(Some(hooks));
}

/// Returns the table; `None` before the first event.
pub(crate) fn get() -> Option<&'static Hooks> {
    HOOKS.get()
}
