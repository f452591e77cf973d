//! Where a thread has a ring: the token that records into it comes out, and goes back.
//!
//! ```text
//!  slot │ ring │ ─ take ─▶ Own
//!  slot │  –   │ ◀─ put ── Own
//! ```
//!
//! Design: `.sol.nested` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "the token of a ring, made again of a pointer to it")]

use crate::os::atomic::{Ordering, compiler_fence};
use crate::os::link::OwnLink;
use crate::rings::ring::{Own, Ring};

/// Where a thread has a ring, or none: thread-local.
pub(crate) struct Slot(OwnLink<Ring>);

impl Slot {
    pub(crate) const fn new() -> Slot {
        Slot(OwnLink::none())
    }

    /// Takes the ring out. A signal handler that comes from now on finds the slot empty.
    #[inline(always)]
    pub(crate) fn take(&self) -> Option<Own> {
        let ring = self.0.get()?;
        self.0.set(None);
        // What a handler changed in the ring until just now is read after this.
        compiler_fence(Ordering::SeqCst);
        // SAFETY: O1: `put` took the one value of this ring, and the slot is empty now. It is of
        // this thread alone (`OwnLink`).
        Some(unsafe { Own::new(ring) })
    }

    /// Puts the ring back.
    #[inline(always)]
    pub(crate) fn put(&self, own: Own) {
        compiler_fence(Ordering::SeqCst);
        self.0.set(Some(own.ring()));
    }

    /// Makes it empty: the thread ends.
    pub(crate) fn clear(&self) {
        self.0.set(None);
    }
}
