//! What each thread has: what it is doing here, and calls that are recorded a little later.
//!
//! ```text
//!  free ──▶ recording: what the runtime asks for meanwhile is kept, and recorded after
//!       └─▶ inside: what the real function asks for meanwhile is its own affair
//! ```
//!
//! Design: `.rep.record.nested`, `.rep.record.local` in `design/replay.md`.
#![expect(unsafe_code, reason = "the error number; thread-local storage without a call of rtld's")]

use crate::events::Call;
use core::cell::Cell;

/// Calls that are kept, at most: the C library makes one or two, when a thread is started.
const KEPT_COUNT_MAX: usize = 16;

/// What a thread is doing here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Nothing.
    Nothing,
    /// It records.
    Recording,
    /// It is in the real function.
    Inside,
}

/// What a thread has.
pub(crate) struct Local {
    /// What it is doing.
    pub(crate) doing: Cell<Doing>,
    kept_count: Cell<usize>,
    kept: [Cell<Call>; KEPT_COUNT_MAX],
    missed: Cell<usize>,
}

// Without a destructor: nothing is allocated for it.
thread_local! {
    static LOCAL: Local = const {
        Local {
            doing: Cell::new(Doing::Nothing),
            kept_count: Cell::new(0),
            kept: [const { Cell::new(Call::Free { address: 0 }) }; KEPT_COUNT_MAX],
            missed: Cell::new(0),
        }
    };
}

/// Gives what this thread has.
#[inline(always)]
pub(crate) fn with<T>(work: impl FnOnce(&Local) -> T) -> T {
    // Found first: work that is done within `LocalKey::with` is outlined, with a frame of its own.
    const { assert!(!core::mem::needs_drop::<Local>()) };
    let local = LOCAL.with(core::ptr::from_ref);
    // SAFETY: it is this thread's, and has no destructor: it is there as long as the thread runs.
    work(unsafe { &*local })
}

impl Local {
    /// Whether something is kept.
    #[inline(always)]
    pub(crate) fn has_kept(&self) -> bool {
        self.kept_count.get() != 0
    }

    /// Keeps a call, which is recorded when the thread has recorded what it is at.
    #[cold]
    pub(crate) fn keep(&self, call: Call) {
        let count = self.kept_count.get();
        match self.kept.get(count) {
            Some(place) => {
                place.set(call);
                self.kept_count.set(count + 1);
            }
            None => self.missed.set(self.missed.get() + 1),
        }
    }

    /// Gives what was kept, oldest first, and what is kept meanwhile; then how many were not kept.
    #[cold]
    pub(crate) fn give_kept(&self, mut give: impl FnMut(Call)) -> usize {
        let mut at = 0;
        while at < self.kept_count.get() {
            give(self.kept[at].get());
            at += 1;
        }
        self.kept_count.set(0);
        self.missed.take()
    }
}

/// The error number of this thread.
pub(crate) fn errno() -> i32 {
    // SAFETY: the C library's own place for it, which lives as long as the thread.
    unsafe { *libc::__errno_location() }
}

/// Sets the error number of this thread.
pub(crate) fn set_errno(number: i32) {
    // SAFETY: the C library's own place for it, which lives as long as the thread.
    unsafe { *libc::__errno_location() = number }
}

// A library finds its thread-local storage by a call of rtld's `__tls_get_addr`, which may allocate
// when a library has been loaded: by a call of malloc, which would come back here. This one is
// loaded with the program, so that its storage is at the same distance from the thread pointer in
// each thread, which the linker has written down for `interpose_anchor`. Other processors' code
// does that without being told (TLS descriptors).
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
core::arch::global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 8",
    ".type interpose_anchor,@object",
    ".size interpose_anchor,8",
    "interpose_anchor:",
    ".zero 8",
    ".text",
    ".globl __tls_get_addr",
    ".hidden __tls_get_addr",
    ".type __tls_get_addr,@function",
    "__tls_get_addr:",
    "movq interpose_anchor@GOTTPOFF(%rip), %rax",
    "addq 8(%rdi), %rax",
    "subq $interpose_anchor@DTPOFF, %rax",
    "addq %fs:0, %rax",
    "retq",
    ".size __tls_get_addr, . - __tls_get_addr",
    options(att_syntax)
);
