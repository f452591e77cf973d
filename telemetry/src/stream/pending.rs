//! What a signal handler may know about the stream without its lock: the waiting parts, and the
//! registries that were put into parts.
//!
//! ```text
//!  parts block  │ header │ part │ part │ half a pa…     `place`, while something waits
//!                          whole: sealed ┘└ not yet
//! ```
//!
//! The handler reads the memory of the parts block as a core dump would show it: the checksum of
//! each part shows whether it is whole. Design: `.sol.exit` in `design/telemetry.md`;
//! `.parts.sealed` in `design/format.md`.

use crate::block::memory::{self, BlockLink, PartsMemory};
use crate::block::parts;
use crate::os::atomic::{AtomicU64, Ordering, fence};

struct Pending {
    /// The memory of the parts block.
    parts: BlockLink,
    /// One more than its place; 0: the host has all of it, or it has just started again.
    place: AtomicU64,
    /// The number of registries that were put into parts, in the upper half, and how much of the
    /// next.
    registries: AtomicU64,
    /// The number of parts blocks so far, without block 0.
    count: AtomicU64,
}

static PENDING: Pending = Pending {
    parts: BlockLink::none(),
    place: AtomicU64::new(0),
    registries: AtomicU64::new(0),
    count: AtomicU64::new(0),
};

/// Notes that the stream has begun, with this memory of its parts block.
pub(crate) fn begin(memory: &PartsMemory) {
    PENDING.parts.set(memory.block());
}

/// Forgets the stream, in a forked child.
pub(crate) fn restart() {
    clear();
    PENDING.parts.clear();
    PENDING.count.store(0, Ordering::Relaxed);
}

pub(crate) fn has_begun() -> bool {
    PENDING.parts.find().is_some()
}

/// Notes that parts wait at this place.
pub(crate) fn set(place: u64) {
    PENDING.place.store(place + 1, Ordering::Release);
}

/// Notes that no parts wait, or that they are about to change.
pub(crate) fn clear() {
    PENDING.place.store(0, Ordering::Relaxed);
    fence(Ordering::Release);
}

/// Copies the whole waiting parts to `out`; returns their place and size.
pub(crate) fn copy(out: &mut [u8]) -> Option<(u64, usize)> {
    let place = PENDING.place.load(Ordering::Acquire).checked_sub(1)?;
    PENDING.parts.find()?.peek(0, memory::block_size(), out);
    fence(Ordering::Acquire);
    let is_still = PENDING.place.load(Ordering::Relaxed) == place + 1;
    is_still.then(|| (place, parts::sound_size(out, place == 0)))
}

/// Notes the number of registries that were put into parts, and how much of the next one.
pub(crate) fn note_registries(count: usize, offset: usize) {
    PENDING.registries.store((count as u64) << 32 | offset as u64, Ordering::Release);
}

pub(crate) fn registries() -> (usize, usize) {
    let put = PENDING.registries.load(Ordering::Acquire);
    ((put >> 32) as usize, put as u32 as usize)
}

/// Takes the number of another parts block (`.parts.header`).
pub(crate) fn take_number() -> u64 {
    PENDING.count.fetch_add(1, Ordering::Relaxed)
}
