//! Pages of a mapped file that somebody cut off: zeros take their place, and the program goes on.
//!
//! ```text
//!  store ─▶ SIGBUS ─ in the mapped blocks? ─┬─ yes: pages of zeros are mapped there ─▶ the store
//!                                           └─ no: the handler that was there before
//! ```
//!
//! There is no other way: whoever may write a file may truncate it at any instant, and no system
//! keeps pages beyond its end. Design: `.sol.mapped.cut` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "a signal handler that maps pages")]

use super::block_size;
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The pages that are watched, and how many bytes; 0: none.
static START: AtomicUsize = AtomicUsize::new(0);
static SIZE: AtomicUsize = AtomicUsize::new(0);
/// Whether some of them were gone.
static IS_CUT: AtomicBool = AtomicBool::new(false);

/// The handler that was there before.
struct Before {
    /// H1: written once, before the handler that reads it is installed.
    action: UnsafeCell<MaybeUninit<libc::sigaction>>,
    is_known: AtomicBool,
}

// SAFETY: H1: the action is written once, before the handler that reads it is installed.
unsafe impl Sync for Before {}

static BEFORE: Before =
    Before { action: UnsafeCell::new(MaybeUninit::uninit()), is_known: AtomicBool::new(false) };

type Action = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Whether pages that are watched were gone.
pub(crate) fn is_cut() -> bool {
    IS_CUT.load(Ordering::Relaxed)
}

/// Whether a handler of SIGBUS is this one, which passes on what is not its own to another one.
pub(crate) fn passes_on(handler: libc::sighandler_t, to: libc::sighandler_t) -> bool {
    // SAFETY: H1: its handler is installed, and the action was written before that.
    handler == handle as Action as libc::sighandler_t
        && unsafe { (*BEFORE.action.get()).assume_init_ref().sa_sigaction == to }
}

/// Watches mapped pages, no others any more.
pub(super) fn watch(start: *mut u8, size: usize) {
    START.store(start.expose_provenance(), Ordering::Relaxed);
    SIZE.store(size, Ordering::Release);
    IS_CUT.store(false, Ordering::Relaxed);
    install();
}

/// Watches none.
pub(super) fn forget() {
    SIZE.store(0, Ordering::Release);
}

/// Puts the handler before the one that there is, once in the process.
fn install() {
    if BEFORE.is_known.swap(true, Ordering::AcqRel) {
        return;
    }
    // SAFETY: H1: the handler is installed after the write, and only here. The structures live
    // through the calls; all fields that are not set may be zero.
    unsafe {
        let mut before: libc::sigaction = core::mem::zeroed();
        libc::sigaction(libc::SIGBUS, null(), &mut before);
        (*BEFORE.action.get()).write(before);
        let mut new: libc::sigaction = core::mem::zeroed();
        new.sa_sigaction = handle as Action as libc::sighandler_t;
        new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | before.sa_flags & libc::SA_RESTART;
        libc::sigemptyset(&mut new.sa_mask);
        libc::sigaction(libc::SIGBUS, &new, null_mut());
    }
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives what it must, and what it gave is passed on.
    unsafe {
        if !mend(signal, info) {
            pass_on(signal, info, context);
        }
    }
}

/// Maps zeros where pages that are watched are gone. False: the signal means something else.
///
/// # Safety
///
/// `info` is what the kernel gives a handler of this signal.
pub(crate) unsafe fn mend(signal: c_int, info: *const libc::siginfo_t) -> bool {
    let (size, start) = (SIZE.load(Ordering::Acquire), START.load(Ordering::Relaxed));
    // SAFETY: the caller's promise; of a SIGBUS that an instruction caused the address is there.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr().addr()) };
    let offset = address.wrapping_sub(start);
    if signal != libc::SIGBUS || code <= 0 || offset >= size {
        return false;
    }
    // What follows the first page that is gone, in its block, is gone too.
    let from = offset & !(page_size() - 1);
    let size = block_size() - from % block_size();
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED;
    let at = core::ptr::with_exposed_provenance_mut::<c_void>(start + from);
    IS_CUT.store(true, Ordering::Relaxed);
    // SAFETY: B1: these pages of mapped blocks stay mapped, with bytes that nobody has a reference
    // to but as atomics.
    unsafe { libc::mmap(at, size, access, flags, -1, 0) != libc::MAP_FAILED }
}

fn page_size() -> usize {
    // SAFETY: takes no memory. It is on the list of what a handler may call.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(4096)
}

/// What would have happened without this handler.
///
/// # Safety
///
/// As a signal handler is called.
unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: H1: the action was written before this handler was installed. The structure lives
    // through the call. The code that installed the handler before said that it is such a handler;
    // the mask is what it asked for.
    unsafe {
        let before = (*BEFORE.action.get()).assume_init_ref();
        match before.sa_sigaction {
            libc::SIG_IGN if (*info).si_code <= 0 => {}
            libc::SIG_DFL | libc::SIG_IGN => {
                let mut action: libc::sigaction = core::mem::zeroed();
                action.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &action, null_mut());
                // An instruction faults once more; what was sent is sent again.
                if (*info).si_code <= 0 {
                    libc::raise(signal);
                }
            }
            call => {
                libc::pthread_sigmask(libc::SIG_BLOCK, &before.sa_mask, null_mut());
                if before.sa_flags & libc::SA_SIGINFO != 0 {
                    let call: Action = core::mem::transmute(call);
                    call(signal, info, context);
                } else {
                    let call: extern "C" fn(c_int) = core::mem::transmute(call);
                    call(signal);
                }
            }
        }
    }
}
