//! Whose a ring is: the token of the thread that records into it, and the rights to its blocks.
//!
//! ```text
//!  Slot │ ring │       ─ take ─▶ Own ─ put ─▶ Slot
//!  Own                 ─▶ the right to the block that is being filled
//!  the ring's lock     ─▶ the right to a block that is full, and was not given up
//!  the region's lock   ─▶ the right to a block of the file
//! ```
//!
//! Design: `.sol.ordering`, `.sol.nested` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "rights to blocks, each with its reason")]

use super::shares::Taken;
use super::{HandOver, Ring};
use crate::block::losses::Cause;
use crate::block::memory::{Block, Blocks, OwnBlock};
use crate::block::root;
use crate::os::atomic::{Ordering, compiler_fence};
use crate::os::link::OwnLink;
use crate::stream::outlet::Progress;
use bytemuck::Zeroable;
use core::marker::PhantomData;
use core::ops::Deref;

/// How much older than any later event the base of a restarted ring is: more than 32 bits hold.
const BASE_AGE: u64 = 1 << 33;

/// A ring that a thread has out of its slot: the right to record into it. It is neither `Copy` nor
/// `Send` nor `Sync`.
///
/// O1: no other value of a ring records into the same ring.
pub(crate) struct Own {
    ring: &'static Ring,
    here: PhantomData<*const ()>,
}

impl Own {
    /// # Safety
    ///
    /// O1: the ring is new, or free and just taken; or this is a forked child, in which no other
    /// thread is and what the interrupted code records goes nowhere.
    #[inline(always)]
    pub(crate) unsafe fn new(ring: &'static Ring) -> Own {
        Own { ring, here: PhantomData }
    }

    /// The token of a ring that is just being made.
    pub(super) fn of_new(ring: &'static Ring) -> Own {
        // SAFETY: O1: no other thread knows the ring.
        unsafe { Own::new(ring) }
    }

    #[inline(always)]
    pub(crate) fn ring(&self) -> &'static Ring {
        self.ring
    }

    #[inline(always)]
    pub(crate) fn block(&self) -> OwnBlock {
        // SAFETY: W1 by O1 and R1: the thread that has this value is the one that records into the
        // block `head`. No other thread has a right to that before `head` has moved on.
        unsafe { self.ring.block().own() }
    }

    /// Returns the place of a block that begins. It takes memory when it is used for the first
    /// time, except for the very first one: a thread that records little takes a few pages.
    pub(super) fn next_block(&self, sequence: u64) -> OwnBlock {
        let block = self.ring.blocks.get(sequence);
        if (1..self.ring.blocks.count() as u64).contains(&sequence) {
            block.populate();
        }
        // SAFETY: W1 by O1 and R3: the place of the block `head` + 1 was given up, so that nobody
        // else has a right to it. In a new ring, and in a forked child, there is no other thread.
        unsafe { block.own() }
    }
}

impl Deref for Own {
    type Target = Ring;

    #[inline(always)]
    fn deref(&self) -> &Ring {
        self.ring
    }
}

/// Where a thread has a ring, or none: zero at first.
#[derive(Zeroable)]
pub(crate) struct Slot(OwnLink<Ring>);

// SAFETY: T1 (`thread.rs`): one thread at a time puts rings there and takes them; other threads
// find the empty slots of no thread, which stay empty.
unsafe impl Sync for Slot {}

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

    #[inline(always)]
    pub(crate) fn put(&self, own: Own) {
        compiler_fence(Ordering::SeqCst);
        self.0.set(Some(own.ring()));
    }

    /// Makes it empty: its thread ends, or is gone.
    pub(crate) fn clear(&self) {
        self.0.set(None);
    }
}

impl Ring {
    pub(crate) fn adopt(&'static self, thread: u32) -> Option<Own> {
        self.owner
            .compare_exchange(0, thread, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
            // SAFETY: O1: the ring was free, and now it has this thread as its owner.
            .then(|| unsafe { Own::new(self) })
    }

    /// In a forked child: what was recorded so far is the parent's.
    pub(crate) fn leave_parent(&self) {
        self.parents.store(self.recorded(), Ordering::Relaxed);
    }

    /// Starts again in a forked child, for the thread with this index; 0: it is free. The base is
    /// too old for the 32 bits of the thread's first event, so this event comes to the cold path.
    /// Events that the child recorded since [`leave_parent`](Ring::leave_parent) count as nested.
    /// `is_taken`: interrupted code is recording an event into the ring. The ring then gets other
    /// blocks, so that this event goes nowhere.
    pub(crate) fn restart(&'static self, ticks: u64, thread: u32, is_taken: bool) {
        let lost = self.recorded().saturating_sub(self.parents.load(Ordering::Relaxed));
        self.counts.forgive_parent();
        self.counts.discard(Cause::Nested, lost);
        let (mut hand_over, _) = self.hand_over.take_over();
        hand_over.progress.fill(Progress::NONE);
        hand_over.told = 0;
        drop(hand_over);
        if is_taken && let Some(blocks) = Blocks::map_lazily(self.blocks.count()) {
            self.blocks.set(blocks);
            if let Some(extent) = self.extent.get() {
                root::move_extent(extent, &blocks);
            }
        }
        self.done.store(0, Ordering::Relaxed);
        self.saved.store(0, Ordering::Relaxed);
        self.place.restart();
        let age = if thread == 0 { 0 } else { BASE_AGE };
        self.own_after_fork().begin(0, 0, ticks.saturating_sub(age), thread);
        self.owner.store(thread, Ordering::Release);
    }

    /// Returns the right to a ring that starts again in a forked child, which has one thread.
    pub(super) fn own_after_fork(&'static self) -> Own {
        // SAFETY: O1: no other thread is here. Where this one was recording into the ring, the ring
        // has other blocks now (`restart`), or the event goes nowhere.
        unsafe { Own::new(self) }
    }
}

impl HandOver {
    /// The oldest block that was not given up. For a thread that is not the owner: if it is full.
    pub(super) fn oldest(&mut self, ring: &Ring) -> OwnBlock {
        let oldest = ring.done.load(Ordering::Relaxed);
        debug_assert!(oldest <= ring.head.load(Ordering::Relaxed));
        // SAFETY: W1 by R3: the lock that guards `self` has one holder, who alone moves `done`. The
        // block is before `head`, where its owner stores no more, or the holder is its owner.
        unsafe { ring.blocks.get(oldest).own() }
    }
}

/// A block of the file that a ring was given, with the lock of the region held.
pub(super) fn taken_block(taken: &mut Taken) -> OwnBlock {
    // SAFETY: W1: the region gave the place to one ring, and there it is open: no other ring is
    // given it before it is closed. The ring that had it before has given it up.
    unsafe { taken.block.own() }
}

/// The block of the file that a ring has filled.
pub(super) fn filled_block(block: Block) -> OwnBlock {
    // SAFETY: W1: the place is open in the region, for the ring of this thread, so no other ring
    // gets it; or the block is being given up, with the region's lock held. Nothing more is
    // recorded into it. Overwritten counts go only to the newest block of a ring, which this one no
    // longer is, or happen with the region's lock held.
    unsafe { block.own() }
}
