//! What a forked child inherits of its parent's store: blocks, to be recorded again in its own
//! stream.
//!
//! ```text
//!  parent   │ Intern │ Thread │ Label │ Discarded │ Label │     also in the child's memory
//!  child    │ Intern │ Thread │ Label │ Label │ …             current ticks; its own thread
//! ```
//!
//! The blocks stay unchanged until all of them are recorded again, so that a child forked meanwhile
//! inherits them too. Then they are reused. Design: `.sol.fork` in `design/telemetry.md`; `.store`
//! in `design/format.md`.

use crate::block::memory::{self, Block};
use crate::os::pages;
use crate::store::intern::STORE_BLOCK_COUNT_MAX;
use eventdef::{Event, store};
use eventlog::format::EVENT_HEADER_SIZE;

/// The parent's store.
pub(crate) struct Inherited {
    blocks: [Option<Block>; STORE_BLOCK_COUNT_MAX],
    /// The number of blocks to record again.
    count: usize,
    /// The number of blocks recorded again so far.
    told: usize,
    /// The number of blocks free for reuse: those with lower indexes. Only once none is left to
    /// record.
    spare_count: usize,
    /// The index of the one thread that the child has.
    thread: u32,
    /// A block's worth of bytes to copy into.
    copy: Option<&'static mut [u8]>,
}

impl Inherited {
    /// An empty inheritance.
    pub(crate) const NONE: Inherited = Inherited {
        blocks: [None; STORE_BLOCK_COUNT_MAX],
        count: 0,
        told: 0,
        spare_count: 0,
        thread: 0,
        copy: None,
    };

    /// Takes the blocks of the parent's store. If the parent had not finished its own inheritance,
    /// takes the blocks of the parent's parent instead, which contain all of it. `is_broken`: a
    /// missing thread was working on this.
    pub(crate) fn take(&mut self, blocks: &mut [Option<Block>], thread: u32, is_broken: bool) {
        self.thread = thread;
        self.told = 0;
        if is_broken {
            self.copy = None;
        }
        if self.count == 0 {
            for (place, block) in self.blocks.iter_mut().zip(&mut *blocks) {
                *place = block.take();
            }
            self.count = blocks.len();
            self.spare_count = 0;
        } else {
            blocks.fill(None);
        }
    }

    /// Returns the next block to record again.
    pub(crate) fn next(&mut self) -> Option<Block> {
        let block = *self.blocks.get(self.told).filter(|_| self.told < self.count)?;
        self.told += 1;
        block
    }

    /// Begins to record again. Returns a buffer for one block, which [`finish`](Inherited::finish)
    /// takes back; `None` if nothing is left to record, or memory for the buffer is missing.
    pub(crate) fn begin(&mut self) -> Option<&'static mut [u8]> {
        if self.count == 0 {
            return None;
        }
        self.copy.take().or_else(|| pages::map_bytes(memory::block_size()))
    }

    /// Notes that all blocks are recorded again.
    pub(crate) fn finish(&mut self, copy: &'static mut [u8]) {
        self.copy = Some(copy);
        self.spare_count = core::mem::take(&mut self.count);
        self.told = 0;
    }

    /// Takes a block that is free for reuse.
    pub(crate) fn take_spare(&mut self) -> Option<Block> {
        self.spare_count = self.spare_count.checked_sub(1)?;
        self.blocks[self.spare_count].take()
    }

    /// Returns the index of the one thread.
    pub(crate) fn thread(&self) -> u32 {
        self.thread
    }

    /// Returns the name in an event, if the event names the one thread.
    pub(crate) fn name_of_thread<'a>(&self, code: u16, event: &'a [u8]) -> Option<&'a [u8]> {
        let (thread, rest) = event.get(EVENT_HEADER_SIZE..)?.split_at_checked(WORD)?;
        let is_mine = code == store::Thread::CODE
            && usize::from_ne_bytes(thread.try_into().ok()?) == self.thread as usize;
        // `.event.string`: the last byte is the number of bytes of padding before it.
        let padding = usize::from(*rest.last()?) + 1;
        rest.get(WORD..rest.len().checked_sub(padding)?).filter(|_| is_mine)
    }
}

/// Bytes of a word.
const WORD: usize = size_of::<usize>();
