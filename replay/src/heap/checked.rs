//! A heap around a heap, which checks all memory that the inner heap hands out.
//!
//! ```text
//!  allocate ──▶ aligned? zeros? not in use? ── its pattern at both ends │ everywhere
//!  free, reallocate ──▶ is its pattern still there?
//! ```
//!
//! The quick form writes and reads the first and the last word of an object, and remembers nothing.
//! New memory that has the pattern of its address is still in use. Design: `.rep.check` in
//! `design/replay.md`.
#![expect(unsafe_code, reason = "the trait is unsafe, and patterns are written into memory")]

use super::{Heap, Request};
use std::collections::BTreeMap;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const WORD: usize = 8;
/// The distance of the places of a zeroed object that the quick form checks.
const PAGE: usize = 4096;
/// The maximum number of these places.
const PAGE_COUNT_MAX: usize = 64;
/// log2 of malloc's alignment: `max_align_t`.
const ALIGNMENT_LOG2: u32 = (2 * size_of::<usize>()).trailing_zeros();
/// A factor that spreads addresses.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A heap around another one, which is not called again once it is found to be wrong.
#[derive(Debug)]
pub(crate) struct Checked<'h, H> {
    heap: &'h H,
    is_full: bool,
    /// The size of the object at each address, in the full form.
    objects: Mutex<BTreeMap<usize, usize>>,
    is_wrong: AtomicBool,
    error: Mutex<Option<String>>,
}

