//! The registry "malloc": an event for each call of a function that hands memory out, gives it up,
//! or says how much there is.
//!
//! ```text
//!  malloc(24) ─▶ Malloc 24 bytes        realloc(p, 48) ─▶ ReallocBegin ─ Realloc
//!  free(p) ────▶ Free 16 bytes          a size that needs more than 32 bits ─▶ …Large
//! ```
//!
//! Design: `.rep.record`, `.rep.stack` in `design/replay.md`.

telemetry::events! {
    /// What a program asks of malloc and its kin. In time order, over all threads, an address that
    /// was handed out (Malloc and its like, Realloc) is not handed out again before it was given up
    /// (Free, ReallocBegin). A call that failed has address 0.
    registry "malloc" version(1, 1, 0);
    kinds standard;

    /// malloc handed memory out.
    Malloc(0x0001, always, Object) {
        /// the memory; 0: there was none
        address: A,
        /// its size in bytes
        size: U,
        /// who called: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// The same with a size of 4 GiB or more.
    MallocLarge(0x0002, always, Object) {
        /// the memory; 0: there was none
        address: A,
        /// its size in bytes
        size: W,
        /// who called: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// calloc handed memory out, filled with zeros.
    Calloc(0x0003, always, Object) {
        /// the memory; 0: there was none
        address: A,
        /// how many elements
        count: W,
        /// the size of each in bytes
        size: W,
        /// who called: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// realloc or reallocarray is about to change the size of memory, which is given up, perhaps to
    /// be handed out again at the same address. A Realloc or ReallocLarge of the same thread is
    /// next.
    ReallocBegin(0x0004, always, Object) {
        /// the memory; 0: there is none yet, and realloc does as malloc does
        address: A,
    }
    /// realloc or reallocarray handed memory out again.
    Realloc(0x0005, always, Object) {
        /// the memory; 0: there was none, and the old memory stays as it was, handed out, unless
        /// the size is 0, for which it was freed
        address: A,
        /// its size in bytes
        size: U,
        /// who called: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// The same with a size of 4 GiB or more. An array that is larger than any memory has the
    /// largest size there is.
    ReallocLarge(0x0006, always, Object) {
        /// the memory; 0: there was none, and the old memory stays as it was, handed out
        address: A,
        /// its size in bytes
        size: W,
        /// who called: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// Memory is about to be given up by free. (That of no memory is not recorded.)
    Free(0x0007, always, Object) {
        /// the memory
        address: A,
    }
    /// aligned_alloc handed memory out.
    AlignedAlloc(0x0008, always, Object) {
        /// the memory; 0: there was none
        address: A,
        /// what its address is a multiple of
        alignment: W,
        /// its size in bytes
        size: W,
        /// who called: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// posix_memalign handed memory out.
    PosixMemalign(0x0009, always, Object) {
        /// the memory; 0: there was none
        address: A,
        /// what its address is a multiple of
        alignment: W,
        /// its size in bytes
        size: W,
        /// who called: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// memalign handed memory out.
    Memalign(0x000A, always, Object) {
        /// the memory; 0: there was none
        address: A,
        /// what its address is a multiple of
        alignment: W,
        /// its size in bytes
        size: W,
        /// who called: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// valloc handed memory out.
    Valloc(0x000B, always, Object) {
        /// the memory; 0: there was none
        address: A,
        /// what its address is a multiple of: the size of a page
        alignment: W,
        /// its size in bytes
        size: W,
        /// who called: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// pvalloc handed memory out.
    Pvalloc(0x000C, always, Object) {
        /// the memory; 0: there was none
        address: A,
        /// what its address is a multiple of: the size of a page
        alignment: W,
        /// its size in bytes that was asked for, which pvalloc rounds up to pages
        size: W,
        /// who called: the number of a Frame; 0: not recorded
        stack: U,
    }
    /// malloc_usable_size was asked how large memory is.
    UsableSize(0x000D, always, Object) {
        /// the memory
        address: A,
        /// its size in bytes, as answered
        size: W,
    }
    /// A place in the tree of stacks: a frame and those that called it. Before the first event that
    /// has its number, but for events of other threads just then.
    Frame(0x0010, always, Object) {
        /// its number, not 0
        frame: U,
        /// the frame that called this one; 0: the outermost that was looked at
        parent: U,
        /// where it goes on after the call
        address: A,
    }
    /// A part of a file is mapped as code.
    Mapping(0x0011, always, Object) {
        /// where
        start: A,
        /// how many bytes
        size: W,
        /// from where in the file
        offset: W,
        /// the file
        path: S,
    }
    /// How much of a block was written, of a sample of the blocks of two pages and more: looked at
    /// when the block is given up, or at the end. Only pages count that lie in the block alone and
    /// were not in memory when the block was handed out.
    Touched(0x0018, always, Object) {
        /// the block
        address: A,
        /// its size in bytes
        size: W,
        /// how many bytes of it were looked at
        looked: W,
        /// how many of these were written
        touched: W,
        /// whether calloc handed it out
        zeroed: B,
    }
    /// What the process took, told at its end and before it becomes another program.
    Process(0x0019, always, Object) {
        /// the most memory that was resident, in bytes; 0: not known
        resident: W,
        /// its processor time in user mode, in ns
        user: W,
        /// its processor time in the kernel, in ns
        system: W,
    }
    /// Calls that are not in the log: made by what serves this library, deeper than it can keep.
    Missed(0x0012, always, Object) {
        /// how many
        count: W,
    }
}

/// A call, as far as it is recorded.
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
    /// Whether memory was handed out, of which somebody may want to know to whom.
    #[inline(always)]
    pub(crate) fn is_handing_out(&self) -> bool {
        !matches!(self, Call::Free { .. } | Call::ReallocBegin { .. } | Call::UsableSize { .. })
    }
}
