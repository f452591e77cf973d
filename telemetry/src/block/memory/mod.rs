//! Pages from the operating system, and the blocks in them.
//!
//! ```text
//!  mmap ─▶ │ block │ block │ …  │ a ring │          never unmapped, never moved
//!  file ─▶ │ block │ block │ …                       the same, of a mapped ring
//!
//!  block:  │ header, 16 words │ ···· gap ···· │ newest │ … │ oldest │
//!                             claim: size bytes ┘└ last             └ top
//! ```
//!
//! Blocks live as long as the process, so references to them are `'static`. Nothing comes from the
//! allocator. Design: `.sol.memory` in `design/telemetry.md`; `.write` in `design/format.md`.
#![expect(unsafe_code, reason = "memory from the operating system, and events laid out in it")]

mod claim;
mod hole;
mod mapped;
mod own;
mod parts;

pub(crate) use claim::Claim;
pub(crate) use hole::{is_cut, mend, passes_on};
pub(crate) use own::{OwnBlock, PartsMemory};

use crate::block::header_words::{self, Words};
use crate::offered::BLOCK_SIZE_LOG2_DEFAULT;
use crate::os::atomic::{AtomicPtr, AtomicU32, Ordering};
use crate::os::pages;
use core::mem::{offset_of, size_of};
use core::ptr::NonNull;
use eventlog::format::{
    BLOCK_HEADER_SIZE, BLOCK_MAGIC, BLOCK_SIZE_LOG2_MAX, BLOCK_SIZE_LOG2_MIN, BlockHeader,
};

/// The words of a block header with *sequence* and *buffer* (and *top*, which never changes): these
/// distinguish a block from its predecessor at the same place.
const SEQUENCE_WORD: usize = offset_of!(BlockHeader, sequence) / 8;
const BUFFER_WORD: usize = offset_of!(BlockHeader, buffer) / 8;
/// The unit of stores and loads above the header (B5): the largest word that the platform stores in
/// one instruction.
type Word = core::sync::atomic::AtomicUsize;
const WORD_SIZE: usize = size_of::<Word>();
const _: () = assert!(8usize.is_multiple_of(WORD_SIZE), "events are multiples of words");
/// Set in `BLOCK_SIZE` once a block exists.
const CHOSEN: u32 = 1 << 8;

/// Small under Miri, which is a thousand times slower.
static BLOCK_SIZE: AtomicU32 =
    AtomicU32::new(if cfg!(miri) { BLOCK_SIZE_LOG2_MIN } else { BLOCK_SIZE_LOG2_DEFAULT } as u32);

/// Returns log2 of the size of every block of the process.
pub(crate) fn block_size_log2() -> u8 {
    BLOCK_SIZE.load(Ordering::Relaxed) as u8
}

/// Returns the size of every block of the process, in bytes.
pub(crate) fn block_size() -> usize {
    1 << block_size_log2()
}

