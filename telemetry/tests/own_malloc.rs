//! A program with its own memory manager, which records: the runtime must not call it.
//!
//! ```text
//!  malloc ─▶ lock ─▶ event! ─▶ runtime ─▶ malloc?  never: the lock is taken
//!  handler ─▶ first event ─▶ runtime ─▶ malloc?    never: the handler may have interrupted it
//! ```
//!
//! Design: `.sol.ordinary` in `design/telemetry.md`.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![expect(unsafe_code, reason = "the functions of the C library, and signal handlers")]

mod common;

use common::{Sorts, Three, ThreeSeg, ran};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use telemetry::{Writer, event};

thread_local! {
    /// Whether this thread must not call the memory manager.
    static IS_FORBIDDEN: Cell<bool> = const { Cell::new(false) };
}
/// Whether `malloc` records.
static RECORDS: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(old: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_free(old: *mut c_void);
}

/// Ends the program if the thread must not call the memory manager.
fn enter() {
    if IS_FORBIDDEN.get() {
        let said = b"the memory manager was called where that is forbidden\n";
        // SAFETY: reads the bytes of a slice.
        unsafe { libc::write(2, said.as_ptr().cast(), said.len()) };
        std::process::abort();
    }
}

/// Runs code that must not allocate.
fn without_memory_manager(work: impl FnOnce()) {
    IS_FORBIDDEN.set(true);
    work();
    IS_FORBIDDEN.set(false);
}

// SAFETY: replaces the C library's function, and calls it.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    enter();
    if RECORDS.load(Ordering::Relaxed) {
        without_memory_manager(|| event!(Three, 0usize, 0usize, size));
    }
    // SAFETY: the caller's promise.
    unsafe { __libc_malloc(size) }
}

// SAFETY: replaces the C library's function, and calls it.
#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    enter();
    // SAFETY: the caller's promise.
    unsafe { __libc_calloc(count, size) }
}

// SAFETY: replaces the C library's function, and calls it.
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
    enter();
    // SAFETY: the caller's promise.
    unsafe { __libc_realloc(old, size) }
}

// SAFETY: replaces the C library's function, and calls it.
#[unsafe(no_mangle)]
unsafe extern "C" fn free(old: *mut c_void) {
    enter();
    // SAFETY: the caller's promise.
    unsafe { __libc_free(old) }
}

const ALL: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "all");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");

extern "C" fn nothing() {}

extern "C" fn record_first(_: c_int) {
    without_memory_manager(|| event!(Three, 1usize, 1usize, 1usize));
}

/// A handler records the first event. Then come events of every sort, full blocks, strings, labels,
/// a flush and other threads. None of them allocates, with any setting, even if the program's many
/// keys and exit functions would make the C library allocate.
#[test]
fn recording_never_calls_malloc_with_any_setting() {
    let test = "recording_never_calls_malloc_with_any_setting";
    let names = ["WRITER", "SOCKET", "TRACEBACK", "CRASH", "FILENAME"];
    let names = names.map(|name| format!("MPS_TELEMETRY_{name}"));
    let wanted = ["thread", ".", "20", "1", "tcp://no.such.host.invalid:9"];
    let of = |index: usize| (names[index].as_str(), wanted[index]);
    let all = [of(0), of(1), of(2), of(3)];
    for more in [&[][..], &all, &[of(0), of(4)]] {
        let ran = ran(test, &[&[ALL, SMALL], more].concat(), || {
            for _ in 0..40 {
                // SAFETY: the function is static.
                unsafe {
                    let mut key = 0;
                    assert_eq!(libc::pthread_key_create(&mut key, None), 0);
                    assert_eq!(libc::atexit(nothing), 0);
                }
            }
            // SAFETY: the handler is static.
            unsafe {
                let handler = record_first as extern "C" fn(c_int) as libc::sighandler_t;
                libc::signal(libc::SIGUSR1, handler);
                libc::raise(libc::SIGUSR1);
            }
            let record = || {
                without_memory_manager(|| {
                    (0..1000usize).for_each(|index| event!(Three, 2usize, index, index));
                    event!(Sorts, &0u8, true, 1u32, 1.0, 1usize, 1usize, "text");
                    telemetry::label_address(7, telemetry::add_string("seven"));
                    telemetry::flush();
                });
            };
            record();
            std::thread::spawn(record).join().unwrap();
        });
        let Some(ran) = ran else { return };
        if !more.contains(&of(4)) {
            assert_eq!(ran.stream().of(1).len(), 2001);
        }
    }
}

/// `malloc` records while the writer or service thread would need `malloc`. The program continues,
/// and starts the thread at `prepare`.
#[test]
fn prepare_starts_the_thread_of_a_program_with_own_malloc() {
    let test = "prepare_starts_the_thread_of_a_program_with_own_malloc";
    let socket = || std::fs::exists(format!("{}.sock", std::process::id())).unwrap();
    for wanted in [("MPS_TELEMETRY_WRITER", "thread"), ("MPS_TELEMETRY_SOCKET", ".")] {
        let Some(ran) = ran(test, &[ALL, SMALL, wanted], || {
            RECORDS.store(true, Ordering::Relaxed);
            (0..1000).for_each(|size| drop(std::hint::black_box(vec![1u8; 1 + size])));
            RECORDS.store(false, Ordering::Relaxed);
            assert_eq!((telemetry::status().writer, socket()), (Writer::None, false));
            telemetry::prepare();
            let has_writer = telemetry::status().writer == Writer::Thread;
            let is_wanted = std::env::var_os("MPS_TELEMETRY_WRITER").is_some();
            assert_eq!((has_writer, socket()), (is_wanted, !is_wanted));
        }) else {
            return;
        };
        assert!(ran.stream().of(1).len() >= 1000);
    }
}

static COUNT: AtomicUsize = AtomicUsize::new(0);

extern "C" fn record_at_exit() {
    COUNT.fetch_add(1, Ordering::Relaxed);
    event!(ThreeSeg, 0usize, 0usize, 0usize);
}

/// The runtime ends the log from the linker's exit functions, which run after the program's own.
#[test]
fn a_program_that_records_only_in_malloc_ends_its_log() {
    let test = "a_program_that_records_only_in_malloc_ends_its_log";
    let Some(ran) = ran(test, &[ALL], || {
        // SAFETY: the function is static.
        unsafe { libc::atexit(record_at_exit) };
        RECORDS.store(true, Ordering::Relaxed);
        drop(std::hint::black_box(vec![1u8; 100]));
        RECORDS.store(false, Ordering::Relaxed);
    }) else {
        return;
    };
    let stream = ran.stream();
    assert!(stream.ended && !stream.of(1).is_empty());
    assert_eq!(stream.of(2).len(), 1);
}
