//! Who may be where: entries into the cold path, and the one kind of lock.
//!
//! ```text
//!  event! ─ fast path: no entry, no lock
//!     └──▶ Entry ── lock ── lock ──▶ …          waits its turn
//!            └ signal ──▶ event! ──▶ Entry, nested: a lock that is taken is not waited for
//! ```
//!
//! A signal may come while this very thread holds a lock, and its code may record. An entry that
//! begins within another one of its thread therefore never waits, and never calls the plinth: what
//! it cannot do it gives up, and counts. Locks are taken in the order registrations, masks, ring,
//! store, stream, plinth. Design: `.sol.lock` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "a lock that neither allocates nor waits where it must not")]

use crate::{sys, thread};
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, Ordering};

/// Tries at a lock before the thread gives way to others.
const SPIN_COUNT_MAX: u32 = 100;
/// Tries at a lock, giving way after each, before the thread sleeps between them.
const YIELD_COUNT_MAX: u32 = 200;
/// How long it sleeps then, in ns.
const NAP: u64 = 50_000;

/// Set in a forked child where the holder of a lock does not exist: there no lock is waited for.
static ALONE: AtomicBool = AtomicBool::new(false);

/// Makes all waiting end. For a forked child.
pub(crate) fn wait_no_more() {
    ALONE.store(true, Ordering::Relaxed);
}

/// A stay of this thread in the cold path.
pub(crate) struct Entry {
    nested: bool,
    // Not Send: it counts the depth of its thread.
    here: PhantomData<*const ()>,
}

impl Entry {
    /// Enters.
    pub(crate) fn new() -> Entry {
        Entry { nested: thread::deepen(), here: PhantomData }
    }

    /// Whether a signal has put it in the middle of another one of the same thread.
    pub(crate) fn is_nested(&self) -> bool {
        self.nested
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        thread::rise();
    }
}

/// A value that one thread at a time may use.
pub(crate) struct Locked<T> {
    busy: AtomicBool,
    /// L1: used only by the thread that set `busy`, until it clears it.
    value: UnsafeCell<T>,
}

// SAFETY: L1 gives the value to one thread at a time.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T> Locked<T> {
    pub(crate) const fn new(value: T) -> Locked<T> {
        Locked { busy: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Takes the lock, waiting for it unless the entry is nested.
    pub(crate) fn lock(&self, entry: &Entry) -> Option<Guard<'_, T>> {
        self.lock_if(!entry.is_nested())
    }

    /// Takes the lock, waiting for it. For the innermost locks, which are not taken in nested
    /// entries.
    pub(crate) fn lock_waiting(&self) -> Option<Guard<'_, T>> {
        self.lock_if(true)
    }

    /// Whether somebody has it. For a forked child, where nothing changes any more.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire)
    }

    fn lock_if(&self, waiting: bool) -> Option<Guard<'_, T>> {
        let mut count = 0;
        while self.busy.swap(true, Ordering::Acquire) {
            if !waiting || ALONE.load(Ordering::Relaxed) {
                return None;
            }
            while self.busy.load(Ordering::Relaxed) && !ALONE.load(Ordering::Relaxed) {
                wait(&mut count);
            }
        }
        Some(Guard { locked: self })
    }
}

fn wait(count: &mut u32) {
    *count = count.saturating_add(1);
    match *count {
        0..SPIN_COUNT_MAX => core::hint::spin_loop(),
        SPIN_COUNT_MAX..YIELD_COUNT_MAX => sys::give_way(),
        _ => sys::nap(NAP),
    }
}

/// The use of a locked value, until dropped.
pub(crate) struct Guard<'a, T> {
    locked: &'a Locked<T>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: L1; this guard stands for the thread that set `busy`.
        unsafe { &*self.locked.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: L1; this guard stands for the thread that set `busy`.
        unsafe { &mut *self.locked.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.locked.busy.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_lets_in_one_thread_at_a_time() {
        static SUM: Locked<u64> = Locked::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        let entry = Entry::new();
                        let mut sum = SUM.lock(&entry).expect("not nested");
                        *sum += 1;
                    }
                });
            }
        });
        assert_eq!(*SUM.lock(&Entry::new()).expect("free"), 40_000);
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
