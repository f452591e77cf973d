//! Headers of blocks, read ahead by all processors.
//!
//! ```text
//!  │ block │ block │ block │ block │ …     their places are known: all blocks are of one size
//!  ▲       ▲       ▲       ▲
//!  └ 256 headers: one piece of work ─▶ workers ─▶ the walk over blocks, which takes them in order
//! ```
//!
//! The walk reads the headers that no worker could read, and reports why. It also reads the first
//! headers itself, so a small log starts no worker. Design: `.cnv.speed` in `design/eventcnv.md`.

use super::ahead::{Ahead, worker_count};
use super::bytes::Source;
use crate::format::BLOCK_HEADER_SIZE;
use std::thread::Scope;

/// Headers that a worker reads at a time. The walk reads as many itself before the workers begin.
const PIECE_COUNT: u64 = 256;

type Header = [u8; BLOCK_HEADER_SIZE];
/// Headers that follow one another; `None` for a header that cannot be read whole.
type Piece = Vec<Option<Header>>;

/// Headers of blocks, taken in ascending order of their offsets.
pub(crate) struct Headers<'s, 'e> {
    scope: &'s Scope<'s, 'e>,
    source: &'e (dyn Source + Sync),
    first: u64,
    block_size: u64,
    count: u64,
    /// The workers, once they have begun.
    ahead: Option<Ahead<Piece>>,
    /// The piece from which headers are taken, and its index.
    current: (u64, Piece),
}

impl<'s, 'e> Headers<'s, 'e> {
    /// Headers from `first` to the end of the source, `block_size` bytes apart.
    pub(crate) fn new(
        scope: &'s Scope<'s, 'e>,
        source: &'e (dyn Source + Sync),
        first: u64,
        block_size: u64,
    ) -> Headers<'s, 'e> {
        let block_size = block_size.max(1);
        let count = source.size().saturating_sub(first) / block_size;
        Headers { scope, source, first, block_size, count, ahead: None, current: (0, vec![]) }
    }

    /// Returns the header at an offset, if a worker read it ahead.
    pub(crate) fn at(&mut self, offset: u64) -> Option<&Header> {
        let index = offset.checked_sub(self.first)? / self.block_size;
        let piece = index / PIECE_COUNT;
        if piece == 0 || index >= self.count {
            return None;
        }
        if self.current.0 != piece {
            self.current = (piece, self.take(piece)?);
        }
        self.current.1.get((index % PIECE_COUNT) as usize)?.as_ref()
    }

    fn take(&mut self, piece: u64) -> Option<Piece> {
        let Headers { scope, source, first, block_size, count, .. } = *self;
        let read = move |index: u64| {
            let mut header = [0; BLOCK_HEADER_SIZE];
            let read = source.read_at(first + index * block_size, &mut header);
            read.is_ok_and(|size| size == header.len()).then_some(header)
        };
        let ahead = self.ahead.get_or_insert_with(|| {
            // The walk has one processor: one worker alone would gain nothing.
            let worker_count = Some(worker_count()).filter(|&count| count > 1).unwrap_or(0);
            Ahead::begin(scope, worker_count, 1..count.div_ceil(PIECE_COUNT), || {
                move |piece| {
                    let start = piece * PIECE_COUNT;
                    (start..count.min(start + PIECE_COUNT)).map(read).collect()
                }
            })
        });
        ahead.take(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    /// A host whose blocks are filled with their number. Some blocks cannot be read.
    struct Host {
        size: u64,
        bad: Vec<u64>,
        read_count: AtomicU64,
    }

    const BLOCK_SIZE: u64 = 4096;

    impl Source for Host {
        fn size(&self) -> u64 {
            self.size
        }

        fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
            self.read_count.fetch_add(1, Ordering::Relaxed);
            let block = offset / BLOCK_SIZE;
            if self.bad.contains(&block) {
                return Err(io::Error::other("a bad sector"));
            }
            buf.fill((block % 251) as u8);
            Ok((self.size - offset).min(buf.len() as u64) as usize)
        }
    }

    /// `.cnv.speed`: a machine with one processor reads no headers ahead.
    #[test]
    fn a_header_read_ahead_is_right() {
        let is_ahead = thread::available_parallelism().is_ok_and(|count| count.get() > 1);
        let bad = vec![1, 255, 256, 257, 700, 701, 2999];
        let host = Host { size: 3001 * BLOCK_SIZE + 100, bad: bad.clone(), read_count: 0.into() };
        for step in [1, 3, 300, 1000] {
            thread::scope(|scope| {
                let mut headers = Headers::new(scope, &host, BLOCK_SIZE, BLOCK_SIZE);
                for block in (1..3003).step_by(step) {
                    let is_read =
                        is_ahead && (257..=3000).contains(&block) && !bad.contains(&block);
                    let expected = is_read.then_some([(block % 251) as u8; BLOCK_HEADER_SIZE]);
                    assert_eq!(headers.at(block * BLOCK_SIZE).copied(), expected, "block {block}");
                }
            });
        }
    }

    /// A walk that ends early does not wait for headers that it did not take.
    #[test]
    fn workers_stop_with_the_walk() {
        let host = Host { size: u64::MAX / 2, bad: Vec::new(), read_count: 0.into() };
        thread::scope(|scope| {
            let mut headers = Headers::new(scope, &host, 0, BLOCK_SIZE);
            headers.at(1000 * BLOCK_SIZE);
        });
        assert!(host.read_count.load(Ordering::Relaxed) < 1 << 20);
    }
}
