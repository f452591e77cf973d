//! The registry "malloc": an event for each call of a function that hands memory out, frees it, or
//! returns its size.
//!
//! ```text
//!  malloc(24) ─▶ Malloc 24 bytes        realloc(p, 48) ─▶ ReallocBegin ─ Realloc
//!  free(p) ────▶ Free 16 bytes          a size that needs more than 32 bits ─▶ …Large
//! ```
//!
//! Design: `.rep.record`, `.rep.stack` in `design/replay.md`.

telemetry::events! {
    /// What a program asks of malloc and the functions like it. In time order, over all threads, an
    /// address that was handed out (Malloc and the like, Realloc) is not handed out again before
    /// its memory was given up (Free, ReallocBegin). A call that failed has address 0.
    registry "malloc" version(1, 2, 0);
    kinds standard;

    /// malloc handed memory out. [unit bytes size]
    Malloc(0x0001, always, Object) {
        /// the memory; 0: the call failed
        address: A,
        /// its size in bytes
        size: U,
        /// the calling stack: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// malloc handed out memory of 4 GiB or more. [unit bytes size]
    MallocLarge(0x0002, always, Object) {
        /// the memory; 0: the call failed
        address: A,
        /// its size in bytes
        size: W,
        /// the calling stack: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// calloc handed memory out, filled with zeros. [unit bytes size]
    Calloc(0x0003, always, Object) {
        /// the memory; 0: the call failed
        address: A,
        /// how many elements
        count: W,
        /// the size of each in bytes
        size: W,
        /// the calling stack: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// realloc or reallocarray is about to change the size of memory. The memory is given up, and
    /// may be handed out again at the same address. The next event of the same thread is a Realloc
    /// or ReallocLarge.
    ReallocBegin(0x0004, always, Object) {
        /// the memory; 0: none yet, so that realloc does what malloc does
        address: A,
    }
    /// realloc or reallocarray handed memory out again. [unit bytes size]
    Realloc(0x0005, always, Object) {
        /// the memory; 0: the call failed and the old memory stays handed out, unless the size is
        /// 0: then the old memory was freed
        address: A,
        /// its size in bytes
        size: U,
        /// the calling stack: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// realloc or reallocarray handed out memory of 4 GiB or more. An array that is larger than any
    /// memory has the largest size. [unit bytes size]
    ReallocLarge(0x0006, always, Object) {
        /// the memory; 0: the call failed and the old memory stays handed out
        address: A,
        /// its size in bytes
        size: W,
        /// the calling stack: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// free is about to give memory up. A free of null is not recorded.
    Free(0x0007, always, Object) {
        /// the memory
        address: A,
    }
    /// aligned_alloc handed memory out. [unit bytes size]
    AlignedAlloc(0x0008, always, Object) {
        /// the memory; 0: the call failed
        address: A,
        /// its alignment
        alignment: W,
        /// its size in bytes
        size: W,
        /// the calling stack: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// posix_memalign handed memory out. [unit bytes size]
    PosixMemalign(0x0009, always, Object) {
        /// the memory; 0: the call failed
        address: A,
        /// its alignment
        alignment: W,
        /// its size in bytes
        size: W,
        /// the calling stack: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// memalign handed memory out. [unit bytes size]
    Memalign(0x000A, always, Object) {
        /// the memory; 0: the call failed
        address: A,
        /// its alignment
        alignment: W,
        /// its size in bytes
        size: W,
        /// the calling stack: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// valloc handed memory out. [unit bytes size]
    Valloc(0x000B, always, Object) {
        /// the memory; 0: the call failed
        address: A,
        /// its alignment: the size of a page
        alignment: W,
        /// its size in bytes
        size: W,
        /// the calling stack: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// pvalloc handed memory out. [unit bytes size]
    Pvalloc(0x000C, always, Object) {
        /// the memory; 0: the call failed
        address: A,
        /// its alignment: the size of a page
        alignment: W,
        /// the requested size in bytes, which pvalloc rounds up to pages
        size: W,
        /// the calling stack: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// malloc_usable_size returned the size of memory. [unit bytes size]
    UsableSize(0x000D, always, Object) {
        /// the memory
        address: A,
        /// the returned size in bytes
        size: W,
    }
    /// A node in the tree of stacks: a frame, and the frame that called it. It comes before the
    /// first event that has its number, except for events that other threads record at the same
    /// time.
    Frame(0x0010, always, Object) {
        /// its number, not 0
        frame: U,
        /// the frame that called this one; 0: this is the outermost recorded frame
        parent: U,
        /// the return address
        address: A,
    }
    /// A part of a file is mapped as code. [unit bytes size]
    Mapping(0x0011, always, Object) {
        /// its address
        start: A,
        /// its size in bytes
        size: W,
        /// its offset in the file
        offset: W,
        /// the file
        path: S,
    }
    /// Calls whose stack was not recorded, because the process had no memory for what finds it.
    Stackless(0x0013, always, Object) {
        /// the number of calls
        count: W,
    }
    /// How much of a block was written, for a sample of the blocks of two pages and more. It is
    /// measured when the block is given up, or at the end. Only pages count that lie in the block
    /// alone and were not in memory when the block was handed out. [unit bytes size]
    /// [unit bytes looked] [unit bytes touched]
    Touched(0x0018, always, Object) {
        /// the block
        address: A,
        /// its size in bytes
        size: W,
        /// the bytes that were examined
        looked: W,
        /// the examined bytes that were written
        touched: W,
        /// whether calloc handed it out
        zeroed: B,
    }
    /// Memory and processor time of the process, recorded at its end and before it executes another
    /// program.
    Process(0x0019, always, Object) {
        /// the peak of resident memory in bytes; 0: not known
        resident: W,
        /// its processor time in user mode, in ns
        user: W,
        /// its processor time in the kernel, in ns
        system: W,
        /// the recorder's own part of the resident memory at the end, in bytes; 0: not known
        recorder: W,
    }
    /// The library that has the malloc that the process called, recorded with its figures.
    Allocator(0x001A, always, Object) {
        /// the file of the library
        path: S,
    }
    /// A thread ends: what it allocates after this comes from its last destructors.
    ThreadEnd(0x001B, always, Object) {}
    /// Calls that are not in the log: the C library made them while this library recorded, and they
    /// were more than it can keep.
    Missed(0x0012, always, Object) {
        /// the number of calls
        count: W,
    }
    /// The program loads a library whose calls are not in the log: they do not go to the recording
    /// library.
    Unreached(0x0014, always, Object) {
        /// whether the library gets a namespace of its own (dlmopen); else RTLD_DEEPBIND
        namespace: B,
        /// the file, as the program names it
        library: S,
    }
}

/// A call, with the values that are recorded.
#[derive(Clone, Copy)]
pub(crate) enum Call {
    Malloc { address: usize, size: usize },
    Calloc { address: usize, count: usize, size: usize },
    ReallocBegin { address: usize },
    Realloc { address: usize, size: usize },
    Free { address: usize },
    AlignedAlloc { address: usize, alignment: usize, size: usize },
    PosixMemalign { address: usize, alignment: usize, size: usize },
    Memalign { address: usize, alignment: usize, size: usize },
    Valloc { address: usize, size: usize },
    Pvalloc { address: usize, size: usize },
    UsableSize { address: usize, size: usize },
}

impl Call {
    #[inline(always)]
    pub(crate) fn is_handing_out(&self) -> bool {
        !matches!(self, Call::Free { .. } | Call::ReallocBegin { .. } | Call::UsableSize { .. })
    }
}
