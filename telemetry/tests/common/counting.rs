//! The system's allocator, which calls a function of the test at each allocation.
//!
//! ```text
//!  Box::new ──▶ Counting ─┬─▶ the test's function, which may count
//!                         └─▶ System
//! ```
#![allow(missing_docs, unreachable_pub, reason = "for the tests alone")]

use std::alloc::{GlobalAlloc, Layout, System};

pub struct Counting(pub fn());

#[expect(unsafe_code, reason = "a global allocator")]
// SAFETY: every call goes to the system's allocator.
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
