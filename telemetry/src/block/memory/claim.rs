//! A claim: the space of an event that a thread is recording.
//!
//! ```text
//!  block  │ header │ ···· gap ···· │ claim │ published …     publish: *last* comes down to it
//! ```
//!
//! Design: `.event`, `.write.publish` in `design/format.md`.
#![expect(unsafe_code, reason = "events laid out in the memory of a block")]

use super::{Block, WORD_SIZE, Word};
use crate::block::header_words;
use core::sync::atomic::Ordering;
use eventdef::ParamSink;
use eventlog::format::{BASE_RECORD_SIZE, BaseRecord, EventHeader, block_state, block_state_step};

/// The space of an event that a thread is recording. Other threads see it once it is published.
pub(crate) struct Claim {
    /// C1: `size` bytes of `block`, just below the *last* of `state`, and aligned to 8.
    at: *mut u8,
    size: usize,
    block: Block,
    state: u64,
    /// The word that was stored last, and its offset: a value in the same word needs no load.
    stored: usize,
    stored_at: usize,
}

/// Not the offset of a word.
const NOWHERE: usize = usize::MAX;

impl Claim {
    #[inline(always)]
    pub(super) fn new(at: *mut u8, size: usize, block: Block, state: u64) -> Claim {
        Claim { at, size, block, state, stored: 0, stored_at: NOWHERE }
    }

    /// Puts code, size and delta, in this platform's byte order (`.event.code`, `.event.size`,
    /// `.event.delta`, `.event.order`).
    #[inline(always)]
    pub(crate) fn put_header(&mut self, code: u16, delta: u32) {
        let header = EventHeader { code, size: self.size as u16, delta };
        self.put_u64(0, bytemuck::cast(header));
    }

    /// Publishes the event (`.write.publish`).
    #[inline(always)]
    pub(crate) fn publish(self) {
        let state = self.state.wrapping_add(block_state_step(self.size as u32));
        header_words::publish(self.block.words(), state);
    }

    /// Makes it a base record and publishes it: *base last* first, without counting an event
    /// (`.write.publish`).
    pub(crate) fn publish_base(mut self, record: &BaseRecord) {
        assert_eq!(self.size, BASE_RECORD_SIZE);
        self.put_bytes(0, bytemuck::bytes_of(record));
        header_words::put_base_last(self.block.words(), record.base);
        let (last, count) = (self.state as u32, (self.state >> 32) as u32);
        let state = block_state(last - self.size as u32, count);
        header_words::publish(self.block.words(), state);
    }

    /// Stores a word at `offset`.
    #[inline]
    fn store(&mut self, offset: usize, word: usize) {
        assert!(offset.is_multiple_of(WORD_SIZE));
        assert!(offset <= self.size && WORD_SIZE <= self.size - offset);
        // SAFETY: C1 and the tests: the word is within the claim, and aligned. B1: it stays mapped.
        // B5: all threads access it as this atomic.
        let place: &Word = unsafe { &*self.at.add(offset).cast() };
        place.store(word, Ordering::Relaxed);
        (self.stored, self.stored_at) = (word, offset);
    }

    /// Stores the word with these bytes at `offset`. Its other bytes are those just put into the
    /// same word, or zeros.
    #[inline]
    fn put_within<const SIZE: usize>(&mut self, offset: usize, bytes: [u8; SIZE]) {
        let before = offset % WORD_SIZE;
        let begin = offset - before;
        let stored = if begin == self.stored_at { self.stored } else { 0 };
        let mut word = stored.to_ne_bytes();
        word[before..before + SIZE].copy_from_slice(&bytes);
        self.store(begin, usize::from_ne_bytes(word));
    }
}

impl ParamSink for Claim {
    #[inline]
    fn put_u8(&mut self, offset: usize, value: u8) {
        self.put_within(offset, [value]);
    }

    #[inline]
    fn put_u32(&mut self, offset: usize, value: u32) {
        assert!(offset.is_multiple_of(4));
        self.put_within(offset, value.to_ne_bytes());
    }

    #[inline]
    fn put_u64(&mut self, offset: usize, value: u64) {
        let words: [usize; 8 / WORD_SIZE] = bytemuck::cast(value);
        for (index, word) in words.into_iter().enumerate() {
            self.store(offset + index * WORD_SIZE, word);
        }
    }

    #[inline]
    fn put_bytes(&mut self, offset: usize, value: &[u8]) {
        assert!(offset <= self.size && value.len() <= self.size - offset);
        let last = self.state as u32 as usize;
        self.block.store(last - self.size + offset, value);
        self.stored_at = NOWHERE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::memory::{Blocks, block_size, block_size_log2};
    use eventdef::field::Field;
    use eventlog::format::{BlockHeader, BlockType};

    /// The same values in plain bytes.
    struct Bytes(Vec<u8>);

    impl ParamSink for Bytes {
        fn put_bytes(&mut self, offset: usize, value: &[u8]) {
            self.0[offset..offset + value.len()].copy_from_slice(value);
        }
    }

    /// Puts two numbers of four bytes, a byte, and a string that begins at any of these offsets.
    fn put(sink: &mut impl ParamSink, offset: usize, text: &[u8]) {
        sink.put_u64(8, 0x0102_0304_0506_0708);
        sink.put_u32(16, 0x1112_1314);
        sink.put_u32(20, 0x2122_2324);
        sink.put_u8(24, 0x31);
        if offset > 28 {
            sink.put_u32(28, 0x4142_4344);
        }
        Field::put(text, offset, sink);
    }

    /// `.write.publish`: words are stored whole, and hold the same bytes.
    #[test]
    fn a_claim_holds_the_same_bytes_as_a_vector() {
        let block = Blocks::map(1).expect("memory").get(0);
        // SAFETY: W1: no other thread knows the block.
        let mut block = unsafe { block.own() };
        for offset in [25, 26, 28, 32] {
            for length in 0..20 {
                block.begin(&BlockHeader::native(BlockType::Events, block_size_log2()));
                let text: Vec<u8> = (0..length).map(|index| b'a' + index).collect();
                let size = text.as_slice().size_after(offset);
                let mut expected = Bytes(vec![0; size]);
                put(&mut expected, offset, &text);
                let mut claim = block.claim(size).expect("room");
                claim.put_u64(0, 0);
                put(&mut claim, offset, &text);
                claim.publish();
                let mut found = vec![0; size];
                block.peek(block_size() - size, block_size(), &mut found);
                // Bytes between parameters have no meaning.
                (25..offset.min(28)).for_each(|gap| (found[gap], expected.0[gap]) = (0, 0));
                assert_eq!(found, expected.0, "{offset} {length}");
            }
        }
    }
}
