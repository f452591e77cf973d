//! The right to a block: its holder records into the block, seals it, and lends its bytes.
//!
//! ```text
//!  Block ─ own (unsafe) ─▶ OwnBlock ─▶ begin · claim · put header · lend
//! ```
//!
//! Design: `.sol.ordering` in `design/telemetry.md`; `.write` in `design/format.md`.
#![expect(unsafe_code, reason = "the right to a block, and its bytes")]

use super::{Block, Blocks, Claim, WORD_SIZE, Word, block_size};
use crate::block::header_words;
use core::marker::PhantomData;
use core::ops::Deref;
use core::sync::atomic::Ordering;
use eventlog::format::{BLOCK_HEADER_SIZE, BlockHeader, ClockSync, EventHeader};

/// One in this number of events that a coarse event type has in a block reads the clock.
const COARSE_COUNT_MAX: usize = 16;

/// The right to store into one block, and to lend its bytes: neither `Copy` nor `Send` nor `Sync`.
///
/// W1: while it exists, no other thread has the right to the same block, and none stores to the
/// block except counts in its header (`put_overwritten`, `put_discarded`, `put_discarded_io`), and
/// only while it is not lent. Parts (`put_bytes`) go to blocks to which no thread has the right.
pub(crate) struct OwnBlock {
    block: Block,
    here: PhantomData<*const ()>,
}

impl Deref for OwnBlock {
    type Target = Block;

    #[inline(always)]
    fn deref(&self) -> &Block {
        &self.block
    }
}

impl OwnBlock {
    /// Begins the block again (`.write.begin`): at every instant the block is either absent or a
    /// valid open block. *last* and *top* become the block size, *count* 0.
    pub(crate) fn begin(&mut self, header: &BlockHeader) {
        let mut header = *header;
        let top = block_size() as u32;
        header.last = top.into();
        header.top = top.into();
        header.count = 0.into();
        header_words::begin(self.block.words(), &header);
    }

    /// Stores a header, the word with the magic and the flags last. No thread may be recording into
    /// the block.
    pub(crate) fn put_header(&mut self, header: &BlockHeader) {
        header_words::put(self.block.words(), header);
    }

    /// Stores the clock sync of a block that gets no more events (`.block.sync`).
    pub(crate) fn put_sync(&mut self, sync: ClockSync) {
        let mut header = self.header();
        header.set_sync(sync);
        self.put_header(&header);
    }

    /// Takes `size` bytes below *last*, a multiple of 8, if the block has this room.
    #[inline(always)]
    pub(crate) fn claim(&mut self, size: usize) -> Option<Claim> {
        let state = header_words::own_state(self.block.words());
        let last = state as u32 as usize;
        if last < size.saturating_add(BLOCK_HEADER_SIZE) || !size.is_multiple_of(8) || size == 0 {
            return None;
        }
        // SAFETY: B1, B3 and the test: 128 <= last - size < block_size(), so the address is within
        // a mapped block.
        let at = unsafe { self.block.start.add(last - size) };
        Some(Claim::new(at, size, self.block, state))
    }

    /// Returns the delta of the newest event, where a coarse event may repeat it or a later one:
    /// not in an empty block, and once in [`COARSE_COUNT_MAX`] events not (`.sol.coarse`).
    #[inline(always)]
    pub(crate) fn repeatable_delta(&self) -> Option<u32> {
        let state = header_words::own_state(self.block.words());
        let (last, count) = (state as u32 as usize, (state >> 32) as usize);
        if count.is_multiple_of(COARSE_COUNT_MAX) {
            return None;
        }
        // SAFETY: B1, B3: the block has an event or a base record at *last*: eight bytes or more,
        // aligned. B5: all threads access them as these atomics.
        let header: &[Word; 8 / WORD_SIZE] = unsafe { &*self.block.start.add(last).cast() };
        let header = header.each_ref().map(|word| word.load(Ordering::Relaxed));
        Some(bytemuck::cast::<_, EventHeader>(header).delta)
    }

    /// Lends all bytes of a block that gets no more events.
    pub(crate) fn with_bytes<T>(&self, give: impl FnOnce(&[u8]) -> T) -> T {
        // SAFETY: B1: `block_size()` bytes, mapped for ever. W1: no other thread stores to the
        // block while this value exists, and this thread lends it here.
        give(unsafe { core::slice::from_raw_parts(self.block.start, block_size()) })
    }
}

impl Block {
    /// Returns the right to store into the block.
    ///
    /// # Safety
    ///
    /// W1: as long as the value exists, no other thread has the right to the block.
    #[inline(always)]
    pub(crate) unsafe fn own(self) -> OwnBlock {
        OwnBlock { block: self, here: PhantomData }
    }
}

/// The memory of a parts block. Its owner stores to it, and a signal handler copies it meanwhile
/// ([`Block::peek`]). Unlike an [`OwnBlock`] it may go to another thread.
///
/// W2: the block was mapped for this value alone. Nothing else stores to it.
pub(crate) struct PartsMemory {
    block: Block,
}

impl PartsMemory {
    pub(crate) fn map() -> Option<PartsMemory> {
        Some(PartsMemory { block: Blocks::map(1)?.get(0) })
    }

    /// Returns the block, for signal handlers to copy.
    pub(crate) fn block(&self) -> Block {
        self.block
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: B1: `block_size()` bytes, mapped for ever. W2: only this value stores to them,
        // which needs `&mut`; other threads only load them.
        unsafe { core::slice::from_raw_parts(self.block.start, block_size()) }
    }

    pub(crate) fn put(&mut self, offset: usize, bytes: &[u8]) {
        self.block.store(offset, bytes);
    }

    pub(crate) fn clear(&mut self) {
        let words = self.block.words_of(0, block_size());
        words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }
}