/// Returns the word that is written to an object at an address.
fn pattern(address: usize) -> u64 {
    (address as u64 ^ 0x5A5A).wrapping_mul(SPREAD)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Rotations of the first word: during a reallocation, and after a free.
const MOVING: u32 = 17;
const FREED: u32 = 31;

/// An object of the caller.
///
/// 17. `memory` has `size` bytes, and no other thread writes to them, unless the heap is wrong.
#[derive(Clone, Copy)]
struct Object {
    memory: *mut u8,
    size: usize,
}

impl Object {
    /// Returns whether this word is at an offset, as far as it is in the object. Reads are
    /// volatile, because the compiler must not guess the bytes.
    fn has(self, at: usize, word: u64) -> bool {
        word.to_le_bytes().into_iter().enumerate().take(self.size - at).all(|(index, byte)| {
            // SAFETY: 17: `take` keeps the offset inside the object.
            byte == unsafe { self.memory.add(at + index).read_volatile() }
        })
    }

    fn set(self, at: usize, word: u64) {
        for (index, byte) in word.to_le_bytes().into_iter().enumerate().take(self.size - at) {
            // SAFETY: 17: `take` keeps the offset inside the object.
            unsafe { self.memory.add(at + index).write_volatile(byte) };
        }
    }

    /// Returns the offsets of the words that are checked: all words, also one that is partly in the
    /// object; or the first and the last complete one.
    fn places(self, is_full: bool) -> impl Iterator<Item = usize> {
        let count = if is_full { self.size.div_ceil(WORD) } else { (self.size / WORD).min(1) };
        let last = (self.size >= 2 * WORD).then(|| self.size - WORD);
        (0..count).map(|index| index * WORD).chain(last.filter(|_| !is_full))
    }
}

impl<'h, H: Heap> Checked<'h, H> {
    pub(crate) fn new(heap: &'h H, is_full: bool) -> Checked<'h, H> {
        let (objects, is_wrong, error) = Default::default();
        Checked { heap, is_full, objects, is_wrong, error }
    }

    pub(crate) fn error(&self) -> Option<String> {
        locked(&self.error).take()
    }

    #[cold]
    fn blame(&self, error: String) {
        self.is_wrong.store(true, Ordering::Release);
        locked(&self.error).get_or_insert(error);
    }

    fn is_wrong(&self) -> bool {
        self.is_wrong.load(Ordering::Acquire)
    }

    /// Checks new memory, and writes its pattern. Returns whether it is sound. `is_new` says that
    /// its contents are undefined.
    fn put(&self, memory: *mut u8, request: Request, is_new: bool) -> bool {
        let (object, address) = (Object { memory, size: request.size }, memory.addr());
        let size = request.size;
        let natural = 1usize << size.max(1).ilog2().min(ALIGNMENT_LOG2);
        let alignment = request.alignment.max(natural);
        if !address.is_multiple_of(alignment) {
            self.blame(format!("{size} bytes at {address:#x} are not aligned to {alignment}"));
            return false;
        }
        let word = pattern(address);
        if self.is_full {
            let mut objects = locked(&self.objects);
            let end = address.saturating_add(size.max(1));
            let before = objects.range(..end).next_back();
            if let Some((&other, &other_size)) = before
                && other.saturating_add(other_size.max(1)) > address
            {
                let other = format!("{other_size} bytes at {other:#x}, which are in use");
                drop(objects);
                self.blame(format!("{size} bytes at {address:#x} overlap {other}"));
                return false;
            }
            objects.insert(address, size);
        } else if is_new && size >= WORD && object.has(0, word) {
            self.blame(format!("{size} bytes at {address:#x} are in use already"));
            return false;
        }
        object.places(self.is_full).for_each(|at| object.set(at, word));
        true
    }

    /// Returns whether an object still has its pattern.
    fn take(&self, memory: *mut u8, size: usize) -> bool {
        let (object, address) = (Object { memory, size }, memory.addr());
        let word = pattern(address);
        if let Some(at) = object.places(self.is_full).find(|at| !object.has(*at, word)) {
            self.blame(format!(
                "{size} bytes at {address:#x} lost the value that was written to them, at byte \
                 {at}: another object has the same memory"
            ));
            return false;
        }
        if self.is_full {
            locked(&self.objects).remove(&address);
        }
        true
    }

    fn is_zero(&self, memory: *mut u8, size: usize) -> bool {
        let object = Object { memory, size };
        let step = if self.is_full { WORD } else { PAGE };
        let most = if self.is_full { usize::MAX } else { PAGE_COUNT_MAX };
        let last = size.saturating_sub(WORD);
        let mut places = (0..size).step_by(step).take(most).chain((size > 0).then_some(last));
        let Some(at) = places.find(|at| !object.has(*at, 0)) else { return true };
        let address = memory.addr();
        self.blame(format!("{size} bytes at {address:#x} are not zero, at byte {at}"));
        false
    }

    fn accept(&self, memory: *mut u8, request: Request, is_zeroed: bool) -> *mut u8 {
        let is_sound = memory.is_null()
            || (!is_zeroed || self.is_zero(memory, request.size))
                && self.put(memory, request, !is_zeroed);
        if is_sound { memory } else { ptr::null_mut() }
    }
}

// SAFETY: 1: the memory is that of the inner heap, or null. 2: nothing here panics, except when
// memory runs out.
unsafe impl<H: Heap> Heap for Checked<'_, H> {
    const HAS_MEMORY: bool = H::HAS_MEMORY;

    fn allocate(&self, request: Request) -> *mut u8 {
        match self.is_wrong() {
            true => ptr::null_mut(),
            false => self.accept(self.heap.allocate(request), request, false),
        }
    }

    fn allocate_zeroed(&self, request: Request) -> *mut u8 {
        match self.is_wrong() {
            true => ptr::null_mut(),
            false => self.accept(self.heap.allocate_zeroed(request), request, true),
        }
    }

    unsafe fn reallocate(&self, old: *mut u8, was: Request, request: Request) -> *mut u8 {
        if self.is_wrong() || !self.take(old, was.size) {
            return ptr::null_mut();
        }
        let word = pattern(old.addr());
        let before = Object { memory: old, size: was.size };
        if was.size >= WORD {
            // The old place is free now.
            before.set(0, word.rotate_left(MOVING));
        }
        // SAFETY: 3: the caller passes memory of this heap, handed out for `was` and not given up
        // since. It is the inner heap's.
        let memory = unsafe { self.heap.reallocate(old, was, request) };
        if memory.is_null() {
            let places = before.places(self.is_full);
            places.for_each(|at| before.set(at, word));
            if self.is_full {
                locked(&self.objects).insert(old.addr(), was.size);
            }
            return memory;
        }
        let both = Object { memory, size: was.size.min(request.size) };
        // The quick form checks only complete words.
        let end = |at: usize| if self.is_full { at + 1 } else { at + WORD };
        let mut kept = before.places(self.is_full).filter(|at| end(*at) <= both.size);
        let is_moved = |at: usize| at == 0 && was.size >= WORD;
        let expected = |at: usize| if is_moved(at) { word.rotate_left(MOVING) } else { word };
        if let Some(at) = kept.find(|at| !both.has(*at, expected(*at))) {
            let (from, to) = (was.size, request.size);
            self.blame(format!(
                "{from} bytes that became {to} at {:#x} lost their contents, at byte {at}",
                memory.addr()
            ));
            return ptr::null_mut();
        }
        match self.put(memory, request, false) {
            true => memory,
            false => ptr::null_mut(),
        }
    }

    unsafe fn free(&self, memory: *mut u8, was: Request) {
        if self.is_wrong() || !self.take(memory, was.size) {
            return;
        }
        if was.size >= WORD {
            let word = pattern(memory.addr()).rotate_left(FREED);
            Object { memory, size: was.size }.set(0, word);
        }
        // SAFETY: 4: the caller passes memory of this heap, handed out for `was`, which gives it up
        // once. It is the inner heap's.
        unsafe { self.heap.free(memory, was) };
    }

    fn end_pool(&self, pool: u32) {
        if !self.is_wrong() {
            self.heap.end_pool(pool);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::system::System;

    /// The C library's heap, with a reallocation that loses the last byte.
    struct Loses;

    // SAFETY: 1, 2: the C library promises this.
    unsafe impl Heap for Loses {
        fn allocate(&self, request: Request) -> *mut u8 {
            System.allocate(request)
        }
        fn allocate_zeroed(&self, request: Request) -> *mut u8 {
            System.allocate_zeroed(request)
        }
        unsafe fn reallocate(&self, old: *mut u8, was: Request, request: Request) -> *mut u8 {
            // SAFETY: 3: the caller passes memory of this heap, handed out for `was` and not given
            // up since. It is the system's. The byte is in both objects.
            unsafe {
                let memory = System.reallocate(old, was, request);
                let last = memory.add(was.size.min(request.size) - 1);
                last.write(!last.read());
                memory
            }
        }
        unsafe fn free(&self, memory: *mut u8, was: Request) {
            // SAFETY: 4: the caller passes memory of this heap, handed out for `was`, and gives
            // it up once. It is the system's.
            unsafe { System.free(memory, was) };
        }
    }

    /// Returns the error that is found in a reallocation.
    fn found<H: Heap>(heap: &H, sizes: [usize; 2], is_full: bool) -> Option<String> {
        let [was, request] = sizes.map(|size| Request { size, alignment: 1, pool: 0 });
        let checked = Checked::new(heap, is_full);
        // SAFETY: 3: it was allocated there.
        unsafe { checked.reallocate(checked.allocate(was), was, request) };
        checked.error()
    }

    /// `.rep.check`
    #[test]
    fn the_last_byte_is_checked_too() {
        for (sizes, is_full) in
            [([21, 42], false), ([13, 26], true), ([3, 9], true), ([13, 11], true)]
        {
            assert_eq!(found(&System, sizes, is_full), None);
            let error = found(&Loses, sizes, is_full).unwrap_or_default();
            assert!(error.contains("lost their contents"), "{sizes:?} {is_full}: {error}");
        }
    }
}
