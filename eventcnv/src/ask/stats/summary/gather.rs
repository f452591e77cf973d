//! Reads the selected events of a log on all processors, into one result.
//!
//! ```text
//!  order of file: │ partitions of worker 0 │ of worker 1 │ …    each worker has a result
//!                        └──── merge, in order ────┘
//! ```
//!
//! The partitions of a worker do not depend on its speed, so the result is the same each time.
//! Design: `.cnv.stats` in `design/eventcnv.md`.

use crate::open::select::{Selected, Selection};
use eventlog::reader::{Faults, Log, Order, Partitions};
use std::num::NonZero;
use std::ops::Range;
use std::thread;

/// Events of a partition, about.
const PARTITION_SIZE: u64 = 1 << 18;

/// Reads events by at most `worker_count_max` workers. `make` begins the result of a worker, `take`
/// adds the events of a partition, `merge` adds the result of the next worker. Returns the result
/// and the faults.
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
        // `--first` and `--last` count in order of time.
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
