//! Makes a heap of any Rust allocator.
//!
//! ```text
//!  Request{size, alignment: 1} ──▶ Layout{size or 1, as malloc would align it} ──▶ GlobalAlloc
//! ```
//!
//! Design: `.rep.heap` in `design/replay.md`.
#![expect(unsafe_code, reason = "the trait is unsafe")]

use super::{Heap, Request, moved};
use std::alloc::{GlobalAlloc, Layout};
use std::ptr;

/// A heap around a `GlobalAlloc`, which need not be the program's allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Global<A>(pub A);

/// log2 of malloc's alignment: `max_align_t`.
const ALIGNMENT_LOG2: u32 = (2 * size_of::<usize>()).trailing_zeros();

/// Returns the layout for a request. An object that is smaller than `max_align_t` is aligned for
/// the largest type that fits into it.
#[inline(always)]
fn layout(request: Request) -> Option<Layout> {
    let size = request.size.max(1);
    let natural = 1 << size.ilog2().min(ALIGNMENT_LOG2);
    Layout::from_size_align(size, request.alignment.max(natural)).ok()
}

// SAFETY: 1: `GlobalAlloc` promises this. 2: it may not unwind either.
unsafe impl<A: GlobalAlloc + Sync> Heap for Global<A> {
    #[inline(always)]
    fn allocate(&self, request: Request) -> *mut u8 {
        match layout(request) {
            // SAFETY: the size is not 0.
            Some(layout) => unsafe { self.0.alloc(layout) },
            None => ptr::null_mut(),
        }
    }

    #[inline(always)]
    fn allocate_zeroed(&self, request: Request) -> *mut u8 {
        match layout(request) {
            // SAFETY: the size is not 0.
            Some(layout) => unsafe { self.0.alloc_zeroed(layout) },
            None => ptr::null_mut(),
        }
    }

    #[inline(always)]
    unsafe fn reallocate(&self, old: *mut u8, was: Request, request: Request) -> *mut u8 {
        let (Some(before), Some(after)) = (layout(was), layout(request)) else {
            return ptr::null_mut();
        };
        if before.align() == after.align() {
            // SAFETY: 3: `old` was allocated with `before`; the new size fits, and is not 0.
            return unsafe { self.0.realloc(old, before, after.size()) };
        }
        // SAFETY: 3: the caller's promise.
        unsafe { moved(self, old, was, request) }
    }

    #[inline(always)]
    unsafe fn free(&self, memory: *mut u8, was: Request) {
        if let Some(layout) = layout(was) {
            // SAFETY: 4: the memory was allocated with that layout, and is freed once.
            unsafe { self.0.dealloc(memory, layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_aligned_for_the_largest_type_that_fits() {
        let of = |size, alignment| {
            layout(Request { size, alignment, pool: 0 }).map(|found| (found.size(), found.align()))
        };
        assert_eq!(of(0, 1), Some((1, 1)));
        assert_eq!(of(12, 1), Some((12, 8)));
        assert_eq!(of(4000, 1), Some((4000, ALIGNMENT)));
        assert_eq!(of(8, 64), Some((8, 64)));
        assert_eq!(of(usize::MAX, 1), None);
    }

    const ALIGNMENT: usize = 1 << ALIGNMENT_LOG2;
}
