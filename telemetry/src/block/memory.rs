//! Pages from the operating system, and blocks as places in them.
//!
//! ```text
//!  mmap ─▶ │ block │ block │ …  │ a ring │          never given back, never moved
//!  file ─▶ │ block │ block │ …                       the same, of a mapped ring
//!
//!  block:  │ header, 16 words │ ···· gap ···· │ newest │ … │ oldest │
//!                             claim: size bytes ┘└ last             └ top
//! ```
//!
//! Everything here lives as long as the process, which makes references to it `'static`. Nothing
//! comes from the allocator. Design: `.sol.memory` in `design/telemetry.md`; `.write` in
//! `design/format.md`.
#![expect(unsafe_code, reason = "memory from the operating system, and events laid out in it")]

mod claim;
mod hole;
mod mapped;
mod parts;

pub(crate) use claim::Claim;
pub(crate) use hole::{is_cut, mend, passes_on};

use crate::block::header_words::{self, Words};
use crate::offered::BLOCK_SIZE_LOG2_DEFAULT;
use crate::os::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use crate::os::pages;
use core::mem::offset_of;
use core::ptr::NonNull;
use eventlog::format::{
    BLOCK_HEADER_SIZE, BLOCK_MAGIC, BLOCK_SIZE_LOG2_MAX, BLOCK_SIZE_LOG2_MIN, BlockHeader,
    ClockSync,
};

/// The words of a block header with *sequence* and *buffer* (and *top*, which never changes): these
/// tell a block from the one before at its place.
const SEQUENCE_WORD: usize = offset_of!(BlockHeader, sequence) / 8;
const BUFFER_WORD: usize = offset_of!(BlockHeader, buffer) / 8;
/// Set in `BLOCK_SIZE` once there is a block.
const CHOSEN: u32 = 1 << 8;

/// Small where Miri runs it, a thousand times slower.
static BLOCK_SIZE: AtomicU32 =
    AtomicU32::new(if cfg!(miri) { BLOCK_SIZE_LOG2_MIN } else { BLOCK_SIZE_LOG2_DEFAULT } as u32);

/// log2 of the size of every block of the process.
pub(crate) fn block_size_log2() -> u8 {
    BLOCK_SIZE.load(Ordering::Relaxed) as u8
}

/// Size of every block of the process, in bytes.
pub(crate) fn block_size() -> usize {
    1 << block_size_log2()
}

