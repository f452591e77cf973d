//! Pages that are unmapped after use, for rare work and for a debugger that stopped the process.
//!
//! ```text
//!  mmap ─▶ │ 0 │ 0 │ 0 │ …  ─▶ used ─▶ munmap
//! ```
//!
//! Design: `.sol.memory`, `.debug.dump` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "memory from the operating system")]

use bytemuck::Zeroable;
use core::mem::{align_of, size_of};
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

/// `count` values in pages of their own, zero at first, unmapped when dropped.
pub(crate) struct Temporary<T: Zeroable> {
    /// E1: `count` mapped values that nothing else points to.
    start: NonNull<T>,
    count: usize,
}

impl<T: Zeroable> Temporary<T> {
    /// Maps the values; returns `None` if the system has no memory.
    pub(crate) fn map(count: usize) -> Option<Temporary<T>> {
        const { assert!(align_of::<T>() <= 4096, "pages are not aligned better than this") };
        const { assert!(!core::mem::needs_drop::<T>(), "only the pages are dropped") };
        let start = super::map(count.checked_mul(size_of::<T>())?)?.cast();
        Some(Temporary { start, count })
    }
}

impl<T: Zeroable> Deref for Temporary<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: E1: `count` mapped values that nothing else points to; zero is a value of `T`,
        // and a page is aligned well enough for it.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl<T: Zeroable> DerefMut for Temporary<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: E1: `count` mapped values that nothing else points to; zero is a value of `T`,
        // and a page is aligned well enough for it.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.count) }
    }
}

impl<T: Zeroable> Drop for Temporary<T> {
    fn drop(&mut self) {
        // SAFETY: E1: mapped with this size, and not used afterwards.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.count * size_of::<T>()) };
    }
}
