//! Where the stream goes: the plinth, which is set once.
//!
//! ```text
//!  set_plinth, else the environment ─▶ HOST ─▶ plinth
//! ```
//!
//! Design: `.sol.plinth` in `design/telemetry.md`.

use super::{STATE, Standing, standing};
use crate::os::link::Link;
use crate::os::pages;
use crate::os::sync::Entry;
use crate::plinth::Plinth;

struct Host {
    plinth: &'static dyn Plinth,
}

/// Set once, under the lock. Not a lock of the standard library's, which a forked child might find
/// taken for ever.
static HOST: Link<Host> = Link::none();

/// Says where the stream goes, instead of to a file. Before there is a stream; false if there is
/// one, or a plinth.
pub fn set_plinth(plinth: impl Plinth + 'static) -> bool {
    // Allocated before the lock is taken, and dropped after it where there is one already.
    let host: Box<dyn Plinth> = Box::new(plinth);
    let entry = Entry::new();
    let Some(_state) = STATE.lock(&entry) else { return false };
    if standing() != Standing::None || HOST.get().is_some() {
        return false;
    }
    keep(Box::leak(host)).is_some()
}

/// The plinth, if there is one.
pub(crate) fn plinth() -> Option<&'static dyn Plinth> {
    HOST.get().map(|host| host.plinth)
}

/// Makes it the one that there is from now on. Under the lock of the stream; `None` where there is
/// no memory for that.
pub(super) fn keep(plinth: &'static dyn Plinth) -> Option<&'static dyn Plinth> {
    HOST.set(Some(pages::place(Host { plinth })?));
    Some(plinth)
}