/// Chooses the block size; false where there is a block already, or the size is none that the
/// format has.
pub(crate) fn choose_block_size(log2: u8) -> bool {
    let old = BLOCK_SIZE.load(Ordering::Relaxed);
    (BLOCK_SIZE_LOG2_MIN..=BLOCK_SIZE_LOG2_MAX).contains(&log2)
        && old & CHOSEN == 0
        && BLOCK_SIZE
            .compare_exchange(old, u32::from(log2), Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
}

/// Whether the block size stands.
pub(crate) fn is_block_size_fixed() -> bool {
    BLOCK_SIZE.load(Ordering::Relaxed) & CHOSEN != 0
}

/// From here on the block size stands.
pub(crate) fn fix_block_size() {
    BLOCK_SIZE.fetch_or(CHOSEN, Ordering::Relaxed);
}

/// The right to read what was published in blocks, and to write what was sealed. Lies behind the
/// lock of a ring (or of the store), and whoever holds it knows that no block which is not yet
/// given up begins anew.
pub(crate) struct Custody(());

impl Custody {
    pub(crate) const fn new() -> Custody {
        Custody(())
    }
}

/// A block: `block_size()` bytes, as they stand in the stream (3.1, 3.2).
#[derive(Clone, Copy)]
pub(crate) struct Block {
    /// B1: `block_size()` bytes, mapped for ever, aligned to a page.
    /// B2: the words of the header are accessed as atomics, but under `Custody` when the block is
    ///     full.
    /// B3: *last* is from 128 to `block_size()`, and a multiple of 8: only `begin` and `publish`
    ///     store it. A file whose pages are blocks is of this process and mode 0600 (`.sol.own`).
    /// B4: bytes below *last* are written by the one thread that records here; those above are
    ///     written no more until `begin`, which a ring does only where the block was given up
    ///     (under `Custody`), and the owner of a mapped file's block only where the block is his.
    ///     Not a `NonNull`: its niche would cost the fast path a test.
    start: *mut u8,
}

// SAFETY: B1 holds anywhere; B2 and B4 say who may access what.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

/// Blocks that follow one another in memory.
#[derive(Clone, Copy)]
pub(crate) struct Blocks {
    first: Block,
    count: usize,
}

impl Blocks {
    /// Maps blocks.
    pub(crate) fn map(count: usize) -> Option<Blocks> {
        fix_block_size();
        let start = pages::map(count.checked_mul(block_size())?)?;
        Some(Blocks { first: Block { start: start.as_ptr() }, count })
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The block that has the place of this sequence.
    pub(crate) fn get(&self, sequence: u64) -> Block {
        let index = (sequence % self.count as u64) as usize;
        // SAFETY: index < count, and so many blocks were mapped in one piece.
        Block { start: unsafe { self.first.start.add(index * block_size()) } }
    }
}

impl Block {
    #[inline(always)]
    fn words(self) -> &'static Words {
        // SAFETY: B1; B2.
        unsafe { &*self.start.cast() }
    }

    /// Begins the block anew (`.write.begin`): at every instant it is either not there or a valid
    /// open block. *last* and *top* become the block size, *count* 0.
    pub(crate) fn begin(self, header: &BlockHeader) {
        let mut header = *header;
        let top = block_size() as u32;
        header.last = top.into();
        header.top = top.into();
        header.count = 0.into();
        header_words::begin(self.words(), &header);
    }

    /// Asks for the first lines that beginning the block, and recording into it, will store to: a
    /// writer thread on another processor has them. Waits for nothing.
    pub(crate) fn prefetch(self) {
        const LINE_SIZE: usize = 64;
        /// Lines of events.
        const LINE_COUNT: usize = 4;
        let header = (0..BLOCK_HEADER_SIZE).step_by(LINE_SIZE);
        let top = (block_size() - LINE_COUNT * LINE_SIZE..block_size()).step_by(LINE_SIZE);
        for offset in header.chain(top) {
            let line = self.start.wrapping_add(offset);
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: a hint, which changes nothing and cannot fault.
            unsafe {
                core::arch::asm!("prefetchw [{}]", in(reg) line,
                    options(nostack, readonly, preserves_flags));
            }
            #[cfg(all(target_arch = "aarch64", not(miri)))]
            // SAFETY: as above.
            unsafe {
                core::arch::asm!("prfm pstl1keep, [{}]", in(reg) line,
                    options(nostack, readonly, preserves_flags));
            }
            #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
            let _ = line;
        }
    }

    /// Stores a header, the word with the magic and the flags last. For a block that nobody records
    /// into just now.
    pub(crate) fn put_header(self, header: &BlockHeader) {
        header_words::put(self.words(), header);
    }

    /// The header as it is now. What its owner is about to change may be old or new. *last* and
    /// *top* are within the block, whatever a page of a file says.
    pub(crate) fn header(self) -> BlockHeader {
        let mut header = header_words::get(self.words());
        header.last = header.last.get().clamp(BLOCK_HEADER_SIZE as u32, block_size() as u32).into();
        header.top = header.top.get().clamp(header.last.get(), block_size() as u32).into();
        header
    }

    /// Stores the clock sync of a block that nothing more is recorded into (`.block.sync`).
    pub(crate) fn put_sync(self, sync: ClockSync) {
        let mut header = self.header();
        header.set_sync(sync);
        self.put_header(&header);
    }

    /// Where it is in memory.
    pub(crate) fn address(self) -> usize {
        self.start.addr()
    }

    /// *last*, brought within the block, and *count* (`.block.last`, `.block.count`).
    pub(crate) fn state(self) -> (u32, u32) {
        let (last, count) = header_words::state(self.words());
        (last.clamp(BLOCK_HEADER_SIZE as u32, block_size() as u32), count)
    }

    /// Takes `size` bytes below *last*, a multiple of 8, if there are so many.
    #[inline(always)]
    pub(crate) fn claim(self, size: usize) -> Option<Claim> {
        let state = header_words::own_state(self.words());
        let last = state as u32 as usize;
        if last < size.saturating_add(BLOCK_HEADER_SIZE) || !size.is_multiple_of(8) || size == 0 {
            return None;
        }
        // SAFETY: B3 and the test: 128 <= last - size < block_size().
        let at = unsafe { self.start.add(last - size) };
        Some(Claim { at, size, block: self, state })
    }

    /// Copies [from, to) of the block, all of it published, to `out`.
    pub(crate) fn copy(self, _: &Custody, from: usize, to: usize, out: &mut [u8]) {
        let (last, _) = self.state();
        assert!(last as usize <= from && from <= to && to <= block_size());
        assert_eq!(out.len(), to - from);
        // SAFETY: B1; B4: from *last* upwards nobody writes while there is `Custody`; `out` is no
        // block.
        unsafe {
            core::ptr::copy_nonoverlapping(self.start.add(from), out.as_mut_ptr(), out.len());
        }
    }

    /// Copies [from, to) of a block that may begin anew meanwhile: [`is_still`](Block::is_still)
    /// says afterwards whether the copy is of use.
    pub(crate) fn peek(self, from: usize, to: usize, out: &mut [u8]) {
        assert!(from.is_multiple_of(8) && to.is_multiple_of(8) && from <= to && to <= block_size());
        for (index, out) in out[..to - from].chunks_mut(8).enumerate() {
            // SAFETY: B1 and the test: within the block, aligned. Not an ordinary load, for the
            // owner may be writing there: what comes of that is thrown away.
            let word = unsafe { &*self.start.add(from + index * 8).cast::<AtomicU64>() };
            out.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes()[..out.len()]);
        }
    }

    /// Whether this is still the block with that header, after some of it was read: it has not
    /// begun anew (`.write.begin`).
    pub(crate) fn is_still(self, header: &BlockHeader) -> bool {
        // What was read before stays before.
        core::sync::atomic::fence(Ordering::Acquire);
        let before: [u64; header_words::HEADER_WORD_COUNT] = bytemuck::cast(*header);
        let now = |word: usize| self.words()[word].load(Ordering::Acquire);
        let has_magic = now(0).to_ne_bytes().starts_with(&BLOCK_MAGIC);
        let is_same = |word| now(word) == before[word];
        has_magic && is_same(SEQUENCE_WORD) && is_same(BUFFER_WORD)
    }

    /// Gives all bytes of a block that nothing more is recorded into.
    pub(crate) fn with_bytes<T>(self, _: &Custody, give: impl FnOnce(&[u8]) -> T) -> T {
        // SAFETY: B1; B2 and B4: nobody writes to a full block while there is `Custody`.
        give(unsafe { core::slice::from_raw_parts(self.start, block_size()) })
    }
}

