//! Stacks for signal handlers: one for the way out, and one for each thread that has none.
//!
//! ```text
//!  thread that overflowed ─▶ spare stack: kernel's frame │ handle ─▶ own stack: the way out
//! ```
//!
//! A stack of SIGSTKSZ, 8 KiB, is what the standard library and most programs give a thread; the
//! kernel takes up to a half of it. Design: `.sol.exit` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "stacks: memory that is used by what runs")]

use crate::memory;
use core::ffi::c_void;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, Ordering};

/// What a stack for handlers has beside the kernel's frame, in bytes.
const SPARE_SIZE: usize = 16 << 10;
/// The size of the stack for the way out.
const OWN_SIZE: usize = 64 << 10;

/// The stack for the way out: A1: null, or `OWN_SIZE` bytes for ever.
static OWN: AtomicPtr<u8> = AtomicPtr::new(null_mut());

/// Calls something on a stack of its own, since that of a signal handler may be small: 8 KiB, of
/// which the kernel takes up to a half. By one thread at a time, not from within itself.
pub(crate) fn on_own(call: extern "C" fn()) {
    let start = OWN.load(Ordering::Relaxed);
    if start.is_null() {
        return call();
    }
    // SAFETY: A1.
    let top = unsafe { start.add(OWN_SIZE) };
    #[cfg(target_arch = "x86_64")]
    // SAFETY: `top` is aligned to a page, and nobody else is on this stack. `call` preserves r12,
    // does not unwind, and comes back.
    unsafe {
        core::arch::asm!(
            "xchg rsp, r12",
            "call {call}",
            "mov rsp, r12",
            call = in(reg) call,
            inout("r12") top => _,
            clobber_abi("C"),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above, of x21.
    unsafe {
        core::arch::asm!(
            "mov x21, sp",
            "mov sp, x20",
            "blr {call}",
            "mov sp, x21",
            call = in(reg) call,
            inout("x20") top => _,
            out("x21") _,
            clobber_abi("C"),
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = top;
        call();
    }
}

/// Makes the stack for the way out; without memory for it, that takes place where the handler is.
pub(crate) fn make_own() {
    if let Some(bytes) = memory::map_bytes(OWN_SIZE) {
        OWN.store(bytes.as_mut_ptr(), Ordering::Relaxed);
    }
}

/// A stack for the signal handlers of a thread that has none, mapped when it is first needed.
pub(crate) struct SpareStack {
    /// A2: null, or `spare_size()` bytes for ever, which one thread at a time has.
    start: AtomicPtr<c_void>,
}

impl SpareStack {
    pub(crate) const fn none() -> SpareStack {
        SpareStack { start: AtomicPtr::new(null_mut()) }
    }

    /// Gives it to this thread, unless that has one. A thread of an overflowing stack has nowhere
    /// else to run a handler.
    pub(crate) fn give(&self) {
        // SAFETY: A2; the structures live through the calls.
        unsafe {
            let mut old: libc::stack_t = core::mem::zeroed();
            if libc::sigaltstack(null(), &mut old) != 0 || old.ss_flags & libc::SS_DISABLE == 0 {
                return;
            }
            if self.start.load(Ordering::Relaxed).is_null() {
                let Some(bytes) = memory::map_bytes(spare_size()) else { return };
                self.start.store(bytes.as_mut_ptr().cast(), Ordering::Relaxed);
            }
            let start = self.start.load(Ordering::Relaxed);
            let new = libc::stack_t { ss_sp: start, ss_flags: 0, ss_size: spare_size() };
            libc::sigaltstack(&new, null_mut());
        }
    }

    /// Takes it away from this thread, if that has it.
    pub(crate) fn take_away(&self) {
        let start = self.start.load(Ordering::Relaxed);
        if start.is_null() {
            return;
        }
        // SAFETY: the structures live through the calls.
        unsafe {
            let mut old: libc::stack_t = core::mem::zeroed();
            if libc::sigaltstack(null(), &mut old) == 0 && old.ss_sp == start {
                old.ss_flags = libc::SS_DISABLE;
                libc::sigaltstack(&old, null_mut());
            }
        }
    }
}

fn spare_size() -> usize {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // SAFETY: reads what the kernel told the process at its start; 0 if it told no such thing.
    let frame = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let frame = libc::MINSIGSTKSZ;
    frame.next_multiple_of(4096) + SPARE_SIZE
}
