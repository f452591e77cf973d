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
//! store, stream, plinth. In a forked child the locks of threads that are not there are free, by
//! their generation. Design: `.sol.lock`, `.sol.fork` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "a lock that neither allocates nor waits where it must not")]

use crate::os::atomic::{AtomicU32, Ordering, spin_loop};
use crate::os::{depth, forked, sys, way_out};
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

/// Tries at a lock before the thread gives way to others.
const SPIN_COUNT_MAX: u32 = 100;
/// Tries at a lock, giving way after each, before the thread sleeps between them.
const YIELD_COUNT_MAX: u32 = 200;
/// Tries at a lock on the way out in a signal handler: after these it gives up.
const CRASH_COUNT_MAX: u32 = YIELD_COUNT_MAX + 400;
/// How long it sleeps then, in ns.
const NAP: u64 = 50_000;

/// What [`Locked::holder`] is where nobody has the lock.
const NOBODY: u32 = 0;

/// Set in a forked child where the holder of a lock may not exist: there no lock is waited for.
static ALONE: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);
/// What a lock is taken with. It changes in a forked child: what was taken with another one is held
/// by a thread that is not there, and so is free.
static GENERATION: AtomicU32 = AtomicU32::new(NOBODY + 1);

/// Makes all waiting end. For a forked child.
pub(crate) fn wait_no_more() {
    ALONE.store(true, Ordering::Relaxed);
}

/// Makes every lock free, whoever had it, wherever it is. For a forked child, whose one thread has
/// none: no guard of it exists any more. What a lock guards may be half changed, by a thread that
/// is not there: whoever has such a value puts it right by [`Locked::take_over`].
pub(crate) fn free_all_locks() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    ALONE.store(false, Ordering::Relaxed);
}

/// A stay of this thread in the cold path.
pub(crate) struct Entry {
    nested: bool,
    /// Whether the program promises that this is ordinary code (`.sol.ordinary`).
    promised: bool,
    /// What the program, which may have been interrupted between a call and its look at the error
    /// number, finds there again.
    errno: sys::Errno,
    /// No call of the system made here ends the thread (`.sol.cancel`).
    _uncancelled: sys::Uncancelled,
    // Not Send: it counts the depth of its thread.
    here: PhantomData<*const ()>,
}

impl Entry {
    /// Enters.
    pub(crate) fn new() -> Entry {
        let _uncancelled = sys::Uncancelled::begin();
        forked::notice();
        let (nested, errno) = (depth::deepen(), sys::errno());
        Entry { nested, promised: false, errno, _uncancelled, here: PhantomData }
    }

    /// Enters from what is surely ordinary code.
    pub(crate) fn promised() -> Entry {
        let mut entry = Entry::new();
        entry.promised = true;
        entry
    }

    /// Whether the program promises that this is ordinary code.
    pub(crate) fn is_promised(&self) -> bool {
        self.promised && !self.nested
    }

    /// Whether a signal has put it in the middle of another one of the same thread.
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
        sys::set_errno(self.errno);
    }
}

/// Calls what may come to a plinth of the program's own, where nobody expects it to unwind: a panic
/// ends here, and what it met is counted already.
#[inline(always)]
pub(crate) fn without_unwinding(call: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(call)) {
        // Dropping it might panic again.
        core::mem::forget(panic);
    }
}

/// A value that one thread at a time may use.
pub(crate) struct Locked<T> {
    /// The generation that it was taken with, or nobody.
    holder: AtomicU32,
    /// L1: used only by the thread that set `holder` to its generation, until it clears it. A
    ///     generation ends where its other threads do, and this one has no lock then.
    value: UnsafeCell<T>,
}

// SAFETY: L1 gives the value to one thread at a time.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T> Locked<T> {
    pub(crate) const fn new(value: T) -> Locked<T> {
        Locked { holder: AtomicU32::new(NOBODY), value: UnsafeCell::new(value) }
    }

    /// Takes the lock, waiting for it unless the entry is nested.
    pub(crate) fn lock(&self, entry: &Entry) -> Option<Guard<'_, T>> {
        self.lock_if(|| !entry.is_nested())
    }

    /// Takes the lock, waiting for it as long as that is needed, unless the entry is nested.
    pub(crate) fn lock_while(
        &self,
        entry: &Entry,
        is_needed: impl Fn() -> bool,
    ) -> Option<Guard<'_, T>> {
        self.lock_if(|| !entry.is_nested() && is_needed())
    }

    /// Takes the lock, waiting for it. For the innermost locks, which are not taken in nested
    /// entries.
    pub(crate) fn lock_waiting(&self) -> Option<Guard<'_, T>> {
        self.lock_if(|| true)
    }

    /// Takes the lock if it is free.
    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.lock_if(|| false)
    }

    /// Whether somebody has it. For a forked child, where nothing changes any more.
    pub(crate) fn is_taken(&self) -> bool {
        self.holder.load(Ordering::Acquire) == GENERATION.load(Ordering::Relaxed)
    }

    /// Takes it in a forked child, after [`free_all_locks`], and says whether a thread that is not
    /// there had it: then the value may be half changed, and is written before it is read.
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
                // In a signal handler the holder may be what it interrupted.
                if count > CRASH_COUNT_MAX && way_out::is_here() {
                    return None;
                }
            }
        }
    }
}

/// Waits until something is so; false in a forked child that waits no more.
pub(crate) fn wait_until(is_so: impl Fn() -> bool) -> bool {
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

/// The use of a locked value, until dropped.
pub(crate) struct Guard<'a, T> {
    locked: &'a Locked<T>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: L1: one thread at a time uses the value: the one that set `holder`, which has
        // this guard.
        unsafe { &*self.locked.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: L1: one thread at a time uses the value: the one that set `holder`, which has
        // this guard.
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
    fn a_lock_lets_in_one_thread_at_a_time() {
        const COUNT: u64 = if cfg!(miri) { 50 } else { 10_000 };
        static SUM: Locked<u64> = Locked::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..COUNT {
                        let entry = Entry::new();
                        let mut sum = SUM.lock(&entry).expect("not nested");
                        *sum += 1;
                    }
                });
            }
        });
        assert_eq!(*SUM.lock(&Entry::new()).expect("free"), 4 * COUNT);
    }

    #[test]
    fn a_lock_is_waited_for_as_long_as_it_is_needed() {
        static VALUE: Locked<u8> = Locked::new(0);
        let entry = Entry::new();
        let _guard = VALUE.lock(&entry).expect("free");
        let tries = core::cell::Cell::new(0);
        let is_needed = || tries.replace(tries.get() + 1) < 50;
        assert!(VALUE.lock_while(&entry, is_needed).is_none());
        assert_eq!(tries.get(), 51);
    }

    #[test]
    fn an_entry_leaves_the_error_number_as_it_was() {
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
