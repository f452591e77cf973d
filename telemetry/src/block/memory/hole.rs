//! Truncated pages of a mapped file: zeros replace them, and the program goes on.
//!
//! ```text
//!  store ─▶ SIGBUS ─ in the mapped blocks? ─┬─ yes: pages of zeros are mapped there ─▶ the store
//!                                           └─ no: the previous handler
//! ```
//!
//! No other way exists: any process that may write the file may truncate it at any instant, and no
//! system keeps pages beyond a file's end. Design: `.sol.mapped.cut` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "a signal handler that maps pages")]

use super::block_size;
use crate::os::pages;
use crate::os::signals::{self, Action, Previous, set_default};
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The address and size of the watched pages, in bytes; size 0: none.
static START: AtomicUsize = AtomicUsize::new(0);
static SIZE: AtomicUsize = AtomicUsize::new(0);
/// Whether some of them were truncated.
static IS_CUT: AtomicBool = AtomicBool::new(false);

/// H1: known before the handler that reads it is installed.
static PREVIOUS: Previous = Previous::unknown();
static IS_INSTALLED: AtomicBool = AtomicBool::new(false);

pub(crate) fn is_cut() -> bool {
    IS_CUT.load(Ordering::Relaxed)
}

/// Returns whether a handler of SIGBUS is this one, with `to` as its previous handler.
pub(crate) fn passes_on(handler: libc::sighandler_t, to: libc::sighandler_t) -> bool {
    let is_previous = |action: &libc::sigaction| action.sa_sigaction == to;
    handler == handle as Action as libc::sighandler_t && PREVIOUS.get().is_some_and(is_previous)
}

/// Watches mapped pages instead of any others.
pub(super) fn watch(start: *mut u8, size: usize) {
    START.store(start.expose_provenance(), Ordering::Relaxed);
    SIZE.store(size, Ordering::Release);
    IS_CUT.store(false, Ordering::Relaxed);
    install();
}

pub(super) fn forget() {
    SIZE.store(0, Ordering::Release);
}

/// Installs the handler in front of the previous one, once in the process.
fn install() {
    if IS_INSTALLED.swap(true, Ordering::AcqRel) {
        return;
    }
    if let Some(before) = signals::current(libc::SIGBUS) {
        // SAFETY: H1: `set` is called once, before the handler is installed.
        unsafe { PREVIOUS.set(before) };
        signals::set(libc::SIGBUS, handle, libc::SA_ONSTACK | before.sa_flags & libc::SA_RESTART);
    }
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes valid arguments, and `pass_on` gets the same ones.
    unsafe {
        if !mend(signal, info) {
            pass_on(signal, info, context);
        }
    }
}

/// Maps zeros in place of truncated pages. Returns false if the signal means something else.
///
/// # Safety
///
/// The kernel passed `info` to a handler of this signal.
pub(crate) unsafe fn mend(signal: c_int, info: *const libc::siginfo_t) -> bool {
    let (size, start) = (SIZE.load(Ordering::Acquire), START.load(Ordering::Relaxed));
    // SAFETY: the caller's promise; a SIGBUS that an instruction caused has the address.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr().addr()) };
    let offset = address.wrapping_sub(start);
    if signal != libc::SIGBUS || code <= 0 || offset >= size {
        return false;
    }
    // The pages after the first truncated one, in its block, are truncated too.
    let from = offset & !(page_size() - 1);
    let size = block_size() - from % block_size();
    let at = core::ptr::with_exposed_provenance_mut(start + from);
    IS_CUT.store(true, Ordering::Relaxed);
    // SAFETY: B1: these pages of mapped blocks stay mapped, and only atomics refer to their bytes.
    unsafe { pages::map_again(at, size, libc::MAP_PRIVATE | libc::MAP_ANON, -1) }
}

fn page_size() -> usize {
    // SAFETY: touches no memory. POSIX lets a handler call it.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(4096)
}

/// Does what would have happened without this handler.
///
/// # Safety
///
/// As a signal handler is called.
unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(previous) = PREVIOUS.get() else { return };
    // SAFETY: the kernel filled this structure for the signal.
    let is_sent = unsafe { (*info).si_code <= 0 };
    match previous.sa_sigaction {
        libc::SIG_IGN if is_sent => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            set_default(signal);
            // A fault repeats; a sent signal is sent again.
            if is_sent {
                // SAFETY: the signal stays blocked until the handler returns.
                unsafe { libc::raise(signal) };
            }
        }
        // SAFETY: the program installed it as such a handler, and the mask is the one it requested.
        _ => unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, &previous.sa_mask, null_mut());
            signals::call(previous, signal, info, context);
        },
    }
}
