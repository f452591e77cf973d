//! The selected events of a log, taken in by all processors.
//!
//! ```text
//!  order of file: │ partitions of worker 0 │ of worker 1 │ …    each has something of its own that
//!                        └──── merge, in order ────┘        takes events in
//! ```
//!
//! Which partitions a worker has does not depend on how fast it is, so that what comes out is the
//! same each time. Design: `.cnv.stats` in `design/eventcnv.md`.

use crate::select::{Selected, Selection};
use eventlog::reader::{Faults, Log, Order, Partitions};
use std::num::NonZero;
use std::ops::Range;
use std::thread;

/// Events of a partition, about.
const PARTITION_SIZE: u64 = 1 << 18;

/// Has the events taken in by at most so many workers: `make` begins one, `take` has it take the
/// events of a partition, `merge` adds that of the next worker. What the first had in the end, and
/// what was found wrong.
pub(crate) fn gather<T: Send>(
    log: &Log,
    selection: &Selection,
    worker_count_max: usize,
    make: impl Fn() -> T + Sync,
    take: impl Fn(&mut T, &mut Selected<'_>) + Sync,
    merge: impl Fn(&mut T, T),
) -> (T, Faults) {
    let worker_count = thread::available_parallelism().map_or(1, NonZero::get);
    let worker_count = worker_count.min(worker_count_max);
    let partitions =
        (worker_count > 1).then(|| selection.partitions(log, Order::File, PARTITION_SIZE));
    let Some(partitions) = partitions.flatten() else {
        // What comes first or last does so in time.
        let (mut first, mut events) = (make(), selection.events(log, Order::Time));
        take(&mut first, &mut events);
        return (first, events.faults().clone());
    };
    let read = &|range| read(&partitions, range, selection, &make, &take);
    let count = partitions.count();
    let share = |worker: usize| count * worker / worker_count;
    thread::scope(|scope| {
        let others: Vec<_> = (1..worker_count)
            .map(|worker| scope.spawn(move || read(share(worker)..share(worker + 1))))
            .collect();
        let (mut first, found) = read(0..share(1));
        let mut faults = partitions.faults().clone();
        faults.append(&found);
        for other in others {
            match other.join() {
                Ok((other, found)) => {
                    merge(&mut first, other);
                    faults.append(&found);
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        (first, faults)
    })
}

fn read<T>(
    partitions: &Partitions<'_>,
    range: Range<usize>,
    selection: &Selection,
    make: &impl Fn() -> T,
    take: &impl Fn(&mut T, &mut Selected<'_>),
) -> (T, Faults) {
    let (mut own, mut faults) = (make(), Faults::default());
    for partition in range {
        let mut events = selection.selected(partitions.events(partition));
        take(&mut own, &mut events);
        faults.append(events.faults());
    }
    (own, faults)
}
