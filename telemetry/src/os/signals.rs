//! What a signal interrupts in a thread: nothing while signals are deferred, or a write to the
//! host.
//!
//! ```text
//!  Deferred ─ no handler runs here ─ dropped      carry: bytes, offset ─▶ plinth ─▶ nothing
//! ```
//!
//! Design: `.sol.exit.signal` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "signal masks, and bytes that a handler finds half written")]

use core::cell::{Cell, UnsafeCell};
use core::ffi::{c_int, c_void};
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicBool, Ordering, compiler_fence};

/// While this value lives, no signal handler runs on this thread: pending ones run afterwards.
pub(crate) struct Deferred {
    before: libc::sigset_t,
    // Not Send: the mask belongs to the thread.
    here: PhantomData<*const ()>,
}

impl Deferred {
    pub(crate) fn begin() -> Deferred {
        // SAFETY: the calls fill the sets before use, and the sets live through the calls.
        unsafe {
            let mut all: libc::sigset_t = core::mem::zeroed();
            let mut before: libc::sigset_t = core::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_BLOCK, &all, &mut before);
            Deferred { before, here: PhantomData }
        }
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        // SAFETY: the set lives through the call.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, null_mut()) };
    }
}

/// The bytes that this thread is writing.
struct Carried {
    /// Whether the thread is in a call of the plinth.
    is_crossing: Cell<bool>,
    offset: Cell<u64>,
    start: Cell<*const u8>,
    /// S2: unless 0, this number of bytes at `start`, which stay unchanged while it is not 0.
    size: Cell<usize>,
}

thread_local! {
    static CARRIED: Carried = const {
        Carried {
            is_crossing: Cell::new(false),
            offset: Cell::new(0),
            start: Cell::new(null()),
            size: Cell::new(0),
        }
    };
}

/// Notes the bytes that this thread is about to write, and their offset; empty bytes: the write is
/// done. The bytes may not change before that.
pub(crate) fn carry(offset: u64, bytes: &[u8]) {
    CARRIED.with(|carried| {
        carried.size.set(0);
        compiler_fence(Ordering::SeqCst);
        carried.offset.set(offset);
        carried.start.set(bytes.as_ptr());
        compiler_fence(Ordering::SeqCst);
        carried.size.set(bytes.len());
        compiler_fence(Ordering::SeqCst);
    });
}

pub(crate) fn set_crossing(is_crossing: bool) {
    CARRIED.with(|carried| carried.is_crossing.set(is_crossing));
}

/// Returns whether this thread, or the code that its signal handler interrupted, is in a call of
/// the plinth.
pub(crate) fn is_crossing() -> bool {
    CARRIED.with(|carried| carried.is_crossing.get())
}

/// Passes on the bytes that a signal handler finds this thread writing.
pub(crate) fn with_carried(give: impl FnOnce(u64, &[u8])) {
    CARRIED.with(|carried| {
        if carried.size.get() != 0 {
            // SAFETY: S2: `size` bytes are at `start`, and stay unchanged: only this thread writes
            // them, and the handler interrupted it.
            let bytes =
                unsafe { core::slice::from_raw_parts(carried.start.get(), carried.size.get()) };
            give(carried.offset.get(), bytes);
        }
    });
}

/// A signal handler that takes the kernel's facts about the signal.
pub(crate) type Action = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// The handler that the program had before ours.
pub(crate) struct Previous {
    /// S1: written before `known` is set, and not afterwards.
    action: UnsafeCell<MaybeUninit<libc::sigaction>>,
    known: AtomicBool,
}

// SAFETY: S1: the action is written before `known` is set, and not afterwards; it is read once
// `known` is set.
unsafe impl Sync for Previous {}

impl Previous {
    pub(crate) const fn unknown() -> Previous {
        Previous { action: UnsafeCell::new(MaybeUninit::uninit()), known: AtomicBool::new(false) }
    }

    /// Keeps the handler.
    ///
    /// # Safety
    ///
    /// Only one call in the process.
    pub(crate) unsafe fn set(&self, action: libc::sigaction) {
        // SAFETY: S1: the caller's promise: `known` is not set yet, and no other call writes.
        unsafe { (*self.action.get()).write(action) };
        self.known.store(true, Ordering::Release);
    }

    pub(crate) fn get(&self) -> Option<&libc::sigaction> {
        // SAFETY: S1: `known` is set, so the action was written and does not change any more.
        let action = || unsafe { (*self.action.get()).assume_init_ref() };
        self.known.load(Ordering::Acquire).then(action)
    }
}

/// Calls a handler of the program, neither SIG_DFL nor SIG_IGN.
///
/// # Safety
///
/// In a signal handler with these arguments. The program installed it as such a handler.
pub(crate) unsafe fn call(
    action: &libc::sigaction,
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: the caller's promise: SA_SIGINFO states which of the two forms the handler has.
    unsafe {
        if action.sa_flags & libc::SA_SIGINFO != 0 {
            let call: Action = core::mem::transmute(action.sa_sigaction);
            call(signal, info, context);
        } else {
            let call: extern "C" fn(c_int) = core::mem::transmute(action.sa_sigaction);
            call(signal);
        }
    }
}

/// Returns the handler of a signal; `None` if the system has no such signal.
pub(crate) fn current(signal: c_int) -> Option<libc::sigaction> {
    // SAFETY: the call fills a structure that lives through it; all zeros is a value of it.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        (libc::sigaction(signal, null(), &mut action) == 0).then_some(action)
    }
}

/// Sets the handler of a signal, with flags in addition to SA_SIGINFO.
pub(crate) fn set(signal: c_int, handler: Action, flags: c_int) {
    set_raw(signal, handler as libc::sighandler_t, libc::SA_SIGINFO | flags);
}

pub(crate) fn set_default(signal: c_int) {
    set_raw(signal, libc::SIG_DFL, 0);
}

fn set_raw(signal: c_int, handler: libc::sighandler_t, flags: c_int) {
    // SAFETY: a structure that lives through the call; all zeros is a value of it. The handler is
    // the default, or a function of the form that SA_SIGINFO asks for.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, null_mut());
    }
}
