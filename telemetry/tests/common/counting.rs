//! The system's allocator, which tells a test of each allocation.
//!
//! ```text
//!  Box::new ──▶ Counting ─┬─▶ the test's function, which counts it, or does not
//!                         └─▶ System
//! ```
#![allow(missing_docs, unreachable_pub, reason = "for the tests alone")]

use std::alloc::{GlobalAlloc, Layout, System};

pub struct Counting(pub fn());

#[expect(unsafe_code, reason = "a global allocator")]
// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        (self.0)();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }
}
