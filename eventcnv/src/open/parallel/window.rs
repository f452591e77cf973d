//! The pieces that workers made and that one thread takes in order, in bounded memory.
//!
//! ```text
//!  lane of partition 7   │ piece │ piece │ end │     ◀─ the turn: the taker takes from here
//!  lane of partition 8   │ piece │ piece │ piece     ◀─ a worker adds
//!  lane of partition 9   │ piece │                   ◀─ its worker sleeps: the window is full
//! ```
//!
//! A piece wakes the taker, if the taker waits for it. A place wakes one worker: of those that
//! sleep, the one whose partition comes first. Design: `.cnv.speed` in `design/eventcnv.md`.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

/// Places that become free before a worker that slept goes on: it wakes for several pieces.
const FREE_COUNT: usize = 8;
/// Pieces of the partition whose turn it is, for which there is always a place.
pub(super) const TURN_COUNT: usize = 16;

/// What the taker gets.
pub(super) enum Taken<T, E> {
    Piece(T),
    /// A partition ends, with its result; `None` if its worker panicked.
    End(Option<E>),
}

/// The pieces of the partitions that are read now.
pub(super) struct Window<T, E> {
    partition_count: usize,
    /// Pieces that wait, at most, apart from [`TURN_COUNT`] of the turn.
    piece_count_max: usize,
    state: Mutex<State<T, E>>,
}

struct State<T, E> {
    /// The partition whose pieces are taken now. Its lane is the first.
    turn: usize,
    /// Partitions that were begun and whose end was not taken.
    lanes: VecDeque<Lane<T, E>>,
    waiting_count: usize,
    /// The taker, while it sleeps.
    taker: Option<Thread>,
    is_ended: bool,
}

/// The pieces of a partition that wait.
struct Lane<T, E> {
    pieces: VecDeque<T>,
    /// Set when the worker is done.
    end: Option<Option<E>>,
    /// The worker, while it sleeps.
    worker: Option<Thread>,
}

impl<T, E> Window<T, E> {
    pub(super) fn new(partition_count: usize, piece_count_max: usize) -> Window<T, E> {
        let (lanes, taker) = (VecDeque::new(), None);
        let state = State { turn: 0, lanes, waiting_count: 0, taker, is_ended: false };
        Window { partition_count, piece_count_max, state: Mutex::new(state) }
    }

    /// Begins the next partition, if one is left.
    pub(super) fn begin(&self) -> Option<Begun<'_, T, E>> {
        let mut state = self.state();
        let index = state.turn + state.lanes.len();
        if state.is_ended || index >= self.partition_count {
            return None;
        }
        state.lanes.push_back(Lane { pieces: VecDeque::new(), end: None, worker: None });
        Some(Begun { window: self, index, end: None })
    }

    /// Takes the next piece or end, and waits for it. Returns `None` after the last partition.
    pub(super) fn take(&self) -> Option<Taken<T, E>> {
        loop {
            let mut state = self.state();
            if state.turn >= self.partition_count {
                return None;
            }
            if let Some(taken) = state.take() {
                let worker = state.worker_to_wake(self.piece_count_max);
                drop(state);
                worker.iter().for_each(Thread::unpark);
                return Some(taken);
            }
            state.taker = Some(thread::current());
            drop(state);
            thread::park();
        }
    }

    /// Returns a value that ends all waiting when it is dropped: the taker wants no more.
    pub(super) fn ending(&self) -> Ending<'_, T, E> {
        Ending(self)
    }

    fn state(&self) -> MutexGuard<'_, State<T, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends all waiting of workers when it is dropped.
pub(super) struct Ending<'w, T, E>(&'w Window<T, E>);

impl<T, E> Drop for Ending<'_, T, E> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_ended = true;
        state.lanes.iter_mut().filter_map(|lane| lane.worker.take()).for_each(|at| at.unpark());
    }
}

impl<T, E> State<T, E> {
    /// Takes from the first lane. The end of a partition passes the turn to the next one.
    fn take(&mut self) -> Option<Taken<T, E>> {
        let lane = self.lanes.front_mut()?;
        if let Some(piece) = lane.pieces.pop_front() {
            self.waiting_count -= 1;
            return Some(Taken::Piece(piece));
        }
        let end = lane.end.take()?;
        self.lanes.pop_front();
        self.turn += 1;
        Some(Taken::End(end))
    }

    /// Returns whether a lane has places for a piece and for `more` pieces.
    fn has_place(&self, lane: usize, piece_count_max: usize, more: usize) -> bool {
        let is_turn = || self.lanes.front().filter(|_| lane == 0);
        self.waiting_count + more < piece_count_max
            || is_turn().is_some_and(|turn| turn.pieces.len() + more < TURN_COUNT)
    }

    /// Returns the first worker that sleeps, if it can go on.
    fn worker_to_wake(&mut self, piece_count_max: usize) -> Option<Thread> {
        let lane = self.lanes.iter().position(|lane| lane.worker.is_some())?;
        let has_place = self.has_place(lane, piece_count_max, FREE_COUNT - 1);
        self.lanes.get_mut(lane).filter(|_| has_place)?.worker.take()
    }
}

