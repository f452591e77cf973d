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
use std::ops::Range;
use std::thread;

/// Events of a partition, about.
const PARTITION_SIZE: u64 = 1 << 18;

/// Reads events by `worker_count` workers. `make` begins the result of a worker, `take` adds the
/// events of a partition, `merge` adds the result of the next worker. Returns the result and the
/// faults.
pub(crate) fn gather<T: Send>(
    log: &Log,
    selection: &Selection,
    worker_count: usize,
    make: impl Fn() -> T + Sync,
    take: impl Fn(&mut T, &mut Selected<'_>) + Sync,
    merge: impl Fn(&mut T, T),
) -> (T, Faults) {
    let Some(partitions) = selection.partitions(log, Order::File, PARTITION_SIZE) else {
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
            .map(|worker| {
                let read = move || read(share(worker)..share(worker + 1));
                thread::Builder::new().spawn_scoped(scope, read).map_err(|_| read)
            })
            .collect();
        let (mut first, found) = read(0..share(1));
        let mut faults = partitions.faults().clone();
        faults.append(&found);
        for other in others {
            // Where the system refuses a thread, this one reads.
            match other.map_or_else(|read| Ok(read()), |other| other.join()) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::select::Select;

    /// `.cnv.stats`: also on one processor.
    #[test]
    fn workers_together_read_in_the_order_of_the_file() {
        let log =
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/log/heap-2.log"));
        let log = Log::from_source(log.to_vec()).unwrap();
        let selection = Select::default().resolve(&log, false).unwrap();
        let places = |order| {
            let (mut places, mut events) = (Vec::new(), selection.events(&log, order));
            events.each(|event| places.push((event.ticks, event.offset)));
            places
        };
        let expected = places(Order::File);
        assert!(expected.len() > 1000 && expected != places(Order::Time));
        for worker_count in [1, 2, 7] {
            let (found, _) = gather(
                &log,
                &selection,
                worker_count,
                Vec::new,
                |places, events| events.each(|event| places.push((event.ticks, event.offset))),
                |places, others| places.extend(others),
            );
            assert!(found == expected, "{worker_count} workers");
        }
    }
}
