//! Slots of the table of objects: which one an object gets.
//!
//! ```text
//!  thread 0 frees ──▶ its queue of free slots ──▶ thread 0 allocates
//!                        └─ the oldest ──▶ another thread that knows they are free
//! ```
//!
//! Design: `.rep.slot` in `design/replay.md`.

use super::order::Order;
use std::collections::VecDeque;

/// As long as there are no more free slots than this, another one costs less than waiting.
const SPARE_MIN: usize = 1 << 16;

/// Threads that are asked for a free slot.
const ASKED_MAX: usize = 8;

/// What is in a slot.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    /// Its size in bytes.
    pub(crate) size: u64,
    /// Alignment (its logarithm) and pool.
    pub(crate) alignment_log2: u8,
    pub(crate) pool: u32,
    /// Who did something with it last, and by which op.
    pub(crate) thread: u32,
    pub(crate) op: u32,
    pub(crate) is_full: bool,
}

/// All slots.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    pub(crate) slots: Vec<Slot>,
    /// Of each thread the slots that it emptied, and by which op.
    free: Vec<VecDeque<(u32, u32)>>,
    free_count: usize,
    /// Which thread is asked first.
    donor: usize,
}

impl Slots {
    /// An empty slot for an op of a thread. Which thread must have come how far before, if that
    /// does not follow.
    #[inline]
    pub(crate) fn take(&mut self, thread: u32, order: &Order) -> (u32, Option<(u32, u32)>) {
        if let Some((slot, _)) = self.free.get_mut(thread as usize).and_then(VecDeque::pop_back) {
            self.free_count -= 1;
            return (slot, None);
        }
        if self.free_count > 0
            && let Some(found) = self.take_of_others(thread, order)
        {
            self.free_count -= 1;
            return found;
        }
        self.slots.push(Slot::default());
        (self.slots.len() as u32 - 1, None)
    }

    /// A slot that another thread emptied, as this one knows; or so long ago that waiting for it
    /// costs nothing.
    fn take_of_others(&mut self, thread: u32, order: &Order) -> Option<(u32, Option<(u32, u32)>)> {
        for step in 0..ASKED_MAX.min(self.free.len()) {
            let donor = (self.donor + step) % self.free.len();
            let Some(queue) = self.free.get_mut(donor) else { continue };
            if queue.front().is_some_and(|(_, op)| order.knows(thread, donor as u32, *op)) {
                self.donor = donor;
                return queue.pop_front().map(|(slot, _)| (slot, None));
            }
        }
        let full_count = self.slots.len() - self.free_count;
        if self.free_count <= SPARE_MIN.max(full_count) {
            return None;
        }
        let (donor, queue) =
            self.free.iter_mut().enumerate().max_by_key(|(_, queue)| queue.len())?;
        // Then all that were emptied before that one are known, too.
        let (_, op) = *queue.get(queue.len() / 2)?;
        self.donor = donor;
        let (slot, _) = queue.pop_front()?;
        Some((slot, Some((donor as u32, op))))
    }

    /// A thread has emptied a slot by an op.
    #[inline]
    pub(crate) fn give(&mut self, slot: u32, thread: u32, op: u32) {
        if thread as usize >= self.free.len() {
            self.free.resize_with(thread as usize + 1, VecDeque::new);
        }
        if let Some(queue) = self.free.get_mut(thread as usize) {
            queue.push_back((slot, op));
            self.free_count += 1;
        }
    }
}
