//! The program or library that contains the runtime: its start and its end.
//!
//! ```text
//!  loaded ─▶ never unloaded, forks noticed     exit, quick_exit ─▶ the program's own ─▶ at_exit
//! ```
//!
//! Design: `.sol.pin`, `.sol.exit`, `.sol.ordinary` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "functions that the loader calls, and calls of the C library")]

use super::IS_MIRI;
#[cfg(not(any(miri, target_vendor = "apple")))]
use core::ffi::c_int;
#[cfg(not(miri))]
use core::ffi::c_void;

/// Whether the loader calls `exit::at_exit` again at the end of the program, after all functions
/// registered by `atexit`.
pub(crate) const IS_EXIT_LINKED: bool = cfg!(not(any(miri, target_vendor = "apple")));

#[cfg(not(miri))]
#[used]
// SAFETY: the loader calls the functions in this section when it loads the library: this one before
// those without a number.
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array.00101"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
static LOADED: extern "C" fn() = begin;

#[cfg(not(any(miri, target_vendor = "apple")))]
#[used]
// SAFETY: the loader calls the functions in this section when the program exits: this one after
// those without a number.
#[unsafe(link_section = ".fini_array.00102")]
static LEFT: extern "C" fn() = crate::os::exit::at_linked_exit;

/// Does the work for which the loader and the C library must be free; they are not during an event.
#[cfg(not(miri))]
extern "C" fn begin() {
    pin();
    crate::os::entry::expect_forks();
    // Registered first, and so called last.
    #[cfg(not(target_vendor = "apple"))]
    {
        at_quick_exit(crate::os::exit::at_exit);
        at_exit(crate::os::exit::note_end);
    }
}

/// Keeps the library loaded when the program closes it: threads, signal handlers and exit functions
/// are in it.
#[cfg(not(miri))]
fn pin() {
    let here = (&raw const LOADED).cast::<c_void>();
    // SAFETY: the call fills a structure of pointers with strings that end with a NUL and live as
    // long as the library.
    unsafe {
        let mut found: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr(here, &mut found) == 0 || is_program(found.dli_fbase) {
            return;
        }
        let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
        libc::dlopen(found.dli_fname, flags);
    }
}

#[cfg(not(miri))]
fn is_program(start: *const c_void) -> bool {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        // SAFETY: reads a value that the kernel gave the process at its start.
        let headers = unsafe { libc::getauxval(libc::AT_PHDR) } as usize;
        const HEADERS_END_MAX: usize = 4096;
        headers.wrapping_sub(start.addr()) < HEADERS_END_MAX
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let _ = start;
        false
    }
}

pub(crate) fn at_exit(call: extern "C" fn()) {
    if IS_MIRI {
        return;
    }
    // SAFETY: the function lives for ever.
    unsafe { libc::atexit(call) };
}

#[cfg(not(any(miri, target_vendor = "apple")))]
fn at_quick_exit(call: extern "C" fn()) {
    unsafe extern "C" {
        fn at_quick_exit(call: extern "C" fn()) -> c_int;
    }
    // SAFETY: the function lives for ever.
    unsafe { at_quick_exit(call) };
}
