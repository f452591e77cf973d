//! The store in a mapped file: its blocks move there while the file has room.
//!
//! ```text
//!  private │ block 0 │ block 1 │ block 2 │ …
//!               ▼ in the file        └ left out: counted; the last block in the file has the count
//! ```
//!
//! Design: `.sol.mapped` in `design/telemetry.md`; `.ring.store` in `design/format.md`.

use super::{COUNTS, SHARED, Store};
use crate::block::losses::Cause;
use crate::block::memory;
use crate::plinth::region;

impl Store {
    /// Moves private blocks into the mapped file, in their order, while the file has room
    /// (`.ring.store`).
    pub(super) fn enter_file(&mut self) {
        while self.mapped_count < self.block_count && self.left_out == 0 {
            let Some(block) = self.blocks[self.mapped_count] else { return };
            let Some(to) = region::take_store_block() else { break };
            let last = block.state().0;
            let mut own = self.own(to);
            own.take_over(block, last, memory::block_size() as u32);
            own.put_header(&block.header());
            self.blocks[self.mapped_count] = Some(to);
            SHARED[self.mapped_count].set(to);
            self.mapped_count += 1;
        }
        self.count_left_out();
    }

    /// Counts the events that are in memory alone because the file had no room. The last block in
    /// the file has this count.
    pub(super) fn count_left_out(&mut self) {
        let Some(last) = self.mapped_count.checked_sub(1).and_then(|at| self.blocks[at]) else {
            return;
        };
        let in_file = last.event_end();
        let Some(recorded) = self.newest().map(|newest| newest.event_end()) else { return };
        let new = recorded.saturating_sub(in_file).saturating_sub(self.left_out);
        if new != 0 {
            self.left_out += new;
            COUNTS.discard(Cause::Io, new);
            last.put_discarded_io(u32::try_from(self.left_out).unwrap_or(u32::MAX));
        }
    }
}
