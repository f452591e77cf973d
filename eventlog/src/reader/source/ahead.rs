//! Numbered pieces of work that workers do ahead, and that one thread takes in order.
//!
//! ```text
//!  worker: piece 3 ─┐
//!  worker: piece 5 ─┼─▶ pieces before their turn ── take(3) ──▶ piece 3
//!  worker: piece 4 ─┘
//! ```
//!
//! Design: `.cnv.speed` in `design/eventcnv.md`.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, Scope};

/// Pieces that may wait for their turn, for each worker.
const WAITING_COUNT_MAX: usize = 4;
const WORKER_COUNT_MAX: usize = 16;

/// Returns a worker for each processor, up to 16.
pub(crate) fn worker_count() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).min(WORKER_COUNT_MAX)
}

/// Pieces that workers do ahead.
pub(crate) struct Ahead<T> {
    receiver: Receiver<(u64, T)>,
    /// Pieces that came before their turn.
    waiting: BTreeMap<u64, T>,
    is_over: Arc<AtomicBool>,
}

impl<T: Send> Ahead<T> {
    /// Starts workers on these pieces. `worker` makes the function of one worker.
    pub(crate) fn begin<'s, W>(
        scope: &'s Scope<'s, '_>,
        worker_count: usize,
        pieces: Range<u64>,
        worker: impl Fn() -> W,
    ) -> Ahead<T>
    where
        T: 's,
        W: FnMut(u64) -> T + Send + 's,
    {
        let (sender, receiver) = sync_channel(WAITING_COUNT_MAX * worker_count.max(1));
        let is_over = Arc::new(AtomicBool::new(false));
        let next = Arc::new(AtomicU64::new(pieces.start));
        for _ in 0..worker_count {
            let (sender, is_over, next) = (sender.clone(), is_over.clone(), next.clone());
            let mut work = worker();
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let piece = next.fetch_add(1, Ordering::Relaxed);
                    if piece >= pieces.end || sender.send((piece, work(piece))).is_err() {
                        return;
                    }
                }
            });
        }
        Ahead { receiver, waiting: BTreeMap::new(), is_over }
    }

    /// Waits for a piece and takes it; pieces before it are dropped. Returns `None` if no worker
    /// does it.
    pub(crate) fn take(&mut self, piece: u64) -> Option<T> {
        self.waiting = self.waiting.split_off(&piece);
        loop {
            if let Some(done) = self.waiting.remove(&piece) {
                return Some(done);
            }
            let (found, done) = self.receiver.recv().ok()?;
            if found >= piece {
                self.waiting.insert(found, done);
            }
        }
    }
}

impl<T> Drop for Ahead<T> {
    /// Stops the workers: a worker that waits to send finds the receiver gone.
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}
