//! Whether the stream exists: its standing, its plinth, and the host's failures.
//!
//! ```text
//!  set_plinth, else the environment ─▶ host ─▶ plinth
//!  none ─▶ open │ failed ── fork: leave ─▶ left ── restart ─▶ none, or left for ever
//! ```
//!
//! Design: `.sol.stream`, `.sol.plinth`, `.sol.fork` in `design/telemetry.md`.

use crate::os::atomic::{AtomicBool, AtomicU8, Ordering};
use crate::os::link::Link;
use crate::os::{forked, pages, way_out};
use crate::plinth::{self, Operation, Plinth, PlinthError};
use crate::stream::account;

/// The state of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standing {
    /// None exists yet.
    None = 0,
    /// The stream takes blocks.
    Open = 1,
    /// The host could not create it: output counts as lost.
    Failed = 2,
    /// A forked child leaves its parent's stream alone: until its own begins, or for ever.
    Left = 3,
}

struct Host {
    plinth: &'static dyn Plinth,
}

struct Lifecycle {
    /// Set once, under the lock. Not a lock of the standard library, which a forked child might
    /// find taken for ever.
    host: Link<Host>,
    /// Whether this process set a plinth up, and nothing was reported of it. Its children did not.
    is_set_up: AtomicBool,
    standing: AtomicU8,
    /// Sets the standing of a forked child's stream when it begins again.
    again: AtomicU8,
    is_failure_told: AtomicBool,
}

static LIFECYCLE: Lifecycle = Lifecycle {
    host: Link::none(),
    is_set_up: AtomicBool::new(false),
    standing: AtomicU8::new(Standing::None as u8),
    again: AtomicU8::new(Standing::None as u8),
    is_failure_told: AtomicBool::new(false),
};

pub(crate) fn plinth() -> Option<&'static dyn Plinth> {
    LIFECYCLE.host.get().map(|host| host.plinth)
}

/// Sets the plinth, under the lock of the stream; returns `None` if the system has no memory.
pub(crate) fn keep(plinth: &'static dyn Plinth) -> Option<&'static dyn Plinth> {
    LIFECYCLE.host.set(Some(pages::place(Host { plinth })?));
    Some(plinth)
}

/// Keeps the plinth of a setup, as [`keep`] does.
pub(super) fn keep_of_setup(plinth: &'static dyn Plinth) -> Option<()> {
    keep(plinth)?;
    LIFECYCLE.is_set_up.store(true, Ordering::Relaxed);
    Some(())
}

/// Reports, once, that the process set a plinth up and output none of these events to it.
pub(crate) fn tell_no_output(event_count: u64) {
    if standing() == Standing::None && LIFECYCLE.is_set_up.swap(false, Ordering::Relaxed) {
        plinth::report_no_output(plinth(), event_count);
    }
}

pub(crate) fn standing() -> Standing {
    standing_of(&LIFECYCLE.standing)
}

fn standing_of(standing: &AtomicU8) -> Standing {
    match standing.load(Ordering::Acquire) {
        1 => Standing::Open,
        2 => Standing::Failed,
        3 => Standing::Left,
        _ => Standing::None,
    }
}

/// Notes whether the stream began. A child that was forked meanwhile keeps its standing.
pub(super) fn note_begun(standing: Standing) {
    let (old, new) = (Standing::None as u8, standing as u8);
    let _ = LIFECYCLE.standing.compare_exchange(old, new, Ordering::Release, Ordering::Relaxed);
}

/// Returns the plinth, while the stream takes blocks.
pub(crate) fn open_plinth() -> Option<&'static dyn Plinth> {
    // A forked child that was not noticed does not write into its parent's log either.
    plinth().filter(|_| standing() == Standing::Open && !forked::is_unnoticed())
}

/// Returns whether the mapped file was removed or truncated, and reports it.
pub(crate) fn is_file_lost() -> bool {
    crate::plinth::loss().inspect(tell).is_some()
}

/// Notes a failure, and reports it once for the process, except of a stream that a forked child
/// leaves. After the loss of a file the stream goes on in another volume, which does not
/// count.
pub(crate) fn tell(error: &PlinthError) {
    if error.operation == Operation::Renew {
        return;
    }
    account::note(error);
    if way_out::is_here() {
        return way_out::tell_failure();
    }
    if standing() != Standing::Left && !LIFECYCLE.is_failure_told.swap(true, Ordering::Relaxed) {
        plinth::report(error, plinth());
    }
}

/// Leaves the stream to the parent process. `is_beginning`: the fork may have come while it began.
pub(super) fn leave_parent(is_beginning: bool) {
    let is_begun = match standing() {
        // Left before, and not begun since: the state is known.
        Standing::Left => None,
        Standing::None => Some(is_beginning),
        _ => Some(true),
    };
    // The parent reported its own failures; a failure of the child is new.
    if standing() != Standing::Failed {
        LIFECYCLE.is_failure_told.store(false, Ordering::Relaxed);
    }
    let again = match (is_begun, plinth()) {
        (None, _) => standing_of(&LIFECYCLE.again),
        (Some(true), Some(plinth)) if !plinth.leave() => Standing::Left,
        // The environment names no place for a stream: that was reported.
        (Some(true), None) if standing() == Standing::Failed => Standing::Failed,
        _ => Standing::None,
    };
    LIFECYCLE.again.store(again as u8, Ordering::Relaxed);
    LIFECYCLE.standing.store(Standing::Left as u8, Ordering::Release);
}

/// Returns whether the stream of a forked child may begin.
pub(crate) fn may_begin_again() -> bool {
    standing_of(&LIFECYCLE.again) == Standing::None
}

/// Lets the stream of a forked child begin, if one is possible.
pub(super) fn restart() {
    LIFECYCLE.is_set_up.store(false, Ordering::Relaxed);
    LIFECYCLE.standing.store(LIFECYCLE.again.load(Ordering::Relaxed), Ordering::Release);
}
