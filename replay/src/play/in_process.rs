//! Plays a workload against a heap in this process: for tests and benchmarks of a heap.
//!
//! ```text
//!  workload ─ check ─▶ image ─▶ play ─▶ Run    the same loop; memory of the whole process
//! ```
//!
//! Design: `.rep.loop` in `design/replay.md`.

use super::child::{Session, Task};
use super::shared::{Shared, Table};
use super::{InvalidWorkload, Touch, check, image};
use crate::heap::Heap;
use crate::measured::Run;
use crate::workload::Workload;
use std::fmt;
use std::io;

/// The error of a workload that was not played.
#[derive(Debug)]
pub enum PlayError {
    /// The workload has an invalid op.
    Invalid(InvalidWorkload),
    /// The replayer cannot get the memory that it needs.
    Io(io::Error),
}

impl fmt::Display for PlayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlayError::Invalid(error) => error.fmt(f),
            PlayError::Io(error) => write!(f, "cannot play: {error}"),
        }
    }
}

impl std::error::Error for PlayError {}

/// Plays a workload as fast as possible, and frees what it leaves.
pub fn in_process<H: Heap>(workload: &Workload, heap: &H, touch: Touch) -> Result<Run, PlayError> {
    let plan = check::check(workload).map_err(PlayError::Invalid)?;
    let (file, size) = image::write(workload, &plan).map_err(PlayError::Io)?;
    let (thread_count, slot_count) = (workload.threads.len(), workload.slot_count as usize);
    let shared = Shared::map(&file, size, thread_count, true).map_err(PlayError::Io)?;
    let table = Table::new(slot_count).map_err(PlayError::Io)?;
    let task = Task {
        thread_count,
        slot_count,
        size,
        touch,
        touched: workload.touched.rows().collect(),
        settle: vec![0],
        ..Task::default()
    };
    let outcome = Session { task: &task, shared: &shared, table: &table }.play(heap);
    let operation_count = workload.operation_count.saturating_sub(outcome.skipped);
    Ok(Run { operation_count, ..outcome.run })
}
