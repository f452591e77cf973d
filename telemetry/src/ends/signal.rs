//! Fatal signals: the handler, and the handlers that were there before it.
//!
//! ```text
//!  SIGSEGV … ─▶ handle ─▶ crash: way out ─┬─ a handler was there: called ─ it returns ─▶ go on
//!                                         └─ none: default ─ again, or raised ─▶ the process dies
//! ```
//!
//! All calls from here on are on the list of POSIX (`signal-safety(7)`), or plain system calls.
//! Design: `.sol.exit` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "signal handlers, and what they interrupted")]

use crate::ends::crash;
use crate::os::{stack, sys, way_out};
use crate::rings::thread;
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Signals by which a program dies of a fault.
const FAULTS: [c_int; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
];
/// Signals by which it is told to die.
const REQUESTS: [c_int; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGQUIT, libc::SIGHUP];

/// A handler that was there before.
struct Previous {
    /// S1: written before `known` is set, and not after.
    action: UnsafeCell<MaybeUninit<libc::sigaction>>,
    known: AtomicBool,
}

// SAFETY: S1: the action is written before `known` is set, and not after; it is read once `known`
// is.
unsafe impl Sync for Previous {}

static PREVIOUS: [Previous; FAULTS.len() + REQUESTS.len()] = [const {
    Previous { action: UnsafeCell::new(MaybeUninit::uninit()), known: AtomicBool::new(false) }
}; FAULTS.len() + REQUESTS.len()];
/// Signals, by index, whose handler was called and which the program survived.
static SURVIVED: AtomicU32 = AtomicU32::new(0);

fn signals() -> impl Iterator<Item = (usize, c_int)> {
    FAULTS.into_iter().chain(REQUESTS).enumerate()
}

fn index_of(signal: c_int) -> usize {
    signals().find(|(_, each)| *each == signal).map_or(0, |(index, _)| index)
}

type Action = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Puts the handler before those that there are; what is ignored stays ignored. Once in the
/// process. `waits`: not yet where the standard library is about to put one of its own, for stack
/// overflows, over one that comes meanwhile. True: there are such.
pub(crate) fn install(waits: bool) -> bool {
    signals().fold(false, |left, (_, signal)| left | !install_one(signal, waits))
}

/// The same for those that waited, one caller at a time: now, or once they are not in the way.
pub(crate) fn install_left(waits: bool) -> bool {
    let left = signals().filter(|(index, signal)| {
        is_of_library(*signal) && !PREVIOUS[*index].known.load(Ordering::Acquire)
    });
    left.fold(false, |left, (_, signal)| left | !install_one(signal, waits))
}

fn is_of_library(signal: c_int) -> bool {
    matches!(signal, libc::SIGSEGV | libc::SIGBUS)
}

/// False: it waits.
fn install_one(signal: c_int, waits: bool) -> bool {
    let previous = &PREVIOUS[index_of(signal)];
    // SAFETY: S1: once for each signal, whose handler is not there yet. The structures live through
    // the calls; all fields that are not set may be zero.
    unsafe {
        let mut old: libc::sigaction = core::mem::zeroed();
        if libc::sigaction(signal, null(), &mut old) != 0 || old.sa_sigaction == libc::SIG_IGN {
            return true;
        }
        if waits && is_of_library(signal) && old.sa_sigaction == libc::SIG_DFL {
            return false;
        }
        (*previous.action.get()).write(old);
        previous.known.store(true, Ordering::Release);
        set_ours(signal, &old);
    }
    true
}

fn set_ours(signal: c_int, previous: &libc::sigaction) {
    // SAFETY: a structure that lives through the call; all fields that are not set may be zero.
    unsafe {
        let mut new: libc::sigaction = core::mem::zeroed();
        new.sa_sigaction = handle as Action as libc::sighandler_t;
        // What the previous one lets be begun again is so still, and it runs on the stack that it
        // asked for; but an overflow of the stack is seen from another one alone.
        let is_elsewhere = previous.sa_sigaction == libc::SIG_DFL || is_of_library(signal);
        let stack = if is_elsewhere { libc::SA_ONSTACK } else { previous.sa_flags };
        let kept = previous.sa_flags & libc::SA_RESTART | stack & libc::SA_ONSTACK;
        new.sa_flags = libc::SA_SIGINFO | kept;
        libc::sigemptyset(&mut new.sa_mask);
        libc::sigaction(signal, &new, null_mut());
    }
}

