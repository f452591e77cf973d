//! A heap around a heap, which looks at all that it hands out: whether it is a heap at all.
//!
//! ```text
//!  allocate ──▶ aligned? zeros? nobody else's? ── its pattern at both ends │ everywhere
//!  free, reallocate ──▶ is its pattern still there?
//! ```
//!
//! The quick form writes and reads the first and the last word of an object, and remembers nothing:
//! what is handed out and has the pattern of its address is somebody's still. Design: `.rep.check`
//! in `design/replay.md`.
#![expect(unsafe_code, reason = "the trait is unsafe, and patterns are written into memory")]

use super::{Heap, Request};
use std::collections::BTreeMap;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const WORD: usize = 8;
/// Bytes between two places of a zeroed object that the quick form looks at.
const PAGE: usize = 4096;
/// Places of it that it looks at, at most.
const PAGE_COUNT_MAX: usize = 64;
/// log2 of what malloc aligns to, at most: `max_align_t`.
const ALIGNMENT_LOG2: u32 = (2 * size_of::<usize>()).trailing_zeros();
/// Spreads addresses.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The heap around another one. Once that is found to be wrong, it is asked for nothing more.
#[derive(Debug)]
pub(crate) struct Checked<'h, H> {
    heap: &'h H,
    is_full: bool,
    /// The size of what is at each address, if everything is looked at.
    objects: Mutex<BTreeMap<usize, usize>>,
    is_wrong: AtomicBool,
    wrong: Mutex<Option<String>>,
}

/// What is written to an object at an address.
fn pattern(address: usize) -> u64 {
    (address as u64 ^ 0x5A5A).wrapping_mul(SPREAD)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the first word is while an object changes its size, and when it was given up.
const MOVING: u32 = 17;
const GIVEN_UP: u32 = 31;

/// An object: so many bytes, which are the caller's.
///
/// 17. There are `size` bytes at `memory`, and nobody else writes to them unless the heap is wrong.
#[derive(Clone, Copy)]
struct Object {
    memory: *mut u8,
    size: usize,
}

impl Object {
    /// Whether this word begins at an offset, as far as it is in the object; volatile, as nobody
    /// may guess what is there.
    fn has(self, at: usize, word: u64) -> bool {
        word.to_le_bytes().into_iter().enumerate().take(self.size - at).all(|(index, byte)| {
            // SAFETY: 17: at most so many bytes from `at` on are in the object.
            byte == unsafe { self.memory.add(at + index).read_volatile() }
        })
    }

    fn set(self, at: usize, word: u64) {
        for (index, byte) in word.to_le_bytes().into_iter().enumerate().take(self.size - at) {
            // SAFETY: 17: at most so many bytes from `at` on are in the object, and nobody else
            // writes to them.
            unsafe { self.memory.add(at + index).write_volatile(byte) };
        }
    }

    /// Where words begin that are looked at: all of them, also one of which only a part is in the
    /// object; or the first and the last whole one.
    fn places(self, is_full: bool) -> impl Iterator<Item = usize> {
        let count = if is_full { self.size.div_ceil(WORD) } else { (self.size / WORD).min(1) };
        let last = (self.size >= 2 * WORD).then(|| self.size - WORD);
        (0..count).map(|index| index * WORD).chain(last.filter(|_| !is_full))
    }
}

impl<'h, H: Heap> Checked<'h, H> {
    pub(crate) fn new(heap: &'h H, is_full: bool) -> Checked<'h, H> {
        let (objects, is_wrong, wrong) = Default::default();
        Checked { heap, is_full, objects, is_wrong, wrong }
    }

    /// What was found wrong, if anything was.
    pub(crate) fn wrong(&self) -> Option<String> {
        locked(&self.wrong).take()
    }

    #[cold]
    fn blame(&self, what: String) {
        self.is_wrong.store(true, Ordering::Release);
        locked(&self.wrong).get_or_insert(what);
    }

    fn is_wrong(&self) -> bool {
        self.is_wrong.load(Ordering::Acquire)
    }

    /// Whether what was handed out may be taken: then it has its pattern. `is_new`: it was not
    /// there before, and nothing was asked to be in it.
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

    /// Whether an object that is given up is as it was left.
    fn take(&self, memory: *mut u8, size: usize) -> bool {
        let (object, address) = (Object { memory, size }, memory.addr());
        let word = pattern(address);
        if let Some(at) = object.places(self.is_full).find(|at| !object.has(*at, word)) {
            self.blame(format!(
                "what was written to {size} bytes at {address:#x} is not there any more, at byte \
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

// SAFETY: 1: what the heap inside hands out, or null. 2: nothing here
// panics but for want of memory.
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
            // Where it was, it is nobody's any more.
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
        // The quick form knows whole words alone.
        let end = |at: usize| if self.is_full { at + 1 } else { at + WORD };
        let mut kept = before.places(self.is_full).filter(|at| end(*at) <= both.size);
        let is_moved = |at: usize| at == 0 && was.size >= WORD;
        let expected = |at: usize| if is_moved(at) { word.rotate_left(MOVING) } else { word };
        if let Some(at) = kept.find(|at| !both.has(*at, expected(*at))) {
            let (from, to) = (was.size, request.size);
            self.blame(format!(
                "{from} bytes that became {to} at {:#x} lost what was in them, at byte {at}",
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
            let word = pattern(memory.addr()).rotate_left(GIVEN_UP);
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

    /// The C library's heap, whose reallocation loses the last byte.
    struct Loses;

    // SAFETY: 1, 2: it is the C library's.
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

    /// What is found wrong with a heap that changes the size of an object.
    fn found<H: Heap>(heap: &H, sizes: [usize; 2], is_full: bool) -> Option<String> {
        let [was, request] = sizes.map(|size| Request { size, alignment: 1, pool: 0 });
        let checked = Checked::new(heap, is_full);
        // SAFETY: 3: it was allocated there.
        unsafe { checked.reallocate(checked.allocate(was), was, request) };
        checked.wrong()
    }

    /// `.rep.check`
    #[test]
    fn the_last_byte_is_looked_at_too() {
        for (sizes, is_full) in
            [([21, 42], false), ([13, 26], true), ([3, 9], true), ([13, 11], true)]
        {
            assert_eq!(found(&System, sizes, is_full), None);
            let wrong = found(&Loses, sizes, is_full).unwrap_or_default();
            assert!(wrong.contains("lost what was in them"), "{sizes:?} {is_full}: {wrong}");
        }
    }
}
