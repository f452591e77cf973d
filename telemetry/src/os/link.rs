//! Pointers to values that live for ever: rings, threads, registries.
//!
//! ```text
//!  Link     ─ for all threads: acquire, release      null │ &'static T
//!  OwnLink  ─ for one thread and its handlers: plain loads and stores
//!  OwnRef   ─ the same, and never null
//! ```
//!
//! All zeros is the null pointer; mapped memory and thread-local storage start as zeros. Design:
//! `.sol.memory`, `.sol.thread` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "references made from pointers to memory that is never freed")]

use crate::os::atomic::{AtomicPtr, Ordering};
use bytemuck::Zeroable;
use core::marker::PhantomData;

/// A pointer to a value that lives for ever, or null. For all threads.
#[derive(Debug)]
pub(crate) struct Link<T: 'static> {
    /// K1: null, or made from a `&'static T`, initialised before the store (release).
    pointer: AtomicPtr<T>,
}

// SAFETY: K1: zero is a null pointer.
unsafe impl<T> Zeroable for Link<T> {}

impl<T: Sync> Link<T> {
    pub(crate) const fn none() -> Link<T> {
        Link { pointer: AtomicPtr::new(core::ptr::null_mut()) }
    }

    pub(crate) fn get(&self) -> Option<&'static T> {
        // SAFETY: K1: the pointer is null, or made from a `&'static T` before it was stored.
        unsafe { self.pointer.load(Ordering::Acquire).as_ref() }
    }

    pub(crate) fn set(&self, value: Option<&'static T>) {
        self.pointer.store(as_pointer(value), Ordering::Release);
    }

    /// Sets it if it still is `old`; returns whether it did.
    pub(crate) fn replace(&self, old: Option<&'static T>, new: Option<&'static T>) -> bool {
        let (old, new) = (as_pointer(old), as_pointer(new));
        self.pointer.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Puts a new value before the first one of a list that only grows. `next` is the new value's.
    pub(crate) fn push(&self, next: &Link<T>, new: &'static T) {
        loop {
            let old = self.get();
            next.set(old);
            if self.replace(old, Some(new)) {
                return;
            }
        }
    }
}

/// A pointer for one thread and its signal handlers: not `Sync`, plain loads and stores.
pub(crate) struct OwnLink<T: 'static> {
    /// K2: null, or made from a `&'static T` by this thread.
    pointer: AtomicPtr<T>,
    here: PhantomData<*const ()>,
}

impl<T: Sync> OwnLink<T> {
    pub(crate) const fn none() -> OwnLink<T> {
        OwnLink { pointer: AtomicPtr::new(core::ptr::null_mut()), here: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&'static T> {
        // SAFETY: K2: the pointer is null, or made from a `&'static T` by this thread.
        unsafe { self.pointer.load(Ordering::Relaxed).as_ref() }
    }

    #[inline(always)]
    pub(crate) fn set(&self, value: Option<&'static T>) {
        self.pointer.store(as_pointer(value), Ordering::Relaxed);
    }
}

// SAFETY: K2: zero is a null pointer.
unsafe impl<T> Zeroable for OwnLink<T> {}

/// A pointer for one thread and its signal handlers that is never null.
pub(crate) struct OwnRef<T: 'static> {
    /// K3: made from a `&'static T`.
    pointer: AtomicPtr<T>,
    here: PhantomData<*const ()>,
}

impl<T: Sync> OwnRef<T> {
    pub(crate) const fn new(value: &'static T) -> OwnRef<T> {
        OwnRef { pointer: AtomicPtr::new(core::ptr::from_ref(value).cast_mut()), here: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn now(&self) -> Now<T> {
        Now(self.pointer.load(Ordering::Relaxed))
    }

    pub(crate) fn set(&self, value: &'static T) {
        self.pointer.store(as_pointer(Some(value)), Ordering::Relaxed);
    }
}

/// The value that an [`OwnRef`] has now. `LocalKey::with` returns it as it is: it would compare a
/// reference with null, which stands for an error.
pub(crate) struct Now<T: 'static>(
    /// K4: made from a `&'static T`.
    *const T,
);

impl<T> Now<T> {
    #[inline(always)]
    pub(crate) fn get(self) -> &'static T {
        // SAFETY: K4.
        unsafe { &*self.0 }
    }
}

#[inline(always)]
fn as_pointer<T>(value: Option<&'static T>) -> *mut T {
    value.map_or(core::ptr::null_mut(), |value| core::ptr::from_ref(value).cast_mut())
}
