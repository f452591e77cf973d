//! Heaps: what a workload is played against.
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

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// In bytes; 0 is a size like any other.
    pub size: usize,
    /// What the address must be a multiple of: a power of two; 1 where nothing was asked beyond
    /// what malloc gives, which is the alignment of any C type.
    pub alignment: usize,
    /// The pool, from 0.
    pub pool: u32,
}

/// A memory manager that a workload can be played against: by several threads at once.
///
/// # Safety
///
/// 1. What `allocate`, `allocate_zeroed` and `reallocate` return is null (there is no memory), or
///    the address of at least `size` bytes, a multiple of the alignment, which may be read and
///    written and are handed out to nobody else until they are given to `free` or `reallocate`;
///    unless `HAS_MEMORY` is false, in which case it is any address but null.
/// 2. None of them unwinds.
pub unsafe trait Heap: Sync {
    /// Whether there is memory at the addresses that are handed out.
    const HAS_MEMORY: bool = true;

    /// Memory; null if there is none.
    fn allocate(&self, request: Request) -> *mut u8;

    /// The same, filled with zeros.
    fn allocate_zeroed(&self, request: Request) -> *mut u8;

    /// Memory of another size, with the bytes of `old` as far as both sizes go, and `old` given up;
    /// or null, and `old` stays as it is.
    ///
    /// # Safety
    ///
    /// 3. `old` is this heap's, was handed out for `was` and not given up since; `size` in
    ///    `request` is the new one, the pool that of `was`, and so is the alignment, or it is 1.
    unsafe fn reallocate(&self, old: *mut u8, was: Request, request: Request) -> *mut u8;

    /// Gives memory up.
    ///
    /// # Safety
    ///
    /// 4. `memory` is this heap's, was handed out for `was`, and not given up since.
    unsafe fn free(&self, memory: *mut u8, was: Request);

    /// A pool ends: nothing is left in it.
    fn end_pool(&self, pool: u32) {
        let _ = pool;
    }
}
