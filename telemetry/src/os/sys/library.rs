//! The program or library that carries the runtime: how it begins and ends.
//!
//! ```text
//!  loaded ─▶ never unloaded, told of forks     exit, quick_exit ─▶ all of the program's ─▶ at_exit
//! ```
//!
//! Design: `.sol.pin`, `.sol.exit`, `.sol.ordinary` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "functions that the linker has called, and calls of the C library")]

use super::IS_MIRI;
#[cfg(not(any(miri, target_vendor = "apple")))]
use core::ffi::c_int;
#[cfg(not(miri))]
use core::ffi::c_void;

/// Whether the linker has the end of the program call `exit::at_exit` once more, after all that
/// was asked for by `atexit`.
pub(crate) const IS_EXIT_LINKED: bool = cfg!(not(any(miri, target_vendor = "apple")));

#[cfg(not(miri))]
#[used]
// SAFETY: the section holds addresses of functions that are called once the library is loaded: this
// one before those that have no number.
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array.00101"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
static LOADED: extern "C" fn() = begin;

#[cfg(not(any(miri, target_vendor = "apple")))]
#[used]
// SAFETY: the section holds addresses of functions that are called when the program exits: this one
// after those that have no number.
#[unsafe(link_section = ".fini_array.00102")]
static LEFT: extern "C" fn() = crate::os::exit::at_exit;

/// What only a moment can do at which the loader and the C library may be asked: no event is one.
#[cfg(not(miri))]
extern "C" fn begin() {
    pin();
    crate::os::forked::expect();
    // First, and so called after all that the program asks for.
    #[cfg(not(target_vendor = "apple"))]
    at_quick_exit(crate::os::exit::at_exit);
}

/// A library stays when the program closes it: threads, signal handlers, functions at exits and at
/// the ends of threads are in it.
#[cfg(not(miri))]
fn pin() {
    let here = (&raw const LOADED).cast::<c_void>();
    // SAFETY: a structure of pointers, which the call fills with strings that end with a NUL and
    // stay as long as the library.
    unsafe {
        let mut found: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr(here, &mut found) == 0 || is_program(found.dli_fbase) {
            return;
        }
        let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
        libc::dlopen(found.dli_fname, flags);
    }
}

/// Whether what is loaded there is the program itself.
#[cfg(not(miri))]
fn is_program(start: *const c_void) -> bool {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        // SAFETY: reads what the kernel told the process at its start.
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

/// Has a function called when the program exits normally.
pub(crate) fn at_exit(call: extern "C" fn()) {
    if IS_MIRI {
        return;
    }
    // SAFETY: a function that stays.
    unsafe { libc::atexit(call) };
}

/// Has a function called by `quick_exit`.
#[cfg(not(any(miri, target_vendor = "apple")))]
fn at_quick_exit(call: extern "C" fn()) {
    unsafe extern "C" {
        fn at_quick_exit(call: extern "C" fn()) -> c_int;
    }
    // SAFETY: a function that stays.
    unsafe { at_quick_exit(call) };
}
