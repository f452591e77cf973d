//! The beginning and the ends of a program: all that the runtime is not told of by itself.
//!
//! ```text
//!  loaded ─▶ begin ─ the runtime's own ─ start      exit, quick_exit ─▶ the runtime's own
//!  _exit, exec* ─▶ flush
//! ```
//!
//! Design: `.rep.record.ends` in `design/replay.md`.
#![expect(unsafe_code, reason = "symbols of the C library, and what is called when it is loaded")]

// E1: as C1 of calls.rs: the caller keeps the promises that the C library asks of it for the
//     function of this name; no other symbol of this library has the name.

use crate::real::Function;
use crate::recording::while_recording;
use crate::thread::{self, Doing};
use crate::{roster, stack, touched};
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicI32, Ordering};
use eventlog::format::Presence;

type Strings = *const *const c_char;
type Exec = unsafe extern "C" fn(*const c_char, Strings) -> c_int;
type ExecWith = unsafe extern "C" fn(*const c_char, Strings, Strings) -> c_int;
type ExecOf = unsafe extern "C" fn(c_int, Strings, Strings) -> c_int;
type ExecAt = unsafe extern "C" fn(c_int, *const c_char, Strings, Strings, c_int) -> c_int;
type Exit = unsafe extern "C" fn(c_int) -> !;
/// A function of which nothing is known but that it is jumped to.
type Any = unsafe extern "C" fn();

static EXECV: Function<Exec> = Function::new(c"execv");
static EXECVP: Function<Exec> = Function::new(c"execvp");
static EXECVE: Function<ExecWith> = Function::new(c"execve");
static EXECVPE: Function<ExecWith> = Function::new(c"execvpe");
static FEXECVE: Function<ExecOf> = Function::new(c"fexecve");
static EXECVEAT: Function<ExecAt> = Function::new(c"execveat");
static EXECL: Function<Any> = Function::new(c"execl");
static EXECLP: Function<Any> = Function::new(c"execlp");
static EXECLE: Function<Any> = Function::new(c"execle");
static EXIT: Function<Exit> = Function::new(c"_exit");

/// The process. One that was made by vfork has its parent's memory, and another number.
static PROCESS: AtomicI32 = AtomicI32::new(0);

unsafe extern "C" {
    fn __cxa_at_quick_exit(call: extern "C" fn(*mut c_void), library: *mut c_void) -> c_int;
}

// The less its number, the earlier it is called: `begin` before the runtime, for which loader and
// C library ask for memory, and `start`, which has none, after.
#[used]
// SAFETY: the section holds addresses of functions that are called when the library is loaded.
#[unsafe(link_section = ".init_array.00100")]
static BEGIN: extern "C" fn() = begin;

#[used]
// SAFETY: the section holds addresses of functions that are called when the library is loaded.
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

// The greater its number, the earlier it is called, and earliest what has none: so `tell` is called
// before the runtime ends its log, for which that has a number, and `end` after.
#[used]
// SAFETY: the section holds addresses of functions that are called when the program ends.
#[unsafe(link_section = ".fini_array")]
static TELL: extern "C" fn() = tell;

#[used]
// SAFETY: the section holds addresses of functions that are called when the program ends.
#[unsafe(link_section = ".fini_array.00101")]
static END: extern "C" fn() = end;

/// From here to `start` what is asked for is not the program's.
extern "C" fn begin() {
    thread::with(|local| local.doing.set(Doing::Inside));
}

extern "C" fn start() {
    look_up();
    note_process();
    roster::begin();
    // SAFETY: functions that stay.
    unsafe {
        libc::pthread_atfork(None, None, Some(note_process_in_child));
        __cxa_at_quick_exit(at_quick_exit, core::ptr::null_mut());
    }
    thread::with(|local| local.doing.set(Doing::Nothing));
    while_recording(telemetry::prepare);
}

