//! Room in the file that is reserved for the last accounts, while the host has room for more.
//!
//! ```text
//!  block 0 │ header │ registries, parts │ room │   block n │ header │ room        many buffers
//! ```
//!
//! A host that refuses everything else has room for them here. Design: `.sol.outage` in
//! `design/telemetry.md`; `.part.account` in `design/format.md`.

use crate::block::memory;
use crate::block::parts::PartsBlock;
use crate::os::atomic::{AtomicU32, Ordering};
use eventlog::format::BLOCK_HEADER_SIZE;

/// The greatest number of reserved blocks, besides the header block.
const BLOCK_COUNT_MAX: usize = 32;
/// The number of buffers to come for each buffer: a full disk has no more room for those.
const COMING: usize = 3;

static BUFFER_COUNT: AtomicU32 = AtomicU32::new(0);

/// The room that is reserved in a volume.
pub(super) struct Reserved {
    /// The offset in the header block from which the host has zeros; 0: no room there.
    pub(super) in_header: usize,
    /// The places of blocks that the host has, without parts in them.
    places: [u64; BLOCK_COUNT_MAX],
    pub(super) place_count: usize,
}

impl Reserved {
    pub(super) const NONE: Reserved =
        Reserved { in_header: 0, places: [0; BLOCK_COUNT_MAX], place_count: 0 };

    /// Returns whether buffers may soon be too many for the room.
    pub(super) fn is_short(&self) -> bool {
        let in_blocks = self.place_count * (memory::block_size() - BLOCK_HEADER_SIZE);
        let room = PartsBlock::kept_size(memory::block_size()) + in_blocks;
        self.in_header != 0 && self.place_count < BLOCK_COUNT_MAX && room < size_expected()
    }

    pub(super) fn add(&mut self, place: u64) {
        self.places[self.place_count] = place;
        self.place_count += 1;
    }

    /// Takes a block for accounts; returns its place.
    pub(super) fn take(&mut self) -> Option<u64> {
        self.place_count = self.place_count.checked_sub(1)?;
        Some(self.places[self.place_count])
    }
}

/// Returns the size of the accounts of all buffers, and of those that come when the disk is full.
fn size_expected() -> usize {
    let count = (1 + COMING) * BUFFER_COUNT.load(Ordering::Relaxed) as usize;
    count * BLOCK_HEADER_SIZE
}

/// Returns whether the accounts of all buffers, with another one, may be too many for the header
/// block.
pub(super) fn note_buffer() -> bool {
    BUFFER_COUNT.fetch_add(1, Ordering::Relaxed);
    size_expected() > PartsBlock::kept_size(memory::block_size())
}
