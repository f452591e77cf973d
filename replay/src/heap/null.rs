//! The null heap: costs nothing, so that what is measured is the loop.
//!
//! ```text
//!  allocate ──▶ 4096, whatever was asked for          free ──▶ nothing
//! ```
//!
//! Design: `.rep.heap` in `design/replay.md`.
#![expect(unsafe_code, reason = "the trait is unsafe")]

use super::{Heap, Request};
use std::ptr;

/// What hands out the same address each time, where nothing is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Null;

const ADDRESS: usize = 4096;

// SAFETY: 1: HAS_MEMORY is false, and the address is not null. 2: nothing here unwinds.
unsafe impl Heap for Null {
    const HAS_MEMORY: bool = false;

    #[inline(always)]
    fn allocate(&self, _: Request) -> *mut u8 {
        ptr::without_provenance_mut(ADDRESS)
    }

    #[inline(always)]
    fn allocate_zeroed(&self, request: Request) -> *mut u8 {
        self.allocate(request)
    }

    #[inline(always)]
    unsafe fn reallocate(&self, old: *mut u8, _: Request, _: Request) -> *mut u8 {
        old
    }

    #[inline(always)]
    unsafe fn free(&self, _: *mut u8, _: Request) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_null_heap_hands_out_an_address_for_any_size() {
        let request = |size| Request { size, alignment: 1, pool: 0 };
        assert!(!Null.allocate(request(0)).is_null());
        assert!(!Null.allocate_zeroed(request(usize::MAX)).is_null());
    }
}
