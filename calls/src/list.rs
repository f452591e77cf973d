//! Lists of values that live for ever, which only grow: without a lock, and without allocation.
//!
//! ```text
//!  Link ─▶ newest ─ its Link ─▶ … ─ its Link ─▶ the first
//! ```
#![expect(unsafe_code, reason = "references made from pointers to values that live for ever")]

use crate::atomic::{AtomicPtr, Ordering};
use core::ptr;

/// A pointer to a value that lives for ever, or null.
#[derive(Debug)]
pub(crate) struct Link<T: 'static> {
    /// S2: null, or made from a `&'static T` whose value was complete before the store.
    pointer: AtomicPtr<T>,
}

/// A value that can be in a list.
pub(crate) trait Linked: Sync + Sized {
    /// The link to the value before it.
    fn next(&self) -> &Link<Self>;
}

impl<T: Linked> Link<T> {
    pub(crate) const fn none() -> Link<T> {
        Link { pointer: AtomicPtr::new(ptr::null_mut()) }
    }

    fn get(&self) -> Option<&'static T> {
        // SAFETY: S2; the load shows what its maker wrote.
        unsafe { self.pointer.load(Ordering::Acquire).as_ref() }
    }

    /// Puts a value in front. A value is in one list at most, once.
    pub(crate) fn push(&self, value: &'static T) {
        let new = ptr::from_ref(value).cast_mut();
        let mut before = self.pointer.load(Ordering::Relaxed);
        loop {
            value.next().pointer.store(before, Ordering::Relaxed);
            let (success, failure) = (Ordering::Release, Ordering::Relaxed);
            match self.pointer.compare_exchange_weak(before, new, success, failure) {
                Ok(_) => return,
                Err(newer) => before = newer,
            }
        }
    }

    /// Returns the values, the newest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static T> + use<T> {
        core::iter::successors(self.get(), |value| value.next().get())
    }
}
