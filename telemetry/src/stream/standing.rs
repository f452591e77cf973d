//! The state of the stream, its plinth, and the host's failures.
//!
//! ```text
//!  set_plinth, else the environment ─▶ HOST ─▶ plinth
//!  none ─▶ open │ failed ── fork: leave ─▶ left ── restart ─▶ none, or left for ever
//! ```
//!
//! Design: `.sol.stream`, `.sol.plinth`, `.sol.fork` in `design/telemetry.md`.

use crate::os::atomic::{AtomicBool, AtomicU8, Ordering};
use crate::os::link::Link;
use crate::os::{forked, pages, way_out};
use crate::plinth::{self, Operation, Plinth, PlinthError};
use crate::stream::{STATE, account, pending, volume, writer};

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

/// Set once, under the lock. Not a lock of the standard library, which a forked child might find
/// taken for ever.
static HOST: Link<Host> = Link::none();

pub(crate) fn plinth() -> Option<&'static dyn Plinth> {
    HOST.get().map(|host| host.plinth)
}

/// Sets the plinth, under the lock of the stream; returns `None` if the system has no memory.
pub(crate) fn keep(plinth: &'static dyn Plinth) -> Option<&'static dyn Plinth> {
    HOST.set(Some(pages::place(Host { plinth })?));
    Some(plinth)
}

/// Keeps the plinth of a setup, as [`keep`] does.
pub(super) fn keep_of_setup(plinth: &'static dyn Plinth) -> Option<()> {
    keep(plinth)?;
    IS_SET_UP.store(true, Ordering::Relaxed);
    Some(())
}

/// Whether this process set a plinth up, and nothing was reported of it. Its children did not.
static IS_SET_UP: AtomicBool = AtomicBool::new(false);

/// Reports, once, that the process set a plinth up and output none of these events to it.
pub(crate) fn tell_no_output(event_count: u64) {
    if standing() == Standing::None && IS_SET_UP.swap(false, Ordering::Relaxed) {
        plinth::report_no_output(plinth(), event_count);
    }
}

pub(super) static STANDING: AtomicU8 = AtomicU8::new(Standing::None as u8);
/// Sets the state of a forked child's stream when it begins again.
static STANDING_AGAIN: AtomicU8 = AtomicU8::new(Standing::None as u8);
static FAILURE_TOLD: AtomicBool = AtomicBool::new(false);

pub(crate) fn standing() -> Standing {
    standing_of(&STANDING)
}

fn standing_of(standing: &AtomicU8) -> Standing {
    match standing.load(Ordering::Acquire) {
        1 => Standing::Open,
        2 => Standing::Failed,
        3 => Standing::Left,
        _ => Standing::None,
    }
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
    if standing() != Standing::Left && !FAILURE_TOLD.swap(true, Ordering::Relaxed) {
        plinth::report(error, plinth());
    }
}

/// Leaves the stream to the parent process.
pub(crate) fn leave_parent() {
    let is_begun = match standing() {
        // Left before, and not begun since: the state is known.
        Standing::Left => None,
        Standing::None => Some(STATE.is_taken()),
        _ => Some(true),
    };
    // The parent reported its own failures; a failure of the child is new.
    if standing() != Standing::Failed {
        FAILURE_TOLD.store(false, Ordering::Relaxed);
    }
    let again = match (is_begun, plinth()) {
        (None, _) => standing_of(&STANDING_AGAIN),
        (Some(true), Some(plinth)) if !plinth.leave() => Standing::Left,
        // The environment names no place for a stream: that was reported.
        (Some(true), None) if standing() == Standing::Failed => Standing::Failed,
        _ => Standing::None,
    };
    STANDING_AGAIN.store(again as u8, Ordering::Relaxed);
    STANDING.store(Standing::Left as u8, Ordering::Release);
}

/// Returns whether the stream of a forked child may begin.
pub(crate) fn may_begin_again() -> bool {
    standing_of(&STANDING_AGAIN) == Standing::None
}

/// Starts the stream of a forked child again, when all else has started again: it may begin now.
pub(crate) fn restart() {
    writer::forget();
    let (mut state, is_broken) = STATE.take_over();
    state.restart(is_broken);
    IS_SET_UP.store(false, Ordering::Relaxed);
    volume::restart();
    pending::restart();
    STANDING.store(STANDING_AGAIN.load(Ordering::Relaxed), Ordering::Release);
}
