//! The functions by which a process becomes another program, or starts one. A program that cannot
//! load this library is started without it.
//!
//! ```text
//!  execl, execv ─▶ execve ─┬─ note the program ─ flush ─▶ the real execve
//!                          └─ foreign.rs: it cannot load this ─▶ an environment without this
//!  posix_spawn ─▶ the same ─▶ note the process
//! ```
//!
//! Design: `.rep.record.ends`, `.rep.record.unloadable` in `design/replay.md`.
#![expect(unsafe_code, reason = "symbols of the C library, and its list of variables")]

// P2: the caller keeps the promises that the C library asks of it for the function of this name; no
//     other symbol of this library has the name.

use crate::foreign::{Program, cause, without_this};
use crate::real::Function;
use crate::{lifecycle, roster, thread};
use core::ffi::{c_char, c_int, c_void};
use core::ptr::null;
use eventlog::format::{Presence, Unloadable};

type Text = *const c_char;
type Strings = *const Text;

/// The maximum number of arguments in a call of `execl` and its kin.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const ARGUMENT_COUNT_MAX: usize = 1024;

unsafe extern "C" {
    static environ: Strings;
}

/// Returns the environment of this process.
fn own_environment() -> Strings {
    // SAFETY: the C library's variable, which a program changes by functions of the C library.
    unsafe { (&raw const environ).read() }
}

/// Returns the number of a cause, for the roster.
fn number(cause: Option<Unloadable>) -> u64 {
    cause.map_or(0, |cause| cause as u64)
}

/// Starts a program, in its environment or in that without this library. Programs that a statically
/// linked one starts may load this.
///
/// # Safety
///
/// P2: the environment.
unsafe fn start<T>(
    cause: Option<Unloadable>,
    environment: Strings,
    start: impl FnOnce(Strings) -> T,
) -> T {
    match cause {
        None | Some(Unloadable::Static) => start(environment),
        // SAFETY: the caller's promise.
        Some(_) => unsafe { without_this(environment, start) },
    }
}

/// Defines functions by which a process executes another program: arguments, the real function, and
/// the program.
macro_rules! executing {
    ($($name:ident($($argument:ident: $kind:ty),+; $environment:ident; $($more:ident: $last:ty)?)
        => $real:ident($symbol:literal), $program:expr, $path:expr;)*
    ) => {
        fn look_up_executing() {
            $($real.look_up();)*
        }
    $(
        static $real: Function<unsafe extern "C" fn($($kind,)+ Strings $(, $last)?) -> c_int> =
            Function::new($symbol);

        // SAFETY: P2: no other symbol of this library has the name.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(
            $($argument: $kind,)+ $environment: Strings $(, $more: $last)?
        ) -> c_int {
            let Some(function) = $real.get() else {
                thread::set_errno(libc::ENOSYS);
                return -1;
            };
            // SAFETY: P2: the promises of the caller are passed on.
            unsafe {
                let cause = cause($program);
                roster::note_path(Presence::Executes, number(cause), $path);
                lifecycle::flush();
                start(cause, $environment, |environment| {
                    function($($argument,)+ environment $(, $more)?)
                })
            }
        }
    )*};
}

executing! {
    execve(path: Text, arguments: Strings; environment;)
        => EXECVE(c"execve"), Program::Path(path), path;
    execvpe(file: Text, arguments: Strings; environment;)
        => EXECVPE(c"execvpe"), Program::Named(file), file;
    fexecve(file: c_int, arguments: Strings; environment;)
        => FEXECVE(c"fexecve"), Program::Open(file, null()), null();
    execveat(folder: c_int, path: Text, arguments: Strings; environment; flags: c_int)
        => EXECVEAT(c"execveat"), Program::Open(folder, path), path;
}

// SAFETY: P2: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn execv(path: Text, arguments: Strings) -> c_int {
    // SAFETY: P2: the promises of the caller are passed on.
    unsafe { execve(path, arguments, own_environment()) }
}

// SAFETY: P2: no other symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn execvp(file: Text, arguments: Strings) -> c_int {
    // SAFETY: P2: the promises of the caller are passed on.
    unsafe { execvpe(file, arguments, own_environment()) }
}

/// The arguments of a call after the first, as the processor passes them: some in registers, which
/// are put aside, and others on the stack.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
struct Passed {
    registers: Strings,
    register_count: usize,
    stack: Strings,
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
impl Passed {
    /// Returns an argument.
    ///
    /// # Safety
    ///
    /// The caller of the function passed it.
    unsafe fn get(&self, index: usize) -> Text {
        // SAFETY: the caller's promise.
        unsafe {
            match index.checked_sub(self.register_count) {
                None => self.registers.add(index).read(),
                Some(index) => self.stack.add(index).read(),
            }
        }
    }

