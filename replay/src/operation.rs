//! Operations: the requests of a program to its memory manager, in order of time, without
//! addresses.
//!
//! ```text
//!  log ─ source ─▶ Operation, Operation, … ─ modify ─▶ … ─ compile ─▶ workload
//!  log ◀─ save ─┘
//! ```
//!
//! Design: `.rep.operation` in `design/replay.md`.

/// One request of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The time in ns since the first operation; never less than the time of the operation before.
    pub time: u64,
    /// The thread; threads are numbered from 0 in the order of their first operations.
    pub thread: u32,
    /// The request.
    pub action: Action,
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Allocates a new object.
    Allocate {
        /// The object: numbers begin at 0, and each is used once.
        object: u32,
        /// Its size in bytes.
        size: u64,
        /// The required alignment, a power of two; 1 for no more than any allocation has.
        alignment: u64,
        /// Whether the memory is filled with zeros.
        is_zeroed: bool,
        /// The pool, from 0; 0 without pools.
        pool: u32,
    },
    /// Changes the size of an object, which keeps its bytes as far as both sizes go.
    Reallocate {
        /// The object.
        object: u32,
        /// Its new size in bytes.
        size: u64,
        /// Whether the object need no longer be aligned as before, as with C's realloc. Only
        /// objects with more than the usual alignment have this.
        is_unaligned: bool,
    },
    /// Frees an object.
    Free {
        /// The object.
        object: u32,
    },
    /// Ends a pool, whose objects were all freed before.
    EndPool {
        /// The pool.
        pool: u32,
    },
}
