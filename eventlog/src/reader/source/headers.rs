//! Headers of blocks, read ahead by all processors.
//!
//! ```text
//!  │ block │ block │ block │ block │ …     their places are known: all blocks are of one size
//!  ▲       ▲       ▲       ▲
//!  └ 256 headers: one piece of work ─▶ workers ─▶ the walk over blocks, which takes them in order
//! ```
//!
//! A header that cannot be read whole is left to the walk, which reads it and says why. A stream of
//! few blocks is walked alone. Design: `.cnv.speed` in `design/eventcnv.md`.

use super::bytes::Source;
use crate::format::BLOCK_HEADER_SIZE;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope};

/// Headers that are read at a time; before any is read ahead, the walk reads so many itself.
const PIECE_COUNT: u64 = 256;
/// Pieces that may wait to be taken, for each worker.
const WAITING_COUNT_MAX: usize = 4;
/// Workers at most.
const WORKER_COUNT_MAX: usize = 16;

type Header = [u8; BLOCK_HEADER_SIZE];
/// Headers that follow one another, and where the first of them stands among all.
type Piece = (u64, Vec<Option<Header>>);

/// Where headers are, and who reads them.
pub(crate) struct Places<'e> {
    source: &'e (dyn Source + Sync),
    first: u64,
    block_size: u64,
    count: u64,
    /// The next header that nobody reads yet.
    next: AtomicU64,
    is_over: AtomicBool,
}

impl<'e> Places<'e> {
    /// From `first` to the end of the source, as far apart as blocks are large.
    pub(crate) fn new(source: &'e (dyn Source + Sync), first: u64, block_size: u64) -> Places<'e> {
        let count = source.size().saturating_sub(first) / block_size.max(1);
        let next = AtomicU64::new(PIECE_COUNT);
        Places { source, first, block_size, count, next, is_over: AtomicBool::new(false) }
    }

    /// What a walk takes headers from.
    pub(crate) fn headers<'s>(&'e self, scope: &'s Scope<'s, 'e>) -> Headers<'s, 'e> {
        Headers {
            places: self,
            scope,
            receiver: None,
            waiting: BTreeMap::new(),
            piece: (0, vec![]),
        }
    }

    fn read(&self, sender: &SyncSender<Piece>) {
        while !self.is_over.load(Ordering::Relaxed) {
            let start = self.next.fetch_add(PIECE_COUNT, Ordering::Relaxed);
            let count = self.count.saturating_sub(start).min(PIECE_COUNT);
            let headers = (start..start.saturating_add(count)).map(|index| {
                let mut header = [0; BLOCK_HEADER_SIZE];
                let offset = self.first + index * self.block_size;
                let read = self.source.read_at(offset, &mut header);
                read.is_ok_and(|size| size == header.len()).then_some(header)
            });
            if count == 0 || sender.send((start, headers.collect())).is_err() {
                return;
            }
        }
    }
}

/// Headers, in ascending order of their places.
pub(crate) struct Headers<'s, 'e> {
    places: &'e Places<'e>,
    scope: &'s Scope<'s, 'e>,
    /// Once workers have begun.
    receiver: Option<Receiver<Piece>>,
    /// Pieces that came before their turn.
    waiting: BTreeMap<u64, Vec<Option<Header>>>,
    /// That from which headers are taken.
    piece: Piece,
}

impl Headers<'_, '_> {
    /// The header at a place, if it was read ahead.
    pub(crate) fn at(&mut self, offset: u64) -> Option<&Header> {
        let index = offset.checked_sub(self.places.first)? / self.places.block_size.max(1);
        let start = index / PIECE_COUNT * PIECE_COUNT;
        if start == 0 || index >= self.places.count {
            return None;
        }
        if self.piece.0 != start {
            self.piece = (start, self.take(start)?);
        }
        self.piece.1.get((index - start) as usize)?.as_ref()
    }

    fn take(&mut self, start: u64) -> Option<Vec<Option<Header>>> {
        if self.receiver.is_none() {
            let worker_count = thread::available_parallelism().map_or(1, NonZero::get);
            let worker_count = worker_count.min(WORKER_COUNT_MAX);
            // With the processor that the walk has, one alone would gain nothing.
            let worker_count = if worker_count > 1 { worker_count } else { 0 };
            let (sender, receiver) = sync_channel(WAITING_COUNT_MAX * worker_count.max(1));
            for _ in 0..worker_count {
                let (places, sender) = (self.places, sender.clone());
                self.scope.spawn(move || places.read(&sender));
            }
            self.receiver = Some(receiver);
        }
        // Those before it were passed over.
        self.waiting = self.waiting.split_off(&start);
        loop {
            if let Some(headers) = self.waiting.remove(&start) {
                return Some(headers);
            }
            let (found, headers) = self.receiver.as_ref()?.recv().ok()?;
            if found >= start {
                self.waiting.insert(found, headers);
            }
        }
    }
}

impl Drop for Headers<'_, '_> {
    /// Nothing more is wanted: who waits to send finds nobody.
    fn drop(&mut self) {
        self.places.is_over.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    /// Each byte says in which block it is; some blocks cannot be read.
    struct Host {
        size: u64,
        bad: Vec<u64>,
    }

    const BLOCK_SIZE: u64 = 4096;

    impl Source for Host {
        fn size(&self) -> u64 {
            self.size
        }

        fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
            let block = offset / BLOCK_SIZE;
            if self.bad.contains(&block) {
                return Err(io::Error::other("a bad sector"));
            }
            buf.fill((block % 251) as u8);
            Ok((self.size - offset).min(buf.len() as u64) as usize)
        }
    }

    /// `.cnv.speed`: one processor reads none ahead.
    #[test]
    fn a_header_read_ahead_is_the_one_that_stands_there() {
        let is_ahead = thread::available_parallelism().is_ok_and(|count| count.get() > 1);
        let bad = vec![1, 255, 256, 257, 700, 701, 2999];
        let host = Host { size: 3001 * BLOCK_SIZE + 100, bad: bad.clone() };
        for step in [1, 3, 300, 1000] {
            let places = Places::new(&host, BLOCK_SIZE, BLOCK_SIZE);
            let mut count = 0;
            thread::scope(|scope| {
                let mut headers = places.headers(scope);
                for block in (1..3003).step_by(step) {
                    let is_here = (257..=3000).contains(&block) && !bad.contains(&block);
                    let expected = [(block % 251) as u8; BLOCK_HEADER_SIZE];
                    let expected = (is_ahead && is_here).then_some(&expected);
                    assert_eq!(headers.at(block * BLOCK_SIZE), expected, "block {block}");
                    count += usize::from(expected.is_some());
                }
            });
            assert!(!is_ahead || count >= 2000 / step, "{count}");
        }
    }

    /// A walk that ends early is not held up by what it did not take.
    #[test]
    fn workers_end_when_nothing_more_is_wanted() {
        let host = Host { size: u64::MAX / 2, bad: Vec::new() };
        let places = Places::new(&host, 0, BLOCK_SIZE);
        thread::scope(|scope| {
            let mut headers = places.headers(scope);
            headers.at(1000 * BLOCK_SIZE);
        });
        assert!(places.next.load(Ordering::Relaxed) < 1 << 20);
    }
}
