//! The C library's malloc, or that of a preloaded library.
//!
//! ```text
//!  allocate ──▶ malloc │ posix_memalign          allocate_zeroed ──▶ calloc
//!  reallocate ──▶ realloc                        free ──▶ free
//! ```
//!
//! Design: `.rep.heap` in `design/replay.md`.
#![expect(unsafe_code, reason = "these are calls of the C library")]

use super::{Heap, Request, moved, zeroed};
use std::ptr;

/// The heap of C programs.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

/// The alignment of malloc: `max_align_t`.
const ALIGNMENT: usize = 2 * size_of::<usize>();

/// Returns memory from posix_memalign; null if the call fails.
fn aligned(request: Request) -> *mut u8 {
    let mut memory = ptr::null_mut();
    // SAFETY: the alignment is a power of two and no less than a pointer's size; `memory` is ours.
    let code = unsafe { libc::posix_memalign(&mut memory, request.alignment, request.size) };
    if code == 0 { memory.cast() } else { ptr::null_mut() }
}

// SAFETY: 1: the C library promises this. It may return null for 0 bytes: where that would look
// like a failure, 1 byte is asked for. 2: C does not unwind.
unsafe impl Heap for System {
    #[inline(always)]
    fn allocate(&self, request: Request) -> *mut u8 {
        if request.alignment > ALIGNMENT {
            return aligned(request);
        }
        // SAFETY: any size is valid.
        unsafe { libc::malloc(request.size).cast() }
    }

    #[inline(always)]
    fn allocate_zeroed(&self, request: Request) -> *mut u8 {
        if request.alignment > ALIGNMENT {
            return zeroed(self, request);
        }
        // SAFETY: any size is valid.
        unsafe { libc::calloc(1, request.size).cast() }
    }

    #[inline(always)]
    unsafe fn reallocate(&self, old: *mut u8, was: Request, request: Request) -> *mut u8 {
        if request.alignment > ALIGNMENT {
            // SAFETY: 3: the caller's promise.
            return unsafe { moved(self, old, was, request) };
        }
        // SAFETY: 3: `old` came from malloc. For 0 bytes realloc would free it and return null.
        unsafe { libc::realloc(old.cast(), request.size.max(1)).cast() }
    }

    #[inline(always)]
    unsafe fn free(&self, memory: *mut u8, _: Request) {
        // SAFETY: 4: `memory` came from malloc, and is freed once.
        unsafe { libc::free(memory.cast()) }
    }
}
