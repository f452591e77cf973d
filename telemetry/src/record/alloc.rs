//! The allocator that records each allocation, reallocation and free of a Rust program.
//!
//! ```text
//!  Box::new ─▶ Recorder ─┬─ alloc ─▶ the allocator within ── then Allocate, or AllocateFailed
//!                        └─ Free, then ── dealloc ─▶ the allocator within
//! ```
//!
//! It records an allocation after the call, and a free before the call. So the program owns an
//! address between the two events, by the clock of all threads. Design: `.sol.alloc` in
//! `design/telemetry.md`.
#![expect(unsafe_code, reason = "a global allocator is an unsafe trait")]

use super::around::{after, before};
use std::alloc::{GlobalAlloc, Layout, System};

eventdef::events! {
    /// What a program asks of its allocator. In time order, over all threads, an address that was
    /// handed out (Allocate, AllocateZeroed, Reallocate) is not handed out again before it was
    /// given up (Free, ReallocateBegin). ReallocateFailed hands the old address out again.
    registry "alloc" version(1, 1, 0);
    kinds standard;

    /// Memory was handed out. [counter live += size] [unit bytes size]
    Allocate(0x0001, always, Object) {
        /// the memory; before version 1.1, 0: there was none
        address: A,
        /// its size in bytes
        size: W,
        /// what its address is a multiple of
        alignment: W,
    }
    /// Memory was handed out, filled with zeros. [counter live += size] [unit bytes size]
    AllocateZeroed(0x0002, always, Object) {
        /// the memory; before version 1.1, 0: there was none
        address: A,
        /// its size in bytes
        size: W,
        /// what its address is a multiple of
        alignment: W,
    }
    /// Memory is about to change its size, and is given up, perhaps to be handed out again at the
    /// same address. A Reallocate or ReallocateFailed of the same thread follows.
    /// [counter live -= size] [unit bytes size]
    ReallocateBegin(0x0003, always, Object) {
        /// the memory
        address: A,
        /// its size in bytes, so far
        size: W,
        /// what its address is a multiple of
        alignment: W,
    }
    /// Memory has changed its size, and is handed out again. [counter live += size]
    /// [unit bytes size]
    Reallocate(0x0004, always, Object) {
        /// the memory; before version 1.1, 0: there was none, and the old one stays handed out
        address: A,
        /// its size in bytes that was asked for
        size: W,
        /// what its address is a multiple of
        alignment: W,
        /// its address before
        old: A,
    }
    /// Memory is about to be given up. [counter live -= size] [unit bytes size]
    Free(0x0005, always, Object) {
        /// the memory
        address: A,
        /// its size in bytes
        size: W,
        /// what its address is a multiple of
        alignment: W,
    }
    /// No memory was handed out. [unit bytes size]
    AllocateFailed(0x0006, always, Object) {
        /// the size in bytes that was asked for
        size: W,
        /// what the address was to be a multiple of
        alignment: W,
    }
    /// Memory has not changed its size, and is handed out again as it was. [counter live += kept]
    /// [unit bytes size] [unit bytes kept]
    ReallocateFailed(0x0007, always, Object) {
        /// the memory
        old: A,
        /// the size in bytes that was asked for
        size: W,
        /// what its address is a multiple of
        alignment: W,
        /// its size in bytes
        kept: W,
    }
}

/// A global allocator that records each call, and passes it to another allocator: the system's, or
/// the one that [`of`](Recorder::of) names.
///
/// ```
/// use telemetry::alloc::{CONTROL, Recorder};
/// use telemetry::{Kinds, control};
///
/// #[global_allocator]
/// static ALLOCATOR: Recorder = Recorder::new();
///
/// # telemetry::setup().plinth(telemetry::MemoryPlinth::new()).start().unwrap();
/// // Or `MPS_TELEMETRY_CONTROL=Object`, which takes effect before `main`.
/// control::of(&CONTROL).set_output(Kinds::Object);
/// let before = telemetry::losses_of(&CONTROL, Kinds::Object).recorded;
/// drop(std::hint::black_box(vec![1u8; 100]));
/// let after = telemetry::losses_of(&CONTROL, Kinds::Object).recorded;
/// assert_eq!(after - before, 2, "an Allocate and a Free");
/// ```
///
/// The log holds the first allocation of a Rust program, which is before `main`, and the last one,
/// which is after it. So the first event comes before any [`setup`](crate::setup()), which then
/// sets a plinth, a policy and fatal signals, but no sizes and no writer thread. If the environment
/// switches a kind on, the stream begins before `main` too, and a plinth comes too late. A program
/// that sets a plinth switches the output on itself; the log then has the events that the blocks
/// still hold.
///
/// The runtime counts the allocations that cannot be in the log (see [`losses`](crate::losses)):
/// those of a signal handler that interrupted the recording of an allocation, those of a plinth of
/// the program's own, and those of other threads while the program exits. C code that calls
/// `malloc` itself is not recorded. In the rash variety nothing is.
///
/// The inner allocator may record events of its own. It may not allocate from this one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recorder<A = System> {
    within: A,
}

impl Recorder {
    /// Returns an allocator that records, and allocates from the system.
    pub const fn new() -> Recorder {
        Recorder::of(System)
    }
}

impl<A> Recorder<A> {
    /// Returns an allocator that records, and allocates from `within`.
    pub const fn of(within: A) -> Recorder<A> {
        Recorder { within }
    }
}

#[cold]
#[inline(never)]
fn note_failure(layout: Layout) {
    after(|| AllocateFailed::new(layout.size(), layout.align()));
}

#[cold]
#[inline(never)]
fn note_failure_of(old: usize, layout: Layout, size: usize) {
    after(|| ReallocateFailed::new(old, size, layout.align(), layout.size()));
}

// SAFETY: each call goes to the inner allocator, which keeps the promises of the trait; recording
// does not unwind, and allocates nothing.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Recorder<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let memory = unsafe { self.within.alloc(layout) };
        if memory.is_null() {
            note_failure(layout);
            return memory;
        }
        after(|| Allocate::new(memory.addr(), layout.size(), layout.align()));
        memory
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let memory = unsafe { self.within.alloc_zeroed(layout) };
        if memory.is_null() {
            note_failure(layout);
            return memory;
        }
        after(|| AllocateZeroed::new(memory.addr(), layout.size(), layout.align()));
        memory
    }

    #[inline]
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        before(|| ReallocateBegin::new(old.addr(), layout.size(), layout.align()));
        // SAFETY: the caller's promise.
        let memory = unsafe { self.within.realloc(old, layout, size) };
        if memory.is_null() {
            note_failure_of(old.addr(), layout, size);
            return memory;
        }
        after(|| Reallocate::new(memory.addr(), size, layout.align(), old.addr()));
        memory
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        before(|| Free::new(memory.addr(), layout.size(), layout.align()));
        // SAFETY: the caller's promise.
        unsafe { self.within.dealloc(memory, layout) };
    }
}
