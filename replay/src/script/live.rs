//! The state of compiling: which threads ran lately, and how many bytes are live.
//!
//! ```text
//!  stretch ─▶ its threads, and those before it     op ─▶ live bytes, every LIVE_STEP ops
//! ```
//!
//! Design: `.rep.skew`, `.rep.workload` in `design/replay.md`.

use crate::workload::{LIVE_STEP, Op, OpKind};

/// The threads that ran lately.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// The remaining operations of this stretch.
    pub(crate) left: u32,
    /// The number of this stretch, from 1.
    pub(crate) index: u64,
    pub(crate) threads: Vec<u32>,
    /// The threads of the stretch before, each with its last op there.
    pub(crate) before: Vec<(u32, u32)>,
    /// The first thread of this stretch, and its first op in it.
    pub(crate) hub: Option<(u32, u32)>,
    /// The last stretch in which each thread ran.
    pub(crate) of_thread: Vec<u64>,
}

/// The bytes that a thread has allocated less the bytes that it has freed, op by op.
#[derive(Debug, Default)]
pub(crate) struct Live {
    bytes: i64,
    count: usize,
    table: Vec<i64>,
    /// The upper half of the size of the next op.
    upper: u64,
    /// The old size, if the next word is the new size of a reallocation.
    before: Option<i64>,
}

impl Live {
    #[inline]
    pub(crate) fn take(&mut self, op: Op) {
        if self.count.is_multiple_of(LIVE_STEP) {
            self.table.push(self.bytes);
        }
        self.count += 1;
        if let Some(before) = self.before.take() {
            let change = (op.as_new_size() as i64).wrapping_sub(before);
            self.bytes = self.bytes.wrapping_add(change);
            return;
        }
        let size = (self.upper << 32 | u64::from(op.size())) as i64;
        match op.kind() {
            OpKind::Wait | OpKind::Post | OpKind::EndPool => return,
            OpKind::Prefix => {
                self.upper = u64::from(op.size());
                return;
            }
            OpKind::Allocate | OpKind::AllocateZeroed => self.bytes = self.bytes.wrapping_add(size),
            OpKind::Reallocate => self.before = Some(size),
            OpKind::Free => self.bytes = self.bytes.wrapping_sub(size),
        }
        self.upper = 0;
    }

    pub(crate) fn finish(mut self) -> Vec<i64> {
        self.table.push(self.bytes);
        self.table
    }
}
