//! Pointers to what lives for ever: rings, threads, registries.
//!
//! ```text
//!  Link     ─ for all threads: acquire, release      null │ &'static T
//!  OwnLink  ─ for one thread and its handlers: plain loads and stores
//! ```
//!
//! All zeros, which is how mapped memory and thread-local storage begin, is no pointer. Design:
//! `.sol.memory`, `.sol.thread` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "references made of pointers to what is never given back")]

use crate::os::atomic::{AtomicPtr, Ordering};
use bytemuck::Zeroable;
use core::marker::PhantomData;

/// A pointer to something that lives for ever, or none. For all threads.
pub(crate) struct Link<T: 'static> {
    /// K1: null, or made of a `&'static T`, all of which happened before it was stored (release).
    pointer: AtomicPtr<T>,
}

// SAFETY: K1: zero is a null pointer.
unsafe impl<T> Zeroable for Link<T> {}

impl<T: Sync> Link<T> {
    pub(crate) const fn none() -> Link<T> {
        Link { pointer: AtomicPtr::new(core::ptr::null_mut()) }
    }

    pub(crate) fn get(&self) -> Option<&'static T> {
        // SAFETY: K1: the pointer is null, or made of a `&'static T` before it was stored.
        unsafe { self.pointer.load(Ordering::Acquire).as_ref() }
    }

    pub(crate) fn set(&self, value: Option<&'static T>) {
        self.pointer.store(as_pointer(value), Ordering::Release);
    }

    /// Sets it where it still is `old`.
    pub(crate) fn replace(&self, old: Option<&'static T>, new: Option<&'static T>) -> bool {
        let (old, new) = (as_pointer(old), as_pointer(new));
        self.pointer.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

/// The same for one thread and its signal handlers: not `Sync`, plain loads and stores.
pub(crate) struct OwnLink<T: 'static> {
    /// K2: null, or made of a `&'static T` by this thread.
    pointer: AtomicPtr<T>,
    here: PhantomData<*const ()>,
}

impl<T: Sync> OwnLink<T> {
    pub(crate) const fn none() -> OwnLink<T> {
        OwnLink { pointer: AtomicPtr::new(core::ptr::null_mut()), here: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&'static T> {
        // SAFETY: K2: the pointer is null, or made of a `&'static T` by this thread.
        unsafe { self.pointer.load(Ordering::Relaxed).as_ref() }
    }

    #[inline(always)]
    pub(crate) fn set(&self, value: Option<&'static T>) {
        self.pointer.store(as_pointer(value), Ordering::Relaxed);
    }
}

#[inline(always)]
fn as_pointer<T>(value: Option<&'static T>) -> *mut T {
    value.map_or(core::ptr::null_mut(), |value| core::ptr::from_ref(value).cast_mut())
}