/// Finds the functions now: the forked child of a process with several threads must not look.
fn look_up() {
    EXIT.look_up();
    [&EXECV, &EXECVP].into_iter().for_each(|exec| _ = exec.look_up());
    [&EXECVE, &EXECVPE].into_iter().for_each(|exec| _ = exec.look_up());
    [&EXECL, &EXECLP, &EXECLE].into_iter().for_each(|exec| _ = exec.look_up());
    FEXECVE.look_up();
    EXECVEAT.look_up();
    roster::look_up();
}

fn note_process() {
    // SAFETY: the call touches no memory.
    PROCESS.store(unsafe { libc::getpid() }, Ordering::Relaxed);
}

unsafe extern "C" fn note_process_in_child() {
    note_process();
    stack::begin_anew();
    roster::note(Presence::Forked, 0);
}

/// Records what the process took.
extern "C" fn tell() {
    while_recording(touched::tell);
}

/// The same, and all that was recorded goes out.
fn bring_out() {
    touched::tell();
    telemetry::flush();
}

/// The runtime, which asked before, ends its log after this.
extern "C" fn at_quick_exit(_: *mut c_void) {
    flush_and_end();
}

/// The program ends in good order: what it lost is known.
extern "C" fn end() {
    let lost = match is_this_process() {
        true => telemetry::losses(),
        false => telemetry::Losses::default(),
    };
    roster::note(Presence::Ended, lost.full + lost.nested + lost.large + lost.io);
}

/// The same where the runtime is not told.
fn flush_and_end() {
    if is_this_process() {
        while_recording(bring_out);
    }
    end();
}

/// Whether this is not a child made by vfork, which has its parent's memory.
fn is_this_process() -> bool {
    // SAFETY: the call touches no memory.
    unsafe { libc::getpid() == PROCESS.load(Ordering::Relaxed) }
}

/// Brings out what was recorded, before the process becomes another program. Not in a child made
/// by vfork: what it has is its parent's, which goes on.
///
/// # Safety
///
/// The path is null, or ends with a NUL.
unsafe fn flush(path: *const c_char) {
    // SAFETY: the caller's promise.
    unsafe { roster::note_program(path) };
    if is_this_process() {
        while_recording(bring_out);
    }
}

fn missing() -> c_int {
    crate::thread::set_errno(libc::ENOSYS);
    -1
}

/// As `_exit`.
// SAFETY: E1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn _exit(status: c_int) -> ! {
    flush_and_end();
    match EXIT.get() {
        // SAFETY: E1: the caller keeps the promises that the C library asks for this function, and
        // they are passed on.
        Some(exit) => unsafe { exit(status) },
        // SAFETY: the call ends the process.
        None => unsafe { libc::syscall(libc::SYS_exit_group, status) },
    };
    unreachable!("the process has ended")
}

/// As `_Exit`.
// SAFETY: E1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn _Exit(status: c_int) -> ! {
    // SAFETY: E1: the caller keeps the promises that the C library asks for this function, and they
    // are passed on.
    unsafe { _exit(status) }
}

/// As execv.
// SAFETY: E1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn execv(path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: E1: the caller passes a string that ends with a zero, or null.
    unsafe { flush(path) };
    // SAFETY: E1: the caller keeps the promises that the C library asks for this function, and they
    // are passed on.
    EXECV.get().map_or_else(missing, |execv| unsafe { execv(path, arguments) })
}

/// As execvp.
// SAFETY: E1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn execvp(file: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: E1: the caller passes a string that ends with a zero, or null.
    unsafe { flush(file) };
    // SAFETY: E1: the caller keeps the promises that the C library asks for this function, and they
    // are passed on.
    EXECVP.get().map_or_else(missing, |execvp| unsafe { execvp(file, arguments) })
}

