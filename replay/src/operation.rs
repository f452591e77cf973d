//! Operations: what a program asked of its memory manager, in order of time, without addresses.
//!
//! ```text
//!  log ─ source ─▶ Operation, Operation, … ─ modify ─▶ … ─ compile ─▶ workload
//!                  └──────── saved and read again ────────┘
//! ```
//!
//! Design: `.rep.operation` in `design/replay.md`.

/// One thing that a thread asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// When, in ns since the first operation; never less than that of the one before.
    pub time: u64,
    /// The thread, counted from 0 in the order of their first operations.
    pub thread: u32,
    /// What.
    pub action: Action,
}

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Memory for an object that is not there yet.
    Allocate {
        /// The object: counted from 0, each number once.
        object: u32,
        /// Its size in bytes.
        size: u64,
        /// What its address must be a multiple of: a power of two; 1 where nothing was asked
        /// beyond what any allocation has.
        alignment: u64,
        /// Whether it is to be filled with zeros.
        is_zeroed: bool,
        /// The pool, counted from 0; 0 where there are none.
        pool: u32,
    },
    /// Another size for an object, whose bytes stay as far as both sizes go.
    Reallocate {
        /// The object.
        object: u32,
        /// Its new size in bytes.
        size: u64,
        /// Whether it need no longer be aligned as it was allocated: so C's realloc does. Only of
        /// what was aligned to more than any allocation is.
        is_unaligned: bool,
    },
    /// An object is no longer needed.
    Free {
        /// The object.
        object: u32,
    },
    /// A pool ends. All its objects were freed before.
    EndPool {
        /// The pool.
        pool: u32,
    },
}
