//! What higher rooms do at moments that only this room sees: the one table of calls that run
//! upward.
//!
//! ```text
//!  fork ─▶ leave_parent … restart     exit ─▶ end_stream     ordinary code ─▶ catch_up
//! ```
//!
//! Set before anything is recorded, and never changed; no fast path reads it.

use crate::os::link::Link;
use crate::os::sync::Entry;

pub(crate) struct Hooks {
    /// In a forked child: leaves what is the parent's.
    pub(crate) leave_parent: fn(),
    /// In a forked child, in no entry: begins again.
    pub(crate) restart: fn(),
    /// The program exits: everything goes out, and the stream ends.
    pub(crate) end_stream: fn(),
    /// Does what waits for ordinary code.
    pub(crate) catch_up: fn(&Entry),
    /// Counts the events that the host refused.
    pub(crate) refused: fn() -> u64,
}

static HOOKS: Link<Hooks> = Link::none();

pub(crate) fn set(hooks: &'static Hooks) {
    HOOKS.set(Some(hooks));
}

/// The table; none before anything is recorded.
pub(crate) fn get() -> Option<&'static Hooks> {
    HOOKS.get()
}
