//! Entries into the cold path, and the one kind of lock.
//!
//! ```text
//!  event! ─ fast path: no entry, no lock
//!     └──▶ Entry ── lock ── lock ──▶ …          waits its turn
//!            └ signal ──▶ event! ──▶ Entry, nested: never waits for a taken lock
//! ```
//!
//! A signal may arrive while this very thread holds a lock, and its handler may record. So an entry
//! nested in another entry of its thread never waits, and never calls the plinth: it gives up what
//! it cannot do, and counts that. The order of locks is registrations, masks, ring, store, stream,
//! plinth. In a forked child the locks of missing threads are free, by their generation. Design:
//! `.sol.lock`, `.sol.fork` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "a lock that neither allocates nor waits where it must not")]

use crate::os::atomic::{AtomicU32, Ordering, spin_loop};
use crate::os::{depth, forked, sys, way_out};
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

/// Attempts at a lock before the thread yields to others.
const SPIN_COUNT_MAX: u32 = 100;
/// Attempts at a lock, with a yield after each, before the thread sleeps between them.
const YIELD_COUNT_MAX: u32 = 200;
/// Attempts at a lock in a signal handler on the way out; then it gives up.
const CRASH_COUNT_MAX: u32 = YIELD_COUNT_MAX + 400;
/// The length of such a sleep, in ns.
const NAP: u64 = 50_000;

/// The value of [`Locked::holder`] of a free lock.
const NOBODY: u32 = 0;

/// Set in a forked child, where the holder of a lock may not exist: nothing waits for a lock.
static ALONE: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);
/// The value that a taken lock holds. A forked child changes it: a lock with another value belonged
/// to a thread that the child lacks, and so is free.
static GENERATION: AtomicU32 = AtomicU32::new(NOBODY + 1);

/// Ends all waiting, in a forked child.
pub(crate) fn wait_no_more() {
    ALONE.store(true, Ordering::Relaxed);
}

/// Frees every lock, wherever it is and whichever thread held it, in a forked child. The child's
/// one thread holds none, and no guard exists. A missing thread may have left a locked value half
/// changed: its owner repairs the value by [`Locked::take_over`].
pub(crate) fn free_all_locks() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    ALONE.store(false, Ordering::Relaxed);
}

/// A stay of this thread in the cold path.
pub(crate) struct Entry {
    nested: bool,
    /// Whether the program promises that it made this call in ordinary code (`.sol.ordinary`).
    promised: bool,
    /// The error number to restore: the program may have been interrupted between a call and
    /// reading its error number.
    errno: sys::Errno,
    /// Keeps the system calls made here from ending the thread (`.sol.cancel`).
    _uncancelled: sys::Uncancelled,
    // Not Send: it counts the depth of its thread.
    here: PhantomData<*const ()>,
}

impl Entry {
    pub(crate) fn new() -> Entry {
        let _uncancelled = sys::Uncancelled::begin();
        forked::notice();
        let (nested, errno) = (depth::deepen(), sys::errno());
        Entry { nested, promised: false, errno, _uncancelled, here: PhantomData }
    }

    /// Enters the cold path from code that is certainly ordinary.
    pub(crate) fn promised() -> Entry {
        let mut entry = Entry::new();
        entry.promised = true;
        entry
    }

    /// Returns whether the program promises that it made this call in ordinary code.
    pub(crate) fn is_promised(&self) -> bool {
        self.promised && !self.nested
    }

    /// Returns whether a signal put this entry in the middle of another one of the same thread.
    pub(crate) fn is_nested(&self) -> bool {
        self.nested
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.nested {
            forked::settle();
        }
        depth::rise();
        if !self.nested && forked::is_due() {
            // A handler forked after the look at the end of this entry, and saw the entry: the
            // child starts again at the end of another one.
            drop(Entry::new());
        }
        sys::set_errno(self.errno);
    }
}

/// Calls a function that may reach the program's own plinth, where the caller does not expect a
/// panic. A panic ends here; its effect is counted already.
#[inline(always)]
pub(crate) fn without_unwinding(call: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(call)) {
        // Dropping it might panic again.
        core::mem::forget(panic);
    }
}

/// A value that one thread at a time may use.
pub(crate) struct Locked<T> {
    /// The generation of the thread that took it, or `NOBODY`.
    holder: AtomicU32,
    /// L1: used only by the thread that set `holder` to its generation, until it clears it. A
    /// generation ends where its other threads do, and the remaining thread holds no lock then.
    value: UnsafeCell<T>,
}

