//! A workload: what is played, without parsing and without looking anything up.
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

/// Operations of a thread between two entries of [`Thread::live`].
pub const LIVE_STEP: usize = 256;

/// What is played.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// The threads, each with its list.
    pub threads: Vec<Thread>,
    /// How many slots the table of objects has.
    pub slot_count: u32,
    /// How many pools there are, at least one.
    pub pool_count: u32,
    /// How many operations there are: allocations, reallocations and frees.
    pub operation_count: u64,
    /// The most bytes that objects had at a time, by the sizes that were asked for, in order of
    /// time.
    pub live_peak: u64,
    /// How much of larger blocks the recorded program wrote.
    pub touched: Touched,
    /// How long the recorded program took, from its first operation to its last, in ns.
    pub duration: u64,
}

/// What a thread does.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// In this order.
    pub ops: Vec<Op>,
    /// When each of them was, in ns since the first of all; empty unless it is to be played at
    /// the recorded times.
    pub times: Vec<u64>,
    /// Before each op whose index is a multiple of [`LIVE_STEP`], and after the last: the bytes
    /// that this thread has allocated less those it has freed, so far. The sum over all threads
    /// is what is live.
    pub live: Vec<i64>,
    /// The slots that are still full after the last op of this thread in which they occur, with
    /// the size of what is in them: what is freed at the end.
    pub left: Vec<(u32, u64)>,
}
