//! Pools of our own: an example of a heap with pools, simple and right.
//!
//! ```text
//!  pool 0: │ free: a list for each size class │ extents: │▓▓▓▓▓▓ bump ─▶    │ │▓▓▓▓▓▓▓▓▓▓▓▓▓│ …
//!  pool 1: │ …                                             objects of ≤ 32 KiB, of all classes
//!          an object that is larger is a mapping of its own;   end_pool gives every extent back
//! ```
//!
//! Classes are multiples of 16 up to 128, then four for each power of two. One lock a pool.
//!
//! Design: `.rep.heap` in `design/replay.md`.
#![expect(unsafe_code, reason = "memory from the operating system is handed out")]

use super::{Heap, Request};
use std::ptr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A pool for each number of a workload.
#[derive(Debug)]
pub struct Pools {
    /// 5. Pools come into being a row at a time, and stay where they are.
    rows: Box<[OnceLock<Row>]>,
}

type Row = Box<[Mutex<Pool>]>;

/// The pools of a row, and the rows: pools have 24 bits.
const ROW: usize = 1 << 12;

const QUANTUM: usize = 16;
/// The largest object that is put in an extent.
const SMALL_MAX: usize = 32 << 10;
const EXTENT_MIN: usize = 64 << 10;
const EXTENT_MAX: usize = 4 << 20;
const PAGE: usize = 4096;

/// Up to 128 there are 8 classes; then 4 for each of 256, 512, … 32 KiB.
const CLASS_COUNT: usize = 8 + 4 * 8;

/// What is 16 bytes or more and free: where the next one of its class is, or null.
#[derive(Debug)]
struct Pool {
    /// 6. Each address is that of an object of its class, in an extent of this pool, which nobody
    ///    has; its first word is the next, or null.
    free: [*mut u8; CLASS_COUNT],
    /// 7. From `bump` to `end` lies what was never handed out of the last extent.
    bump: *mut u8,
    end: *mut u8,
    /// 8. What was mapped for this pool, and is not unmapped yet: address and size.
    extents: Vec<(*mut u8, usize)>,
}

// SAFETY: 6, 7, 8: what the addresses lead to is this pool's alone, on whichever thread.
unsafe impl Send for Pool {}

impl Default for Pools {
    fn default() -> Pools {
        Pools { rows: (0..ROW).map(|_| OnceLock::new()).collect() }
    }
}

/// The class of a size, which is not 0 and at most SMALL_MAX, and the size of its objects.
fn class_of(size: usize) -> (usize, usize) {
    let quanta = size.div_ceil(QUANTUM);
    if quanta <= 8 {
        return (quanta - 1, quanta * QUANTUM);
    }
    // quanta - 1 is 8 at least: its two bits after the first one say which of the four.
    let log2 = (quanta - 1).ilog2() as usize;
    let step = log2 - 2;
    let quarter = (quanta - 1) >> step & 3;
    (8 + (log2 - 3) * 4 + quarter, ((4 + quarter + 1) << step) * QUANTUM)
}

/// Pages from the operating system, filled with zeros; null if there are none.
fn map(size: usize) -> *mut u8 {
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
    // SAFETY: new pages, where nothing is.
    let pages = unsafe { libc::mmap(ptr::null_mut(), size, protection, flags, -1, 0) };
    if pages == libc::MAP_FAILED { ptr::null_mut() } else { pages.cast() }
}

/// Pages that begin at a multiple of `alignment`.
fn map_aligned(size: usize, alignment: usize) -> *mut u8 {
    if alignment <= PAGE {
        return map(size);
    }
    let Some(whole) = size.checked_add(alignment) else { return ptr::null_mut() };
    let start = map(whole);
    if start.is_null() {
        return start;
    }
    let before = start.align_offset(alignment);
    // SAFETY: what lies before and after was mapped just now, and nobody has it.
    unsafe {
        unmap(start, before);
        let memory = start.add(before);
        unmap(memory.add(size), alignment - before);
        memory
    }
}

/// # Safety
///
/// 9. The pages were mapped, and nobody has them or anything in them.
unsafe fn unmap(pages: *mut u8, size: usize) {
    if size != 0 {
        // SAFETY: 9: the pages were mapped, and nobody has them or anything in them.
        unsafe { libc::munmap(pages.cast(), size) };
    }
}

/// The pages of an object that has a mapping of its own.
fn large(size: usize) -> Option<usize> {
    Some(size.checked_add(PAGE - 1)? & !(PAGE - 1))
}

