//! What a signal handler may know about the stream without its lock: the waiting parts, and the
//! registries that were put into parts.
//!
//! ```text
//!  parts block  │ header │ part │ part │ half a pa…     PENDING: its place, while something waits
//!                          whole: sealed ┘└ not yet
//! ```
//!
//! The handler reads the memory of the parts block as a core dump would show it: the checksum of
//! each part shows whether it is whole. Design: `.sol.exit` in `design/telemetry.md`;
//! `.parts.sealed` in `design/format.md`.

use crate::block::memory::{self, BlockLink, PartsMemory};
use crate::block::parts;
use crate::os::atomic::{AtomicU64, Ordering, fence};

/// The memory of the parts block.
static PARTS: BlockLink = BlockLink::none();
/// One more than its place; 0: the host has all of it, or it has just started again.
static PENDING: AtomicU64 = AtomicU64::new(0);
/// The number of registries that were put into parts, in the upper half, and how much of the next.
static REGISTRIES: AtomicU64 = AtomicU64::new(0);
/// The number of parts blocks so far, without block 0.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Notes that the stream has begun, with this memory of its parts block.
pub(crate) fn begin(memory: &PartsMemory) {
    PARTS.set(memory.block());
}

/// Forgets the stream, in a forked child.
pub(crate) fn restart() {
    clear();
    PARTS.clear();
    REGISTRIES.store(0, Ordering::Relaxed);
    COUNT.store(0, Ordering::Relaxed);
}

pub(crate) fn has_begun() -> bool {
    PARTS.find().is_some()
}

/// Notes that parts wait at this place.
pub(crate) fn set(place: u64) {
    PENDING.store(place + 1, Ordering::Release);
}

/// Notes that no parts wait, or that they are about to change.
pub(crate) fn clear() {
    PENDING.store(0, Ordering::Relaxed);
    fence(Ordering::Release);
}

/// Copies the whole waiting parts to `out`; returns their place and size.
pub(crate) fn copy(out: &mut [u8]) -> Option<(u64, usize)> {
    let place = PENDING.load(Ordering::Acquire).checked_sub(1)?;
    PARTS.find()?.peek(0, memory::block_size(), out);
    fence(Ordering::Acquire);
    let is_still = PENDING.load(Ordering::Relaxed) == place + 1;
    is_still.then(|| (place, parts::sound_size(out, place == 0)))
}

/// Notes the number of registries that were put into parts, and how much of the next one.
pub(crate) fn note_registries(count: usize, offset: usize) {
    REGISTRIES.store((count as u64) << 32 | offset as u64, Ordering::Release);
}

pub(crate) fn registries() -> (usize, usize) {
    let put = REGISTRIES.load(Ordering::Acquire);
    ((put >> 32) as usize, put as u32 as usize)
}

/// Takes the number of another parts block (`.parts.header`).
pub(crate) fn take_number() -> u64 {
    COUNT.fetch_add(1, Ordering::Relaxed)
}
