//! Calls of the operating system about threads.
//!
//! ```text
//!  number · name · existence · sleep · its end · cancellation · a thread of our own
//! ```
//!
//! Design: `.sol.thread`, `.sol.cancel`, `.sol.ordinary` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "calls of the C library")]

use crate::os::signals::current;
use core::ffi::{CStr, c_int, c_void};
use core::marker::PhantomData;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicU32, Ordering};

const SIGNAL_MAX: c_int =
    if cfg!(any(target_os = "linux", target_os = "android")) { 64 } else { 31 };
/// The C library keeps the values of this many keys in the thread itself: it allocates memory for a
/// later key.
const OWN_KEY_COUNT: u32 = match cfg!(all(target_os = "linux", target_env = "gnu")) {
    true => 32,
    false if cfg!(any(target_env = "musl", target_os = "android", target_vendor = "apple")) => {
        u32::MAX
    }
    false => 0,
};

/// Returns the number of the processor on which this thread runs. Where the system does not tell
/// it, the thread decides: another one has another number, most likely.
pub(crate) fn processor() -> u64 {
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: the call touches no memory of this program.
    if let Ok(processor) = u64::try_from(unsafe { libc::sched_getcpu() }) {
        return processor;
    }
    thread_number() as u64
}

/// Returns the number of processors of the machine that are in use; at least 1.
pub(crate) fn processor_count() -> u32 {
    // SAFETY: the call touches no memory of this program.
    u32::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(1).max(1)
}

/// Returns the operating system's number of this thread.
pub fn thread_number() -> usize {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // SAFETY: the call cannot fail and touches no memory.
    return unsafe { libc::syscall(libc::SYS_gettid) } as usize;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    // SAFETY: the call cannot fail and touches no memory.
    return unsafe { libc::pthread_self() } as usize;
}

/// Returns whether a thread of this process has the number, which is not 0; true where the system
/// cannot tell, as under Miri.
pub fn is_thread(number: usize) -> bool {
    #[cfg(all(not(miri), any(target_os = "linux", target_os = "android")))]
    // SAFETY: signal 0 only checks for the thread: the call touches no memory.
    return unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), number, 0) == 0 }
        || super::errno() != libc::ESRCH;
    #[cfg(any(miri, not(any(target_os = "linux", target_os = "android"))))]
    return number != 0;
}

pub(crate) fn thread_name(name: &mut [u8; 64]) -> &[u8] {
    #[cfg(all(not(miri), any(target_os = "linux", target_os = "android")))]
    // SAFETY: the call writes at most 16 bytes, with a NUL at their end.
    unsafe {
        libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr())
    };
    #[cfg(any(miri, not(any(target_os = "linux", target_os = "android"))))]
    // SAFETY: the call writes at most `len` bytes, with a NUL at their end.
    unsafe {
        libc::pthread_getname_np(libc::pthread_self(), name.as_mut_ptr().cast(), name.len())
    };
    CStr::from_bytes_until_nul(name).map_or(b"", CStr::to_bytes)
}

pub(crate) fn give_way() {
    // SAFETY: the call touches no memory.
    unsafe { libc::sched_yield() };
}

pub(crate) fn nap(nanoseconds: u64) {
    let time = libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: `time` lives through the call; the second pointer may be null.
    unsafe { libc::nanosleep(&time, null_mut()) };
}

/// Sleeps while a word has a value, up to a limit in ns, or until [`wake`]. Where the system has no
/// such sleep, it lasts a millisecond at most.
pub(crate) fn sleep_while(word: &AtomicU32, value: u32, limit: u64) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        // The type of the kernel's call, whatever the C library has.
        let time = [limit / 1_000_000_000, limit % 1_000_000_000].map(|part| part as libc::c_long);
        let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the word and the time live through the call.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, time.as_ptr()) };
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    if word.load(Ordering::Relaxed) == value {
        nap(limit.min(1_000_000));
    }
}

/// Wakes the thread that sleeps while a word has a value.
pub(crate) fn wake(word: &AtomicU32) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the kernel uses the address alone.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 1) };
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = word;
}

/// A value of each thread, with a function that the C library calls when the thread ends.
pub(crate) struct ThreadEnd {
    /// One more than the key; 0: no key exists.
    key: AtomicU32,
}

impl ThreadEnd {
    pub(crate) const fn new() -> ThreadEnd {
        ThreadEnd { key: AtomicU32::new(0) }
    }

    /// Sets the function. Once in the process.
    pub(crate) fn arrange(&self, call: extern "C" fn(*mut c_void)) {
        let mut key: libc::pthread_key_t = 0;
        // SAFETY: writes one key; the function lives for ever.
        if unsafe { libc::pthread_key_create(&mut key, Some(call)) } == 0 {
            self.key.store(key as u32 + 1, Ordering::Release);
        }
    }

