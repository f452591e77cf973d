//! A heap with pools: a simple example.
//!
//! ```text
//!  pool 0: │ free: a list for each size class │ extents: │▓▓▓▓▓▓ bump ─▶    │ │▓▓▓▓▓▓▓▓▓▓▓▓▓│ …
//!  pool 1: │ …                                             objects of ≤ 32 KiB, of all classes
//!          larger objects come from the C library;         end_pool frees every extent
//! ```
//!
//! Classes are multiples of 16 up to 128, then four for each power of two. One lock a pool.
//!
//! Design: `.rep.heap` in `design/replay.md`.
#![expect(unsafe_code, reason = "memory of extents is handed out")]

use super::system::System;
use super::{Heap, Request, moved, zeroed};
use std::ptr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A pool for each number of a workload.
#[derive(Debug)]
pub struct Pools {
    /// 5. Pools are made a row at a time, and stay where they are.
    rows: Box<[OnceLock<Row>]>,
}

type Row = Box<[Mutex<Pool>]>;

/// The number of pools in a row, and of rows: pools have 24 bits.
const ROW: usize = 1 << 12;

const QUANTUM: usize = 16;
/// The largest object in an extent.
const SMALL_MAX: usize = 32 << 10;
const EXTENT_MIN: usize = 64 << 10;
const EXTENT_MAX: usize = 4 << 20;
const PAGE: usize = 4096;

/// 8 classes up to 128; then 4 for each of 256, 512, … 32 KiB.
const CLASS_COUNT: usize = 8 + 4 * 8;

#[derive(Debug)]
struct Pool {
    /// 6. Each address is of a free object of its class, in an extent of this pool; the object's
    ///    first word is the next one, or null.
    free: [*mut u8; CLASS_COUNT],
    /// 7. From `bump` to `end` lies the part of the last extent that was never handed out.
    bump: *mut u8,
    end: *mut u8,
    /// 8. The extents of this pool: address and size. Each came from the C library.
    extents: Vec<(*mut u8, usize)>,
}

// SAFETY: 6, 7, 8: all addresses are of memory that this pool alone has, on any thread.
unsafe impl Send for Pool {}

impl Default for Pools {
    fn default() -> Pools {
        Pools { rows: (0..ROW).map(|_| OnceLock::new()).collect() }
    }
}

/// Returns the class of a size, which is not 0 and at most SMALL_MAX, and the size of the class's
/// objects.
fn class_of(size: usize) -> (usize, usize) {
    let quanta = size.div_ceil(QUANTUM);
    if quanta <= 8 {
        return (quanta - 1, quanta * QUANTUM);
    }
    // quanta - 1 is 8 at least: the two bits after its first one choose the quarter.
    let log2 = (quanta - 1).ilog2() as usize;
    let step = log2 - 2;
    let quarter = (quanta - 1) >> step & 3;
    (8 + (log2 - 3) * 4 + quarter, ((4 + quarter + 1) << step) * QUANTUM)
}

/// Returns the request by which the C library allocates an extent.
fn extent(size: usize) -> Request {
    Request { size, alignment: PAGE, pool: 0 }
}

/// Returns the size of a small object, a multiple of its alignment; `None` for an object that the C
/// library allocates.
fn small(request: Request) -> Option<usize> {
    let alignment = request.alignment.max(QUANTUM);
    if request.size > SMALL_MAX || alignment > PAGE {
        return None;
    }
    let size = request.size.max(1).next_multiple_of(alignment);
    let size = if alignment > QUANTUM { size.next_power_of_two() } else { size };
    (size <= SMALL_MAX).then_some(size)
}

impl Pool {
    const fn new() -> Pool {
        Pool {
            free: [ptr::null_mut(); CLASS_COUNT],
            bump: ptr::null_mut(),
            end: ptr::null_mut(),
            extents: Vec::new(),
        }
    }

    fn allocate(&mut self, size: usize, alignment: usize) -> *mut u8 {
        let (class, size) = class_of(size);
        let first = self.free.get(class).copied().unwrap_or_default();
        // `carve` aligns a size that is a power of two to itself, up to a page.
        if !first.is_null() {
            // SAFETY: 6: the object is free, and its first word is the next one.
            self.free[class] = unsafe { first.cast::<*mut u8>().read() };
            return first;
        }
        self.carve(size, alignment)
    }

