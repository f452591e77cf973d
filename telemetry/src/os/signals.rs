//! What signals find a thread at: deferred, or at writing something to the host.
//!
//! ```text
//!  Deferred ─ no handler runs here ─ dropped      carry: what, and where ─▶ plinth ─▶ nothing
//! ```
//!
//! Design: `.sol.exit.signal` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "signal masks, and bytes that a handler finds being written")]

use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::{null, null_mut};
use core::sync::atomic::{Ordering, compiler_fence};

/// While it is there no signal handler runs on this thread: one that comes is called afterwards.
pub(crate) struct Deferred {
    before: libc::sigset_t,
    // Not Send: the mask is the thread's.
    here: PhantomData<*const ()>,
}

impl Deferred {
    pub(crate) fn begin() -> Deferred {
        // SAFETY: sets that are filled before they are used, and live through the call.
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
        // SAFETY: a set that lives through the call.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, null_mut()) };
    }
}

/// What this thread is writing.
struct Carried {
    /// Whether it is with the plinth at all.
    is_crossing: Cell<bool>,
    offset: Cell<u64>,
    start: Cell<*const u8>,
    /// S2: not 0: so many bytes at `start`, which stay as they are while it is not 0.
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

/// Notes what this thread is about to write, and where; nothing: it is done. The bytes may not
/// change before.
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

/// Notes whether this thread is with the plinth.
pub(crate) fn set_crossing(is_crossing: bool) {
    CARRIED.with(|carried| carried.is_crossing.set(is_crossing));
}

/// Whether this thread, or what its signal handler interrupted, is with the plinth.
pub(crate) fn is_crossing() -> bool {
    CARRIED.with(|carried| carried.is_crossing.get())
}

/// Gives what a signal handler has found this thread writing.
pub(crate) fn with_carried(give: impl FnOnce(u64, &[u8])) {
    CARRIED.with(|carried| {
        if carried.size.get() != 0 {
            // SAFETY: S2: so many bytes are at `start`, and stay as they are. Only this thread
            // writes them, and it is interrupted.
            let bytes =
                unsafe { core::slice::from_raw_parts(carried.start.get(), carried.size.get()) };
            give(carried.offset.get(), bytes);
        }
    });
}
