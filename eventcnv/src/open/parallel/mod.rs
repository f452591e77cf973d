//! Reads a log in partitions by all processors, and takes their results in order.
//!
//! ```text
//!  partition 0 ── worker ── work ──▶ pieces ─┐
//!  partition 1 ── worker ── work ──▶ pieces ─┼─▶ take: first those of 0, then those of 1, …
//!  partition 2 ── …                          ┘
//!                                    window.rs: a worker that is too far ahead waits
//! ```
//!
//! Memory is bounded: at most [`PIECE_COUNT`] pieces wait for each worker.
//! Design: `.cnv.speed` in `design/eventcnv.md`.

#[cfg(any(feature = "parquet", feature = "sql"))]
mod ordered;
mod window;

#[cfg(any(feature = "parquet", feature = "sql"))]
pub(crate) use crate::open::parallel::ordered::map_in_order;

use crate::open::parallel::window::{Taken, Window};
use crate::open::select::{Selected, Selection};
use cli::Stop;
use eventlog::reader::{Faults, Log, Order};
use std::num::NonZero;
use std::thread;

/// Events of a partition, about.
const PARTITION_SIZE: u64 = 1 << 15;
/// Pieces that wait, for each worker. A partition has about as many pages of text, so a worker can
/// read a whole partition before its turn.
const PIECE_COUNT: usize = 16;
/// Workers, at most.
const WORKER_COUNT_MAX: usize = 64;

/// Takes a piece; returns false if the reader wants no more.
pub(crate) type Emit<'a, T> = &'a mut dyn FnMut(T) -> bool;

// One copy of the code of each caller serves all ways to read: the compiler inlines more there.
/// Makes pieces from the events of a partition.
type Work<'w, T> = &'w (dyn Fn(&mut Selected<'_>, Emit<'_, T>) + Sync);
/// Takes the pieces in order.
type Take<'t, T> = &'t mut dyn FnMut(T) -> Result<(), Stop>;

/// Returns the number of workers: one for each processor.
pub(crate) fn worker_count() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).min(WORKER_COUNT_MAX)
}

/// Reads the selected events of a log: `work` makes pieces from the events of a partition, `take`
/// takes the pieces in order. Returns the faults of the events, or the error of `take`.
pub(crate) fn run<T: Send>(
    log: &Log,
    selection: &Selection,
    order: Order,
    work: impl Fn(&mut Selected<'_>, Emit<'_, T>) + Sync,
    mut take: impl FnMut(T) -> Result<(), Stop>,
) -> Result<Faults, Stop> {
    let (work, take): (Work<'_, T>, Take<'_, T>) = (&work, &mut take);
    let worker_count = worker_count();
    if worker_count == 1 {
        return alone(selection.events(log, order), work, take);
    }
    let Some(partitions) = selection.partitions(log, order, PARTITION_SIZE) else {
        return side_by_side(1, 1, &|_| selection.events(log, order), work, take);
    };
    let events = |index| selection.selected(partitions.events(index));
    let found = side_by_side(partitions.count(), worker_count, &events, work, take)?;
    let mut faults = partitions.faults().clone();
    faults.append(&found);
    Ok(faults)
}

/// Reads events on this thread. Returns their faults.
fn alone<T>(
    mut events: Selected<'_>,
    work: Work<'_, T>,
    take: Take<'_, T>,
) -> Result<Faults, Stop> {
    let mut result = Ok(());
    work(&mut events, &mut |piece| {
        // A caller may have a last piece for one who wants no more.
        if result.is_ok() {
            result = take(piece);
        }
        result.is_ok()
    });
    result.map(|()| events.faults().clone())
}

/// Reads `count` partitions, whose events `events` returns. Returns their faults.
fn side_by_side<'l, T: Send>(
    count: usize,
    worker_count: usize,
    events: &(dyn Fn(usize) -> Selected<'l> + Sync),
    work: Work<'_, T>,
    take: Take<'_, T>,
) -> Result<Faults, Stop> {
    let worker_count = worker_count.min(count);
    let window = Window::new(count, worker_count * PIECE_COUNT);
    let read = || {
        while let Some(begun) = window.begin() {
            let mut events = events(begun.index);
            work(&mut events, &mut |piece| begun.add(piece));
            begun.end(Box::new(events.faults().clone()));
        }
    };
    thread::scope(|scope| {
        // Workers that wait end now, with an error, without one, or when the taker panics.
        let _ending = window.ending();
        let mut faults = Faults::default();
        let begun = |_: &usize| thread::Builder::new().spawn_scoped(scope, read).is_ok();
        if (0..worker_count).take_while(begun).count() == 0 {
            // The system refuses threads.
            for index in 0..count {
                faults.append(&alone(events(index), work, take)?);
            }
            return Ok(faults);
        }
        while let Some(taken) = window.take() {
            match taken {
                Taken::Piece(piece) => take(piece)?,
                // The scope panics later if a worker did.
                Taken::End(found) => found.iter().for_each(|found| faults.append(found)),
            }
        }
        Ok(faults)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::parallel::window::TURN_COUNT;
    use crate::open::select::Select;
    use eventlog::reader::Partitions;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn log() -> Log {
        let log =
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/log/heap-2.log"))
                .to_vec();
        Log::from_source(log).unwrap()
    }

    fn all() -> (Log, Selection) {
        let log = log();
        let selection = Select::default().resolve(&log, false).unwrap();
        (log, selection)
    }

    fn read<T: Send>(
        partitions: &Partitions<'_>,
        selection: &Selection,
        worker_count: usize,
        work: Work<'_, T>,
        take: Take<'_, T>,
    ) -> Result<Faults, Stop> {
        let events = |index| selection.selected(partitions.events(index));
        side_by_side(partitions.count(), worker_count, &events, work, take)
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
        for worker_count in [1, 2, 7, 64] {
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
            read(&partitions, &selection, worker_count, &work, &mut take).unwrap();
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
        let result = read(&partitions, &selection, 3, &work, &mut take);
        assert!(matches!(result, Err(Stop::Closed)));
        assert_eq!(count, 100);
    }

    #[test]
    fn an_error_of_the_taker_stays_one() {
        let (log, selection) = all();
        // As a caller that passes its last page on in any case.
        let work = |events: &mut Selected<'_>, emit: Emit<'_, u64>| {
            while events.next().is_some_and(|event| emit(event.ticks)) {}
            emit(0);
        };
        let mut takes = |piece| if piece == 0 { Ok(()) } else { Err(Stop::Closed) };
        let read = alone(selection.events(&log, Order::File), &work, &mut takes);
        assert!(matches!(read, Err(Stop::Closed)));
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
        read(&partitions, &selection, 3, &work, &mut take).unwrap();
        let room = 3 * PIECE_COUNT;
        assert!(taken > 20 * room, "{taken}");
        assert!((room..=room + TURN_COUNT + 1).contains(&most), "{most}");
    }
}