    /// Cuts an object from memory that was never handed out.
    fn carve(&mut self, size: usize, alignment: usize) -> *mut u8 {
        let natural = if size.is_power_of_two() { size.min(PAGE) } else { QUANTUM };
        let alignment = alignment.max(natural);
        let mut skip = self.bump.align_offset(alignment);
        if (self.end.addr() - self.bump.addr()) < skip + size {
            let last = self.extents.last().map_or(EXTENT_MIN / 2, |(_, size)| *size);
            let extent_size = (2 * last).min(EXTENT_MAX);
            let memory = System.allocate(extent(extent_size));
            if memory.is_null() {
                return memory;
            }
            self.extents.push((memory, extent_size));
            self.bump = memory;
            // SAFETY: that is the end of the extent.
            self.end = unsafe { memory.add(extent_size) };
            skip = 0;
        }
        // SAFETY: 7: `bump` and `end` are at least this far apart.
        unsafe {
            let memory = self.bump.add(skip);
            self.bump = memory.add(size);
            memory
        }
    }

    /// # Safety
    ///
    /// 10. `allocate` of this pool handed the memory out for that size, and its owner gives it up.
    unsafe fn free(&mut self, memory: *mut u8, size: usize) {
        let (class, _) = class_of(size);
        // SAFETY: 10: the smallest object has room for a word.
        unsafe { memory.cast::<*mut u8>().write(self.free[class]) };
        self.free[class] = memory;
    }

    fn end(&mut self) {
        for (memory, size) in self.extents.drain(..) {
            // SAFETY: 8; the caller of `end_pool` has freed all objects of the pool.
            unsafe { System.free(memory, extent(size)) };
        }
        self.free = [ptr::null_mut(); CLASS_COUNT];
        (self.bump, self.end) = (ptr::null_mut(), ptr::null_mut());
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.end();
    }
}

impl Pools {
    fn pool(&self, pool: u32) -> MutexGuard<'_, Pool> {
        let (row, column) = (pool as usize / ROW % ROW, pool as usize % ROW);
        let row =
            self.rows[row].get_or_init(|| (0..ROW).map(|_| Mutex::new(Pool::new())).collect());
        row[column].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// SAFETY: 1: each place of an extent is handed out once, and again only after its free (6, 7); the
// C library hands out all else. `carve` aligns. 2: nothing here panics: classes are fewer than
// CLASS_COUNT, rows and columns fewer than ROW.
unsafe impl Heap for Pools {
    fn allocate(&self, request: Request) -> *mut u8 {
        match small(request) {
            Some(size) => self.pool(request.pool).allocate(size, request.alignment),
            None => System.allocate(request),
        }
    }

    fn allocate_zeroed(&self, request: Request) -> *mut u8 {
        if small(request).is_none() {
            return System.allocate_zeroed(request);
        }
        zeroed(self, request)
    }

    unsafe fn reallocate(&self, old: *mut u8, was: Request, request: Request) -> *mut u8 {
        match (small(was), small(request)) {
            (Some(was), Some(new)) if class_of(was) == class_of(new) => old,
            // SAFETY: 3: the C library handed `old` out for `was`.
            (None, None) => unsafe { System.reallocate(old, was, request) },
            // SAFETY: 3: the caller's promise.
            _ => unsafe { moved(self, old, was, request) },
        }
    }

    unsafe fn free(&self, memory: *mut u8, was: Request) {
        match small(was) {
            // SAFETY: 4, 10: `was` is the request for which the pool handed it out.
            Some(size) => unsafe { self.pool(was.pool).free(memory, size) },
            // SAFETY: 4: the C library handed it out for `was`.
            None => unsafe { System.free(memory, was) },
        }
    }

    fn end_pool(&self, pool: u32) {
        self.pool(pool).end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_wastes_a_quarter_of_a_size_at_most() {
        let mut last = (0, 16);
        for size in 1..=SMALL_MAX {
            let (class, of_class) = class_of(size);
            assert!(of_class >= size && of_class % QUANTUM == 0, "{size}: {of_class}");
            assert!(of_class - size <= (size / 4).max(QUANTUM - 1), "{size}: {of_class}");
            assert!((class, of_class) == last || class == last.0 + 1, "{size}: {class}");
            last = (class, of_class);
        }
        assert_eq!(last, (CLASS_COUNT - 1, SMALL_MAX));
    }

    #[test]
    fn the_end_of_a_pool_frees_its_extents() {
        let pools = Pools::default();
        let request = Request { size: 100, alignment: 1, pool: 5 };
        for _ in 0..10_000 {
            assert!(!pools.allocate(request).is_null());
        }
        assert!(pools.pool(5).extents.len() > 3);
        pools.end_pool(5);
        assert!(pools.pool(5).extents.is_empty());
        assert!(!pools.allocate(request).is_null());
    }
}
