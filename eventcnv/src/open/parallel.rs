//! Reads a log in partitions by all processors, and takes their results in order.
//!
//! ```text
//!  partition 0 ── worker ── work ──▶ pieces ─┐
//!  partition 1 ── worker ── work ──▶ pieces ─┼─▶ take: first those of 0, then those of 1, …
//!  partition 2 ── …                          ┘
//!                                    Ahead: a worker that is too far ahead waits
//! ```
//!
//! Memory is bounded: at most [`PIECE_COUNT_MAX`] pieces wait.
//! Design: `.cnv.speed` in `design/eventcnv.md`.

use crate::open::select::{Selected, Selection};
use cli::Stop;
use eventlog::reader::{Faults, Log, Order, Partitions};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Events of a partition, about.
const PARTITION_SIZE: u64 = 1 << 16;
/// Pieces of all partitions that wait, at most. It limits how far workers run ahead.
const PIECE_COUNT_MAX: usize = 96;
/// Places reserved for pieces of the partition whose turn it is.
const TURN_COUNT: usize = 16;
/// Workers, at most.
const WORKER_COUNT_MAX: usize = 16;

/// Takes a piece; returns false if the reader wants no more.
pub(crate) type Emit<'a, T> = &'a mut dyn FnMut(T) -> bool;

/// A message of a worker.
enum Sent<T> {
    Piece(T),
    /// The partition is read; its faults.
    End(Box<Faults>),
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
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..partitions.count()).map(|_| channel()).unzip();
    let senders: Vec<_> = senders.into_iter().map(|sender| Mutex::new(Some(sender))).collect();
    let (next, ahead) = (AtomicUsize::new(0), Ahead::default());
    thread::scope(|scope| {
        for _ in 0..worker_count {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(sender) = senders.get(index) else { break };
                    let sender = sender.lock().ok().and_then(|mut sender| sender.take());
                    let Some(sender) = sender else { break };
                    if !read(partitions, index, selection, work, &sender, &ahead) {
                        break;
                    }
                }
            });
        }
        let result = take_all(partitions, receivers, &ahead, take);
        // Waiting workers end now, with or without an error.
        ahead.end();
        result
    })
}

/// Reads a partition. Returns false if the reader wants no more.
fn read<T: Send>(
    partitions: &Partitions<'_>,
    index: usize,
    selection: &Selection,
    work: &impl Fn(&mut Selected<'_>, Emit<'_, T>),
    sender: &Sender<Sent<T>>,
    ahead: &Ahead,
) -> bool {
    let mut events = selection.selected(partitions.events(index));
    work(&mut events, &mut |piece| ahead.add(index) && sender.send(Sent::Piece(piece)).is_ok());
    sender.send(Sent::End(Box::new(events.faults().clone()))).is_ok()
}

fn take_all<T>(
    partitions: &Partitions<'_>,
    receivers: Vec<Receiver<Sent<T>>>,
    ahead: &Ahead,
    take: &mut impl FnMut(T) -> Result<(), Stop>,
) -> Result<Faults, Stop> {
    let mut faults = partitions.faults().clone();
    for (index, receiver) in receivers.into_iter().enumerate() {
        ahead.begin_turn(index);
        // A worker that panics closes its channel, and later the scope panics too.
        for sent in receiver {
            match sent {
                Sent::Piece(piece) => {
                    take(piece)?;
                    ahead.remove();
                }
                Sent::End(found) => faults.append(&found),
            }
        }
    }
    Ok(faults)
}

/// Limits the pieces that wait.
///
/// Pieces of other partitions leave [`TURN_COUNT`] places to the partition whose turn it is. So the
/// taker always gets a piece, and no worker waits for ever.
#[derive(Default)]
struct Ahead {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The partition whose pieces are taken now.
    turn: usize,
    waiting_count: usize,
    is_ended: bool,
}

impl Ahead {
    /// Waits for a place and counts a piece. Returns false if the reader wants no more.
    fn add(&self, partition: usize) -> bool {
        let has_no_place = |state: &mut State| {
            let kept = if partition == state.turn { 0 } else { TURN_COUNT };
            !state.is_ended && state.waiting_count + kept >= PIECE_COUNT_MAX
        };
        let state = self.changed.wait_while(self.state(), has_no_place);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.waiting_count += 1;
        !state.is_ended
    }

    fn remove(&self) {
        self.change(|state| state.waiting_count = state.waiting_count.saturating_sub(1));
    }

    fn begin_turn(&self, partition: usize) {
        self.change(|state| state.turn = partition);
    }

    /// Ends all waiting: the reader wants no more.
    fn end(&self) {
        self.change(|state| state.is_ended = true);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::select::Select;

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
        assert!((TURN_COUNT..=PIECE_COUNT_MAX + 1).contains(&most), "{most}");
    }
}
