//! The one kind of lock.
//!
//! ```text
//!  event! ─ fast path: no entry, no lock
//!     └──▶ Entry ── lock ── lock ──▶ …          waits its turn
//!            └ signal ──▶ event! ──▶ Entry, nested: never waits for a taken lock
//! ```
//!
//! The order of locks is registrations, masks, ring, store, stream, plinth. In a forked child the
//! locks of missing threads are free, by their generation. Design: `.sol.lock`, `.sol.fork` in
//! `design/telemetry.md`.
#![expect(unsafe_code, reason = "a lock that neither allocates nor waits where it must not")]

use crate::os::atomic::{AtomicU32, Ordering, spin_loop};
use crate::os::entry::Entry;
use crate::os::{forked, sys, way_out};
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};

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
        self.holder.load(Ordering::Acquire) == forked::generation()
    }

    /// Takes the lock in a forked child, after `forked::free_all_locks`. Returns whether a missing
    /// thread held it: then the value may be half changed, and the caller writes it before reading
    /// it.
    pub(crate) fn take_over(&self) -> (Guard<'_, T>, bool) {
        let generation = forked::generation();
        let holder = self.holder.swap(generation, Ordering::Acquire);
        assert_ne!(holder, generation, "a forked child has no lock, and no other thread");
        (Guard { locked: self }, holder != NOBODY)
    }

    fn lock_if(&self, waiting: impl Fn() -> bool) -> Option<Guard<'_, T>> {
        let generation = forked::generation();
        let mut count = 0;
        loop {
            let holder = self.holder.load(Ordering::Relaxed);
            if holder != generation {
                let (new, order) = (generation, Ordering::Acquire);
                let taken = self.holder.compare_exchange(holder, new, order, Ordering::Relaxed);
                if taken.is_ok() {
                    return Some(Guard { locked: self });
                }
            } else if !waiting() || forked::is_alone() {
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
        if forked::is_alone() {
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
