//! Stacks for signal handlers: one for the way out, and one for each thread that has none.
//!
//! ```text
//!  thread that overflowed ─▶ spare stack: kernel's frame │ handle ─▶ own stack: the way out
//!                                                 └─▶ interrupted stack: the program's handler
//!  │ guard: nothing │ stack ……… │
//! ```
//!
//! A stack of SIGSTKSZ, 8 KiB, is what the standard library and most programs give a thread; the
//! kernel takes up to a half of it. Design: `.sol.exit.stack` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "stacks: memory that is used by what runs")]

use core::ffi::c_void;
use core::ptr::{NonNull, null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// What a stack for handlers has beside the kernel's frame, in bytes: room for what the program's
/// own handlers take that run on it. Pages that are not used cost no memory.
const SPARE_SIZE: usize = 256 << 10;
/// How much of it is touched beforehand, so that a handler finds it where memory has run out.
const TOUCHED_SIZE: usize = 16 << 10;
/// The size of the stack for the way out.
const OWN_SIZE: usize = 64 << 10;
/// What lies below a stack and ends the program where a handler takes more: a multiple of the
/// pages of every system.
const GUARD_SIZE: usize = 64 << 10;
/// What a function may use below the stack pointer without saying so.
const RED_ZONE_SIZE: usize = 128;

/// The stack for the way out: A1: null, or `OWN_SIZE` bytes for ever.
static OWN: AtomicPtr<u8> = AtomicPtr::new(null_mut());

/// Whether fatal signals are handled, so that threads need stacks.
static WANTED: AtomicBool = AtomicBool::new(false);

/// From now on threads need stacks for their handlers. False: that was so already.
pub(crate) fn want() -> bool {
    !WANTED.swap(true, Ordering::AcqRel)
}

/// Maps a stack for ever, below which there is a guard, and touches so much of its top.
fn map(size: usize, touched_size: usize) -> Option<NonNull<u8>> {
    let (none, flags) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANON);
    // SAFETY: a new private mapping, placed by the system, changes no memory that exists; the pages
    // that are touched are in it, and nobody else knows them.
    unsafe {
        let guard = libc::mmap(null_mut(), GUARD_SIZE + size, none, flags, -1, 0);
        if guard == libc::MAP_FAILED {
            return None;
        }
        let start = guard.cast::<u8>().add(GUARD_SIZE);
        if libc::mprotect(start.cast(), size, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            libc::munmap(guard, GUARD_SIZE + size);
            return None;
        }
        for offset in (size.saturating_sub(touched_size)..size).step_by(4096) {
            start.add(offset).write_volatile(0);
        }
        NonNull::new(start)
    }
}

