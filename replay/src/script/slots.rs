//! Chooses the slot of each object in the table of objects.
//!
//! ```text
//!  thread 0 frees ──▶ its queue of free slots ──▶ thread 0 allocates
//!                        └─ the oldest ──▶ another thread that knows that they are free
//! ```
//!
//! Design: `.rep.slot` in `design/replay.md`.

use super::order::Order;
use std::collections::VecDeque;

/// Up to this number of free slots, a new slot costs less than waiting.
const SPARE_MIN: usize = 1 << 16;

/// The maximum number of threads that are searched for a free slot.
const SEARCHED_MAX: usize = 8;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    /// Its size in bytes.
    pub(crate) size: u64,
    /// The logarithm of the alignment.
    pub(crate) alignment_log2: u8,
    pub(crate) pool: u32,
    /// The last thread that used the slot, and its op.
    pub(crate) thread: u32,
    pub(crate) op: u32,
    pub(crate) is_full: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Slots {
    pub(crate) slots: Vec<Slot>,
    /// The slots that each thread emptied, and its ops that did so.
    free: Vec<VecDeque<(u32, u32)>>,
    free_count: usize,
    /// The thread that is searched first.
    donor: usize,
}

impl Slots {
    /// Returns an empty slot for an op of a thread, and the op of another thread that must be done
    /// before, unless that follows.
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

    /// Returns a slot that another thread emptied: this thread knows that, or it was so long ago
    /// that waiting costs nothing.
    fn take_of_others(&mut self, thread: u32, order: &Order) -> Option<(u32, Option<(u32, u32)>)> {
        for step in 0..SEARCHED_MAX.min(self.free.len()) {
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
        // This wait also covers all slots that were emptied before.
        let (_, op) = *queue.get(queue.len() / 2)?;
        self.donor = donor;
        let (slot, _) = queue.pop_front()?;
        Some((slot, Some((donor as u32, op))))
    }

    /// Takes a slot that a thread emptied by an op.
    #[inline]
    pub(crate) fn put_back(&mut self, slot: u32, thread: u32, op: u32) {
        if thread as usize >= self.free.len() {
            self.free.resize_with(thread as usize + 1, VecDeque::new);
        }
        if let Some(queue) = self.free.get_mut(thread as usize) {
            queue.push_back((slot, op));
            self.free_count += 1;
        }
    }
}
