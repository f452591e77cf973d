//! Which of a function's two bodies runs.
//!
//! ```text
//!  entry ─ recorded? ─ no ─▶ the plain body
//!             └ yes ─▶ apart ─▶ the recorded one
//! ```
//!
//! Design: `.calls.bodies` in `design/calls.md`.

use crate::events::{CONTROL, CallEnter, Kinds};
use crate::table::BLOCKS;
use telemetry::__private::{IS_RECORDING, is_recorded};

/// Returns whether calls are recorded: one load, one test.
#[inline(always)]
pub fn is_traced() -> bool {
    is_recorded::<CallEnter>()
}

/// Returns whether calls are recorded, or statements profiled: one load, one test.
#[inline(always)]
pub fn is_profiled() -> bool {
    IS_RECORDING && CONTROL.is_recorded(Kinds::Call.union(BLOCKS).bits())
}

/// Runs the body of a function that is recorded. It is apart from the plain one: so that one may
/// become a part of its callers, and is laid out as if it were alone.
#[cold]
#[inline(never)]
pub fn apart<T>(body: impl FnOnce() -> T) -> T {
    body()
}