/// As execve.
// SAFETY: E1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn execve(
    path: *const c_char,
    arguments: Strings,
    with: Strings,
) -> c_int {
    // SAFETY: E1: the caller passes a string that ends with a zero, or null.
    unsafe { flush(path) };
    // SAFETY: E1: the caller keeps the promises that the C library asks for this function, and they
    // are passed on.
    EXECVE.get().map_or_else(missing, |execve| unsafe { execve(path, arguments, with) })
}

/// As execvpe.
// SAFETY: E1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn execvpe(
    file: *const c_char,
    arguments: Strings,
    with: Strings,
) -> c_int {
    // SAFETY: E1: the caller passes a string that ends with a zero, or null.
    unsafe { flush(file) };
    // SAFETY: E1: the caller keeps the promises that the C library asks for this function, and they
    // are passed on.
    EXECVPE.get().map_or_else(missing, |execvpe| unsafe { execvpe(file, arguments, with) })
}

/// As fexecve.
// SAFETY: E1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fexecve(file: c_int, arguments: Strings, with: Strings) -> c_int {
    // SAFETY: none has no end.
    unsafe { flush(core::ptr::null()) };
    // SAFETY: E1: the caller keeps the promises that the C library asks for this function, and they
    // are passed on.
    FEXECVE.get().map_or_else(missing, |fexecve| unsafe { fexecve(file, arguments, with) })
}

/// As execveat.
// SAFETY: E1: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn execveat(
    folder: c_int,
    path: *const c_char,
    arguments: Strings,
    with: Strings,
    flags: c_int,
) -> c_int {
    // SAFETY: E1: the caller passes a string that ends with a zero, or null.
    unsafe { flush(path) };
    let call = |execveat: ExecAt| {
        // SAFETY: E1: the caller keeps the promises that the C library asks for this function, and
        // they are passed on.
        unsafe { execveat(folder, path, arguments, with, flags) }
    };
    EXECVEAT.get().map_or_else(missing, call)
}

unsafe extern "C" fn before_execl(path: *const c_char) -> usize {
    // SAFETY: E1: the caller passes a string that ends with a zero. The first argument is still in
    // its register.
    unsafe { flush(path) };
    EXECL.address()
}

unsafe extern "C" fn before_execlp(path: *const c_char) -> usize {
    // SAFETY: E1: the caller passes a string that ends with a zero. The first argument is still in
    // its register.
    unsafe { flush(path) };
    EXECLP.address()
}

unsafe extern "C" fn before_execle(path: *const c_char) -> usize {
    // SAFETY: E1: the caller passes a string that ends with a zero. The first argument is still in
    // its register.
    unsafe { flush(path) };
    EXECLE.address()
}

/// Calls a function, with all that a function of any number of arguments may have been called with
/// put aside, and goes on where that says.
macro_rules! pass_on {
    ($($name:ident: $before:path;)*) => {$(
        /// As the function of the C library, which has any number of arguments.
        // SAFETY: E1: the caller keeps the promises that the C library asks for this function. The
        // real function finds registers and stack as its caller left them.
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                "call {before}",
                "mov r11, rax",
                "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                "jmp r11",
                before = sym $before,
            )
        }

        /// As the function of the C library, which has any number of arguments.
        // SAFETY: E1: the caller keeps the promises that the C library asks for this function. The
        // real function finds registers and stack as its caller left them.
        #[cfg(target_arch = "aarch64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "stp x29, x30, [sp, -80]!", "stp x0, x1, [sp, 16]", "stp x2, x3, [sp, 32]",
                "stp x4, x5, [sp, 48]", "stp x6, x7, [sp, 64]",
                "bl {before}",
                "mov x16, x0",
                "ldp x0, x1, [sp, 16]", "ldp x2, x3, [sp, 32]", "ldp x4, x5, [sp, 48]",
                "ldp x6, x7, [sp, 64]", "ldp x29, x30, [sp], 80",
                "br x16",
                before = sym $before,
            )
        }
    )*};
}

pass_on! {
    execl: before_execl;
    execlp: before_execlp;
    execle: before_execle;
}
