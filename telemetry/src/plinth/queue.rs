//! Bytes that wait to be sent: what a socket takes later, the oldest first.
//!
//! ```text
//!  │ 3rd │ · · · room · · · │ 1st (what is left of it) │ 2nd │     around, in mapped memory
//!                             └ start ───── size ─────────────▶
//! ```
//!
//! Design: `.sol.msg` in `design/telemetry.md`.

use eventlog::format::{BLOCK_HEADER_SIZE, BLOCK_MAGIC, BlockHeader, BlockType};

pub(super) struct Queue {
    bytes: &'static mut [u8],
    start: usize,
    size: usize,
}

impl Queue {
    pub(super) fn new(bytes: &'static mut [u8]) -> Queue {
        Queue { bytes, start: 0, size: 0 }
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn room(&self) -> usize {
        self.bytes.len() - self.size
    }

    /// Returns the oldest bytes that lie side by side; none if it is empty.
    pub(super) fn front(&self) -> &[u8] {
        let end = (self.start + self.size).min(self.bytes.len());
        &self.bytes[self.start..end]
    }

    /// Copies the bytes from `at` on to `out`; returns false if it has fewer.
    fn copy(&self, at: usize, out: &mut [u8]) -> bool {
        let is_there = at.checked_add(out.len()).is_some_and(|end| end <= self.size);
        for (index, byte) in out.iter_mut().enumerate().filter(|_| is_there) {
            *byte = self.bytes[(self.start + at + index) % self.bytes.len()];
        }
        is_there
    }

    /// Removes all whole blocks; with `keeps_accounts`, not the newest and those without events.
    /// The rest of a block that was begun stays first. Returns the number of removed blocks, and of
    /// the program's events in them.
    pub(super) fn drop_blocks(&mut self, block_size: usize, keeps_accounts: bool) -> (usize, u64) {
        let rest = self.size % block_size;
        let (mut to, mut dropped, mut lost) = (rest, 0, 0);
        for from in (rest..self.size).step_by(block_size) {
            let (events, of_program) = self.event_counts(from, block_size);
            let is_newest = from + block_size >= self.size;
            if !keeps_accounts || (events != 0 && !is_newest) {
                dropped += 1;
                lost += of_program;
                continue;
            }
            let capacity = self.bytes.len();
            for at in (0..block_size).filter(|_| from != to) {
                self.bytes[(self.start + to + at) % capacity] =
                    self.bytes[(self.start + from + at) % capacity];
            }
            to += block_size;
        }
        self.size = to;
        (dropped, lost)
    }

    /// Returns the number of events in the block at `at`, its own or those of its parts; and how
    /// many of these are the program's, not the store's.
    fn event_counts(&self, at: usize, block_size: usize) -> (u64, u64) {
        let header = |at: usize| {
            let mut bytes = [0; BLOCK_HEADER_SIZE];
            let header: Option<BlockHeader> =
                self.copy(at, &mut bytes).then(|| bytemuck::cast(bytes));
            header.filter(|header| header.magic == BLOCK_MAGIC)
        };
        let (mut all, mut of_program) = (0, 0);
        let mut add = |header: &BlockHeader| {
            if header.block_type == BlockType::Events as u8 {
                all += u64::from(header.count.get());
                of_program += u64::from(header.count.get()) * u64::from(header.registry.get() != 0);
            }
        };
        let Some(first) = header(at) else { return (0, 0) };
        add(&first);
        let mut part = at + BLOCK_HEADER_SIZE;
        let is_parts = first.block_type == BlockType::Parts as u8;
        while let Some(header) = header(part).filter(|_| is_parts && part < at + block_size) {
            add(&header);
            part += BLOCK_HEADER_SIZE + header.payload_size().next_multiple_of(8);
        }
        (all, of_program)
    }

    /// Removes the oldest `size` bytes.
    pub(super) fn advance(&mut self, size: usize) {
        let size = size.min(self.size);
        self.size -= size;
        self.start = if self.size == 0 { 0 } else { (self.start + size) % self.bytes.len() };
    }

    /// Puts all bytes at the end; returns false if they do not fit.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        if bytes.len() > self.room() {
            return false;
        }
        let at = (self.start + self.size) % self.bytes.len().max(1);
        let (here, around) = bytes.split_at(bytes.len().min(self.bytes.len() - at));
        self.bytes[at..at + here.len()].copy_from_slice(here);
        self.bytes[..around.len()].copy_from_slice(around);
        self.size += bytes.len();
        true
    }

    pub(super) fn clear(&mut self) {
        (self.start, self.size) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn a_queue_returns_pieces_of_any_size_in_order() {
        let mut queue = Queue::new(vec![0; 100].leak());
        let mut twin = VecDeque::new();
        let mut next = 0u8;
        for step in 0..2000usize {
            let bytes: Vec<u8> = (0..step * 7 % 41).map(|n| next.wrapping_add(n as u8)).collect();
            let fits = bytes.len() <= 100 - twin.len();
            assert_eq!(queue.push(&bytes), fits);
            if fits {
                next = next.wrapping_add(bytes.len() as u8);
                twin.extend(bytes);
            }
            let size = (step * 11 % 37).min(queue.front().len());
            let out: Vec<u8> = twin.drain(..size).collect();
            assert_eq!(queue.front()[..size], out);
            queue.advance(size);
            assert_eq!((queue.size(), queue.room()), (twin.len(), 100 - twin.len()));
        }
    }

    /// Returns a block with `count` events of a registry, in one or in two parts; with none: an
    /// account.
    fn block(registry: u16, count: u32, is_parts: bool) -> Vec<u8> {
        let mut header = BlockHeader::native(BlockType::Events, 12);
        header.registry = registry.into();
        header.count = count.into();
        let mut bytes = bytemuck::bytes_of(&header).to_vec();
        if is_parts {
            let parts = BlockHeader::native(BlockType::Parts, 12);
            let mut rest = header;
            (header.count, rest.count) = (count.min(1).into(), count.saturating_sub(1).into());
            let all = [parts, header, BlockHeader::native(BlockType::End, 12), rest];
            bytes = all.iter().flat_map(|header| bytemuck::bytes_of(header).to_vec()).collect();
        }
        bytes.resize(4096, 0);
        bytes
    }

    #[test]
    fn dropping_blocks_keeps_accounts_and_the_begun_block() {
        for begun in [0, 1, 4000] {
            let mut queue = Queue::new(vec![0; 7 * 4096].leak());
            // So that it goes around.
            assert!(queue.push(&[7; 10_000]));
            queue.advance(9_990);
            queue.push(&vec![9; begun]);
            queue.advance(10);
            let (account, newest) = (block(1, 0, true), block(2, 6, true));
            let events = [block(1, 3, false), block(1, 5, true), block(0, 40, true)];
            let all = [&events[0], &account, &events[1], &events[2], &newest];
            assert!(all.iter().all(|block| queue.push(block)));
            // The events of the store are not the program's.
            assert_eq!(queue.drop_blocks(4096, true), (3, 8), "{begun}");
            let mut bytes = vec![0; begun + 2 * 4096];
            assert!(queue.size() == bytes.len() && queue.copy(0, &mut bytes));
            assert_eq!(bytes[begun..], [account, newest].concat());
            assert!(bytes[..begun].iter().all(|byte| *byte == 9));
            assert_eq!(queue.drop_blocks(4096, true), (0, 0));
            assert_eq!((queue.drop_blocks(4096, false), queue.size()), ((2, 6), begun));
        }
    }

    #[test]
    fn a_full_queue_takes_nothing_until_it_is_cleared() {
        let mut queue = Queue::new(vec![0; 8].leak());
        assert!(queue.push(b"12345678") && !queue.push(b"9") && queue.push(b""));
        queue.clear();
        assert!(queue.front().is_empty() && queue.push(b"abcdefgh"));
        assert_eq!(queue.front(), b"abcdefgh");
    }
}
