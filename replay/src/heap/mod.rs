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
pub mod null;
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

    /// Returns memory filled with zeros; null if it has none.
    fn allocate_zeroed(&self, request: Request) -> *mut u8;

    /// Returns memory of another size, with the bytes of `old` as far as both sizes go, and gives
    /// `old` up; or returns null, and keeps `old` as it is.
    ///
    /// # Safety
    ///
    /// 3. This heap handed `old` out for `was`, and the caller still has it. `size` in `request` is
    ///    the new size. The pool is that of `was`, and so is the alignment, or it is 1.
    unsafe fn reallocate(&self, old: *mut u8, was: Request, request: Request) -> *mut u8;

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
