//! Bytes that wait to be sent: what a socket takes later, the oldest first.
//!
//! ```text
//!  │ 3rd │ · · · room · · · │ 1st (what is left of it) │ 2nd │     around, in mapped memory
//!                             └ start ───── size ─────────────▶
//! ```
//!
//! Design: `.sol.msg` in `design/telemetry.md`.

/// A queue of bytes of a fixed capacity.
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

    /// The oldest bytes, as many as lie side by side; none if it is empty.
    pub(super) fn front(&self) -> &[u8] {
        let end = (self.start + self.size).min(self.bytes.len());
        &self.bytes[self.start..end]
    }

    /// Takes away so many of the oldest.
    pub(super) fn advance(&mut self, size: usize) {
        let size = size.min(self.size);
        self.size -= size;
        self.start = if self.size == 0 { 0 } else { (self.start + size) % self.bytes.len() };
    }

    /// Puts bytes at the end; all of them, or none and false.
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
    fn what_is_put_comes_out_in_order_whatever_the_sizes() {
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

    #[test]
    fn one_that_is_full_takes_nothing_and_one_that_is_cleared_all() {
        let mut queue = Queue::new(vec![0; 8].leak());
        assert!(queue.push(b"12345678") && !queue.push(b"9") && queue.push(b""));
        queue.clear();
        assert!(queue.front().is_empty() && queue.push(b"abcdefgh"));
        assert_eq!(queue.front(), b"abcdefgh");
    }
}
