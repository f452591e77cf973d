//! Entries into the cold path, and the one table of calls that run upward: higher rooms act at
//! moments that only this room sees.
//!
//! ```text
//!  event! ──▶ Entry ── signal ─▶ event! ──▶ Entry, nested
//!  fork ─▶ in_child: leave the parent's ─┬─ outside an entry ─────────────▶ restart
//!                                        └─ inside one (a handler forked) ─ its end ─▶ restart
//!  exit ─▶ end_stream     ordinary code ─▶ catch_up
//! ```
//!
//! A signal may arrive while this very thread holds a lock, and its handler may record. So an entry
//! nested in another entry of its thread never waits, and never calls the plinth: it gives up what
//! it cannot do, and counts that. Design: `.sol.lock`, `.sol.fork` in `design/telemetry.md`.

use crate::os::link::Link;
use crate::os::{depth, forked, sys};
use core::marker::PhantomData;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

/// The calls that run upward. `record/setup.rs` has the table; no fast path reads it.
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

/// Set before the first event, and never changed.
static HOOKS: Link<Hooks> = Link::none();

/// Returns the table; `None` before the first event.
pub(crate) fn hooks() -> Option<&'static Hooks> {
    HOOKS.get()
}

/// A stay of this thread in the cold path.
pub(crate) struct Entry {
    nested: bool,
    /// Whether the program promises that it made this call in ordinary code (`.sol.ordinary`).
    promised: bool,
    /// The error number to restore: the program may have been interrupted between a call and
    /// reading its error number.
    errno: sys::Errno,
    /// Keeps the system calls made here from ending the thread (`.sol.cancel`).
    _uncancelled: sys::Uncancelled,
    // Not Send: it counts the depth of its thread.
    here: PhantomData<*const ()>,
}

impl Entry {
    pub(crate) fn new() -> Entry {
        let _uncancelled = sys::Uncancelled::begin();
        if forked::is_unnoticed() {
            leave_parent(true);
        }
        let (nested, errno) = (depth::deepen(), sys::errno());
        Entry { nested, promised: false, errno, _uncancelled, here: PhantomData }
    }

    /// Enters the cold path from code that is certainly ordinary.
    pub(crate) fn promised() -> Entry {
        let mut entry = Entry::new();
        entry.promised = true;
        entry
    }

    /// Returns whether the program promises that it made this call in ordinary code.
    pub(crate) fn is_promised(&self) -> bool {
        self.promised && !self.nested
    }

    /// Returns whether this entry certainly comes from ordinary code.
    pub(crate) fn is_ordinary(&self) -> bool {
        self.is_promised() || !self.nested && sys::is_ordinary()
    }

    /// Returns whether a signal put this entry in the middle of another one of the same thread.
    pub(crate) fn is_nested(&self) -> bool {
        self.nested
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.nested {
            settle();
        }
        depth::rise();
        if !self.nested && forked::is_due() {
            // A handler forked after the look at the end of this entry, and saw the entry: the
            // child starts again at the end of another one.
            drop(Entry::new());
        }
        sys::set_errno(self.errno);
    }
}

/// Fills the table, and sets up the detection of forks, before any lock is taken. Returns false in
/// a nested entry, which may have interrupted this very function: the setup must wait.
pub(crate) fn arrange(entry: &Entry, hooks: &'static Hooks) -> bool {
    if !forked::is_arranged() {
        HOOKS.set(Some(hooks));
        if entry.is_nested() {
            return false;
        }
        forked::arrange();
    }
    true
}

/// Asks the system to call `before` and `in_child` at each fork. Called once, when the program or
/// library with the runtime is loaded: the C library takes a lock, which a first event in a handler
/// may find taken.
#[cfg(not(miri))]
pub(crate) fn expect_forks() {
    sys::at_fork(before, in_child);
}

/// The C library calls it on a thread that is about to fork.
extern "C" fn before() {
    if let Some(hooks) = hooks() {
        (hooks.note_fork)();
    }
}

/// Prepares a forked child. The C library calls it in the child, before `fork` returns.
extern "C" fn in_child() {
    leave_parent(false);
}

fn leave_parent(noticed_late: bool) {
    if !forked::note() {
        return;
    }
    let Some(hooks) = hooks() else { return };
    let entry = Entry::new();
    forked::wait_no_more();
    (hooks.leave_parent)(noticed_late);
    forked::set_due();
    // The entry that forked ends first: it holds locks and still uses what they guard.
    drop(entry);
}

/// Starts the child again if that is due. Runs at the end of each entry that is not nested.
fn settle() {
    // Repeats when a handler forks meanwhile, in the child of that fork.
    while forked::take_due() {
        forked::free_all_locks();
        if let Some(hooks) = hooks() {
            (hooks.restart)();
        }
    }
}

/// Calls a function that may reach the program's own plinth, where the caller does not expect a
/// panic. A panic ends here; its effect is counted already.
#[inline(always)]
pub(crate) fn without_unwinding(call: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(call)) {
        // Dropping it might panic again.
        core::mem::forget(panic);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_restores_the_error_number() {
        sys::set_errno(libc::EILSEQ);
        let entry = Entry::new();
        sys::set_errno(libc::ENOSPC);
        drop(entry);
        assert_eq!(sys::errno(), libc::EILSEQ);
    }
}
