//! The functions that the program finds in place of those of the C library.
//!
//! ```text
//!  malloc ─▶ the real one ─▶ noted        free ─▶ noted ─▶ the real one
//! ```
//!
//! Each does what the real one does, error number included. Design: `.rep.record` in
//! `design/replay.md`.
#![expect(unsafe_code, reason = "symbols of the C library")]

// C1: the caller keeps the promises that the C library asks of it for the function of this name,
//     and so may call the real one; no other symbol of this library has the name.

use crate::events::Call;
use crate::recording::during;
use crate::{real, thread};
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;

/// As malloc.
// SAFETY: C1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    during(|turn| {
        let memory = match real::MALLOC.get() {
            // SAFETY: C1: the caller keeps the promises that the C library asks for this function,
            // and they are passed on.
            Some(malloc) => unsafe { malloc(size) },
            None => real::arena_take(size),
        };
        turn.record(Call::Malloc { address: memory.addr(), size });
        memory
    })
}

/// As calloc.
// SAFETY: C1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    during(|turn| {
        let memory = match real::CALLOC.get() {
            // SAFETY: C1: the caller keeps the promises that the C library asks for this function,
            // and they are passed on.
            Some(calloc) => unsafe { calloc(count, size) },
            None => count.checked_mul(size).map_or(null_mut(), real::arena_take),
        };
        turn.record(Call::Calloc { address: memory.addr(), count, size });
        memory
    })
}

/// As realloc.
// SAFETY: C1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
    during(|turn| {
        let arena_size = real::arena_size(old);
        // What is of the arena was not the program's.
        let old_noted = if arena_size.is_some() { 0 } else { old.addr() };
        turn.record(Call::ReallocBegin { address: old_noted });
        let memory = match (arena_size, real::REALLOC.get()) {
            // SAFETY: C1: the caller keeps the promises that the C library asks for this function,
            // and they are passed on.
            (None, Some(realloc)) => unsafe { realloc(old, size) },
            // SAFETY: C1: the program had `old` from this library and uses it no more. `old_size`
            // is its size.
            (old_size, _) => unsafe { move_from_arena(old, old_size.unwrap_or(0), size) },
        };
        turn.record(Call::Realloc { address: memory.addr(), size });
        memory
    })
}

/// Hands out memory that has the bytes of old memory of the arena.
///
/// # Safety
///
/// The old memory has at least `old_size` bytes.
#[cold]
unsafe fn move_from_arena(old: *mut c_void, old_size: usize, size: usize) -> *mut c_void {
    let memory = match real::MALLOC.get() {
        // SAFETY: malloc takes any size.
        Some(malloc) => unsafe { malloc(size) },
        None => real::arena_take(size),
    };
    if !memory.is_null() {
        // SAFETY: the caller's promise; the new memory has `size` bytes, and is another one.
        unsafe { memory.copy_from_nonoverlapping(old, old_size.min(size)) };
    }
    memory
}

/// As reallocarray.
// SAFETY: C1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn reallocarray(
    old: *mut c_void,
    count: usize,
    size: usize,
) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: C1: the caller keeps the promises that the C library asks for this function, and
        // they are passed on.
        Some(size) => unsafe { realloc(old, size) },
        None => {
            during(|turn| {
                turn.record(Call::ReallocBegin { address: old.addr() });
                turn.record(Call::Realloc { address: 0, size: usize::MAX });
            });
            thread::set_errno(libc::ENOMEM);
            null_mut()
        }
    }
}

/// As free.
// SAFETY: C1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn free(memory: *mut c_void) {
    if memory.is_null() || real::arena_size(memory).is_some() {
        return;
    }
    during(|turn| {
        turn.record(Call::Free { address: memory.addr() });
        if let Some(free) = real::FREE.get() {
            // SAFETY: C1: the caller keeps the promises that the C library asks for this function,
            // and they are passed on.
            unsafe { free(memory) }
        }
    });
}

/// As aligned_alloc.
// SAFETY: C1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    during(|turn| {
        let memory = match real::ALIGNED_ALLOC.get() {
            // SAFETY: C1: the caller keeps the promises that the C library asks for this function,
            // and they are passed on.
            Some(aligned_alloc) => unsafe { aligned_alloc(alignment, size) },
            None => null_mut(),
        };
        turn.record(Call::AlignedAlloc { address: memory.addr(), alignment, size });
        memory
    })
}

/// As posix_memalign.
// SAFETY: C1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn posix_memalign(
    place: *mut *mut c_void,
    alignment: usize,
    size: usize,
) -> c_int {
    during(|turn| {
        let error = match real::POSIX_MEMALIGN.get() {
            // SAFETY: C1: the caller keeps the promises that the C library asks for this function,
            // and they are passed on.
            Some(posix_memalign) => unsafe { posix_memalign(place, alignment, size) },
            None => libc::ENOMEM,
        };
        // SAFETY: C1: the caller passes a place for a pointer. Without an error that place has been
        // written.
        let address = if error == 0 { unsafe { place.read() }.addr() } else { 0 };
        turn.record(Call::PosixMemalign { address, alignment, size });
        error
    })
}

/// As memalign.
// SAFETY: C1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    during(|turn| {
        let memory = match real::MEMALIGN.get() {
            // SAFETY: C1: the caller keeps the promises that the C library asks for this function,
            // and they are passed on.
            Some(memalign) => unsafe { memalign(alignment, size) },
            None => null_mut(),
        };
        turn.record(Call::Memalign { address: memory.addr(), alignment, size });
        memory
    })
}

/// As valloc.
// SAFETY: C1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    during(|turn| {
        let memory = match real::VALLOC.get() {
            // SAFETY: C1: the caller keeps the promises that the C library asks for this function,
            // and they are passed on.
            Some(valloc) => unsafe { valloc(size) },
            None => null_mut(),
        };
        turn.record(Call::Valloc { address: memory.addr(), size });
        memory
    })
}

/// As pvalloc.
// SAFETY: C1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pvalloc(size: usize) -> *mut c_void {
    during(|turn| {
        let memory = match real::PVALLOC.get() {
            // SAFETY: C1: the caller keeps the promises that the C library asks for this function,
            // and they are passed on.
            Some(pvalloc) => unsafe { pvalloc(size) },
            None => null_mut(),
        };
        turn.record(Call::Pvalloc { address: memory.addr(), size });
        memory
    })
}

/// As malloc_usable_size.
// SAFETY: C1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn malloc_usable_size(memory: *mut c_void) -> usize {
    if memory.is_null() {
        return 0;
    }
    during(|turn| {
        if let Some(size) = real::arena_size(memory) {
            return size;
        }
        let size = match real::USABLE_SIZE.get() {
            // SAFETY: C1: the caller keeps the promises that the C library asks for this function,
            // and they are passed on.
            Some(malloc_usable_size) => unsafe { malloc_usable_size(memory) },
            None => 0,
        };
        turn.record(Call::UsableSize { address: memory.addr(), size });
        size
    })
}
