//! How the stream stands, where it goes, and what the host failed at.
//!
//! ```text
//!  set_plinth, else the environment ─▶ HOST ─▶ plinth      none ─▶ open │ failed ── fork ─▶ left
//! ```
//!
//! Design: `.sol.stream`, `.sol.plinth` in `design/telemetry.md`.

use crate::os::atomic::{AtomicBool, AtomicU8, Ordering};
use crate::os::link::Link;
use crate::os::{forked, pages, way_out};
use crate::plinth::{Plinth, PlinthError, failure};
use crate::stream::account;

/// How the stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standing {
    /// There is none yet.
    None = 0,
    /// It takes blocks.
    Open = 1,
    /// The host could not create it: what goes out is counted as lost.
    Failed = 2,
    /// This is a forked child, which leaves its parent's stream alone: until it begins again, or
    /// for ever.
    Left = 3,
}

struct Host {
    plinth: &'static dyn Plinth,
}

/// Set once, under the lock. Not a lock of the standard library's, which a forked child might find
/// taken for ever.
static HOST: Link<Host> = Link::none();

/// The plinth, if there is one.
pub(crate) fn plinth() -> Option<&'static dyn Plinth> {
    HOST.get().map(|host| host.plinth)
}

/// Makes it the one that there is from now on. Under the lock of the stream; `None` where there is
/// no memory for that.
pub(crate) fn keep(plinth: &'static dyn Plinth) -> Option<&'static dyn Plinth> {
    HOST.set(Some(pages::place(Host { plinth })?));
    Some(plinth)
}

pub(super) static STANDING: AtomicU8 = AtomicU8::new(Standing::None as u8);
/// How the stream of a forked child stands when that begins again.
pub(super) static STANDING_AGAIN: AtomicU8 = AtomicU8::new(Standing::None as u8);
pub(super) static FAILURE_TOLD: AtomicBool = AtomicBool::new(false);

/// How the stream stands.
pub(crate) fn standing() -> Standing {
    standing_of(&STANDING)
}

pub(super) fn standing_of(standing: &AtomicU8) -> Standing {
    match standing.load(Ordering::Acquire) {
        1 => Standing::Open,
        2 => Standing::Failed,
        3 => Standing::Left,
        _ => Standing::None,
    }
}

/// The plinth, while the stream takes blocks.
pub(crate) fn open_plinth() -> Option<&'static dyn Plinth> {
    // A child of which nobody was told writes nothing into its parent's log either.
    plinth().filter(|_| standing() == Standing::Open && !forked::is_unnoticed())
}

/// Whether the mapped file was taken away or cut, which is said.
pub(crate) fn is_file_lost() -> bool {
    crate::plinth::loss().inspect(tell).is_some()
}

/// Notes what failed, and says it once for the process: its own stream, not one that a fork has it
/// leave.
pub(crate) fn tell(error: &PlinthError) {
    account::note(error);
    if way_out::is_here() {
        return way_out::tell_failure();
    }
    if standing() != Standing::Left && !FAILURE_TOLD.swap(true, Ordering::Relaxed) {
        failure::say(error, plinth());
    }
}
