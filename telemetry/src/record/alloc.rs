//! The allocator that records: every allocation, reallocation and free of a Rust program.
//!
//! ```text
//!  Box::new ─▶ Recorder ─┬─ alloc ─▶ the allocator within ── then Allocate
//!                        └─ Free, then ── dealloc ─▶ the allocator within
//! ```
//!
//! What an address is handed out by is recorded after, what it is given up by before: between the
//! two it is the program's, by the clock of all threads. Design: `.sol.alloc` in
//! `design/telemetry.md`.
#![expect(unsafe_code, reason = "a global allocator is an unsafe trait")]

use super::fast_path::{is_recorded, record};
use crate::block::clock;
use crate::ends::crash;
use crate::os::sync::without_unwinding;
use crate::os::sys;
use eventdef::Event;
use std::alloc::{GlobalAlloc, Layout, System};

eventdef::events! {
    /// What a program asks of its allocator. In time order, over all threads, an address that was
    /// handed out (Allocate, AllocateZeroed, Reallocate) is not handed out again before it was
    /// given up (Free, ReallocateBegin).
    registry "alloc" version(1, 0, 0);
    kinds standard;

    /// Memory was handed out.
    Allocate(0x0001, always, Object) {
        /// the memory; 0: there was none
        address: A,
        /// its size in bytes
        size: W,
        /// what its address is a multiple of
        alignment: W,
    }
    /// Memory was handed out, filled with zeros.
    AllocateZeroed(0x0002, always, Object) {
        /// the memory; 0: there was none
        address: A,
        /// its size in bytes
        size: W,
        /// what its address is a multiple of
        alignment: W,
    }
    /// Memory is about to change its size, and is given up, perhaps to be handed out again at the
    /// same address. A Reallocate of the same thread follows.
    ReallocateBegin(0x0003, always, Object) {
        /// the memory
        address: A,
        /// its size in bytes, so far
        size: W,
        /// what its address is a multiple of
        alignment: W,
    }
    /// Memory has changed its size, and is handed out again.
    Reallocate(0x0004, always, Object) {
        /// the memory; 0: there was none, and the old one stays as it was, handed out
        address: A,
        /// its size in bytes that was asked for
        size: W,
        /// what its address is a multiple of
        alignment: W,
        /// its address before
        old: A,
    }
    /// Memory is about to be given up.
    Free(0x0005, always, Object) {
        /// the memory
        address: A,
        /// its size in bytes
        size: W,
        /// what its address is a multiple of
        alignment: W,
    }
}

/// An allocator that records what it is asked for, and leaves the doing to another one: the
/// system's, unless it is made with [`of`](Recorder::of).
///
/// ```
/// use telemetry::alloc::{CONTROL, Recorder};
/// use telemetry::{Kinds, control};
///
/// #[global_allocator]
/// static ALLOCATOR: Recorder = Recorder::new();
///
/// # telemetry::set_plinth(telemetry::MemoryPlinth::new());
/// // Or `MPS_TELEMETRY_CONTROL=Object`, which takes effect before `main`.
/// control::of(&CONTROL).set_output(Kinds::Object);
/// let before = telemetry::losses_of(&CONTROL, Kinds::Object).recorded;
/// drop(std::hint::black_box(vec![1u8; 100]));
/// let after = telemetry::losses_of(&CONTROL, Kinds::Object).recorded;
/// assert_eq!(after - before, 2, "an Allocate and a Free");
/// ```
///
/// The first allocation of a Rust program is before `main`, and the last one after it: both are in
/// the log. With a kind that is output by the environment the stream also begins before `main`, too
/// early for [`set_plinth`](crate::set_plinth) and [`configure`](crate::configure); a program that
/// calls these switches output on itself, and has what its blocks still hold of before.
///
/// What cannot be in the log is counted (see [`losses`](crate::losses)): what a signal handler
/// allocates that interrupted the recording of an allocation, what a plinth of the program's own
/// allocates, and what other threads allocate while the program exits. What C code of the process
/// takes from `malloc` itself is not seen. In the rash variety nothing is recorded.
///
/// The allocator within may record events of its own. It may not allocate from this one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recorder<A = System> {
    within: A,
}

impl Recorder {
    /// Records what the system's allocator is asked for.
    pub const fn new() -> Recorder {
        Recorder::of(System)
    }
}

impl<A> Recorder<A> {
    /// Records what this allocator is asked for.
    pub const fn of(within: A) -> Recorder<A> {
        Recorder { within }
    }
}

/// Records an event of what is about to happen. Public for `interpose`, which records as this
/// does what a program asks of malloc; not a promise to anybody else.
#[doc(hidden)]
#[inline(always)]
pub fn before<E: Event>(event: impl FnOnce() -> E) {
    if is_recorded::<E>() {
        crash::note_allocator();
        let event = event();
        without_unwinding(|| record(event));
    }
}

/// Records an event of what has happened. Public for `interpose`.
#[doc(hidden)]
#[inline(always)]
pub fn after<E: Event>(event: impl FnOnce() -> E) {
    if is_recorded::<E>() {
        // The address may be here by a load that is younger than the counter's reading, as the
        // processor does things: then it would be seen handed out before it was given up.
        clock::wait_for_loads();
        before(event);
    }
}

/// Does work of a recorder's own whose calls of the system would else end a thread that somebody
/// cancels. Public for `interpose`.
#[doc(hidden)]
pub fn uncancelled<T>(work: impl FnOnce() -> T) -> T {
    let _uncancelled = sys::Uncancelled::begin();
    work()
}

// SAFETY: all is left to the allocator within, which keeps the promises of the trait; recording
// does not unwind, and allocates nothing.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Recorder<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let memory = unsafe { self.within.alloc(layout) };
        after(|| Allocate::new(memory.addr(), layout.size(), layout.align()));
        memory
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let memory = unsafe { self.within.alloc_zeroed(layout) };
        after(|| AllocateZeroed::new(memory.addr(), layout.size(), layout.align()));
        memory
    }

    #[inline]
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        before(|| ReallocateBegin::new(old.addr(), layout.size(), layout.align()));
        // SAFETY: the caller's promise.
        let memory = unsafe { self.within.realloc(old, layout, size) };
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
