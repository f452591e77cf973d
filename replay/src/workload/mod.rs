//! A workload: the ops that are played, without parsing or lookups.
//!
//! ```text
//!  thread 0: │ allocate slot 0 │ allocate slot 1 │ post 2 │ free slot 0 │ …
//!  thread 1: │ wait for thread 0 to have posted 2 │ free slot 1 │ …
//! ```
//!
//! Design: `.rep.workload` in `design/replay.md`.

mod op;

use crate::facts::Touched;

pub use op::{NEW_SIZE_MAX, Op, OpKind, SLOT_COUNT_MAX};
pub(crate) use op::{ORDER_COUNT, STRIDE};

/// The ops of a thread between two entries of [`Thread::live`].
pub const LIVE_STEP: usize = 256;

/// A workload.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// The threads, each with its list.
    pub threads: Vec<Thread>,
    /// The number of slots in the table of objects.
    pub slot_count: u32,
    /// The number of pools, at least one.
    pub pool_count: u32,
    /// The number of operations: allocations, reallocations and frees.
    pub operation_count: u64,
    /// The peak of live bytes, by requested sizes, in order of time.
    pub live_peak: u64,
    /// How much of larger blocks the recorded program wrote.
    pub touched: Touched,
    /// The time of the recorded program from its first operation to its last, in ns.
    pub duration: u64,
}

/// The ops of a thread.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// The ops, in order.
    pub ops: Vec<Op>,
    /// The time of each op, in ns since the first of all; empty unless recorded times are kept.
    pub times: Vec<u64>,
    /// The bytes that this thread has allocated less those it has freed: before each op whose index
    /// is a multiple of [`LIVE_STEP`], and after the last. The sum over all threads is the live
    /// bytes.
    pub live: Vec<i64>,
    /// The slots that the thread was the last to use and that stay full, each with the size of its
    /// object: the thread frees them at the end.
    pub left: Vec<(u32, u64)>,
}