/// The handler that was there before, if ours was put before it.
fn previous(signal: c_int) -> Option<&'static libc::sigaction> {
    let previous = &PREVIOUS[index_of(signal)];
    // SAFETY: S1: `known` is set, so that the action was written, and is written no more.
    let action = || unsafe { (*previous.action.get()).assume_init_ref() };
    previous.known.load(Ordering::Acquire).then(action)
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives what it must; `pass_on` is called with just that.
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

/// What would have happened without us.
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
    // SAFETY: the kernel's own word for what came.
    let code = unsafe { (*info).si_code };
    if previous.sa_sigaction == libc::SIG_DFL {
        // SAFETY: the caller's promise.
        return unsafe { die(signal, code) };
    }
    // `abort` sends its signal, and means it; 0 is what another process sends on Linux.
    let is_meant = signal == libc::SIGABRT && code != 0;
    let is_fault = FAULTS.contains(&signal) && (is_meant || !is_sent(code));
    // What the handler of a fault ends with, as that of a stack overflow does, is `abort`: for a
    // second handler there may be no room on the stack, and nothing to do.
    let is_abort_done = is_fault && !is_survived && signal != libc::SIGABRT;
    let abort = self::previous(libc::SIGABRT).filter(|_| is_abort_done);
    let abort = abort.filter(|previous| previous.sa_sigaction == libc::SIG_DFL);
    match abort {
        Some(_) => set_default(libc::SIGABRT),
        None if is_fault => {}
        None => way_out::come_back(),
    }
    // SAFETY: whoever installed it said that it is such a handler; the mask is what it asked for.
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, &previous.sa_mask, null_mut());
        if previous.sa_flags & libc::SA_RESETHAND != 0 {
            set_default(signal);
        }
        let mut called = Called { previous, signal, info, context };
        stack::where_interrupted(context, thread::has_stack, call, (&raw mut called).cast());
    }
    if !is_fault || signal == libc::SIGABRT {
        return; // `abort` ends the program whatever its handler says.
    }
    if is_ours(signal) {
        // A barrier, for one: the next such fault is its handler's first.
        SURVIVED.fetch_or(1 << index_of(signal), Ordering::Relaxed);
        if let Some(previous) = abort {
            set_ours(libc::SIGABRT, previous);
        }
        way_out::come_back();
    } else if is_survived {
        // It gave up: the fault comes once more, and ends the program.
        crash::bring_out_in_signal();
    }
}

/// A handler of the program that is to be called.
struct Called {
    previous: &'static libc::sigaction,
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
}

/// Calls it.
extern "C" fn call(called: *mut c_void) {
    // SAFETY: what `pass_on` gave; whoever installed it said that it is such a handler.
    unsafe {
        let Called { previous, signal, info, context } = *called.cast::<Called>();
        if previous.sa_flags & libc::SA_SIGINFO != 0 {
            let call: Action = core::mem::transmute(previous.sa_sigaction);
            call(signal, info, context);
        } else {
            let call: extern "C" fn(c_int) = core::mem::transmute(previous.sa_sigaction);
            call(signal);
        }
    }
}

/// Whether a signal was sent by a process, this one or another, rather than caused by an
/// instruction.
fn is_sent(code: c_int) -> bool {
    if cfg!(any(target_os = "linux", target_os = "android")) {
        code <= 0
    } else {
        // SI_USER is 0x10001 there, and the others of its sort follow it.
        code == 0 || code > 0x1_0000
    }
}

/// Lets the signal end the program, once this handler returns.
///
/// # Safety
///
/// In a handler of this signal.
unsafe fn die(signal: c_int, code: c_int) {
    set_default(signal);
    let comes_again = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE].contains(&signal);
    // The instruction faults once more, which leaves the better core.
    if is_sent(code) || !comes_again {
        // SAFETY: it stays blocked until the handler returns.
        unsafe { libc::raise(signal) };
    }
}

fn set_default(signal: c_int) {
    // SAFETY: a structure that lives through the call, of which zero is a value, with the default.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = libc::SIG_DFL;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, null_mut());
    }
}

/// Whether the handler of a signal is ours, or that of the mapped file is before it.
fn is_ours(signal: c_int) -> bool {
    let ours = handle as Action as libc::sighandler_t;
    // SAFETY: fills a structure that lives through the call.
    unsafe {
        let mut now: libc::sigaction = core::mem::zeroed();
        libc::sigaction(signal, null(), &mut now) == 0
            && (now.sa_sigaction == ours || crate::block::memory::passes_on(now.sa_sigaction, ours))
    }
}
