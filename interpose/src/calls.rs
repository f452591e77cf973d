//! The functions that a program calls instead of those of the C library.
//!
//! ```text
//!  malloc ─▶ real malloc ─▶ recorded        free ─▶ recorded ─▶ real free
//! ```
//!
//! Each function does what the real function does, and leaves the same error number. Design:
//! `.rep.record` in `design/replay.md`.
#![expect(unsafe_code, reason = "symbols of the C library")]

// C1: the caller keeps the promises that the C library asks of it for the function of this name,
//     and so may call the real one; no other symbol of this library has the name.

use crate::events::Call;
use crate::recording::intercept;
use crate::{real, thread};
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;

/// Defines functions whose arguments are sizes, and which return memory: the real function, and the
/// memory that is returned before that was found.
macro_rules! allocators {
    ($($name:ident($($argument:ident),+) => $real:ident or $early:expr, $event:ident;)*) => {$(
        // SAFETY: C1: no other symbol of this library has the name.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: usize),+) -> *mut c_void {
            intercept(|call| {
                let memory = match real::$real.get() {
                    // SAFETY: C1: the promises of the caller are passed on.
                    Some(function) => unsafe { function($($argument),+) },
                    None => $early,
                };
                call.record(Call::$event { address: memory.addr(), $($argument),+ });
                memory
            })
        }
    )*};
}

allocators! {
    malloc(size) => MALLOC or real::arena_take(size), Malloc;
    calloc(count, size) =>
        CALLOC or count.checked_mul(size).map_or(null_mut(), real::arena_take), Calloc;
    aligned_alloc(alignment, size) => ALIGNED_ALLOC or null_mut(), AlignedAlloc;
    memalign(alignment, size) => MEMALIGN or null_mut(), Memalign;
    valloc(size) => VALLOC or null_mut(), Valloc;
    pvalloc(size) => PVALLOC or null_mut(), Pvalloc;
}

// SAFETY: C1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
    intercept(|call| {
        let arena_size = real::arena_size(old);
        // The program never asked for memory of the arena.
        let old_address = if arena_size.is_some() { 0 } else { old.addr() };
        call.record(Call::ReallocBegin { address: old_address });
        let memory = match (arena_size, real::REALLOC.get()) {
            // SAFETY: C1: the promises of the caller are passed on.
            (None, Some(realloc)) => unsafe { realloc(old, size) },
            // SAFETY: C1: the program had `old` from this library and uses it no more. `old_size`
            // is its size.
            (old_size, _) => unsafe { move_from_arena(old, old_size.unwrap_or(0), size) },
        };
        call.record(Call::Realloc { address: memory.addr(), size });
        memory
    })
}

/// Allocates memory, and copies old memory of the arena into it.
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
        // SAFETY: the caller's promise; the new memory has `size` bytes, and does not overlap the
        // old memory.
        unsafe { memory.copy_from_nonoverlapping(old, old_size.min(size)) };
    }
    memory
}

// SAFETY: C1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn reallocarray(
    old: *mut c_void,
    count: usize,
    size: usize,
) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: C1: the promises of the caller are passed on.
        Some(size) => unsafe { realloc(old, size) },
        None => {
            intercept(|call| {
                call.record(Call::ReallocBegin { address: old.addr() });
                call.record(Call::Realloc { address: 0, size: usize::MAX });
            });
            thread::set_errno(libc::ENOMEM);
            null_mut()
        }
    }
}

// SAFETY: C1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn free(memory: *mut c_void) {
    if memory.is_null() || real::arena_size(memory).is_some() {
        return;
    }
    intercept(|call| {
        call.record(Call::Free { address: memory.addr() });
        if let Some(free) = real::FREE.get() {
            // SAFETY: C1: the promises of the caller are passed on.
            unsafe { free(memory) }
        }
    });
}

// SAFETY: C1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn posix_memalign(
    place: *mut *mut c_void,
    alignment: usize,
    size: usize,
) -> c_int {
    intercept(|call| {
        let error = match real::POSIX_MEMALIGN.get() {
            // SAFETY: C1: the promises of the caller are passed on.
            Some(posix_memalign) => unsafe { posix_memalign(place, alignment, size) },
            None => libc::ENOMEM,
        };
        // SAFETY: C1: the caller passes a place for a pointer. Without an error that place has been
        // written.
        let address = if error == 0 { unsafe { place.read() }.addr() } else { 0 };
        call.record(Call::PosixMemalign { address, alignment, size });
        error
    })
}

// SAFETY: C1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn malloc_usable_size(memory: *mut c_void) -> usize {
    if memory.is_null() {
        return 0;
    }
    intercept(|call| {
        if let Some(size) = real::arena_size(memory) {
            return size;
        }
        let size = match real::USABLE_SIZE.get() {
            // SAFETY: C1: the promises of the caller are passed on.
            Some(malloc_usable_size) => unsafe { malloc_usable_size(memory) },
            None => 0,
        };
        call.record(Call::UsableSize { address: memory.addr(), size });
        size
    })
}