/// Chooses the block size; returns false if a block exists already, or the format lacks the size.
pub(crate) fn choose_block_size(log2: u8) -> bool {
    let old = BLOCK_SIZE.load(Ordering::Relaxed);
    (BLOCK_SIZE_LOG2_MIN..=BLOCK_SIZE_LOG2_MAX).contains(&log2)
        && old & CHOSEN == 0
        && BLOCK_SIZE
            .compare_exchange(old, u32::from(log2), Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
}

pub(crate) fn is_block_size_fixed() -> bool {
    BLOCK_SIZE.load(Ordering::Relaxed) & CHOSEN != 0
}

pub(crate) fn fix_block_size() {
    BLOCK_SIZE.fetch_or(CHOSEN, Ordering::Relaxed);
}

/// A block: `block_size()` bytes, as they stand in the stream (3.1, 3.2).
#[derive(Clone, Copy)]
pub(crate) struct Block {
    /// B1: `block_size()` bytes, mapped for ever, aligned to a page. B2: the words of the header
    /// are accessed as atomics, except by `OwnBlock::with_bytes`. B3: *last* is from 128 to
    /// `block_size()`, and a multiple of 8: only `begin` and `publish`
    ///     store it. A file whose pages are blocks belongs to this process and has mode 0600
    ///     (`.sol.own`).
    /// B4: only the one thread that records here writes bytes below *last*; no thread writes those
    ///     above until `begin`. Both need an `OwnBlock`: one thread at a time has it.
    /// B5: all threads store and load bytes above the header as `Word`s, relaxed: a thread may load
    ///     what another one stores, and discard it (`.sol.ordering`). The one plain access is that
    ///     of `with_bytes`, to a block that no thread stores to meanwhile.
    ///     Not a `NonNull`: its niche would cost the fast path a test.
    start: *mut u8,
}

// SAFETY: B1: the memory is mapped for all threads, for ever.
unsafe impl Send for Block {}
// SAFETY: B2 and B5: all threads access the bytes as atomics. B4 says which thread stores where.
unsafe impl Sync for Block {}

#[derive(Clone, Copy)]
pub(crate) struct Blocks {
    first: Block,
    count: usize,
}

impl Blocks {
    pub(crate) fn map(count: usize) -> Option<Blocks> {
        fix_block_size();
        let start = pages::map(count.checked_mul(block_size())?)?;
        Some(Blocks { first: Block { start: start.as_ptr() }, count })
    }

    /// Maps blocks of zeros whose pages take memory once they are used.
    pub(crate) fn map_lazily(count: usize) -> Option<Blocks> {
        fix_block_size();
        let start = pages::map_lazily(count.checked_mul(block_size())?)?;
        Some(Blocks { first: Block { start: start.as_ptr() }, count })
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn get(&self, sequence: u64) -> Block {
        let index = (sequence % self.count as u64) as usize;
        // SAFETY: index < count, and `count` blocks were mapped in one piece.
        Block { start: unsafe { self.first.start.add(index * block_size()) } }
    }
}

impl Block {
    #[inline(always)]
    fn words(self) -> &'static Words {
        // SAFETY: B1: the header of a block that stays mapped, aligned. B2: its words are accessed
        // as these atomics.
        unsafe { &*self.start.cast() }
    }

    /// Makes its pages take memory now, since it will be filled. It keeps its contents. The page
    /// with the header has memory once the block begins.
    pub(crate) fn populate(self) {
        const PAGE: usize = 4096;
        for page in (PAGE..block_size()).step_by(PAGE) {
            // A compiler could make a mere load of a store that changes nothing.
            let word = &self.words_of(page, page + WORD_SIZE)[0];
            let _ = word.compare_exchange(0, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Prefetches the first cache lines that beginning the block, and recording into it, will store
    /// to: a writer thread on another processor has them. Waits for nothing.
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
            // SAFETY: a hint, which changes nothing and cannot fault.
            unsafe {
                core::arch::asm!("prfm pstl1keep, [{}]", in(reg) line,
                    options(nostack, readonly, preserves_flags));
            }
            #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
            let _ = line;
        }
    }

    /// Returns the current header. Words that the owner is about to change may be old or new.
    /// *last* and *top* are within the block, whatever a page of a file contains.
    pub(crate) fn header(self) -> BlockHeader {
        let mut header = header_words::get(self.words());
        header.last = header.last.get().clamp(BLOCK_HEADER_SIZE as u32, block_size() as u32).into();
        header.top = header.top.get().clamp(header.last.get(), block_size() as u32).into();
        header
    }

    pub(crate) fn address(self) -> usize {
        self.start.addr()
    }

    /// Returns *last*, clamped to the block, and *count* (`.block.last`, `.block.count`).
    pub(crate) fn state(self) -> (u32, u32) {
        let (last, count) = header_words::state(self.words());
        (last.clamp(BLOCK_HEADER_SIZE as u32, block_size() as u32), count)
    }

    /// Returns the number of the event after its last one.
    pub(crate) fn event_end(self) -> u64 {
        self.header().first.get() + u64::from(self.state().1)
    }

    /// The words of [from, to), both multiples of their size.
    fn words_of(self, from: usize, to: usize) -> &'static [Word] {
        assert!(from.is_multiple_of(WORD_SIZE) && to.is_multiple_of(WORD_SIZE));
        assert!(from <= to && to <= block_size());
        // SAFETY: B1 and the tests: the words are within a block that stays mapped, and aligned.
        // B5: all threads access them as these atomics.
        unsafe { core::slice::from_raw_parts(self.start.add(from).cast(), (to - from) / WORD_SIZE) }
    }

    /// Stores bytes above the header, word by word (B5). The rest of a word that they fill in part
    /// stays: only one thread may store there.
    fn store(self, offset: usize, bytes: &[u8]) {
        let before = offset % WORD_SIZE;
        let end = (offset + bytes.len()).next_multiple_of(WORD_SIZE);
        let words = self.words_of(offset - before, end);
        let head_size = if before == 0 { 0 } else { bytes.len().min(WORD_SIZE - before) };
        let (head, rest) = bytes.split_at(head_size);
        let words = if head_size == 0 { words } else { store_within(words, before, head) };
        let (whole, tail) = rest.as_chunks();
        for (word, new) in words.iter().zip(whole) {
            word.store(usize::from_ne_bytes(*new), Ordering::Relaxed);
        }
        if !tail.is_empty() {
            store_within(&words[whole.len()..], 0, tail);
        }
    }

    /// Copies [from, to) of the block, all of it published, to `out`.
    pub(crate) fn copy(self, from: usize, to: usize, out: &mut [u8]) {
        assert!(self.state().0 as usize <= from);
        assert_eq!(out.len(), to - from);
        self.peek(from, to, out);
    }

    /// Copies [from, to) of a block that may start again meanwhile: afterwards
    /// [`is_still`](Block::is_still) tells whether the copy is valid.
    pub(crate) fn peek(self, from: usize, to: usize, out: &mut [u8]) {
        for (word, out) in self.words_of(from, to).iter().zip(out[..to - from].as_chunks_mut().0) {
            *out = word.load(Ordering::Relaxed).to_ne_bytes();
        }
    }

    /// Returns whether this still is the block with that header, after a read of it: it has not
    /// started again (`.write.begin`).
    pub(crate) fn is_still(self, header: &BlockHeader) -> bool {
        // Earlier reads stay before this.
        core::sync::atomic::fence(Ordering::Acquire);
        let before: [u64; header_words::HEADER_WORD_COUNT] = bytemuck::cast(*header);
        let now = |word: usize| self.words()[word].load(Ordering::Acquire);
        let has_magic = now(0).to_ne_bytes().starts_with(&BLOCK_MAGIC);
        let is_same = |word| now(word) == before[word];
        has_magic && is_same(SEQUENCE_WORD) && is_same(BUFFER_WORD)
    }
}

/// Stores bytes within the first of these words; gives the others.
fn store_within<'a>(words: &'a [Word], before: usize, bytes: &[u8]) -> &'a [Word] {
    let mut new = words[0].load(Ordering::Relaxed).to_ne_bytes();
    new[before..before + bytes.len()].copy_from_slice(bytes);
    words[0].store(usize::from_ne_bytes(new), Ordering::Relaxed);
    &words[1..]
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

    pub(crate) fn get(&self, sequence: u64) -> Block {
        Blocks { first: self.first.get(), count: self.count }.get(sequence)
    }

    /// Sets it to as many blocks elsewhere.
    pub(crate) fn set(&self, blocks: Blocks) {
        assert_eq!(self.count, blocks.count);
        self.first.set(blocks.first);
    }
}
