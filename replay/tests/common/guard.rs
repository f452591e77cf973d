//! A heap around a heap, which checks all memory that the inner heap hands out.
//!
//! ```text
//!  allocate ──▶ no overlap? aligned? zeros? ── a mark at both ends
//!  free, reallocate ──▶ the same request as before? both marks?
//! ```
//!
//! Design: `.rep.truth` in `design/replay.md`.
#![expect(unsafe_code, reason = "the trait is unsafe, and marks are written into memory")]

use replay::heap::{Heap, Request};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The errors so far, and the live objects.
#[derive(Debug, Default)]
pub(crate) struct Book {
    objects: BTreeMap<usize, Request>,
    pub(crate) wrong: Vec<String>,
    pub(crate) live: u64,
    pub(crate) live_peak: u64,
    /// The bytes that are live after each operation.
    pub(crate) steps: Vec<u64>,
}

/// The heap with its checks.
#[derive(Debug, Default)]
pub(crate) struct Guard<H> {
    heap: H,
    book: Mutex<Book>,
}

const MARK_SIZE: usize = 8;

fn mark(address: usize, request: Request) -> [u8; MARK_SIZE] {
    (address as u64 ^ (request.size as u64) << 40 ^ 0x5A5A).to_le_bytes()
}

impl<H: Heap> Guard<H> {
    pub(crate) fn new(heap: H) -> Guard<H> {
        Guard { heap, book: Mutex::default() }
    }

    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, memory: *mut u8, request: Request) -> *mut u8 {
        if memory.is_null() {
            return memory;
        }
        let (address, mut book) = (memory.addr(), self.book());
        let end = address + request.size.max(1);
        let before = book.objects.range(..end).next_back();
        if let Some((other, was)) = before
            && other + was.size.max(1) > address
        {
            let what = format!("{request:?} at {address:#x} overlaps {was:?} at {other:#x}");
            book.wrong.push(what);
        }
        if address % request.alignment != 0 {
            book.wrong.push(format!("{request:?} is not aligned: {address:#x}"));
        }
        book.objects.insert(address, request);
        book.live += request.size as u64;
        book.live_peak = book.live_peak.max(book.live);
        let live = book.live;
        book.steps.push(live);
        let size = request.size.min(MARK_SIZE);
        // SAFETY: 1: the memory has this size, and is this heap's alone.
        unsafe {
            memory.copy_from_nonoverlapping(mark(address, request).as_ptr(), size);
            let end = memory.add(request.size - size);
            end.copy_from_nonoverlapping(mark(address, request).as_ptr(), size);
        }
        memory
    }

    fn take(&self, memory: *mut u8, was: Request) {
        let (address, mut book) = (memory.addr(), self.book());
        match book.objects.remove(&address) {
            Some(request) if request == was => {}
            other => book.wrong.push(format!("{was:?} is given up, but the object is {other:?}")),
        }
        book.live -= was.size as u64;
        let (size, expected) = (was.size.min(MARK_SIZE), mark(address, was));
        let mut found = [[0; MARK_SIZE]; 2];
        // SAFETY: 3, 4: the memory still has this size.
        unsafe {
            memory.copy_to_nonoverlapping(found[0].as_mut_ptr(), size);
            memory.add(was.size - size).copy_to_nonoverlapping(found[1].as_mut_ptr(), size);
        }
        // In a small object the mark at the end overlaps the mark at the beginning.
        let is_whole = was.size >= 2 * MARK_SIZE;
        if found[1][..size] != expected[..size] || is_whole && found[0] != expected {
            book.wrong.push(format!("{was:?} lost the values that were written to it"));
        }
    }
}

// SAFETY: 1: the memory is that of the inner heap. 2: nothing here panics, except when memory runs
// out.
unsafe impl<H: Heap> Heap for Guard<H> {
    fn allocate(&self, request: Request) -> *mut u8 {
        self.put(self.heap.allocate(request), request)
    }

    fn allocate_zeroed(&self, request: Request) -> *mut u8 {
        let memory = self.heap.allocate_zeroed(request);
        for index in 0..if memory.is_null() { 0 } else { request.size } {
            // SAFETY: 1: the memory has this size.
            if unsafe { memory.add(index).read() } != 0 {
                self.book().wrong.push(format!("{request:?} is not zero at {index}"));
                break;
            }
        }
        self.put(memory, request)
    }

    unsafe fn reallocate(&self, old: *mut u8, was: Request, request: Request) -> *mut u8 {
        self.take(old, was);
        let expected = mark(old.addr(), was);
        // SAFETY: 3: the caller passes memory of this heap, handed out for `was` and not given up
        // since. It is the inner heap's.
        let memory = unsafe { self.heap.reallocate(old, was, request) };
        if !memory.is_null() && was.size.min(request.size) >= MARK_SIZE && was.size >= 16 {
            let mut found = [0; MARK_SIZE];
            // SAFETY: 1: the memory has this size.
            unsafe { memory.copy_to_nonoverlapping(found.as_mut_ptr(), MARK_SIZE) };
            if found != expected {
                self.book().wrong.push(format!("{was:?} lost its bytes as {request:?}"));
            }
        }
        match memory.is_null() {
            true => self.put(old, was),
            false => self.put(memory, request),
        };
        memory
    }

    unsafe fn free(&self, memory: *mut u8, was: Request) {
        self.take(memory, was);
        let mut book = self.book();
        let live = book.live;
        book.steps.push(live);
        drop(book);
        // SAFETY: 4: the caller passes memory of this heap, handed out for `was`, and gives it up
        // once. It is the inner heap's.
        unsafe { self.heap.free(memory, was) };
    }

    fn end_pool(&self, pool: u32) {
        if self.book().objects.values().any(|request| request.pool == pool) {
            self.book().wrong.push(format!("pool {pool} ends and is not empty"));
        }
        self.heap.end_pool(pool);
    }
}
