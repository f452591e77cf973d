//! The header of a block as atomic words, and the order of their stores and loads.
//!
//! ```text
//!  owner    state ─ relaxed ─▶ bytes below *last* ─▶ publish: state, release
//!  others                      state, acquire ─▶ [last, top)
//!  begin    magic 0 ─ fence ─▶ the other words ─▶ magic, release
//! ```
//!
//! It accesses no memory of its own: the models in `tests/models` run it on their atomics. Design:
//! `.sol.ordering` in `design/telemetry.md`; `.write` in `design/format.md`.

use crate::os::atomic::{AtomicU64, Ordering, fence};
use core::mem::offset_of;
use eventlog::format::{BLOCK_HEADER_SIZE, BlockHeader};

pub(crate) const HEADER_WORD_COUNT: usize = BLOCK_HEADER_SIZE / 8;
pub(crate) const STATE_WORD: usize = offset_of!(BlockHeader, last) / 8;
const BASE_LAST_WORD: usize = offset_of!(BlockHeader, base_last) / 8;
const _: () = assert!(offset_of!(BlockHeader, last).is_multiple_of(8));
const _: () = assert!(offset_of!(BlockHeader, count) == offset_of!(BlockHeader, last) + 4);
const _: () = assert!(offset_of!(BlockHeader, base_last).is_multiple_of(8));

pub(crate) type Words = [AtomicU64; HEADER_WORD_COUNT];

/// Stores the header of a block that starts again (`.write.begin`): at every instant the header is
/// either absent or whole.
pub(crate) fn begin(words: &Words, header: &BlockHeader) {
    words[0].store(0, Ordering::Relaxed);
    // The zero comes before the other words.
    fence(Ordering::Release);
    put(words, header);
}

/// Stores a header, the word with the magic and the flags last. No thread may be recording into the
/// block.
pub(crate) fn put(words: &Words, header: &BlockHeader) {
    let values: [u64; HEADER_WORD_COUNT] = bytemuck::cast(*header);
    for (index, (word, value)) in words.iter().zip(values).enumerate().skip(1) {
        // A thread may load this store instead of that of `publish`: published events stay visible.
        let ordering = if index == STATE_WORD { Ordering::Release } else { Ordering::Relaxed };
        word.store(value, ordering);
    }
    words[0].store(values[0], Ordering::Release);
}

/// Returns the current header. Words that the owner is about to change may be old or new.
pub(crate) fn get(words: &Words) -> BlockHeader {
    let mut values = [0u64; HEADER_WORD_COUNT];
    for (value, word) in values.iter_mut().zip(words) {
        *value = word.load(Ordering::Acquire);
    }
    bytemuck::cast(values)
}

/// Returns *last* and *count* (`.block.last`, `.block.count`), for any thread: the bytes at *last*
/// and above are published, and may be read.
pub(crate) fn state(words: &Words) -> (u32, u32) {
    let state = u64::from_le(words[STATE_WORD].load(Ordering::Acquire));
    (state as u32, (state >> 32) as u32)
}

/// Returns the word with *last* and *count*, for the thread that records.
#[inline(always)]
pub(crate) fn own_state(words: &Words) -> u64 {
    u64::from_le(words[STATE_WORD].load(Ordering::Relaxed))
}

/// Publishes the event below *last* (`.write.publish`).
#[inline(always)]
pub(crate) fn publish(words: &Words, state: u64) {
    words[STATE_WORD].store(state.to_le(), Ordering::Release);
}

/// Stores *base last*, before its base record is published (`.write.publish`).
pub(crate) fn put_base_last(words: &Words, base: u64) {
    words[BASE_LAST_WORD].store(base.to_le(), Ordering::Relaxed);
}