    /// Returns whether [`expect`](ThreadEnd::expect) may allocate memory.
    pub(crate) fn may_allocate(&self) -> bool {
        self.key.load(Ordering::Acquire) > OWN_KEY_COUNT
    }

    /// Has the function called at this thread's end, with a meaningless pointer.
    pub(crate) fn expect(&self) {
        if let Some(key) = self.key.load(Ordering::Acquire).checked_sub(1) {
            let something = core::ptr::from_ref(self).cast();
            // SAFETY: the key exists; nothing reads the value, which only must not be null.
            unsafe { libc::pthread_setspecific(key as libc::pthread_key_t, something) };
        }
    }
}

/// Returns whether this is certainly ordinary code of the program, which may allocate memory and
/// wait for locks of the C library: neither a signal handler nor the program's own memory manager.
pub(crate) fn is_ordinary() -> bool {
    is_allocator_of_library() && !may_be_handler()
}

/// Returns whether the C library's own functions allocate its memory, so that the program records
/// nothing inside of them.
fn is_allocator_of_library() -> bool {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    {
        unsafe extern "C" {
            /// A name of `calloc` that no other library or program defines.
            fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
        }
        libc::calloc as *const () == __libc_calloc as *const ()
    }
    // Other systems map the memory of a thread.
    #[cfg(not(all(target_os = "linux", target_env = "gnu", not(miri))))]
    true
}

/// Returns whether this may be a signal handler. A running handler's signal is blocked, or its
/// handler has SA_NODEFER. A handler that unblocks its own signal claims to be ordinary code.
fn may_be_handler() -> bool {
    if cfg!(miri) {
        return false;
    }
    let is_blocked = |blocked: &libc::sigset_t, signal| {
        // SAFETY: reads a set.
        unsafe { libc::sigismember(blocked, signal) == 1 }
    };
    let is_unblocked_in_handler =
        |signal| current(signal).is_some_and(|action| action.sa_flags & libc::SA_NODEFER != 0);
    // SAFETY: the call fills a set of plain integers.
    let blocked = unsafe {
        let mut blocked: libc::sigset_t = core::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, null(), &mut blocked);
        blocked
    };
    (1..=SIGNAL_MAX).any(|signal| is_blocked(&blocked, signal))
        || (1..=SIGNAL_MAX).any(is_unblocked_in_handler)
}

/// While this value lives, the thread cannot be cancelled: a request to cancel it waits.
pub(crate) struct Uncancelled {
    before: c_int,
    // Not Send: the state belongs to the thread.
    here: PhantomData<*const ()>,
}

#[cfg(not(any(miri, target_os = "android")))]
unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

/// PTHREAD_CANCEL_DISABLE, which the crate `libc` lacks on some systems.
#[cfg(not(any(miri, target_os = "android")))]
const CANCEL_DISABLE: c_int = if cfg!(target_vendor = "apple") { 0 } else { 1 };

impl Uncancelled {
    pub(crate) fn begin() -> Uncancelled {
        #[allow(unused_mut, reason = "where threads cannot be cancelled")]
        let mut before = 0;
        #[cfg(not(any(miri, target_os = "android")))]
        // SAFETY: fills an integer that lives through the call.
        unsafe {
            pthread_setcancelstate(CANCEL_DISABLE, &mut before);
        }
        Uncancelled { before, here: PhantomData }
    }
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        #[cfg(not(any(miri, target_os = "android")))]
        // SAFETY: a state that the call returned.
        unsafe {
            pthread_setcancelstate(self.before, null_mut());
        }
        #[cfg(any(miri, target_os = "android"))]
        let _ = self.before;
    }
}

/// Starts a thread that receives no signals; returns false if the system cannot start it.
pub(crate) fn start_thread(run: extern "C" fn(*mut c_void) -> *mut c_void, name: &CStr) -> bool {
    // SAFETY: each structure's own call fills it before use, and it lives through the calls.
    without_signals(|| unsafe {
        let mut thread: libc::pthread_t = core::mem::zeroed();
        let result = libc::pthread_create(&mut thread, null(), run, null_mut());
        if result == 0 {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            libc::pthread_setname_np(thread, name.as_ptr());
            #[cfg(not(any(target_os = "linux", target_os = "android")))]
            let _ = name; // On other systems only a thread itself can set its name.
            libc::pthread_detach(thread);
        }
        result == 0
    })
}

/// Calls a function while this thread receives no signals; a thread that the function starts never
/// receives one.
pub fn without_signals<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: each structure's own call fills it before use, and it lives through the calls.
    unsafe {
        let mut all: libc::sigset_t = core::mem::zeroed();
        let mut before: libc::sigset_t = core::mem::zeroed();
        libc::sigfillset(&mut all);
        // The handler of this signal repairs a mapped file that was truncated.
        libc::sigdelset(&mut all, libc::SIGBUS);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let result = work();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, null_mut());
        result
    }
}

/// Makes short sleeps of this thread exact.
pub(crate) fn sleep_exactly() {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // SAFETY: the call touches no memory.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
    }
}