/// Calls something on another stack.
///
/// # Safety
///
/// `top` is the top of a stack that nobody is on, aligned to 16 bytes. `call` does not unwind.
unsafe fn call_on(top: *mut u8, call: extern "C" fn(*mut c_void), argument: *mut c_void) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's promise. `call` preserves r12, and comes back.
    unsafe {
        core::arch::asm!(
            "xchg rsp, r12",
            "call {call}",
            "mov rsp, r12",
            call = in(reg) call,
            inout("r12") top => _,
            in("rdi") argument,
            clobber_abi("C"),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the caller's promise. `call` preserves x21, and comes back.
    unsafe {
        core::arch::asm!(
            "mov x21, sp",
            "mov sp, x20",
            "blr {call}",
            "mov sp, x21",
            call = in(reg) call,
            inout("x20") top => _,
            out("x21") _,
            in("x0") argument,
            clobber_abi("C"),
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = top;
        call(argument);
    }
}

/// Calls something on a stack of its own, since that of a signal handler may be small: 8 KiB, of
/// which the kernel takes up to a half. By one thread at a time, not from within itself, and with
/// all signals blocked: the kernel takes the stack of handlers for free meanwhile.
pub(crate) fn on_own(call: extern "C" fn(*mut c_void)) {
    let start = OWN.load(Ordering::Relaxed);
    if start.is_null() {
        return call(null_mut());
    }
    // SAFETY: A1: the top is aligned to a page, and nobody else is on this stack.
    unsafe { call_on(start.add(OWN_SIZE), call, null_mut()) };
}

/// Makes the stack for the way out; without memory for it, that takes place where the handler is.
pub(crate) fn make_own() {
    if let Some(start) = map(OWN_SIZE, OWN_SIZE) {
        OWN.store(start.as_ptr(), Ordering::Relaxed);
    }
}

/// Calls a handler of the program where the kernel would have called it: on the stack that the
/// signal interrupted, where this thread has its stack for handlers from us: `is_spare`, given
/// where a stack begins, says whether it is that. While it runs the thread has none, so that
/// another handler does not overwrite this one, which is on it.
///
/// # Safety
///
/// In a signal handler with this context. `call` does not unwind, and `argument` is what it takes.
pub(crate) unsafe fn where_interrupted(
    context: *mut c_void,
    is_spare: fn(*mut c_void) -> bool,
    call: extern "C" fn(*mut c_void),
    argument: *mut c_void,
) {
    struct Moved {
        call: extern "C" fn(*mut c_void),
        argument: *mut c_void,
    }
    extern "C" fn call_without_spare(moved: *mut c_void) {
        // SAFETY: what `where_interrupted` gave; the structure lives through the call. The kernel
        // makes the stack what it was when the signal handler returns.
        unsafe {
            let mut none: libc::stack_t = core::mem::zeroed();
            none.ss_flags = libc::SS_DISABLE;
            libc::sigaltstack(&none, null_mut());
            let moved = &*moved.cast::<Moved>();
            (moved.call)(moved.argument);
        }
    }
    // SAFETY: the caller's promise; the structures live through the calls. The interrupted stack is
    // in use above its pointer, and by a leaf function just below.
    unsafe {
        let mut old: libc::stack_t = core::mem::zeroed();
        let is_ours = libc::sigaltstack(null(), &mut old) == 0
            && old.ss_flags & libc::SS_ONSTACK != 0
            && is_spare(old.ss_sp);
        let pointer = interrupted_pointer(context).filter(|pointer| {
            let start = old.ss_sp.addr();
            is_ours && !(start..start + old.ss_size).contains(&pointer.addr())
        });
        match pointer {
            Some(pointer) => {
                let below = pointer.addr().wrapping_sub(RED_ZONE_SIZE) & !15;
                let mut moved = Moved { call, argument };
                call_on(pointer.with_addr(below), call_without_spare, (&raw mut moved).cast());
            }
            None => call(argument),
        }
    }
}

/// The stack pointer of what a signal interrupted; `None` where it is not known how to find it.
///
/// # Safety
///
/// In a signal handler with this context.
unsafe fn interrupted_pointer(context: *mut c_void) -> Option<*mut u8> {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        // SAFETY: the caller's promise.
        let context = unsafe { &*context.cast::<libc::ucontext_t>() };
        #[cfg(target_arch = "x86_64")]
        let pointer = context.uc_mcontext.gregs[libc::REG_RSP as usize];
        #[cfg(target_arch = "aarch64")]
        let pointer = context.uc_mcontext.sp;
        Some(core::ptr::with_exposed_provenance_mut(pointer as usize))
    }
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        let _ = context;
        None
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

    /// Gives it to this thread if handlers may come, unless that has one. A thread of an
    /// overflowing stack has nowhere else to run a handler.
    pub(crate) fn give(&self) {
        if !WANTED.load(Ordering::Acquire) {
            return;
        }
        // SAFETY: A2: the bytes are mapped for ever, and this thread alone has them. The structures
        // live through the calls.
        unsafe {
            let mut old: libc::stack_t = core::mem::zeroed();
            if libc::sigaltstack(null(), &mut old) != 0 || old.ss_flags & libc::SS_DISABLE == 0 {
                return;
            }
            if self.start.load(Ordering::Relaxed).is_null() {
                let Some(start) = map(spare_size(), TOUCHED_SIZE) else { return };
                self.start.store(start.as_ptr().cast(), Ordering::Relaxed);
            }
            let start = self.start.load(Ordering::Relaxed);
            let new = libc::stack_t { ss_sp: start, ss_flags: 0, ss_size: spare_size() };
            libc::sigaltstack(&new, null_mut());
        }
    }

    /// Whether it begins there.
    pub(crate) fn begins_at(&self, start: *mut c_void) -> bool {
        !start.is_null() && self.start.load(Ordering::Relaxed) == start
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
