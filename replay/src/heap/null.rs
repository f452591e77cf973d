//! The null heap: it costs nothing, so that a run measures the loop itself.
//!
//! ```text
//!  allocate ──▶ the address 4096                       free ──▶ nothing
//! ```
//!
//! Design: `.rep.heap` in `design/replay.md`.
#![expect(unsafe_code, reason = "the trait is unsafe")]

use super::{Heap, Request};
use std::ptr;

/// A heap that always returns the same address, which has no memory.
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
