//! Libraries that a program loads in such a way that their calls do not come here.
//!
//! ```text
//!  dlopen(…, RTLD_DEEPBIND) ─▶ the C library's malloc      dlmopen(new namespace) ─▶ another one
//!    └─ note: roster, log ─ jump ─▶ the real dlopen
//! ```
//!
//! The real functions are jumped to: they look at their return address, to know the library that
//! calls them. Design: `.rep.record.unreached` in `design/replay.md`.
#![expect(unsafe_code, reason = "symbols of the C library")]

// L1: the caller keeps the promises that the C library asks of it for the function of this name; no
//     other symbol of this library has the name.

use crate::events::Unreached;
use crate::real::Function;
use crate::recording::while_recording;
use crate::thread::{self, Activity};
use crate::{functions, roster, stack};
use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr::null_mut;
use eventlog::format::Presence;
use telemetry::__private::before;

type Text = *const c_char;
type Open = unsafe extern "C" fn(Text, c_int) -> *mut c_void;
/// A function that is only jumped to.
type Any = unsafe extern "C" fn();

static DLOPEN: Function<Open> = Function::new(c"dlopen");
static DLMOPEN: Function<Any> = Function::new(c"dlmopen");

const DEEP: u64 = 1;
const NAMESPACE: u64 = 2;

/// Looks the functions up (`lifecycle.rs`).
pub(crate) fn look_up() {
    DLOPEN.look_up();
    DLMOPEN.look_up();
}

/// Notes a library whose calls do not come here.
///
/// # Safety
///
/// L1: the path is null, or ends with a NUL.
unsafe fn note(path: Text, flags: c_int, way: u64) {
    if path.is_null() || flags & libc::RTLD_NOLOAD != 0 {
        return;
    }
    // SAFETY: the caller's promise.
    let (name, is_missing) = unsafe {
        let name = CStr::from_ptr(path).to_bytes();
        (name, name.contains(&b'/') && libc::access(path, libc::R_OK) != 0)
    };
    if is_missing {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe { roster::note_path(Presence::Unreached, way, path) };
    if !functions::is_on() {
        while_recording(|| before(|| Unreached::new(way == NAMESPACE, name)));
    }
}

/// Returns whether a library is loaded: then no flag changes where its calls go.
///
/// # Safety
///
/// L1: the path is null, or ends with a NUL.
unsafe fn is_loaded(path: Text) -> bool {
    thread::with(|local| {
        // Calls of malloc that the loader makes for this are not the program's.
        let before = local.activity.replace(Activity::Inside);
        let way = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
        // SAFETY: the caller's promise. What was opened once is closed once, and stays loaded.
        let is_loaded = unsafe {
            let library = DLOPEN.get().map_or(null_mut(), |open| open(path, way));
            !library.is_null() && stack::CLOSE.get().is_some_and(|close| close(library) == 0)
        };
        local.activity.set(before);
        is_loaded
    })
}

unsafe extern "C" fn before_dlopen(path: Text, flags: c_int) -> usize {
    // SAFETY: L1: the promises of the caller are passed on.
    if flags & libc::RTLD_DEEPBIND != 0 && !unsafe { is_loaded(path) } {
        // SAFETY: L1: as above.
        unsafe { note(path, flags, DEEP) };
    }
    DLOPEN.address()
}

unsafe extern "C" fn before_dlmopen(namespace: c_long, path: Text, flags: c_int) -> usize {
    if namespace != 0 {
        // SAFETY: L1: the promises of the caller are passed on.
        unsafe { note(path, flags, NAMESPACE) };
    }
    DLMOPEN.address()
}

/// Defines functions: each puts aside the registers of its arguments, calls a function with them,
/// and jumps to the real function.
macro_rules! jumping {
    ($($name:ident => $before:ident;)*) => {$(
        // SAFETY: L1: no other symbol of this library has the name; the real function finds
        // registers and stack as its caller left them.
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "push rdi", "push rsi", "push rdx",
                "call {before}",
                "pop rdx", "pop rsi", "pop rdi",
                "jmp rax",
                before = sym $before,
            )
        }

        // SAFETY: L1: no other symbol of this library has the name; the real function finds
        // registers and stack as its caller left them.
        #[cfg(target_arch = "aarch64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "stp x29, x30, [sp, -48]!", "stp x0, x1, [sp, 16]", "str x2, [sp, 32]",
                "bl {before}",
                "mov x16, x0",
                "ldp x0, x1, [sp, 16]", "ldr x2, [sp, 32]", "ldp x29, x30, [sp], 48",
                "br x16",
                before = sym $before,
            )
        }
    )*};
}

jumping! {
    dlopen => before_dlopen;
    dlmopen => before_dlmopen;
}