/// Which block: for the thread that records into it to read, and to change.
pub(crate) struct BlockLink {
    /// B1 holds for what it points to, unless it is null.
    start: AtomicPtr<u8>,
}

impl BlockLink {
    pub(crate) fn new(block: Block) -> BlockLink {
        BlockLink { start: AtomicPtr::new(block.start) }
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> Block {
        Block { start: self.start.load(Ordering::Relaxed) }
    }

    pub(crate) fn set(&self, block: Block) {
        self.start.store(block.start, Ordering::Release);
    }

    pub(crate) const fn none() -> BlockLink {
        BlockLink { start: AtomicPtr::new(core::ptr::null_mut()) }
    }

    /// It points to none. For a forked child, which has one thread.
    pub(crate) fn clear(&self) {
        self.start.store(core::ptr::null_mut(), Ordering::Relaxed);
    }

    /// For other threads and signal handlers: the block, if it was set.
    pub(crate) fn find(&self) -> Option<Block> {
        NonNull::new(self.start.load(Ordering::Acquire)).map(|at| Block { start: at.as_ptr() })
    }

    /// Sets it to bytes that somebody else has the use of: for [`Block::peek`] alone.
    pub(crate) fn set_bytes(&self, bytes: &mut [u8]) {
        assert!(bytes.len() == block_size() && bytes.as_ptr().addr().is_multiple_of(4096));
        self.set(Block { start: bytes.as_mut_ptr() });
    }
}

/// Which blocks: as `BlockLink`.
pub(crate) struct BlocksLink {
    /// B1 holds for the blocks that follow one another from here, `count` of them.
    first: BlockLink,
    count: usize,
}

impl BlocksLink {
    pub(crate) fn new(blocks: Blocks) -> BlocksLink {
        BlocksLink { first: BlockLink::new(blocks.first), count: blocks.count }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The block that has the place of this sequence.
    pub(crate) fn get(&self, sequence: u64) -> Block {
        Blocks { first: self.first.get(), count: self.count }.get(sequence)
    }

    /// Sets it to as many blocks elsewhere.
    pub(crate) fn set(&self, blocks: Blocks) {
        assert_eq!(self.count, blocks.count);
        self.first.set(blocks.first);
    }
}
