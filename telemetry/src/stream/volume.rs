//! Volumes: the gate through which whole blocks go out, their places, and the change from one file
//! of the stream to the next.
//!
//! ```text
//!  ring ── block ─▶ gate ─▶ place ─▶ plinth      one addition, one subtraction; side by side
//!                    │ shut, and nobody inside
//!                    └─ end part ─ create ─ header ─ registries ─ parts that the old one lacks
//!                    open ─ the store again, before the next block of events
//! ```
//!
//! Buffers, numbers and counts know nothing of it (`.volume.blocks`). A place is one of the volume
//! at hand, and so taken inside the gate, or under the lock of the stream, without which no volume
//! changes. Whoever cannot wait (a signal handler) asks with `try_enter`, and takes a place by
//! force: that never changes the volume. Design: `.sol.volume` in `design/telemetry.md`; section
//! 2.3 of `design/format.md`.

use crate::block::memory;
use crate::os::atomic::{AtomicU64, Ordering};
use crate::plinth::Plinth;
use crate::stream::gate::Gate;

/// The gate of the stream.
pub(crate) static GATE: Gate = Gate::new();
/// The volume at hand (`.header.volume`).
static NUMBER: AtomicU64 = AtomicU64::new(0);
/// The number of the next block in it: its place (`.stream.blocks`); block 0 is the header's
/// (`.stream.first`).
static PLACE: AtomicU64 = AtomicU64::new(1);
/// Blocks of it that a host took that only appends: as many as it has there (`.part.end`).
static APPENDED: AtomicU64 = AtomicU64::new(0);

/// Blocks of it up to the last one that a host took, which can be written anywhere.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// The last volume that has what was in the store when it began: no block of events goes into
/// another one.
static WITH_STORE: AtomicU64 = AtomicU64::new(0);
/// No volume, and nobody inside: for a forked child.
pub(crate) fn restart() {
    GATE.restart();
    NUMBER.store(0, Ordering::Relaxed);
    PLACE.store(1, Ordering::Relaxed);
    APPENDED.store(0, Ordering::Relaxed);
    WRITTEN.store(0, Ordering::Relaxed);
}

/// The number of the volume at hand.
pub(crate) fn number() -> u64 {
    NUMBER.load(Ordering::Acquire)
}

/// Begins the volume with this number. While nobody is inside the gate.
pub(crate) fn begin(number: u64) {
    PLACE.store(1, Ordering::Relaxed);
    APPENDED.store(0, Ordering::Relaxed);
    WRITTEN.store(0, Ordering::Relaxed);
    NUMBER.store(number, Ordering::Release);
}

/// Whether a volume has all that was in the store when it began.
pub(crate) fn has_store(volume: u64) -> bool {
    WITH_STORE.load(Ordering::Acquire) == volume
}

/// Notes the volume that has.
pub(crate) fn set_with_store(volume: u64) {
    WITH_STORE.store(volume, Ordering::Release);
}

/// Blocks of the volume at hand.
pub(crate) fn block_count() -> u64 {
    PLACE.load(Ordering::Relaxed)
}

/// A host that only appends took a whole block.
pub(crate) fn add_appended() {
    APPENDED.fetch_add(1, Ordering::Relaxed);
}

/// A host that can be written anywhere took bytes at an offset.
pub(crate) fn note_written(offset: u64, size: usize) {
    let count = (offset + size as u64).div_ceil(memory::block_size() as u64);
    let more = |before| (before < count).then_some(count);
    let _ = WRITTEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
}

/// Blocks of the volume at hand when its end part is written at a place. Those that were not taken
/// are not counted beyond the last that was; where blocks are appended they leave no hole, and the
/// one of the end part is still to come.
pub(crate) fn block_count_at_end(plinth: &dyn Plinth, place: u64) -> u64 {
    match plinth.can_rewrite() {
        true => WRITTEN.load(Ordering::Relaxed).max(place + 1),
        false => APPENDED.load(Ordering::Relaxed) + 1,
    }
}

/// Whether the plinth would have another volume rather than this one with so many blocks more. One
/// is always kept for the end part (`.volume.end`).
pub(crate) fn is_full_with(plinth: &dyn Plinth, count: u64) -> bool {
    plinth.wants_volume((block_count() + count + 1) * memory::block_size() as u64)
}

/// The place of another block, in the gate or under the stream's lock; `None` if the volume is to
/// change first, unless it is taken by force.
pub(crate) fn take_place(plinth: &dyn Plinth, is_forced: bool) -> Option<u64> {
    let size = memory::block_size() as u64;
    let next = |place: u64| {
        // With this block, and one for the end part.
        let is_taken = is_forced || !plinth.wants_volume((place + 2) * size);
        is_taken.then_some(place + 1)
    };
    PLACE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()
}

/// The same for a signal handler, which changes no volume.
pub(crate) fn take_place_by_force(plinth: &dyn Plinth) -> u64 {
    take_place(plinth, true).unwrap_or_default()
}

/// A whole block on its way out.
pub(crate) struct Outgoing {
    pub(crate) registry: u16,
    /// The place and the volume for which the host refused it; place 0: it goes where there is one.
    pub(crate) place: u64,
    pub(crate) volume: u64,
    /// Whether it may go before the store: it is of that, or the host does not take that.
    pub(crate) is_first: bool,
    /// Whether it goes into any volume, be it as full as it may.
    pub(crate) is_forced: bool,
}

/// What became of it.
pub(crate) enum Written {
    Yes,
    /// The host did not take it (`.write.fail`): its place, if it has one, is a hole
    /// (`.stream.hole`).
    No {
        place: u64,
        volume: u64,
    },
    /// The stream goes on in another volume, where the store is to be first (`.volume.store`).
    Elsewhere,
}
