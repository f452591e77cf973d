//! The state of each thread: its activity in this library, and calls that are recorded a little
//! later.
//!
//! ```text
//!  free ──▶ recording: calls that the runtime makes meanwhile are kept, and recorded after
//!       └─▶ inside: calls that the real function makes meanwhile are not recorded
//! ```
//!
//! Design: `.rep.record.nested`, `.rep.record.local` in `design/replay.md`.
#![expect(unsafe_code, reason = "the error number; thread-local storage without a call of rtld's")]

use crate::events::Call;
use core::cell::Cell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

/// The maximum number of calls that are kept: the C library makes one or two when a thread starts.
const KEPT_COUNT_MAX: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    Idle,
    Recording,
    /// The thread is in the real function.
    Inside,
}

pub(crate) struct Local {
    pub(crate) activity: Cell<Activity>,
    kept_count: Cell<usize>,
    kept: [Cell<Call>; KEPT_COUNT_MAX],
    missed: Cell<usize>,
}

// It has no destructor, so that nothing is allocated for it.
thread_local! {
    static LOCAL: Local = const {
        Local {
            activity: Cell::new(Activity::Idle),
            kept_count: Cell::new(0),
            kept: [const { Cell::new(Call::Free { address: 0 }) }; KEPT_COUNT_MAX],
            missed: Cell::new(0),
        }
    };
}

#[inline(always)]
pub(crate) fn with<T>(work: impl FnOnce(&Local) -> T) -> T {
    // The state is looked up first: the compiler would outline work within `LocalKey::with`, with a
    // frame of its own.
    const { assert!(!core::mem::needs_drop::<Local>()) };
    let local = LOCAL.with(core::ptr::from_ref);
    // SAFETY: the state is this thread's and has no destructor, so it exists as long as the thread
    // runs.
    work(unsafe { &*local })
}

impl Local {
    #[inline(always)]
    pub(crate) fn has_kept(&self) -> bool {
        self.kept_count.get() != 0
    }

    /// Keeps a call, to be recorded once the thread has recorded its current call.
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

    /// Passes all kept calls on, oldest first, with those that are kept meanwhile. Returns how many
    /// calls were missed.
    #[cold]
    pub(crate) fn drain_kept(&self, mut take: impl FnMut(Call)) -> usize {
        let mut at = 0;
        while at < self.kept_count.get() {
            take(self.kept[at].get());
            at += 1;
        }
        self.kept_count.set(0);
        self.missed.take()
    }
}

/// The key whose destructor gives up what a thread mapped, plus 1; 0: none yet.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Makes the key. Early: then the C library has room for its values, and allocates none.
pub(crate) fn prepare(end: unsafe extern "C" fn(*mut c_void)) {
    let mut key = 0;
    // SAFETY: the call writes the variable; the function stays.
    if unsafe { libc::pthread_key_create(&mut key, Some(end)) } == 0 {
        KEY.store(key + 1, Ordering::Release);
    }
}

/// Has what this thread mapped given up when the thread ends.
pub(crate) fn expect_end(memory: *mut c_void) {
    if let Some(key) = KEY.load(Ordering::Acquire).checked_sub(1) {
        // SAFETY: the key exists.
        unsafe { libc::pthread_setspecific(key, memory) };
    }
}

pub(crate) fn errno() -> i32 {
    // SAFETY: the C library's own variable, which exists as long as the thread.
    unsafe { *libc::__errno_location() }
}

pub(crate) fn set_errno(number: i32) {
    // SAFETY: the C library's own variable, which exists as long as the thread.
    unsafe { *libc::__errno_location() = number }
}

// A library finds its thread-local storage by a call of rtld's `__tls_get_addr`. That function may
// allocate after a library was loaded, by a call of malloc, which would come back here. This
// library is loaded with the program. So its storage has the same distance from the thread pointer
// in each thread, and the linker stores that distance for `interpose_anchor`. Code of other
// processors does the same without help (TLS descriptors).
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
core::arch::global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 8",
    ".type interpose_anchor,@object",
    ".size interpose_anchor,8",
    "interpose_anchor:",
    ".zero 8",
    ".globl interpose_frames",
    ".hidden interpose_frames",
    ".type interpose_frames,@object",
    ".size interpose_frames,32",
    "interpose_frames:",
    ".zero 32",
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
