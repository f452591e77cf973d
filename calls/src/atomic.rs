//! Atomics of lists, rows and words, and what words need of the runtime. They take all of theirs
//! from here, so that proofs can replace them.
//!
//! ```text
//!  the product                 core's
//!  telemetry/tests/models      loom's, in place of this file
//! ```
//!
//! Design: `.sol.ordering` in `design/telemetry.md`.

pub(crate) use core::hint::spin_loop;
pub(crate) use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
pub(crate) use telemetry::__private::{monotonic, naming, wait_for_loads};
pub(crate) use telemetry::Source;
