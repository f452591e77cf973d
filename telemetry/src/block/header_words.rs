//! The header of a block as atomic words: who stores and loads them, in which order.
//!
//! ```text
//!  owner    state ─ relaxed ─▶ bytes below *last* ─▶ publish: state, release
//!  others                      state, acquire ─▶ [last, top)
//!  begin    magic 0 ─ fence ─▶ the other words ─▶ magic, release
//! ```
//!
//! Knows no memory: the models of `tests/models` run it on atomics of their own. Design:
//! `.sol.ordering` in `design/telemetry.md`; `.write` in `design/format.md`.

use crate::os::atomic::{AtomicU64, Ordering, fence};
use core::mem::offset_of;
use eventlog::format::{BLOCK_HEADER_SIZE, BlockHeader};

/// Words in a block header.
pub(crate) const HEADER_WORD_COUNT: usize = BLOCK_HEADER_SIZE / 8;
/// The word with *last* and *count*.
pub(crate) const STATE_WORD: usize = offset_of!(BlockHeader, last) / 8;
/// The word with *base last*.
const BASE_LAST_WORD: usize = offset_of!(BlockHeader, base_last) / 8;
const _: () = assert!(offset_of!(BlockHeader, last).is_multiple_of(8));
const _: () = assert!(offset_of!(BlockHeader, count) == offset_of!(BlockHeader, last) + 4);
const _: () = assert!(offset_of!(BlockHeader, base_last).is_multiple_of(8));

/// The words of a block header.
pub(crate) type Words = [AtomicU64; HEADER_WORD_COUNT];

/// Stores the header of a block that begins anew (`.write.begin`): at every instant it is either
/// not there or whole.
pub(crate) fn begin(words: &Words, header: &BlockHeader) {
    words[0].store(0, Ordering::Relaxed);
    // The zero comes before what follows it.
    fence(Ordering::Release);
    put(words, header);
}

/// Stores a header, the word with the magic and the flags last. For a block that nobody records
/// into just now.
pub(crate) fn put(words: &Words, header: &BlockHeader) {
    let values: [u64; HEADER_WORD_COUNT] = bytemuck::cast(*header);
    for (index, (word, value)) in words.iter().zip(values).enumerate().skip(1) {
        // What was published stays so for whoever loads this store rather than that of `publish`.
        let ordering = if index == STATE_WORD { Ordering::Release } else { Ordering::Relaxed };
        word.store(value, ordering);
    }
    words[0].store(values[0], Ordering::Release);
}

/// The header as it is now. What its owner is about to change may be old or new.
pub(crate) fn get(words: &Words) -> BlockHeader {
    let mut values = [0u64; HEADER_WORD_COUNT];
    for (value, word) in values.iter_mut().zip(words) {
        *value = word.load(Ordering::Acquire);
    }
    bytemuck::cast(values)
}

/// *last* and *count* (`.block.last`, `.block.count`), for any thread: what is at *last* and above
/// was published, and may be read.
pub(crate) fn state(words: &Words) -> (u32, u32) {
    let state = u64::from_le(words[STATE_WORD].load(Ordering::Acquire));
    (state as u32, (state >> 32) as u32)
}

/// The word that they make, for the thread that records.
#[inline(always)]
pub(crate) fn own_state(words: &Words) -> u64 {
    u64::from_le(words[STATE_WORD].load(Ordering::Relaxed))
}

/// Publishes what was put below *last* (`.write.publish`).
#[inline(always)]
pub(crate) fn publish(words: &Words, state: u64) {
    words[STATE_WORD].store(state.to_le(), Ordering::Release);
}

/// Stores *base last*, before its base record is published (`.write.publish`).
pub(crate) fn put_base_last(words: &Words, base: u64) {
    words[BASE_LAST_WORD].store(base.to_le(), Ordering::Relaxed);
}
