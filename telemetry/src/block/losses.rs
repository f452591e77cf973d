//! Losses: the counts of events that were not recorded or not output, by cause.
//!
//! ```text
//!  requested = recorded + full + nested + large
//!  recorded  = in the log + overwritten + io + still in memory
//! ```
//!
//! Every loss is counted: the counts travel in block headers, and the store records those of events
//! without a buffer. Design: `.req.loss` in `design/telemetry.md`; `.block.discarded`,
//! `.store.discarded` in `design/format.md`.

use crate::offered::Losses;
use core::sync::atomic::{AtomicU64, Ordering};
use eventlog::format::{BlockHeader, EXTENT_COUNTS};

/// Why an event was discarded. The numbers are those of `.store.discarded`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Full = 0,
    Nested = 1,
    Large = 2,
    Io = 3,
}

pub(crate) const CAUSES: [Cause; 4] = [Cause::Full, Cause::Nested, Cause::Large, Cause::Io];

/// The counts of a buffer, in the order that readers of memory know (`.root.counts`).
#[derive(Debug, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct Counts {
    discarded: [AtomicU64; CAUSES.len()],
    overwritten: AtomicU64,
}

const _: () = assert!(size_of::<Counts>() == EXTENT_COUNTS * 8);
const _: () = assert!(core::mem::offset_of!(Counts, overwritten) == (EXTENT_COUNTS - 1) * 8);

impl Counts {
    pub(crate) const fn new() -> Counts {
        Counts { discarded: [const { AtomicU64::new(0) }; 4], overwritten: AtomicU64::new(0) }
    }

    pub(crate) fn discard(&self, cause: Cause, count: u64) {
        self.discarded[cause as usize].fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn overwrite(&self, count: u64) {
        self.overwritten.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn discarded(&self, cause: Cause) -> u64 {
        self.discarded[cause as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn overwritten(&self) -> u64 {
        self.overwritten.load(Ordering::Relaxed)
    }

    /// Resets all counts, in a forked child.
    pub(crate) fn reset(&self) {
        for count in self.discarded.iter().chain([&self.overwritten]) {
            // A page without stores stays shared with the parent.
            if count.load(Ordering::Relaxed) != 0 {
                count.store(0, Ordering::Relaxed);
            }
        }
    }

    /// Forgets the losses of the parent's events, counted since [`reset`](Counts::reset): the child
    /// did not lose them.
    pub(crate) fn forgive_parent(&self) {
        self.discarded[Cause::Io as usize].store(0, Ordering::Relaxed);
        self.overwritten.store(0, Ordering::Relaxed);
    }

    /// Returns the sum of all counts, which changes when one does.
    pub(crate) fn sum(&self) -> u64 {
        let discarded = CAUSES.map(|cause| self.discarded(cause)).iter().sum::<u64>();
        discarded.wrapping_add(self.overwritten())
    }

    /// Puts the counts into a header (`.block.discarded`, `.block.overwritten`).
    pub(crate) fn put(&self, header: &mut BlockHeader) {
        let clamped = |cause| u32::try_from(self.discarded(cause)).unwrap_or(u32::MAX).into();
        header.discarded_full = clamped(Cause::Full);
        header.discarded_nested = clamped(Cause::Nested);
        header.discarded_large = clamped(Cause::Large);
        header.discarded_io = clamped(Cause::Io);
        header.overwritten = self.overwritten().into();
    }
}

impl Losses {
    pub(crate) fn of(recorded: u64, counts: &Counts) -> Losses {
        let [full, nested, large, io] = CAUSES.map(|cause| counts.discarded(cause));
        let requested = recorded + full + nested + large;
        Losses { requested, recorded, overwritten: counts.overwritten(), full, nested, large, io }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eventlog::format::BlockType;

    /// `.block.discarded`, `.block.overwritten`
    #[test]
    fn counts_of_32_bits_stop_at_their_maximum() {
        let counts = Counts::new();
        counts.discard(Cause::Nested, u64::from(u32::MAX) + 7);
        counts.discard(Cause::Io, 3);
        counts.overwrite(u64::from(u32::MAX) + 9);
        let mut header = BlockHeader::native(BlockType::Events, 12);
        counts.put(&mut header);
        assert_eq!(header.discarded_nested.get(), u32::MAX);
        assert_eq!((header.discarded_full.get(), header.discarded_io.get()), (0, 3));
        assert_eq!(header.overwritten.get(), u64::from(u32::MAX) + 9);
    }
}
