//! Fatal signals: our handler, and the handlers that the program had before.
//!
//! ```text
//!  SIGSEGV … ─▶ handle ─▶ crash: way out ─┬─ previous handler: called ─ it returns ─▶ go on
//!                                         └─ none: default ─ again, or raised ─▶ the process dies
//! ```
//!
//! All calls from here are on the list of POSIX (`signal-safety(7)`), or are plain system calls.
//! Design: `.sol.exit` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "signal handlers, and the code that they interrupted")]

use crate::ends::crash;
use crate::os::signals::{self, Action, Previous, set_default};
use crate::os::{stack, sys, way_out};
use crate::rings::thread;
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering};

const FAULTS: [c_int; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
];
const REQUESTS: [c_int; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGQUIT, libc::SIGHUP];

static PREVIOUS: [Previous; FAULTS.len() + REQUESTS.len()] =
    [const { Previous::unknown() }; FAULTS.len() + REQUESTS.len()];
/// Signals, by index, whose handler was called and which the program survived.
static SURVIVED: AtomicU32 = AtomicU32::new(0);

fn signals() -> impl Iterator<Item = (usize, c_int)> {
    FAULTS.into_iter().chain(REQUESTS).enumerate()
}

fn index_of(signal: c_int) -> usize {
    signals().find(|(_, each)| *each == signal).map_or(0, |(index, _)| index)
}

/// Installs our handler in front of the existing ones; an ignored signal stays ignored. Once in the
/// process. `waits`: leave out signals for which the standard library is about to install its own
/// handler, for stack overflows, over one that arrives meanwhile. Returns whether signals were left
/// out.
pub(crate) fn install(waits: bool) -> bool {
    signals().fold(false, |left, (_, signal)| left | !install_one(signal, waits))
}

/// Installs the handlers that were left out, or leaves them out again. One caller at a time.
pub(crate) fn install_left(waits: bool) -> bool {
    let left = signals()
        .filter(|(index, signal)| is_of_library(*signal) && PREVIOUS[*index].get().is_none());
    left.fold(false, |left, (_, signal)| left | !install_one(signal, waits))
}

fn is_of_library(signal: c_int) -> bool {
    matches!(signal, libc::SIGSEGV | libc::SIGBUS)
}

/// Installs one handler; returns false if it was left out.
fn install_one(signal: c_int, waits: bool) -> bool {
    let Some(old) = signals::current(signal).filter(|old| old.sa_sigaction != libc::SIG_IGN) else {
        return true;
    };
    if waits && is_of_library(signal) && old.sa_sigaction == libc::SIG_DFL {
        return false;
    }
    // SAFETY: called once for each signal, whose handler is not installed yet.
    unsafe { PREVIOUS[index_of(signal)].set(old) };
    set_ours(signal, &old);
    true
}

fn set_ours(signal: c_int, previous: &libc::sigaction) {
    // System calls restart, and the handler runs on the stack, as the previous handler requested.
    // But only a handler on another stack can handle a stack overflow.
    let is_elsewhere = previous.sa_sigaction == libc::SIG_DFL || is_of_library(signal);
    let stack = if is_elsewhere { libc::SA_ONSTACK } else { previous.sa_flags };
    let kept = previous.sa_flags & libc::SA_RESTART | stack & libc::SA_ONSTACK;
    signals::set(signal, handle, kept);
}

/// Returns the handler that the program had before ours, if one is known.
fn previous(signal: c_int) -> Option<&'static libc::sigaction> {
    PREVIOUS[index_of(signal)].get()
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes valid arguments, and `pass_on` gets the same ones.
    unsafe {
        if crate::block::memory::mend(signal, info) {
            return;
        }
        let errno = sys::errno();
        let is_survived = SURVIVED.load(Ordering::Relaxed) & 1 << index_of(signal) != 0;
        if !is_survived {
            crash::bring_out_in_signal();
        }
        pass_on(signal, info, context, is_survived);
        sys::set_errno(errno);
    }
}

/// Does what would have happened without our handler.
///
/// # Safety
///
/// As a signal handler is called.
unsafe fn pass_on(
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
    is_survived: bool,
) {
    let Some(previous) = previous(signal) else { return };
    // SAFETY: the kernel filled this structure for the signal.
    let code = unsafe { (*info).si_code };
    if previous.sa_sigaction == libc::SIG_DFL {
        // SAFETY: the caller's promise.
        return unsafe { die(signal, code) };
    }
    // `abort` sends its signal to end the program. On Linux, code 0 means that a process sent it.
    let is_meant = signal == libc::SIGABRT && code != 0;
    let is_fault = FAULTS.contains(&signal) && (is_meant || !is_sent(code));
    // A fault's handler, like that of a stack overflow, usually ends with `abort`. For a second
    // handler the stack may have no room, and nothing is left to do.
    let is_abort_done = is_fault && !is_survived && signal != libc::SIGABRT;
    let abort = self::previous(libc::SIGABRT).filter(|_| is_abort_done);
    let abort = abort.filter(|previous| previous.sa_sigaction == libc::SIG_DFL);
    match abort {
        Some(_) => set_default(libc::SIGABRT),
        None if is_fault => {}
        None => way_out::come_back(),
    }
    // SAFETY: the program installed it as such a handler, and the mask is the one it requested.
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, &previous.sa_mask, null_mut());
        if previous.sa_flags & libc::SA_RESETHAND != 0 {
            set_default(signal);
        }
        let mut called = Called { previous, signal, info, context };
        stack::where_interrupted(context, thread::has_stack, call, (&raw mut called).cast());
    }
    if !is_fault || signal == libc::SIGABRT {
        return; // `abort` ends the program whatever its handler does.
    }
    if is_ours(signal) {
        // For example a write barrier: the next such fault goes to its handler first.
        SURVIVED.fetch_or(1 << index_of(signal), Ordering::Relaxed);
        if let Some(previous) = abort {
            set_ours(libc::SIGABRT, previous);
        }
        way_out::come_back();
    } else if is_survived {
        // It gave up: the fault repeats, and ends the program.
        crash::bring_out_in_signal();
    }
}

struct Called {
    previous: &'static libc::sigaction,
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
}

extern "C" fn call(called: *mut c_void) {
    // SAFETY: `pass_on` passed this; the program installed it as such a handler.
    unsafe {
        let Called { previous, signal, info, context } = *called.cast::<Called>();
        signals::call(previous, signal, info, context);
    }
}

/// Returns whether a process sent the signal, this one or another, rather than an instruction
/// caused it.
fn is_sent(code: c_int) -> bool {
    if cfg!(any(target_os = "linux", target_os = "android")) {
        code <= 0
    } else {
        // SI_USER is 0x10001 there; similar codes follow it.
        code == 0 || code > 0x1_0000
    }
}

/// Lets the signal end the program once this handler returns.
///
/// # Safety
///
/// In a handler of this signal.
unsafe fn die(signal: c_int, code: c_int) {
    set_default(signal);
    let comes_again = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE].contains(&signal);
    // The instruction faults again, which leaves a better core.
    if is_sent(code) || !comes_again {
        // SAFETY: the signal stays blocked until the handler returns.
        unsafe { libc::raise(signal) };
    }
}

/// Returns whether the handler of a signal is ours, or that of the mapped file, which passes on to
/// ours.
fn is_ours(signal: c_int) -> bool {
    let ours = handle as Action as libc::sighandler_t;
    signals::current(signal).is_some_and(|now| {
        now.sa_sigaction == ours || crate::block::memory::passes_on(now.sa_sigaction, ours)
    })
}
