//! The functions that jump out of functions: these then do not end by their hooks.
//!
//! ```text
//!  longjmp ──────▶ where the stack will end ─▶ frames: what lies below has ended ─▶ real longjmp
//!  an exception ─▶ _Unwind_SetIP: the same for each function in which it goes on
//! ```
//!
//! Where the GNU C library keeps that is known for x86-64 only. Elsewhere the next function that
//! begins shows which frames have ended. Design: `.calls.instrumented` in `design/calls.md`.
#![expect(unsafe_code, reason = "symbols of the C library, and a word that it keeps")]

// J1: the caller keeps the promises that the C library asks of it for the function of this name; no
//     other symbol of this library has the name.

use crate::real::Function;
use crate::{frames, functions};
use core::ffi::{c_int, c_void};

type Jump = unsafe extern "C" fn(*mut c_void, c_int) -> !;

/// Returns where the stack ends after a jump to a place.
///
/// # Safety
///
/// `setjmp` of the GNU C library has filled the place.
unsafe fn stack_of(place: *const c_void) -> usize {
    /// The word with the stack pointer: the library mixes it with a word of the thread.
    const STACK: usize = 6;
    const TURNED: u32 = 17;
    let guard: usize;
    // SAFETY: the caller's promise; the thread's block has the other word at this place.
    unsafe {
        core::arch::asm!("mov {}, fs:[0x30]", out(reg) guard, options(nostack, readonly));
        place.cast::<usize>().add(STACK).read().rotate_right(TURNED) ^ guard
    }
}

/// Defines functions that jump out of functions, which then do not end by their hooks.
macro_rules! jumping {
    ($($name:ident => $real:ident($symbol:literal);)*) => {
        /// Looks the functions up (`lifecycle.rs`).
        pub(crate) fn look_up() {
            $($real.look_up();)*
            SET_PLACE.look_up();
        }
    $(
        static $real: Function<Jump> = Function::new($symbol);

        // SAFETY: J1: no other symbol of this library has the name.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(place: *mut c_void, value: c_int) -> ! {
            if functions::is_on() {
                // SAFETY: J1: `setjmp` has filled the place.
                frames::jump(unsafe { stack_of(place) });
            }
            match $real.get() {
                // SAFETY: J1: the promises of the caller are passed on.
                Some(jump) => unsafe { jump(place, value) },
                None => std::process::abort(),
            }
        }
    )*};
}

jumping! {
    longjmp => LONGJMP(c"longjmp");
    _longjmp => PLAIN_LONGJMP(c"_longjmp");
    siglongjmp => SIGLONGJMP(c"siglongjmp");
    __longjmp_chk => LONGJMP_CHECKED(c"__longjmp_chk");
}

type SetPlace = unsafe extern "C" fn(*mut c_void, usize);

static SET_PLACE: Function<SetPlace> = Function::new(c"_Unwind_SetIP");

unsafe extern "C" {
    /// Returns where the stack ends in the function that the unwinder is at.
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

/// An exception will go on at a place of a function: a handler, or what ends its variables. Clang
/// calls no hook for the functions that it has left.
// SAFETY: J1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn _Unwind_SetIP(context: *mut c_void, place: usize) {
    if functions::is_on() {
        // SAFETY: J1: the context is the unwinder's own.
        frames::jump(unsafe { _Unwind_GetCFA(context) });
    }
    match SET_PLACE.get() {
        // SAFETY: J1: the promises of the caller are passed on.
        Some(set) => unsafe { set(context, place) },
        None => std::process::abort(),
    }
}
