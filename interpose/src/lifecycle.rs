//! The beginning and the ends of a process, as far as the runtime does not notice them itself.
//!
//! ```text
//!  loaded ─▶ begin ─ the runtime's own ─ start      exit, quick_exit ─▶ the runtime's own
//!  _exit, daemon, exec* (executing.rs) ─▶ flush
//! ```
//!
//! Design: `.rep.record.ends` in `design/replay.md`.
#![expect(unsafe_code, reason = "symbols of the C library, and what is called when it is loaded")]

// E1: the caller keeps the promises that the C library asks of it for the function of this name; no
// other symbol of this library has the name.

use crate::events::ThreadEnd;
use crate::real::Function;
use crate::recording::while_recording;
use crate::thread::{self, Activity};
use crate::{executing, foreign, frames, functions, loading, real, roster, stack, touched};
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
use crate::{jumps, own_stack};
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicI32, Ordering};
use eventlog::format::Presence;
use telemetry::__private::{Moment, Observer, before, observe};

type Exit = unsafe extern "C" fn(c_int) -> !;
type Daemon = unsafe extern "C" fn(c_int, c_int) -> c_int;

static EXIT: Function<Exit> = Function::new(c"_exit");
static DAEMON: Function<Daemon> = Function::new(c"daemon");

/// The number of this process. A child made by vfork shares this memory, and has another number.
static PROCESS: AtomicI32 = AtomicI32::new(0);

unsafe extern "C" {
    fn __cxa_at_quick_exit(call: extern "C" fn(*mut c_void), library: *mut c_void) -> c_int;
}

// The loader calls entries of lower numbers first, and entries without a number last. So `begin`
// comes before the runtime, for which loader and C library allocate memory, and `start` comes after
// the runtime.
#[used]
// SAFETY: the section holds addresses of functions that the loader calls.
#[unsafe(link_section = ".init_array.00100")]
static BEGIN: extern "C" fn() = begin;

#[used]
// SAFETY: the section holds addresses of functions that the loader calls.
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

// At the end the loader calls entries without a number first, and then entries of higher numbers.
// So `record_figures` comes before the runtime's entry, which has a number and ends its log, and
// `end` comes after that entry.
#[used]
// SAFETY: the section holds addresses of functions that the loader calls.
#[unsafe(link_section = ".fini_array")]
static RECORD_FIGURES: extern "C" fn() = record_figures;

#[used]
// SAFETY: the section holds addresses of functions that the loader calls.
#[unsafe(link_section = ".fini_array.00101")]
static END: extern "C" fn() = end;

/// Begins a time, up to `start`, in which the program does not allocate.
extern "C" fn begin() {
    thread::with(|local| local.activity.set(Activity::Inside));
}

extern "C" fn start() {
    look_up();
    foreign::prepare();
    set_process();
    thread::prepare(end_of_thread);
    observe(&ENDS);
    roster::begin();
    // SAFETY: functions that stay.
    unsafe {
        libc::pthread_atfork(None, None, Some(after_fork_in_child));
        __cxa_at_quick_exit(flush_and_end, null_mut());
    }
    thread::with(|local| local.activity.set(Activity::Idle));
    while_recording(telemetry::prepare);
}

/// Looks the functions up now: the forked child of a process with several threads must not do so.
fn look_up() {
    EXIT.look_up();
    real::look_up_library();
    DAEMON.look_up();
    executing::look_up();
    loading::look_up();
    #[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
    jumps::look_up();
}

fn set_process() {
    // SAFETY: the call touches no memory.
    PROCESS.store(unsafe { libc::getpid() }, Ordering::Relaxed);
}

/// Records the end of each thread.
static ENDS: Observer = Observer::new(|moment| {
    if moment == Moment::ThreadEnd && !functions::is_on() {
        while_recording(|| before(ThreadEnd::new));
    }
});

/// Gives up what a thread mapped.
unsafe extern "C" fn end_of_thread(_: *mut c_void) {
    frames::end();
    #[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
    own_stack::end();
}

unsafe extern "C" fn after_fork_in_child() {
    set_process();
    stack::after_fork();
    functions::after_fork();
    roster::note(Presence::Forked, 0);
}

/// Records the memory and the processor time of the process.
extern "C" fn record_figures() {
    while_recording(touched::record_figures);
}

/// Notes that the process ends in good order, and how many events it lost.
extern "C" fn end() {
    let lost = match is_this_process() {
        true => telemetry::losses(),
        false => telemetry::Losses::default(),
    };
    roster::note(Presence::Ended, lost.full + lost.nested + lost.large + lost.io);
}

/// Writes out what was recorded, and notes the end, where the runtime does not notice it. At
/// quick_exit this comes before the runtime's own function, which ends the log.
extern "C" fn flush_and_end(_: *mut c_void) {
    flush();
    end();
}

/// Writes out all that was recorded. A child made by vfork writes nothing: its records are its
/// parent's, which goes on.
pub(crate) fn flush() {
    if is_this_process() {
        while_recording(|| {
            touched::record_figures();
            telemetry::flush();
        });
    }
}

/// Returns whether this is not a child made by vfork, which has its parent's memory.
fn is_this_process() -> bool {
    // SAFETY: the call touches no memory.
    unsafe { libc::getpid() == PROCESS.load(Ordering::Relaxed) }
}

// SAFETY: E1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn _exit(status: c_int) -> ! {
    flush_and_end(null_mut());
    match EXIT.get() {
        // SAFETY: E1: the promises of the caller are passed on.
        Some(exit) => unsafe { exit(status) },
        // SAFETY: the call ends the process.
        None => unsafe { libc::syscall(libc::SYS_exit_group, status) },
    };
    unreachable!("the process has ended")
}

// SAFETY: E1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn _Exit(status: c_int) -> ! {
    // SAFETY: E1: the promises of the caller are passed on.
    unsafe { _exit(status) }
}

// SAFETY: E1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn daemon(keeps_folder: c_int, keeps_files: c_int) -> c_int {
    // The C library ends the process that calls it without a call of `_exit` that comes here.
    flush_and_end(null_mut());
    // SAFETY: E1: the promises of the caller are passed on.
    DAEMON.get().map_or(-1, |daemon| unsafe { daemon(keeps_folder, keeps_files) })
}
