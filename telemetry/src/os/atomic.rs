//! Atomics. The runtime takes all atomics from here, so that proofs can replace them.
//!
//! ```text
//!  the product     core's
//!  unit tests      tests/interruptions/points.rs: a signal handler may run at each operation
//!  tests/models    loom's, in place of this file
//! ```
//!
//! Design: `.sol.ordering` in `design/telemetry.md`.

#[cfg(test)]
pub(crate) use crate::interruptions::points::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, compiler_fence,
};
pub(crate) use core::hint::spin_loop;
#[cfg(not(test))]
pub(crate) use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64};
#[cfg(not(test))]
pub(crate) use core::sync::atomic::{AtomicUsize, compiler_fence};
pub(crate) use core::sync::atomic::{Ordering, fence};