// SAFETY: L1 gives the value to one thread at a time.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T> Locked<T> {
    pub(crate) const fn new(value: T) -> Locked<T> {
        Locked { holder: AtomicU32::new(NOBODY), value: UnsafeCell::new(value) }
    }

    /// Takes the lock. Waits for it unless the entry is nested.
    pub(crate) fn lock(&self, entry: &Entry) -> Option<Guard<'_, T>> {
        self.lock_if(|| !entry.is_nested())
    }

    /// Takes the lock. Waits while `is_needed` returns true, unless the entry is nested.
    pub(crate) fn lock_while(
        &self,
        entry: &Entry,
        is_needed: impl Fn() -> bool,
    ) -> Option<Guard<'_, T>> {
        self.lock_if(|| !entry.is_nested() && is_needed())
    }

    /// Takes the lock, and waits for it. Only for innermost locks, which no nested entry takes.
    pub(crate) fn lock_waiting(&self) -> Option<Guard<'_, T>> {
        self.lock_if(|| true)
    }

    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.lock_if(|| false)
    }

    /// Returns whether a thread holds the lock. Only for a forked child, where no other thread
    /// runs.
    pub(crate) fn is_taken(&self) -> bool {
        self.holder.load(Ordering::Acquire) == GENERATION.load(Ordering::Relaxed)
    }

    /// Takes the lock in a forked child, after [`free_all_locks`]. Returns whether a missing thread
    /// held it: then the value may be half changed, and the caller writes it before reading it.
    pub(crate) fn take_over(&self) -> (Guard<'_, T>, bool) {
        let generation = GENERATION.load(Ordering::Relaxed);
        let holder = self.holder.swap(generation, Ordering::Acquire);
        assert_ne!(holder, generation, "a forked child has no lock, and no other thread");
        (Guard { locked: self }, holder != NOBODY)
    }

    fn lock_if(&self, waiting: impl Fn() -> bool) -> Option<Guard<'_, T>> {
        let generation = GENERATION.load(Ordering::Relaxed);
        let mut count = 0;
        loop {
            let holder = self.holder.load(Ordering::Relaxed);
            if holder != generation {
                let (new, order) = (generation, Ordering::Acquire);
                let taken = self.holder.compare_exchange(holder, new, order, Ordering::Relaxed);
                if taken.is_ok() {
                    return Some(Guard { locked: self });
                }
            } else if !waiting() || ALONE.load(Ordering::Relaxed) {
                return None;
            } else {
                wait(&mut count);
                // In a signal handler the interrupted code may be the holder.
                if count > CRASH_COUNT_MAX && way_out::is_here() {
                    return None;
                }
            }
        }
    }
}

/// Waits until `is_so` returns true; returns false in a forked child that waits no more.
pub(crate) fn wait_until(mut is_so: impl FnMut() -> bool) -> bool {
    let mut count = 0;
    while !is_so() {
        if ALONE.load(Ordering::Relaxed) {
            return false;
        }
        wait(&mut count);
    }
    true
}

fn wait(count: &mut u32) {
    *count = count.saturating_add(1);
    match *count {
        0..SPIN_COUNT_MAX => spin_loop(),
        SPIN_COUNT_MAX..YIELD_COUNT_MAX => sys::give_way(),
        _ => sys::nap(NAP),
    }
}

pub(crate) struct Guard<'a, T> {
    locked: &'a Locked<T>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: L1: one thread at a time uses the value: the one that set `holder`, and has this
        // guard.
        unsafe { &*self.locked.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: L1: one thread at a time uses the value: the one that set `holder`, and has this
        // guard.
        unsafe { &mut *self.locked.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.locked.holder.store(NOBODY, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_waits_only_as_long_as_needed() {
        static VALUE: Locked<u8> = Locked::new(0);
        let entry = Entry::new();
        let _guard = VALUE.lock(&entry).expect("free");
        let tries = core::cell::Cell::new(0);
        let is_needed = || tries.replace(tries.get() + 1) < 50;
        assert!(VALUE.lock_while(&entry, is_needed).is_none());
        assert_eq!(tries.get(), 51);
    }

    #[test]
    fn an_entry_restores_the_error_number() {
        sys::set_errno(libc::EILSEQ);
        let entry = Entry::new();
        sys::set_errno(libc::ENOSPC);
        drop(entry);
        assert_eq!(sys::errno(), libc::EILSEQ);
    }

    #[test]
    fn a_nested_entry_does_not_wait_for_a_lock() {
        static VALUE: Locked<u8> = Locked::new(0);
        let entry = Entry::new();
        assert!(!entry.is_nested());
        let guard = VALUE.lock(&entry).expect("free");
        let nested = Entry::new();
        assert!(nested.is_nested());
        assert!(VALUE.lock(&nested).is_none(), "held below");
        drop(guard);
        assert!(VALUE.lock(&nested).is_some(), "free again");
    }
}
