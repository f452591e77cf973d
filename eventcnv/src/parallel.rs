//! A log read in slices by all processors, and what they make of it taken in order.
//!
//! ```text
//!  slice 0 ── worker ── work ──▶ pieces ─┐
//!  slice 1 ── worker ── work ──▶ pieces ─┼─▶ take: those of slice 0 first, then those of 1, …
//!  slice 2 ── …                          ┘     a worker waits that is too far ahead
//! ```
//!
//! Memory is bounded: no more than [`PIECE_COUNT_MAX`] pieces, about, wait to be taken.
//! Design: `.cnv.speed` in `design/eventcnv.md`.

use crate::select::{Selected, Selection};
use crate::stop::Stop;
use eventlog::reader::{Faults, Log, Order, Slices};
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Events of a slice, about.
const SLICE_SIZE: u64 = 1 << 16;
/// Pieces that wait to be taken, at most, but for those of the slice whose turn it is. Long slices
/// are read side by side as far as this lets workers run ahead.
const PIECE_COUNT_MAX: usize = 96;
/// Workers, at most.
const WORKER_COUNT_MAX: usize = 16;

/// Takes a piece that was made; false: nothing more is wanted.
pub(crate) type Emit<'a, T> = &'a mut dyn FnMut(T) -> bool;

/// What a worker sends.
enum Sent<T> {
    Piece(T),
    /// The slice is read; with what was found wrong with it.
    End(Box<Faults>),
}

/// The selected events of a log in an order: `work` makes pieces of those of a slice, `take` takes
/// them in order. What was found wrong, unless taking them had to stop.
pub(crate) fn run<T: Send>(
    log: &Log,
    selection: &Selection,
    order: Order,
    work: impl Fn(&mut Selected<'_>, Emit<'_, T>) + Sync,
    mut take: impl FnMut(T) -> Result<(), Stop>,
) -> Result<Faults, Stop> {
    let worker_count = thread::available_parallelism().map_or(1, NonZero::get);
    let worker_count = worker_count.min(WORKER_COUNT_MAX);
    let slices = if worker_count > 1 { selection.slices(log, order, SLICE_SIZE) } else { None };
    match slices.filter(|slices| slices.count() > 1) {
        Some(slices) => side_by_side(&slices, selection, worker_count, &work, &mut take),
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
    slices: &Slices<'_>,
    selection: &Selection,
    worker_count: usize,
    work: &(impl Fn(&mut Selected<'_>, Emit<'_, T>) + Sync),
    take: &mut impl FnMut(T) -> Result<(), Stop>,
) -> Result<Faults, Stop> {
    let size = PIECE_COUNT_MAX / worker_count.saturating_sub(1).max(1);
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..slices.count()).map(|_| sync_channel(size)).unzip();
    let senders: Vec<_> = senders.into_iter().map(|sender| Mutex::new(Some(sender))).collect();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..worker_count {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(sender) = senders.get(index) else { break };
                    let sender = sender.lock().ok().and_then(|mut sender| sender.take());
                    let Some(sender) = sender else { break };
                    if !read(slices, index, selection, work, &sender) {
                        break;
                    }
                }
            });
        }
        // All that waits ends when the receivers are gone, with or without an error.
        take_all(slices, receivers, take)
    })
}

/// Reads a slice. False: nothing more is wanted.
fn read<T: Send>(
    slices: &Slices<'_>,
    index: usize,
    selection: &Selection,
    work: &impl Fn(&mut Selected<'_>, Emit<'_, T>),
    sender: &SyncSender<Sent<T>>,
) -> bool {
    let mut events = selection.selected(slices.events(index));
    work(&mut events, &mut |piece| sender.send(Sent::Piece(piece)).is_ok());
    sender.send(Sent::End(Box::new(events.faults().clone()))).is_ok()
}

fn take_all<T>(
    slices: &Slices<'_>,
    receivers: Vec<Receiver<Sent<T>>>,
    take: &mut impl FnMut(T) -> Result<(), Stop>,
) -> Result<Faults, Stop> {
    let mut faults = slices.faults().clone();
    for receiver in receivers {
        // A worker that panicked ends its slice without a word, and then the scope panics too.
        for sent in receiver {
            match sent {
                Sent::Piece(piece) => take(piece)?,
                Sent::End(found) => faults.append(&found),
            }
        }
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Select;

    fn log() -> Log {
        let log = include_bytes!("../../tests/golden/log/heap-2.log").to_vec();
        Log::from_source(log).unwrap()
    }

    fn all() -> (Log, Selection) {
        let log = log();
        let selection = Select::default().resolve(&log, false).unwrap();
        (log, selection)
    }

    /// `.cnv.speed`: whatever the number of workers, and more pieces than are held.
    #[test]
    fn pieces_come_in_the_order_of_the_events() {
        let (log, selection) = all();
        let mut expected = Vec::new();
        let mut events = selection.events(&log, Order::Time);
        while let Some(event) = events.next() {
            expected.push((event.ticks, event.offset));
        }
        let slices = selection.slices(&log, Order::Time, 300).unwrap();
        assert!(slices.count() > 2, "{}", slices.count());
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
            side_by_side(&slices, &selection, worker_count, &work, &mut take).unwrap();
            assert!(found == expected, "{worker_count} workers");
        }
    }

    #[test]
    fn nothing_more_is_read_once_nothing_more_is_taken() {
        let (log, selection) = all();
        let slices = selection.slices(&log, Order::Time, 300).unwrap();
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
        let result = side_by_side(&slices, &selection, 3, &work, &mut take);
        assert!(matches!(result, Err(Stop::Closed)));
        assert_eq!(count, 100);
    }
}
