//! No counter of the processor: neither Miri nor the other processors have one that we know.
//!
//! Design: `.sol.clock` in `design/telemetry.md`.

use super::{Halves, OwnTicks};
use eventlog::format::ClockSource;

pub(crate) const SOURCE: Option<ClockSource> = None;

pub(crate) fn is_invariant() -> bool {
    false
}

pub(crate) fn rate() -> u64 {
    0
}

#[inline(always)]
pub(crate) fn read() -> Halves {
    [0; 2]
}

#[inline(always)]
pub(crate) fn since(_: Halves, _: &OwnTicks) -> Halves {
    // No delta fits.
    [0, 1]
}

#[inline(always)]
pub(crate) fn wait_for_loads() {}
