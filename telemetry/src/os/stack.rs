//! Stacks for signal handlers: one for the way out, and one for each thread that lacks one.
//!
//! ```text
//!  thread that overflowed ─▶ spare stack: kernel's frame │ handle ─▶ own stack: the way out
//!                                                 └─▶ interrupted stack: the program's handler
//!  │ guard: nothing │ stack ……… │
//! ```
//!
//! The standard library and most programs give a thread a stack of SIGSTKSZ, 8 KiB; the kernel
//! takes up to a half of it. Design: `.sol.exit.stack` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "stacks: memory that running code uses")]

use core::ffi::c_void;
use core::ptr::{NonNull, null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// The bytes of a handler stack above the kernel's frame: room for the program's own handlers that
/// run on it. Unused pages cost no memory.
const SPARE_SIZE: usize = 256 << 10;
/// The bytes touched beforehand, so that a handler finds them when memory has run out.
const TOUCHED_SIZE: usize = 16 << 10;
/// The size of the stack for the way out, in bytes.
const OWN_SIZE: usize = 64 << 10;
/// The size of the guard below a stack, in bytes: a handler that overflows the stack ends the
/// program. A multiple of the page size of every system.
const GUARD_SIZE: usize = 64 << 10;
/// The bytes that a function may use below the stack pointer without moving it.
const RED_ZONE_SIZE: usize = 128;

/// The stack for the way out. A1: null, or `OWN_SIZE` bytes for ever.
static OWN: AtomicPtr<u8> = AtomicPtr::new(null_mut());

/// Whether fatal signals are handled, so that threads need stacks.
static WANTED: AtomicBool = AtomicBool::new(false);

/// Notes that threads now need stacks for their handlers; returns false if they already did.
pub(crate) fn want() -> bool {
    !WANTED.swap(true, Ordering::AcqRel)
}

/// Maps a stack for ever, with a guard below, and touches `touched_size` bytes of its top.
fn map(size: usize, touched_size: usize) -> Option<NonNull<u8>> {
    let (none, flags) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANON);
    // SAFETY: a new private mapping, placed by the system, changes no memory that exists; the
    // touched pages are in it, and nothing else points to them.
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

/// Calls a function on another stack.
///
/// # Safety
///
/// `top` is the top of an unused stack, aligned to 16 bytes. `call` does not unwind.
unsafe fn call_on(top: *mut u8, call: extern "C" fn(*mut c_void), argument: *mut c_void) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's promise. `call` preserves r12, and returns.
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
    // SAFETY: the caller's promise. `call` preserves x21, and returns.
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

/// Calls a function on the stack for the way out, since the stack of a signal handler may be as
/// small as 8 KiB. Only one thread at a time may call it, not from within itself, and with all
/// signals blocked: the kernel takes the handlers' stack for free meanwhile.
pub(crate) fn on_own(call: extern "C" fn(*mut c_void)) {
    let start = OWN.load(Ordering::Relaxed);
    if start.is_null() {
        return call(null_mut());
    }
    // SAFETY: A1: the top is aligned to a page, and one thread at a time uses this stack.
    unsafe { call_on(start.add(OWN_SIZE), call, null_mut()) };
}

/// Maps the stack for the way out. Without memory for it, the way out uses the handler's stack.
pub(crate) fn make_own() {
    if let Some(start) = map(OWN_SIZE, OWN_SIZE) {
        OWN.store(start.as_ptr(), Ordering::Relaxed);
    }
}

/// Calls a handler of the program where the kernel would have called it: on the stack that the
/// signal interrupted, if this thread's stack for handlers is one of ours. `is_spare` gets the
/// start of a stack and returns whether the stack is ours. During the call the thread has no stack
/// for handlers, so that another handler does not overwrite this one, which is on it.
///
/// # Safety
///
/// In a signal handler with this context. `call` does not unwind, and takes this `argument`.
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
        // SAFETY: `where_interrupted` gave the pointer, and the structure lives through the call.
        // The kernel restores the stack when the signal handler returns.
        unsafe {
            let mut none: libc::stack_t = core::mem::zeroed();
            none.ss_flags = libc::SS_DISABLE;
            libc::sigaltstack(&none, null_mut());
            let moved = &*moved.cast::<Moved>();
            (moved.call)(moved.argument);
        }
    }
    // SAFETY: the caller's promise; the structures live through the calls. The interrupted code
    // uses its stack above the pointer, and a leaf function uses the red zone just below.
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

/// Returns the stack pointer of the interrupted code; `None` on platforms where it is unknown.
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

/// A stack for the signal handlers of a thread that lacks one, mapped at first need.
pub(crate) struct SpareStack {
    /// A2: null, or `spare_size()` bytes for ever; one thread at a time uses them.
    start: AtomicPtr<c_void>,
}

impl SpareStack {
    pub(crate) const fn none() -> SpareStack {
        SpareStack { start: AtomicPtr::new(null_mut()) }
    }

    /// Gives the stack to this thread if handlers may run and the thread has no other. A thread
    /// whose own stack overflowed has no other place for a handler.
    pub(crate) fn give(&self) {
        if !WANTED.load(Ordering::Acquire) {
            return;
        }
        // SAFETY: A2: the bytes are mapped for ever, and this thread alone uses them. The
        // structures live through the calls.
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

    pub(crate) fn begins_at(&self, start: *mut c_void) -> bool {
        !start.is_null() && self.start.load(Ordering::Relaxed) == start
    }

    /// Takes the stack away from this thread, if the thread uses it.
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
    // SAFETY: reads a value that the kernel gave the process at its start, or 0.
    let frame = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let frame = libc::MINSIGSTKSZ;
    frame.next_multiple_of(4096) + SPARE_SIZE
}
