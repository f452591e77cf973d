//! The whole tool with additional heaps: a simple example, three that fail, and five that are
//! wrong.
//!
//! ```text
//!  cargo run --example heaps -- play --heap system,bump,fails program.log
//! ```
//!
//! Design: `.rep.heap`, `.rep.heap.fails`, `.rep.check` in `design/replay.md`.
#![expect(unsafe_code, reason = "the trait is unsafe")]

use replay::heap::system::System;
use replay::heap::{Heap, Request};
use replay::play::{Contender, built_in};
use std::process::{ExitCode, abort};
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The number of the call that fails.
const CALLS: u64 = 3000;

/// A heap that hands out one place after another, and reuses none: the simplest heap.
struct Bump {
    start: usize,
    used: AtomicUsize,
}

/// The size of its memory.
const BUMP_SIZE: usize = 256 << 20;

impl Bump {
    fn new() -> Bump {
        // Zeroed memory of that size is pages without any access yet.
        let memory = vec![0u8; BUMP_SIZE].leak();
        Bump { start: memory.as_mut_ptr().expose_provenance(), used: AtomicUsize::new(0) }
    }
}

// SAFETY: 1: each place of the memory is handed out once, and is all zeros. 2: nothing here
// unwinds.
unsafe impl Heap for Bump {
    fn allocate(&self, request: Request) -> *mut u8 {
        let alignment = request.alignment.max(16);
        let Some(most) = request.size.checked_add(alignment) else { return ptr::null_mut() };
        let used = self.used.fetch_add(most, Ordering::Relaxed);
        match used.checked_add(most) {
            Some(end) if end <= BUMP_SIZE => {
                let address = (self.start + used).next_multiple_of(alignment);
                ptr::with_exposed_provenance_mut(address)
            }
            _ => ptr::null_mut(),
        }
    }

    fn allocate_zeroed(&self, request: Request) -> *mut u8 {
        self.allocate(request)
    }

    unsafe fn free(&self, _: *mut u8, _: Request) {}
}

/// A way to fail.
#[derive(Clone, Copy)]
enum Trouble {
    /// Every seventh allocation fails.
    Fails,
    /// The process dies.
    Crashes,
    /// A call does not return.
    Hangs,
}

/// The C library's heap, with failures.
struct Troubled {
    trouble: Trouble,
    calls: AtomicU64,
}

impl Troubled {
    fn new(trouble: Trouble) -> Troubled {
        Troubled { trouble, calls: AtomicU64::new(0) }
    }

    /// Returns whether this call gets memory.
    fn has_memory(&self) -> bool {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        match self.trouble {
            Trouble::Fails => return !call.is_multiple_of(7),
            Trouble::Crashes if call == CALLS => abort(),
            Trouble::Hangs if call == CALLS => loop {
                thread::sleep(Duration::from_secs(1));
            },
            _ => {}
        }
        true
    }
}

// SAFETY: 1, 2: the memory is the C library's, or null.
unsafe impl Heap for Troubled {
    fn allocate(&self, request: Request) -> *mut u8 {
        if self.has_memory() { System.allocate(request) } else { ptr::null_mut() }
    }

    fn allocate_zeroed(&self, request: Request) -> *mut u8 {
        if self.has_memory() { System.allocate_zeroed(request) } else { ptr::null_mut() }
    }

    unsafe fn reallocate(&self, old: *mut u8, was: Request, request: Request) -> *mut u8 {
        match self.has_memory() {
            // SAFETY: 3: the caller passes memory of this heap, handed out for `was` and not given
            // up since. It is the system's.
            true => unsafe { System.reallocate(old, was, request) },
            false => ptr::null_mut(),
        }
    }

    unsafe fn free(&self, memory: *mut u8, was: Request) {
        // SAFETY: 4: the caller passes memory of this heap, handed out for `was`, and gives it up
        // once. It is the system's.
        unsafe { System.free(memory, was) };
    }
}

/// How a heap is wrong.
#[derive(Clone, Copy)]
enum Fault {
    /// All objects have the same address.
    Same,
    /// Objects are not aligned.
    Askew,
    /// Zeroed memory has other bytes.
    Dirty,
    /// Reallocation loses contents.
    Forgets,
    /// Objects lie within others.
    Within,
}

/// A wrong heap, which frees nothing.
struct Wrong {
    fault: Fault,
    bump: Bump,
    last: AtomicUsize,
}

impl Wrong {
    fn new(fault: Fault) -> Wrong {
        Wrong { fault, bump: Bump::new(), last: AtomicUsize::new(0) }
    }
}

// SAFETY: 1 is violated on purpose, but each address has memory. 2: nothing here unwinds.
unsafe impl Heap for Wrong {
    fn allocate(&self, request: Request) -> *mut u8 {
        let within = |to: usize| ptr::with_exposed_provenance_mut(self.bump.start + to);
        match self.fault {
            Fault::Same if request.size <= BUMP_SIZE => within(0),
            Fault::Askew => {
                let size = request.size + 2;
                // SAFETY: the memory has two more bytes.
                unsafe { self.bump.allocate(Request { size, ..request }).add(2) }
            }
            Fault::Within if request.size == 32 => {
                let last = self.last.load(Ordering::Relaxed);
                match last {
                    0 => self.bump.allocate(request),
                    last => ptr::with_exposed_provenance_mut(last + 32),
                }
            }
            Fault::Within => {
                let memory = self.bump.allocate(request);
                if request.size >= 128 {
                    self.last.store(memory.addr(), Ordering::Relaxed);
                }
                memory
            }
            _ => self.bump.allocate(request),
        }
    }

    fn allocate_zeroed(&self, request: Request) -> *mut u8 {
        let memory = self.allocate(request);
        if matches!(self.fault, Fault::Dirty) && request.size > 0 {
            // SAFETY: 1: the last byte of the object.
            unsafe { memory.add(request.size - 1).write(1) };
        }
        memory
    }

    unsafe fn reallocate(&self, old: *mut u8, was: Request, request: Request) -> *mut u8 {
        let new = self.allocate(request);
        if !matches!(self.fault, Fault::Forgets) {
            // SAFETY: 3, 1: the copied bytes are in both objects, which may overlap.
            unsafe { old.copy_to(new, was.size.min(request.size)) };
        }
        new
    }

    unsafe fn free(&self, _: *mut u8, _: Request) {}
}

fn main() -> ExitCode {
    let mut heaps = built_in();
    heaps.push(Contender::new("bump", "one place after another", Bump::new));
    heaps.push(Contender::new("fails", "every seventh allocation fails", || {
        Troubled::new(Trouble::Fails)
    }));
    heaps.push(Contender::new("crashes", "dies", || Troubled::new(Trouble::Crashes)));
    heaps.push(Contender::new("hangs", "does not return", || Troubled::new(Trouble::Hangs)));
    heaps.push(Contender::new("same", "one address for all", || Wrong::new(Fault::Same)));
    heaps.push(Contender::new("askew", "nothing is aligned", || Wrong::new(Fault::Askew)));
    heaps.push(Contender::new("dirty", "nothing is zeroed", || Wrong::new(Fault::Dirty)));
    heaps.push(Contender::new("forgets", "nothing is kept", || Wrong::new(Fault::Forgets)));
    heaps.push(Contender::new("within", "some lie within others", || Wrong::new(Fault::Within)));
    replay::main_with(heaps)
}
