//! A workload against a heap in this very process: for tests and benchmarks of a heap.
//!
//! ```text
//!  workload ─ check ─▶ image ─▶ play ─▶ Run    the same loop; memory is that of the whole process
//! ```
//!
//! Design: `.rep.loop` in `design/replay.md`.

use super::child::{Session, Task};
use super::shared::{Shared, Table};
use super::{Misfit, Touch, check, image};
use crate::heap::Heap;
use crate::measured::Run;
use crate::workload::Workload;
use std::fmt;
use std::io;

/// Why nothing was played.
#[derive(Debug)]
pub enum Unplayed {
    /// The workload has an op that cannot be done.
    Misfit(Misfit),
    /// There is no memory for what it needs.
    Io(io::Error),
}

impl fmt::Display for Unplayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unplayed::Misfit(misfit) => misfit.fmt(f),
            Unplayed::Io(error) => write!(f, "cannot play: {error}"),
        }
    }
}

impl std::error::Error for Unplayed {}

/// Plays a workload here, as fast as it goes, and frees what it leaves.
pub fn in_process<H: Heap>(workload: &Workload, heap: &H, touch: Touch) -> Result<Run, Unplayed> {
    let plan = check::check(workload).map_err(Unplayed::Misfit)?;
    let (file, size) = image::write(workload, &plan).map_err(Unplayed::Io)?;
    let (thread_count, slot_count) = (workload.threads.len(), workload.slot_count as usize);
    let shared = Shared::map(&file, size, thread_count, true).map_err(Unplayed::Io)?;
    let table = Table::new(slot_count).map_err(Unplayed::Io)?;
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
