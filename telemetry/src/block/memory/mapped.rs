//! Blocks that are pages of a file: operations other than recording.
//!
//! ```text
//!  file ─ mmap ─▶ │ block │ block │ … │     touch · take over · put parts, counts · leave at fork
//! ```
//!
//! The order of the stores allows the process to be killed between any two of them. Design:
//! `.sol.mapped` in `design/telemetry.md`; `.write`, `.ring` in `design/format.md`.
#![expect(unsafe_code, reason = "a file as memory")]

use super::{Block, Blocks, OwnBlock, block_size, hole};
use crate::block::header_words::HEADER_WORD_COUNT;
use crate::block::losses::Counts;
use crate::os::pages;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU64, Ordering, fence};
use eventlog::format::{BLOCK_HEADER_SIZE, BlockHeader, SEALED};

const OVERWRITTEN_WORD: usize = offset_of!(BlockHeader, overwritten) / 8;
const _: () = assert!(offset_of!(BlockHeader, overwritten).is_multiple_of(8));
const _: () = assert!(offset_of!(BlockHeader, discarded_io) >= BLOCK_HEADER_SIZE - 8);

impl Blocks {
    /// Maps the blocks of a file of `count` blocks, all zeros.
    pub(crate) fn map_file(file: libc::c_int, count: usize) -> Option<Blocks> {
        let size = count.checked_mul(block_size())?;
        let start = pages::map_with(size, libc::MAP_SHARED, file)?.as_ptr();
        hole::watch(start, size);
        Some(Blocks { first: Block { start }, count })
    }

    /// Maps the same file again, at the same address, now that the file has a name: readers of the
    /// memory, or of a core, find it by this name. Call it before the first event.
    pub(crate) fn map_file_again(&self, file: libc::c_int) {
        let size = self.count * block_size();
        // SAFETY: B1: the pages stay mapped, with the same bytes of the same file; no reference to
        // them exists.
        unsafe { pages::map_again(self.first.start, size, libc::MAP_SHARED, file) };
    }

    pub(crate) fn has(&self, block: Block) -> bool {
        let offset = block.start.addr().wrapping_sub(self.first.start.addr());
        offset < self.count * block_size()
    }

    /// Unmaps the file in this process: the blocks become private, and zero. For a forked child,
    /// which has one thread.
    pub(crate) fn leave_file(&self) {
        let size = self.count * block_size();
        // SAFETY: B1: the pages stay mapped, and only atomics refer to their bytes.
        unsafe { pages::map_again(self.first.start, size, libc::MAP_PRIVATE | libc::MAP_ANON, -1) };
        hole::forget();
    }
}

impl Block {
    /// Touches the pages of an unused block, so that later accesses cause no page fault.
    pub(crate) fn touch(self) {
        #[cfg(target_os = "linux")]
        // SAFETY: B1: the pages are mapped for ever. The call changes no byte. Where the kernel
        // lacks it, pages fault one by one.
        unsafe {
            libc::madvise(self.start.cast(), block_size(), libc::MADV_POPULATE_WRITE)
        };
    }

    /// Stores the total of overwritten events in the newest block of a buffer, even while its
    /// thread records (`.ring.overwritten`). A sealed block becomes unsealed.
    pub(crate) fn put_overwritten(self, count: u64) {
        self.unseal();
        self.words()[OVERWRITTEN_WORD].store(count.to_le(), Ordering::Relaxed);
    }

    /// Clears the flag of a sealed block: readers now ignore the checksum, which will be wrong.
    fn unseal(self) {
        let mut word = self.words()[0].load(Ordering::Relaxed).to_ne_bytes();
        word[offset_of!(BlockHeader, flags)] &= !SEALED;
        self.words()[0].store(u64::from_ne_bytes(word), Ordering::Relaxed);
        fence(Ordering::Release);
    }

    /// Stores the discarded counts in an open block; its own thread calls this
    /// (`.block.discarded`).
    pub(crate) fn put_discarded(self, counts: &Counts) {
        let mut header = self.header();
        counts.put(&mut header);
        let words: [u64; HEADER_WORD_COUNT] = bytemuck::cast(header);
        for (index, word) in words.iter().enumerate().skip(OVERWRITTEN_WORD + 1) {
            self.words()[index].store(*word, Ordering::Relaxed);
        }
    }

    /// Stores the total of events missing from the file, in the last store block of the file.
    pub(crate) fn put_discarded_io(self, count: u32) {
        let mut header = self.header();
        header.discarded_io = count.into();
        let words: [u64; HEADER_WORD_COUNT] = bytemuck::cast(header);
        self.unseal();
        let last = HEADER_WORD_COUNT - 1;
        self.words()[last].store(words[last], Ordering::Relaxed);
    }

    /// Replaces zeros by bytes, in a block that no thread records into. Stores the first eight
    /// bytes last: without them readers ignore the rest (`.stream.grow`).
    pub(crate) fn put_bytes(self, offset: usize, bytes: &[u8]) {
        assert!(offset <= block_size() && bytes.len() <= block_size() - offset);
        assert!(offset.is_multiple_of(8));
        let Some((first, rest)) = bytes.split_first_chunk::<8>() else { return };
        self.store(offset + 8, rest);
        // SAFETY: B1 and the test: eight bytes of a block, which stays mapped, aligned to 8. Only
        // the holder of the stream's lock stores here, and no thread of this process reads.
        let to = unsafe { AtomicU64::from_ptr(self.start.add(offset).cast()) };
        to.store(u64::from_ne_bytes(*first), Ordering::Release);
    }
}

impl OwnBlock {
    /// Copies [last, top) of another block, all of it published, to the end of this one. This block
    /// has no magic until its header is put (`.write.begin`). Returns its *last*.
    pub(crate) fn take_over(&mut self, other: Block, last: u32, top: u32) -> u32 {
        let (state, _) = other.state();
        assert!(state <= last && last <= top && top as usize <= block_size());
        let size = top - last;
        let new_last = block_size() as u32 - size;
        assert!(new_last as usize >= BLOCK_HEADER_SIZE && self.start != other.start);
        self.words()[0].store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        let from = other.words_of(last as usize, top as usize);
        for (to, from) in self.words_of(new_last as usize, block_size()).iter().zip(from) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        new_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::header_words::STATE_WORD;
    use crate::block::memory::{BUFFER_WORD, block_size_log2};
    use eventlog::format::BlockType;

    /// `.sol.own`: whatever another process stores in a page of the file.
    #[test]
    fn last_and_top_in_a_page_are_clamped_to_the_block() {
        let block = Blocks::map(1).expect("memory").get(0);
        // SAFETY: W1: no other thread knows the block.
        unsafe { block.own() }.begin(&BlockHeader::native(BlockType::Events, block_size_log2()));
        let (least, size) = (BLOCK_HEADER_SIZE as u32, block_size() as u32);
        for last in [0, 1, least - 8, size + 8, 1 << 31, u32::MAX] {
            block.words()[STATE_WORD].store(u64::from(last).to_le(), Ordering::Relaxed);
            block.words()[BUFFER_WORD].store(u64::from(last).to_le(), Ordering::Relaxed);
            let header = block.header();
            let (last, top) = (header.last.get(), header.top.get());
            assert!(least <= last && last <= top && top <= size, "{last} {top}");
            assert_eq!(block.state(), (last, 0));
        }
    }
}
