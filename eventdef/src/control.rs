//! The masks of a registry: which kinds are recorded, and which are output.
//!
//! ```text
//!  annotation ── recorded & kind ──▶ buffer ── output & kind ──▶ plinth
//!                 default: all                  default: none
//! ```
//!
//! They are part of this crate because `events!` makes them for each registry. Design:
//! `.control.buffer`, `.control.output` in `design/telemetry.md`.

use crate::Registry;
use core::marker::PhantomData;
use core::ops::Deref;
#[cfg(target_has_atomic = "64")]
use core::sync::atomic::AtomicU64;
use core::sync::atomic::{AtomicU32, Ordering};

/// A mask that never changes, for platforms without 64-bit atomics and so without a runtime.
#[cfg(not(target_has_atomic = "64"))]
#[derive(Debug)]
pub struct AtomicU64(u64);

#[cfg(not(target_has_atomic = "64"))]
impl AtomicU64 {
    const fn new(value: u64) -> AtomicU64 {
        AtomicU64(value)
    }

    /// Returns the mask.
    pub fn load(&self, _: Ordering) -> u64 {
        self.0
    }
}

/// The two masks of a registry, and its slot in the runtime. Bit k is kind k.
#[derive(Debug)]
pub struct Control {
    /// The registry that the masks belong to.
    pub registry: &'static Registry,
    recorded: AtomicU64,
    output: AtomicU64,
    slot: AtomicU32,
}

impl Control {
    /// Makes a control that records all kinds and outputs none. For the code that `events!` makes.
    #[doc(hidden)]
    pub const fn new(registry: &'static Registry) -> Control {
        let (recorded, output) = (AtomicU64::new(u64::MAX), AtomicU64::new(0));
        Control { registry, recorded, output, slot: AtomicU32::new(0) }
    }

    /// Returns whether the program records events of any of these kinds: one load, one test.
    #[must_use]
    #[inline(always)]
    pub fn is_recorded(&self, kinds: u64) -> bool {
        self.recorded.load(Ordering::Relaxed) & kinds != 0
    }

    /// Returns the mask of the recorded kinds. For the runtime: the log does not show a change
    /// that another crate makes.
    #[doc(hidden)]
    pub fn recorded(&self) -> &AtomicU64 {
        &self.recorded
    }

    /// Returns the mask of the output kinds. For the runtime: a change that another crate makes
    /// begins no stream.
    #[doc(hidden)]
    pub fn output(&self) -> &AtomicU64 {
        &self.output
    }

    /// Returns the runtime's slot for the registry; 0 until it is registered.
    #[doc(hidden)]
    #[inline(always)]
    pub fn slot(&self) -> &AtomicU32 {
        &self.slot
    }
}

/// A set of kinds of one registry: its `Kinds`.
pub trait KindSet: bitflags::Flags<Bits = u64> + Copy {}

impl<K: bitflags::Flags<Bits = u64> + Copy> KindSet for K {}

/// The [`Control`] of a registry with these kinds: the `CONTROL` that `events!` makes.
#[derive(Debug)]
pub struct TypedControl<K> {
    control: Control,
    kinds: PhantomData<fn(K)>,
}

impl<K> TypedControl<K> {
    #[doc(hidden)]
    pub const fn new(registry: &'static Registry) -> TypedControl<K> {
        TypedControl { control: Control::new(registry), kinds: PhantomData }
    }
}

impl<K> Deref for TypedControl<K> {
    type Target = Control;

    #[inline(always)]
    fn deref(&self) -> &Control {
        &self.control
    }
}
