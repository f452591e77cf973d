//! The stream of a forked child: it leaves its parent's, then its own can begin.
//!
//! ```text
//!  the parent's: none, open, failed ── leave ──▶ left ── restart ──▶ none, or left for ever
//! ```
//!
//! Design: `.sol.fork` in `design/telemetry.md`.

use super::STATE;
use super::standing::{
    FAILURE_TOLD, STANDING, STANDING_AGAIN, Standing, plinth, standing, standing_of,
};
use crate::os::atomic::Ordering;
use crate::registry::registration;
use crate::stream::{pending, volume};

/// Leaves the stream to the parent process.
pub(crate) fn leave() {
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

/// Prepares the stream of a forked child: not begun, if one is possible. [`stand_again`] follows.
pub(crate) fn restart() {
    let (mut state, is_broken) = STATE.take_over();
    state.restart(is_broken);
    volume::restart();
    pending::restart();
    let again = standing_of(&STANDING_AGAIN);
    if again != Standing::None {
        registration::all().for_each(|each| each.control.output().store(0, Ordering::Relaxed));
    }
}

/// Lets a stream exist again.
pub(crate) fn stand_again() {
    STANDING.store(STANDING_AGAIN.load(Ordering::Relaxed), Ordering::Release);
}
