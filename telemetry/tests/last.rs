//! Events of functions that the linker has called at the very end of a program. musl calls these
//! while it holds the lock of `atexit`: a call of that would wait for ever.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "exit functions")]

mod common;

use common::{Pooled, ran};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use telemetry::event;

const ALL: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "all");
const LATE: &str = "a function was registered during the exit\n";

/// Whether the function below records.
static ARMED: AtomicBool = AtomicBool::new(false);
static IS_LATE: AtomicBool = AtomicBool::new(false);

#[used]
// SAFETY: the loader calls the functions in this section when the program exits.
#[unsafe(link_section = ".fini_array")]
static LAST: extern "C" fn() = record_last;

extern "C" fn record_last() {
    if ARMED.load(Ordering::Relaxed) {
        IS_LATE.store(true, Ordering::Relaxed);
        (0..3usize).for_each(|index| event!(Pooled, index));
    }
}

#[used]
#[cfg(target_env = "gnu")]
// SAFETY: the same, after the runtime's own function.
#[unsafe(link_section = ".fini_array.00101")]
static AFTER: extern "C" fn() = record_after;

extern "C" fn record_after() {
    if ARMED.load(Ordering::Relaxed) {
        IS_LATE.store(false, Ordering::Relaxed);
        (3..6usize).for_each(|index| event!(Pooled, index));
    }
}

/// Takes the place of the C library's function, which `atexit` calls too.
// SAFETY: it does what that does.
#[cfg(target_env = "gnu")]
#[unsafe(no_mangle)]
extern "C" fn __cxa_atexit(
    call: *const c_void,
    of: *const c_void,
    library: *const c_void,
) -> c_int {
    type Register = extern "C" fn(*const c_void, *const c_void, *const c_void) -> c_int;
    if IS_LATE.load(Ordering::Relaxed) {
        // SAFETY: reads the bytes of a string.
        unsafe { libc::write(2, LATE.as_ptr().cast(), LATE.len()) };
    }
    // SAFETY: the function has this type.
    unsafe {
        let next = libc::dlsym(libc::RTLD_NEXT, c"__cxa_atexit".as_ptr());
        std::mem::transmute::<*mut c_void, Register>(next)(call, of, library)
    }
}

#[test]
fn an_event_of_a_linked_exit_function_is_in_the_log() {
    let test = "an_event_of_a_linked_exit_function_is_in_the_log";
    for first in ["1", "0"] {
        let Some(ran) = ran(test, &[ALL, ("FIRST", first)], || {
            // With a second thread musl takes its locks.
            std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_secs(1000)));
            ARMED.store(true, Ordering::Relaxed);
            if std::env::var("FIRST").is_ok_and(|first| first == "0") {
                event!(Pooled, 100usize);
            }
        }) else {
            return;
        };
        let before: &[u64] = if first == "0" { &[100] } else { &[] };
        let stream = ran.stream();
        let after: &[u64] = if cfg!(target_env = "gnu") { &[3, 4, 5] } else { &[] };
        assert_eq!(stream.words(5, 0), [before, &[0, 1, 2], after].concat());
        assert!(stream.ended);
        assert!(!ran.stderr.contains(LATE), "{}", ran.stderr);
    }
}
