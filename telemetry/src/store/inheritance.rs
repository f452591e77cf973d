//! What a forked child has of its parent's store: blocks, to be told again in a stream of its own.
//!
//! ```text
//!  parent   │ Intern │ Thread │ Label │ Discarded │ Label │     the child's memory has them too
//!  child    │ Intern │ Thread │ Label │ Label │ …             ticks of now; the thread is its own
//! ```
//!
//! They stay whole until all of it was told, so that a child that is forked in the middle of that
//! has them. Then they are room for more. Design: `.sol.fork` in `design/telemetry.md`; `.store` in
//! `design/format.md`.

use crate::block::memory::{self, Block};
use crate::os::pages;
use crate::store::intern::STORE_BLOCK_COUNT_MAX;
use eventdef::{Event, store};
use eventlog::format::EVENT_HEADER_SIZE;

/// The parent's store.
pub(crate) struct Inherited {
    blocks: [Option<Block>; STORE_BLOCK_COUNT_MAX],
    /// Blocks that are to be told again.
    count: usize,
    /// How many of them were.
    told: usize,
    /// Blocks that are room for more: those with lower indexes, where there are none to be told.
    spare_count: usize,
    /// The index of the one thread that the child has.
    thread: u32,
    /// A block's worth of bytes to copy into.
    copy: Option<&'static mut [u8]>,
}

impl Inherited {
    /// Nothing.
    pub(crate) const NONE: Inherited = Inherited {
        blocks: [None; STORE_BLOCK_COUNT_MAX],
        count: 0,
        told: 0,
        spare_count: 0,
        thread: 0,
        copy: None,
    };

    /// Takes the blocks of the parent's store; but where the parent itself was still to tell again
    /// what it inherited, those of its parent, which have all that its own have. `is_broken`: a
    /// thread that is not there was at work on this.
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

    /// The next block that is to be told.
    pub(crate) fn next(&mut self) -> Option<Block> {
        let block = *self.blocks.get(self.told).filter(|_| self.told < self.count)?;
        self.told += 1;
        block
    }

    /// Begins to tell, if there is something; a block's worth of bytes to copy into, which
    /// [`finish`](Inherited::finish) takes back. `None` also where there is no memory for that.
    pub(crate) fn begin(&mut self) -> Option<&'static mut [u8]> {
        if self.count == 0 {
            return None;
        }
        self.copy.take().or_else(|| pages::map_bytes(memory::block_size()))
    }

    /// All was told.
    pub(crate) fn finish(&mut self, copy: &'static mut [u8]) {
        self.copy = Some(copy);
        self.spare_count = core::mem::take(&mut self.count);
        self.told = 0;
    }

    /// A block that nobody needs any more.
    pub(crate) fn take_spare(&mut self) -> Option<Block> {
        self.spare_count = self.spare_count.checked_sub(1)?;
        self.blocks[self.spare_count].take()
    }

    /// The index of the one thread.
    pub(crate) fn thread(&self) -> u32 {
        self.thread
    }

    /// The name in an event that says the one thread's.
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
