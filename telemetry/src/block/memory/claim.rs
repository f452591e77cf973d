//! A claim: the space of an event that is being recorded.
//!
//! ```text
//!  block  │ header │ ···· gap ···· │ claim │ published …     publish: *last* comes down to it
//! ```
//!
//! Design: `.event`, `.write.publish` in `design/format.md`.
#![expect(unsafe_code, reason = "events laid out in the memory of a block")]

use super::Block;
use crate::block::header_words;
use eventdef::ParamSink;
use eventlog::format::{BASE_RECORD_SIZE, BaseRecord, EventHeader, block_state, block_state_step};

/// The space of an event that is being recorded: not there for anybody until published.
pub(crate) struct Claim {
    /// C1: `size` bytes of `block`, just below the *last* of `state`.
    pub(super) at: *mut u8,
    pub(super) size: usize,
    pub(super) block: Block,
    pub(super) state: u64,
}

impl Claim {
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

    /// Makes it a base record and publishes that: *base last* first, and no event more
    /// (`.write.publish`).
    pub(crate) fn publish_base(mut self, record: &BaseRecord) {
        assert_eq!(self.size, BASE_RECORD_SIZE);
        self.put_bytes(0, bytemuck::bytes_of(record));
        header_words::put_base_last(self.block.words(), record.base);
        let (last, count) = (self.state as u32, (self.state >> 32) as u32);
        let state = block_state(last - self.size as u32, count);
        header_words::publish(self.block.words(), state);
    }

    /// Where `size` bytes at `offset` go, both within the claim.
    #[inline(always)]
    fn place(&self, offset: usize, size: usize) -> *mut u8 {
        assert!(offset <= self.size && size <= self.size - offset);
        // SAFETY: C1 and the test: within the claim.
        unsafe { self.at.add(offset) }
    }
}

impl ParamSink for Claim {
    #[inline(always)]
    fn put_u8(&mut self, offset: usize, value: u8) {
        // SAFETY: C1; B4: this thread is the one that writes below *last*.
        unsafe { self.place(offset, 1).write(value) };
    }

    #[inline(always)]
    fn put_u32(&mut self, offset: usize, value: u32) {
        assert!(offset.is_multiple_of(4));
        // SAFETY: C1; B4; B1 and B3 align the claim to 8.
        unsafe { self.place(offset, 4).cast::<u32>().write(value) };
    }

    #[inline(always)]
    fn put_u64(&mut self, offset: usize, value: u64) {
        assert!(offset.is_multiple_of(8));
        // SAFETY: C1; B4; B1 and B3 align the claim to 8.
        unsafe { self.place(offset, 8).cast::<u64>().write(value) };
    }

    #[inline(always)]
    fn put_bytes(&mut self, offset: usize, value: &[u8]) {
        let place = self.place(offset, value.len());
        // SAFETY: C1; B4; `value` is no part of a claim, which nobody else can point to.
        unsafe { core::ptr::copy_nonoverlapping(value.as_ptr(), place, value.len()) };
    }
}