    /// Collects the arguments up to a null pointer. Returns their number; `None`: too many.
    ///
    /// # Safety
    ///
    /// P2: the arguments end with a null pointer.
    unsafe fn list(&self, list: &mut [Text; ARGUMENT_COUNT_MAX]) -> Option<usize> {
        for (index, place) in list.iter_mut().enumerate() {
            // SAFETY: the caller's promise: no argument so far was null.
            *place = unsafe { self.get(index) };
            if place.is_null() {
                return Some(index);
            }
        }
        thread::set_errno(libc::E2BIG);
        None
    }
}

/// Defines functions with any number of arguments: each collects them in a list, and calls another
/// function with it.
macro_rules! variadic {
    ($($name:ident, $collect:ident => |$path:ident, $list:ident, $next:ident| $call:expr;)*) => {$(
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        unsafe extern "C" fn $collect($path: Text, registers: Strings, stack: Strings) -> c_int {
            let register_count = if cfg!(target_arch = "x86_64") { 5 } else { 7 };
            let passed = Passed { registers, register_count, stack };
            let mut list = [null(); ARGUMENT_COUNT_MAX];
            // SAFETY: P2: the promises of the caller are passed on.
            unsafe {
                let Some(count) = passed.list(&mut list) else { return -1 };
                let ($list, $next) = (list.as_ptr(), || passed.get(count + 1));
                $call
            }
        }

        // SAFETY: P2: no other symbol of this library has the name; the arguments are as the caller
        // passed them.
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "push r9", "push r8", "push rcx", "push rdx", "push rsi",
                "mov rsi, rsp",
                "lea rdx, [rsp + 48]",
                "call {collect}",
                "add rsp, 40",
                "ret",
                collect = sym $collect,
            )
        }

        // SAFETY: P2: no other symbol of this library has the name; the arguments are as the caller
        // passed them.
        #[cfg(target_arch = "aarch64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "stp x29, x30, [sp, -80]!", "stp x1, x2, [sp, 16]", "stp x3, x4, [sp, 32]",
                "stp x5, x6, [sp, 48]", "str x7, [sp, 64]",
                "add x1, sp, 16",
                "add x2, sp, 80",
                "bl {collect}",
                "ldp x29, x30, [sp], 80",
                "ret",
                collect = sym $collect,
            )
        }
    )*};
}

variadic! {
    execl, collect_execl => |path, list, _next| execv(path, list);
    execlp, collect_execlp => |path, list, _next| execvp(path, list);
    execle, collect_execle => |path, list, next| execve(path, list, next().cast());
}

type Spawn = unsafe extern "C" fn(
    *mut libc::pid_t,
    Text,
    *const c_void,
    *const c_void,
    Strings,
    Strings,
) -> c_int;

/// Defines functions that start a process: each calls the real function, and notes the process.
macro_rules! spawning {
    ($($name:ident => $real:ident($symbol:literal), $program:ident;)*) => {
        fn look_up_spawning() {
            $($real.look_up();)*
        }
    $(
        static $real: Function<Spawn> = Function::new($symbol);

        // SAFETY: P2: no other symbol of this library has the name.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(
            process: *mut libc::pid_t,
            path: Text,
            actions: *const c_void,
            attributes: *const c_void,
            arguments: Strings,
            environment: Strings,
        ) -> c_int {
            let mut child = 0;
            let Some(spawn) = $real.get() else { return libc::ENOSYS };
            // SAFETY: P2: the caller keeps the promises that the C library asks for this function;
            // the variable for the process number is this function's.
            unsafe {
                let cause = cause(Program::$program(path));
                let error = start(cause, environment, |environment| {
                    spawn(&mut child, path, actions, attributes, arguments, environment)
                });
                if error == 0 {
                    roster::note_spawned(child, number(cause), path);
                    if !process.is_null() {
                        process.write(child);
                    }
                }
                error
            }
        }
    )*};
}

spawning! {
    posix_spawn => SPAWN(c"posix_spawn"), Path;
    posix_spawnp => SPAWN_BY_NAME(c"posix_spawnp"), Named;
}

/// Looks the functions up (`lifecycle.rs`).
pub(crate) fn look_up() {
    look_up_executing();
    look_up_spawning();
}
