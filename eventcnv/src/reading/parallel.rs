//! Reads a log in partitions by all processors, and takes their results in order.
//!
//! ```text
//!  partition 0 ── worker ── work ──▶ pieces ─┐
//!  partition 1 ── worker ── work ──▶ pieces ─┼─▶ take: first those of 0, then those of 1, …
//!  partition 2 ── …                          ┘
//! ```
//!
//! Memory is bounded: at most [`PIECE_COUNT_MAX`] pieces wait.
//! Design: `.cnv.speed` in `design/eventcnv.md`.

use crate::select::{Selected, Selection};
use cli::Stop;
use eventlog::reader::{Faults, Log, Order, Partitions};
use std::num::NonZero;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Events of a partition, about.
const PARTITION_SIZE: u64 = 1 << 16;
/// Pieces of all partitions that wait, at most. It limits how far workers run ahead: each partition
/// has its share.
const PIECE_COUNT_MAX: usize = 96;
const WORKER_COUNT_MAX: usize = 16;

/// Takes a piece; returns false if the reader wants no more.
pub(crate) type Emit<'a, T> = &'a mut dyn FnMut(T) -> bool;

/// Reads the selected events of a log: `work` makes pieces from the events of a partition, `take`
/// takes the pieces in order. Returns the faults of the events, or the error of `take`.
pub(crate) fn run<T: Send>(
    log: &Log,
    selection: &Selection,
    order: Order,
    work: impl Fn(&mut Selected<'_>, Emit<'_, T>) + Sync,
    mut take: impl FnMut(T) -> Result<(), Stop>,
) -> Result<Faults, Stop> {
    let worker_count = thread::available_parallelism().map_or(1, NonZero::get);
    let worker_count = worker_count.min(WORKER_COUNT_MAX);
    let partitions =
        if worker_count > 1 { selection.partitions(log, order, PARTITION_SIZE) } else { None };
    match partitions.filter(|partitions| partitions.count() > 1) {
        Some(partitions) => side_by_side(&partitions, selection, worker_count, &work, &mut take),
        None => {
            let mut events = selection.events(log, order);
            let mut result = Ok(());
            work(&mut events, &mut |piece| {
                result = take(piece);
                result.is_ok()
            });
            result.map(|()| events.faults().clone())
        }
    }
}

fn side_by_side<T: Send>(
    partitions: &Partitions<'_>,
    selection: &Selection,
    worker_count: usize,
    work: &(impl Fn(&mut Selected<'_>, Emit<'_, T>) + Sync),
    take: &mut impl FnMut(T) -> Result<(), Stop>,
) -> Result<Faults, Stop> {
    let room = PIECE_COUNT_MAX / (worker_count + 2);
    // The pieces of each partition, in order: `Err` has the faults at its end.
    let (queue, in_order) = sync_channel::<Receiver<Result<T, Box<Faults>>>>(1);
    let next = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..worker_count {
            let (queue, next) = (queue.clone(), &next);
            scope.spawn(move || {
                loop {
                    let (pieces, taken) = sync_channel(room);
                    let index = {
                        let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
                        if *next >= partitions.count() || queue.send(taken).is_err() {
                            break;
                        }
                        *next += 1;
                        *next - 1
                    };
                    let mut events = selection.selected(partitions.events(index));
                    work(&mut events, &mut |piece| pieces.send(Ok(piece)).is_ok());
                    // The taker may want no more: then the queue is closed too.
                    let _ = pieces.send(Err(Box::new(events.faults().clone())));
                }
            });
        }
        drop(queue);
        let mut faults = partitions.faults().clone();
        // An error closes the channels, and so ends the workers.
        for piece in in_order.into_iter().flatten() {
            match piece {
                Ok(piece) => take(piece)?,
                Err(found) => faults.append(&found),
            }
        }
        Ok(faults)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Select;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn log() -> Log {
        let log = include_bytes!("../../tests/golden/log/heap-2.log").to_vec();
        Log::from_source(log).unwrap()
    }

    fn all() -> (Log, Selection) {
        let log = log();
        let selection = Select::default().resolve(&log, false).unwrap();
        (log, selection)
    }

    /// `.cnv.speed`: for any number of workers.
    #[test]
    fn pieces_come_in_the_order_of_the_events() {
        let (log, selection) = all();
        let mut expected = Vec::new();
        let mut events = selection.events(&log, Order::Time);
        while let Some(event) = events.next() {
            expected.push((event.ticks, event.offset));
        }
        let partitions = selection.partitions(&log, Order::Time, 300).unwrap();
        assert!(partitions.count() > 2, "{}", partitions.count());
        for worker_count in [1, 2, 7] {
            let mut found = Vec::new();
            let work = |events: &mut Selected<'_>, emit: Emit<'_, (u64, u64)>| {
                while let Some(event) = events.next() {
                    if !emit((event.ticks, event.offset)) {
                        break;
                    }
                }
            };
            let mut take = |piece| {
                found.push(piece);
                Ok(())
            };
            side_by_side(&partitions, &selection, worker_count, &work, &mut take).unwrap();
            assert!(found == expected, "{worker_count} workers");
        }
    }

    #[test]
    fn workers_end_when_the_taker_fails() {
        let (log, selection) = all();
        let partitions = selection.partitions(&log, Order::Time, 300).unwrap();
        let work = |events: &mut Selected<'_>, emit: Emit<'_, u64>| {
            while let Some(event) = events.next() {
                if !emit(event.ticks) {
                    break;
                }
            }
        };
        let mut count = 0;
        let mut take = |_| {
            count += 1;
            if count < 100 { Ok(()) } else { Err(Stop::Closed) }
        };
        let result = side_by_side(&partitions, &selection, 3, &work, &mut take);
        assert!(matches!(result, Err(Stop::Closed)));
        assert_eq!(count, 100);
    }

    /// `.cnv.speed`: memory is bounded, even for a slow taker.
    #[test]
    fn a_bounded_number_of_pieces_waits() {
        let (log, selection) = all();
        let partitions = selection.partitions(&log, Order::Time, 300).unwrap();
        let (made, mut taken, mut most) = (AtomicUsize::new(0), 0, 0);
        let work = |events: &mut Selected<'_>, emit: Emit<'_, ()>| {
            while events.next().is_some() && emit(()) {
                made.fetch_add(1, Ordering::Relaxed);
            }
        };
        let mut take = |()| {
            if taken % 64 == 0 {
                thread::sleep(std::time::Duration::from_millis(1));
            }
            most = most.max(made.load(Ordering::Relaxed).saturating_sub(taken));
            taken += 1;
            Ok(())
        };
        side_by_side(&partitions, &selection, 3, &work, &mut take).unwrap();
        assert!(taken > 20 * PIECE_COUNT_MAX, "{taken}");
        assert!((PIECE_COUNT_MAX / 5..=PIECE_COUNT_MAX).contains(&most), "{most}");
    }
}