/// A partition that a worker reads. Its lane ends when it is dropped.
pub(super) struct Begun<'w, T, E> {
    window: &'w Window<T, E>,
    pub(super) index: usize,
    end: Option<E>,
}

impl<T, E> Begun<'_, T, E> {
    /// Adds a piece, and waits for a place. Returns false if the taker wants no more.
    pub(super) fn add(&self, piece: T) -> bool {
        loop {
            let mut state = self.window.state();
            if state.is_ended {
                return false;
            }
            let lane = self.index - state.turn;
            if state.has_place(lane, self.window.piece_count_max, 0) {
                state.waiting_count += 1;
                self.change(state, |lane| lane.pieces.push_back(piece));
                return true;
            }
            if let Some(lane) = state.lanes.get_mut(lane) {
                lane.worker = Some(thread::current());
            }
            drop(state);
            thread::park();
        }
    }

    /// Ends the partition with a result.
    pub(super) fn end(mut self, end: E) {
        self.end = Some(end);
    }

    /// Changes the lane, and wakes the taker if it waits for this lane.
    fn change(&self, mut state: MutexGuard<'_, State<T, E>>, change: impl FnOnce(&mut Lane<T, E>)) {
        let lane = self.index - state.turn;
        state.lanes.get_mut(lane).map(change);
        let taker = if lane == 0 { state.taker.take() } else { None };
        drop(state);
        taker.iter().for_each(Thread::unpark);
    }
}

impl<T, E> Drop for Begun<'_, T, E> {
    fn drop(&mut self) {
        let end = self.end.take();
        self.change(self.window.state(), |lane| lane.end = Some(end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits until the workers of these lanes sleep, and no others.
    fn wait_for_sleepers(window: &Window<u32, ()>, expected: &[usize]) {
        loop {
            let state = window.state();
            let lanes = state.lanes.iter().zip(state.turn..);
            let asleep = lanes.filter(|(lane, _)| lane.worker.is_some()).map(|(_, at)| at);
            if asleep.eq(expected.iter().copied()) {
                return;
            }
            drop(state);
            thread::yield_now();
        }
    }

    /// `.cnv.speed`
    #[test]
    fn a_place_wakes_the_first_worker_alone() {
        let window = Window::new(4, 6);
        thread::scope(|scope| {
            let turn = window.begin().unwrap();
            for _ in 0..3 {
                let begun = window.begin().unwrap();
                scope.spawn(move || {
                    (0..100).for_each(|piece| assert!(begun.add(piece)));
                    begun.end(());
                });
            }
            assert!(window.begin().is_none());
            wait_for_sleepers(&window, &[1, 2, 3]);
            // The window is full, and the turn has its places. Each piece leaves as it came.
            for piece in 0..100 {
                assert!(turn.add(piece));
                assert!(matches!(window.take(), Some(Taken::Piece(taken)) if taken == piece));
            }
            wait_for_sleepers(&window, &[1, 2, 3]);
            turn.end(());
            assert!(matches!(window.take(), Some(Taken::End(Some(())))));
            // Now the turn is that of the next worker, which fills its places.
            wait_for_sleepers(&window, &[1, 2, 3]);
            assert_eq!(window.state().lanes.front().unwrap().pieces.len(), TURN_COUNT);
            for lane in 1..4 {
                for piece in 0..100 {
                    assert!(matches!(window.take(), Some(Taken::Piece(taken)) if taken == piece));
                    let later: Vec<usize> = (lane + 1..4).collect();
                    let state = window.state();
                    let asleep = |at: &usize| state.lanes[*at - lane].worker.is_some();
                    assert!(later.iter().all(asleep), "lane {lane}, piece {piece}");
                }
                assert!(matches!(window.take(), Some(Taken::End(Some(())))));
            }
            assert!(window.take().is_none());
        });
    }

    #[test]
    fn a_partition_without_an_end_does_not_stop_the_taker() {
        let window: Window<u32, ()> = Window::new(1, 6);
        let begun = window.begin().unwrap();
        assert!(begun.add(7));
        drop(begun);
        assert!(matches!(window.take(), Some(Taken::Piece(7))));
        assert!(matches!(window.take(), Some(Taken::End(None))));
        assert!(window.take().is_none());
    }

    #[test]
    fn a_worker_that_sleeps_ends_with_the_taker() {
        let window: Window<u32, ()> = Window::new(2, 6);
        let (_turn, begun) = (window.begin().unwrap(), window.begin().unwrap());
        thread::scope(|scope| {
            let worker =
                scope.spawn(move || (0..100).take_while(|piece| begun.add(*piece)).count());
            wait_for_sleepers(&window, &[1]);
            drop(window.ending());
            assert_eq!(worker.join().unwrap(), 6);
        });
        assert!(window.begin().is_none());
    }
}
