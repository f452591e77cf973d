//! The heaps that a workload is played against.
//!
//! ```text
//!  the loop ── Request{size, alignment, pool} ──▶ Heap ──▶ memory
//! ```
//!
//! Design: `.rep.heap` in `design/replay.md`.
#![expect(unsafe_code, reason = "a heap is trusted to hand out memory")]

mod checked;
pub mod global;
pub mod pools;
pub mod system;
pub(crate) mod version;

pub(crate) use checked::Checked;

/// A request for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The size in bytes; it may be 0.
    pub size: usize,
    /// The required alignment, a power of two; 1 for no more than malloc's, which suits any C type.
    pub alignment: usize,
    /// The pool, from 0.
    pub pool: u32,
}

/// A memory manager that a workload can be played against, by several threads at once.
///
/// # Safety
///
/// 1. `allocate`, `allocate_zeroed` and `reallocate` return null, or the address of at least `size`
///    bytes, a multiple of the alignment. The caller alone may read and write these bytes until it
///    passes them to `free` or `reallocate`. If `HAS_MEMORY` is false, the address is any except
///    null.
pub unsafe trait Heap: Sync {
    /// Whether the addresses that are handed out have memory.
    const HAS_MEMORY: bool = true;

    /// Returns memory; null if it has none.
    fn allocate(&self, request: Request) -> *mut u8;

    /// Returns memory filled with zeros; null if it has none. Without an implementation of its own,
    /// a heap allocates and writes the zeros.
    #[inline(always)]
    fn allocate_zeroed(&self, request: Request) -> *mut u8 {
        zeroed(self, request)
    }

    /// Returns memory of another size, with the bytes of `old` as far as both sizes go, and gives
    /// `old` up; or returns null, and keeps `old` as it is. Without an implementation of its own, a
    /// heap allocates, copies and frees.
    ///
    /// # Safety
    ///
    /// 3. This heap handed `old` out for `was`, and the caller still has it. `size` in `request` is
    ///    the new size. The pool is that of `was`, and so is the alignment, or it is 1.
    #[inline(always)]
    unsafe fn reallocate(&self, old: *mut u8, was: Request, request: Request) -> *mut u8 {
        // SAFETY: 3: the caller's promise.
        unsafe { moved(self, old, was, request) }
    }

    /// Gives memory up.
    ///
    /// # Safety
    ///
    /// 4. This heap handed `memory` out for `was`, and the caller still has it.
    unsafe fn free(&self, memory: *mut u8, was: Request);

    /// Ends a pool, which is empty.
    fn end_pool(&self, pool: u32) {
        let _ = pool;
    }
}

/// A heap that always returns the same address, which has no memory. It costs nothing, so a run
/// against it measures the loop itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Null;

// SAFETY: 1: HAS_MEMORY is false, and the address is not null. 2: nothing here unwinds.
unsafe impl Heap for Null {
    const HAS_MEMORY: bool = false;

    #[inline(always)]
    fn allocate(&self, _: Request) -> *mut u8 {
        std::ptr::without_provenance_mut(4096)
    }

    #[inline(always)]
    unsafe fn free(&self, _: *mut u8, _: Request) {}
}

#[inline(always)]
fn zeroed<H: Heap + ?Sized>(heap: &H, request: Request) -> *mut u8 {
    let memory = heap.allocate(request);
    if H::HAS_MEMORY && !memory.is_null() {
        // SAFETY: 1: the memory has this size.
        unsafe { memory.write_bytes(0, request.size) };
    }
    memory
}

/// Allocates memory, copies the bytes of `old` into it, and frees `old`.
///
/// # Safety
///
/// That of [`Heap::reallocate`] (3).
#[inline(always)]
unsafe fn moved<H: Heap + ?Sized>(
    heap: &H,
    old: *mut u8,
    was: Request,
    request: Request,
) -> *mut u8 {
    let new = heap.allocate(request);
    if !new.is_null() {
        // SAFETY: 3: `old` has `was.size` bytes, and is freed once; 1: `new` has `request.size`
        // others.
        unsafe {
            if H::HAS_MEMORY {
                old.copy_to_nonoverlapping(new, was.size.min(request.size));
            }
            heap.free(old, was);
        }
    }
    new
}
