//! The control words of a registry: which kinds are recorded, and which are output.
//!
//! ```text
//!  annotation ── recorded & kind ──▶ buffer ── output & kind ──▶ plinth
//!                 default: all                  default: none
//! ```
//!
//! Here, and not in the runtime, because `events!` makes one for each registry. Design:
//! `.control.buffer`, `.control.output` in `design/telemetry.md`.

use crate::Registry;
#[cfg(target_has_atomic = "64")]
use core::sync::atomic::AtomicU64;
use core::sync::atomic::{AtomicU32, Ordering};

/// A mask that stays as it is, where there are no such atomics, and so no runtime.
#[cfg(not(target_has_atomic = "64"))]
#[derive(Debug)]
pub struct AtomicU64(u64);

#[cfg(not(target_has_atomic = "64"))]
impl AtomicU64 {
    const fn new(value: u64) -> AtomicU64 {
        AtomicU64(value)
    }

    /// The mask.
    pub fn load(&self, _: Ordering) -> u64 {
        self.0
    }
}

/// The two masks of a registry, and the place that the runtime gave it. Bit k is kind k.
#[derive(Debug)]
pub struct Control {
    /// The registry that it controls.
    pub registry: &'static Registry,
    recorded: AtomicU64,
    output: AtomicU64,
    slot: AtomicU32,
}

impl Control {
    /// All kinds recorded, none output, not yet known to a runtime.
    pub const fn new(registry: &'static Registry) -> Control {
        Control {
            registry,
            recorded: AtomicU64::new(u64::MAX),
            output: AtomicU64::new(0),
            slot: AtomicU32::new(0),
        }
    }

    /// Whether events of these kinds are recorded: one load, one test.
    #[inline(always)]
    pub fn is_recorded(&self, kinds: u64) -> bool {
        self.recorded.load(Ordering::Relaxed) & kinds != 0
    }

    /// The kinds that are recorded in memory. For the runtime: a change that goes round it is not
    /// in the log.
    #[doc(hidden)]
    pub fn recorded(&self) -> &AtomicU64 {
        &self.recorded
    }

    /// The kinds that are output through the plinth. For the runtime: a change that goes round it
    /// begins no stream.
    #[doc(hidden)]
    pub fn output(&self) -> &AtomicU64 {
        &self.output
    }

    /// The runtime's place for the registry; 0 until it is registered.
    #[doc(hidden)]
    #[inline(always)]
    pub fn slot(&self) -> &AtomicU32 {
        &self.slot
    }
}
