//! A stack of the library's own for each thread whose calling stacks are recorded, and the thread's
//! last walk: the program's stack may be small.
//!
//! ```text
//!  the program's stack: main ─ load ─ malloc ─┐ call_on          read by the walk
//!                                             ▼
//!  │ guard │ ◀─ the library's stack │ Walk │       mapped at the first walk, until the thread ends
//! ```
//!
//! Design: `.rep.stack.room` in `design/replay.md`.
#![expect(unsafe_code, reason = "a stack: memory that running code uses")]

// W1: null, or this thread's own mapping of a `Room`, which stays until the thread ends. Zeros are
//     a `Walk`. One call at a time is on its stack: it runs while the thread's activity is
//     `Recording`, when calls of its signal handlers are kept and walk no stack.

use crate::unwind::Walk;
use crate::{thread, tree};
use core::cell::Cell;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The unwinder needs 8 KiB of it, and a build without optimization 32 KiB.
const STACK_SIZE: usize = 48 << 10;
const GUARD_SIZE: usize = 4 << 10;

#[repr(C, align(4096))]
struct Room {
    guard: MaybeUninit<[u8; GUARD_SIZE]>,
    stack: MaybeUninit<[u8; STACK_SIZE]>,
    walk: Walk,
}

// It has no destructor, so that nothing is allocated for it.
thread_local! {
    static ROOM: Cell<*mut Room> = const { Cell::new(null_mut()) };
}

/// The threads that have a room, and the most that had one at a time.
static COUNT: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// The unwinder finds its way from this stack to the program's by the frame pointer.
core::arch::global_asm!(
    ".text",
    ".globl interpose_call_on",
    ".hidden interpose_call_on",
    ".type interpose_call_on,@function",
    "interpose_call_on:",
    ".cfi_startproc",
    "pushq %rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset %rbp, -16",
    "movq %rsp, %rbp",
    ".cfi_def_cfa_register %rbp",
    "movq %rdi, %rsp",
    "movq %rdx, %rdi",
    "callq *%rsi",
    "movq %rbp, %rsp",
    "popq %rbp",
    ".cfi_def_cfa %rsp, 8",
    "retq",
    ".cfi_endproc",
    ".size interpose_call_on, . - interpose_call_on",
    options(att_syntax)
);

unsafe extern "C" {
    /// Calls a function with the end of the stack at `top`, a multiple of 16.
    fn interpose_call_on(top: *mut c_void, call: extern "C" fn(*mut c_void), job: *mut c_void);
}

struct Job<F, R> {
    work: Option<F>,
    walk: *const Walk,
    result: Option<R>,
}

extern "C" fn work<F: FnOnce(&Walk) -> R, R>(job: *mut c_void) {
    // SAFETY: `run` passes its own job, which nothing else uses during the call. W1: the walk stays
    // as long as the thread runs.
    let (job, walk) = unsafe {
        let job = &mut *job.cast::<Job<F, R>>();
        let walk = job.walk;
        (job, &*walk)
    };
    job.result = job.work.take().map(|work| work(walk));
}

/// Does work with this thread's last walk, on the library's stack. `None`: no memory for it.
#[inline(always)]
pub(crate) fn run<F: FnOnce(&Walk) -> R, R>(task: F) -> Option<R> {
    let mut room = ROOM.with(Cell::get);
    if room.is_null() {
        room = make()?;
    }
    // SAFETY: W1: the walk is within the mapping, and the stack ends where the walk begins, at a
    // multiple of 16. The job lives through the call.
    unsafe {
        let top = &raw mut (*room).walk;
        let mut job = Job { work: Some(task), walk: top, result: None };
        interpose_call_on(top.cast(), work::<F, R>, (&raw mut job).cast());
        job.result
    }
}

/// Maps the tables of all stacks, and this thread's room.
#[cold]
#[inline(never)]
fn make() -> Option<*mut Room> {
    const { assert!(core::mem::offset_of!(Room, walk).is_multiple_of(16)) };
    if !tree::has_memory() {
        return None;
    }
    let error = thread::errno();
    let size = size_of::<Room>();
    // SAFETY: the kernel chooses a free place for the mapping; the guard is in it.
    let room = unsafe {
        let way = libc::PROT_READ | libc::PROT_WRITE;
        let form = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let room = libc::mmap(null_mut(), size, way, form, -1, 0);
        let is_mapped = room != libc::MAP_FAILED;
        is_mapped.then(|| {
            libc::mprotect(room, GUARD_SIZE, libc::PROT_NONE);
            room
        })
    };
    thread::set_errno(error);
    let room = room?;
    ROOM.with(|place| place.set(room.cast()));
    thread::expect_end(room);
    MOST.fetch_max(COUNT.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
    Some(room.cast())
}

/// A thread ends: gives up its room. If its stacks are recorded after this, it gets another one.
pub(crate) fn end() {
    let room = ROOM.with(|place| place.replace(null_mut()));
    if !room.is_null() {
        COUNT.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: W1: nothing refers to the mapping any more.
        unsafe { libc::munmap(room.cast(), size_of::<Room>()) };
    }
}

/// Returns what all rooms took when they were most, as far as `resident` says of this thread's.
pub(crate) fn most_resident(resident: impl FnOnce(usize, usize) -> usize) -> usize {
    let room = ROOM.with(Cell::get);
    match room.is_null() {
        true => 0,
        false => MOST.load(Ordering::Relaxed) * resident(room.addr(), size_of::<Room>()),
    }
}