/// Whether it goes to an extent, and as what size: one that is a multiple of its alignment.
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
        // A size that is a power of two is aligned to it, up to a page: `carve` sees to that.
        if !first.is_null() {
            // SAFETY: 6: nobody has it, and its first word is the next.
            self.free[class] = unsafe { first.cast::<*mut u8>().read() };
            return first;
        }
        self.carve(size, alignment)
    }

    /// Cuts what was never handed out.
    fn carve(&mut self, size: usize, alignment: usize) -> *mut u8 {
        let natural = if size.is_power_of_two() { size.min(PAGE) } else { QUANTUM };
        let alignment = alignment.max(natural);
        let mut skip = self.bump.align_offset(alignment);
        if (self.end.addr() - self.bump.addr()) < skip + size {
            let last = self.extents.last().map_or(EXTENT_MIN / 2, |(_, size)| *size);
            let extent_size = (2 * last).min(EXTENT_MAX);
            let extent = map(extent_size);
            if extent.is_null() {
                return extent;
            }
            self.extents.push((extent, extent_size));
            self.bump = extent;
            // SAFETY: that is the end of what was mapped.
            self.end = unsafe { extent.add(extent_size) };
            skip = 0;
        }
        // SAFETY: 7: there is so much between `bump` and `end`.
        unsafe {
            let memory = self.bump.add(skip);
            self.bump = memory.add(size);
            memory
        }
    }

    /// # Safety
    ///
    /// 10. It was handed out by `allocate` of this pool for that size, and nobody has it now.
    unsafe fn free(&mut self, memory: *mut u8, size: usize) {
        let (class, _) = class_of(size);
        // SAFETY: 10: the least object has room for a word.
        unsafe { memory.cast::<*mut u8>().write(self.free[class]) };
        self.free[class] = memory;
    }

    fn end(&mut self) {
        for (extent, size) in self.extents.drain(..) {
            // SAFETY: 8: what is in the list was mapped for this pool, and is not unmapped yet. The
            // caller that ends a pool says that nothing is left in it.
            unsafe { unmap(extent, size) };
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

// SAFETY: 1: of an extent each place is handed out once, and again only when it was freed (6, 7);
// an object that is larger is a mapping. Alignment: `carve`, `map_aligned`. 2: nothing here
// panics: classes are fewer than CLASS_COUNT, rows and columns fewer than ROW.
unsafe impl Heap for Pools {
    fn allocate(&self, request: Request) -> *mut u8 {
        match (small(request), large(request.size)) {
            (Some(size), _) => self.pool(request.pool).allocate(size, request.alignment),
            (None, Some(size)) => map_aligned(size.max(PAGE), request.alignment),
            (None, None) => ptr::null_mut(),
        }
    }

    fn allocate_zeroed(&self, request: Request) -> *mut u8 {
        let memory = self.allocate(request);
        if !memory.is_null() && small(request).is_some() {
            // SAFETY: 1: there are as many bytes.
            unsafe { memory.write_bytes(0, request.size) };
        }
        memory
    }

    unsafe fn reallocate(&self, old: *mut u8, was: Request, request: Request) -> *mut u8 {
        let same = match (small(was), small(request)) {
            (Some(was), Some(new)) => class_of(was) == class_of(new),
            (None, None) => large(was.size) == large(request.size),
            _ => false,
        };
        if same {
            return old;
        }
        let new = self.allocate(request);
        if !new.is_null() {
            // SAFETY: 3: what is copied is in both, which are apart; `old` is given up once.
            unsafe {
                old.copy_to_nonoverlapping(new, was.size.min(request.size));
                self.free(old, was);
            }
        }
        new
    }

    unsafe fn free(&self, memory: *mut u8, was: Request) {
        match (small(was), large(was.size)) {
            // SAFETY: 4, 10: `was` says as what it was handed out.
            (Some(size), _) => unsafe { self.pool(was.pool).free(memory, size) },
            // SAFETY: 4, 9: it has a mapping of that size to itself.
            (None, Some(size)) => unsafe { unmap(memory, size.max(PAGE)) },
            (None, None) => {}
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
    fn every_size_has_a_class_that_is_no_smaller_and_wastes_a_quarter_at_most() {
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
    fn a_power_of_two_is_aligned_to_itself_whatever_came_before() {
        let mut pool = Pool::new();
        for size in [16, 48, 64, 80, 256, 16, 4096, 112, 1024] {
            let memory = pool.allocate(size, 1);
            let alignment = if size.is_power_of_two() { size } else { QUANTUM };
            assert_eq!(memory.addr() % alignment, 0, "{size}");
        }
    }

    #[test]
    fn the_end_of_a_pool_gives_its_extents_back() {
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
