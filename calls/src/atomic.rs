//! Atomics of lists and rows. They take all of theirs from here, so that proofs can replace them.
//!
//! ```text
//!  the product                 core's
//!  telemetry/tests/models      loom's, in place of this file
//! ```
//!
//! Design: `.sol.ordering` in `design/telemetry.md`.

pub(crate) use core::hint::spin_loop;
pub(crate) use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
