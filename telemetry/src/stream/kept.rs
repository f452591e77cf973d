//! Room in the file for the last accounts, kept while the host has room for more.
//!
//! ```text
//!  block 0 │ header │ registries, parts │ kept │   block n │ header │ kept        many buffers
//! ```
//!
//! A host that refuses everything else has room for them here. Design: `.sol.outage` in
//! `design/telemetry.md`; `.part.account` in `design/format.md`.

use super::{Parts, STATE, open_plinth, tell};
use crate::block::memory;
use crate::block::parts::PartsBlock;
use crate::os::atomic::{AtomicU32, Ordering};
use crate::os::{entry::Entry, way_out::Crossing};
use crate::plinth::{Plinth, PlinthError, region};
use crate::stream::state::{State, written_registry_count};
use crate::stream::{account, pending, volume};
use eventlog::format::{BLOCK_HEADER_SIZE, BlockHeader};

/// The greatest number of blocks that are kept, besides the header block.
const BLOCK_COUNT_MAX: usize = 32;
/// The number of buffers to come for each buffer: a full disk has no more room for those.
const COMING: usize = 3;

static BUFFER_COUNT: AtomicU32 = AtomicU32::new(0);

/// The room that is kept in a volume.
pub(crate) struct Kept {
    /// The offset in the header block from which the host has zeros; 0: no room there.
    pub(super) in_header: usize,
    /// The places of blocks that the host has, without parts in them.
    places: [u64; BLOCK_COUNT_MAX],
    place_count: usize,
}

impl Kept {
    pub(crate) const NONE: Kept =
        Kept { in_header: 0, places: [0; BLOCK_COUNT_MAX], place_count: 0 };

    /// Returns whether buffers may soon be too many for the room.
    fn is_short(&self) -> bool {
        let in_blocks = self.place_count * (memory::block_size() - BLOCK_HEADER_SIZE);
        let room = PartsBlock::kept_size(memory::block_size()) + in_blocks;
        self.in_header != 0 && self.place_count < BLOCK_COUNT_MAX && room < size_expected()
    }

    fn add(&mut self, place: u64) {
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

/// Notes that another buffer was made, and keeps room for the last accounts.
pub(crate) fn expect_buffer(entry: &Entry) {
    BUFFER_COUNT.fetch_add(1, Ordering::Relaxed);
    let Some(plinth) = open_plinth().filter(|plinth| plinth.can_rewrite()) else { return };
    // No thread waits for a slow host here without need.
    if size_expected() > PartsBlock::kept_size(memory::block_size())
        && let Some(mut state) = STATE.lock(entry)
    {
        let _ = keep(&mut state, plinth).inspect_err(tell);
    }
}

/// Keeps room for the last accounts of all buffers, as long as the host has room. A mapped file
/// has its room from the beginning, and its blocks belong to the rings.
pub(super) fn keep(state: &mut State, plinth: &dyn Plinth) -> Result<(), PlinthError> {
    while state.kept.is_short() && !region::is_there() {
        let Some(block) = state.copy.as_deref_mut() else { break };
        let Some(place) = volume::take_place(plinth, false) else { break };
        PartsBlock::put_empty(block, pending::take_number());
        let crossing = Crossing::begin();
        let offset = place * memory::block_size() as u64;
        crossing.carry(offset, block);
        plinth.write_block(offset, block)?;
        account::add_bytes(block.len());
        volume::note_written(offset, block.len());
        state.kept.add(place);
    }
    Ok(())
}

impl State {
    /// Returns whether another part without payload fits, and the end after it.
    fn has_room_for_account(&self) -> bool {
        let room = self.parts.as_ref().and_then(PartsBlock::room);
        let is_there = room.is_some_and(|room| room >= BLOCK_HEADER_SIZE);
        !self.is_last || is_there || self.kept.place_count != 0
    }

    /// Begins the last account, where the host has room for it even if it refuses everything else.
    fn begin_last(&mut self) {
        if let Some(parts) = self.parts.as_mut().filter(|parts| parts.place() != 0)
            && self.kept.in_header != 0
        {
            pending::clear();
            parts.begin_last(0, self.kept.in_header);
            // Other accounts were given up with the waiting parts.
            self.registry_count = written_registry_count();
            self.registry_offset = 0;
        } else if let Some(parts) = self.parts.as_mut() {
            parts.open_kept();
        }
        self.is_last = true;
    }
}

impl Parts<'_> {
    /// Begins the last account (`.part.account`), for which even a full disk has room.
    pub(crate) fn begin_last(&mut self) {
        self.deliver();
        self.state.begin_last();
    }

    /// Puts an account; a last one includes the waiting events of its buffer. Returns false if no
    /// room is left.
    pub(crate) fn put_account(&mut self, mut header: BlockHeader) -> bool {
        if self.state.is_last {
            let waiting = self.state.waiting.count_of(header.buffer.get());
            header.discarded_io = header.discarded_io.get().saturating_add(waiting).into();
            if !header.has_losses() {
                return true;
            }
        }
        self.state.has_room_for_account() && self.push_events(header, |_, _| {})
    }
}
