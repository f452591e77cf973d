//! The mapped ring: a file whose pages are the blocks that threads record into.
//!
//! ```text
//!  │ header │ store, parts … │ blocks of kinds: open, closed, …                    │
//!  0        1                permanent_end                                         count
//!             never given up   taken and closed by rings, by turns: `pools.rs`
//! ```
//!
//! One for the process at most. What only one thread may do at a time (who has which block, which
//! is the newest of a buffer) is behind one lock, which is held for as long as it takes to begin a
//! block. Design: `.sol.mapped` in `design/telemetry.md`; section 8 of `design/format.md`.

use crate::block::memory::{self, Block, Blocks};
use crate::block::parts::PartsBlock;
use crate::block::root;
use crate::os::link::Link;
use crate::os::report;
use crate::os::sync::{Entry, Guard, Locked};
use crate::plinth::pools::{POOL_COUNT_MAX, Pools};
use crate::plinth::{Operation, PlinthError};
use crate::registry::registration;
use crate::rings::ring::Ring;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};
use eventlog::format::{BLOCK_HEADER_SIZE, STREAM_HEADER_SIZE, encoded_registry_size};

/// One block in so many is kept for the store and for parts.
const PERMANENT_FRACTION: usize = 8;
/// Blocks that a kind which is output needs at least: one to fill, and one before it.
const KIND_BLOCK_COUNT: usize = 2;

/// The blocks of the file.
struct Region {
    blocks: Blocks,
    /// Whether the file has its name, and rings take its blocks.
    is_open: AtomicBool,
    state: Locked<State>,
}

/// Who has which block.
pub(crate) struct State {
    blocks: Blocks,
    pools: Pools,
    /// The ring that each block is of.
    rings: &'static mut [Link<Ring>],
    /// The next block for the store or for parts, and the end of those.
    permanent: u32,
    permanent_end: u32,
    exhaustion_told: bool,
}

static REGION: Link<Region> = Link::none();
/// Whether a parent process had one.
static EXPECTED: AtomicBool = AtomicBool::new(false);

fn open_one() -> Option<&'static Region> {
    REGION.get().filter(|region| region.is_open.load(Ordering::Acquire))
}

/// Whether there is a file, and rings take its blocks.
pub(crate) fn is_open() -> bool {
    open_one().is_some()
}

/// Whether there is a file, though it may not have its name yet.
pub(crate) fn is_there() -> bool {
    REGION.get().is_some()
}

/// Whether a block is one of the file.
pub(crate) fn has(block: Block) -> bool {
    REGION.get().is_some_and(|region| region.blocks.has(block))
}

/// Whether this is a forked child whose parent's stream was a mapped file: its own is to be there
/// before it records, and begins with its first event.
pub(crate) fn is_expected() -> bool {
    EXPECTED.load(Ordering::Relaxed)
}

/// How many blocks the file has; or so many, where there is none.
pub(crate) fn block_count_or(other: u64) -> u64 {
    REGION.get().map_or(other, |region| region.blocks.count() as u64)
}

/// The size of the file, in bytes; 0: there is none.
pub(crate) fn size() -> u64 {
    block_count_or(0) * memory::block_size() as u64
}

/// Blocks that are not for events: the header, the store, and registries in this many blocks of
/// parts.
fn permanent_count(block_count: usize, parts_count: usize) -> usize {
    1 + (block_count / PERMANENT_FRACTION).max(parts_count + 1)
}

/// The least that a file must have, in blocks, for registries in this many blocks of parts, and so
/// many kinds that are output.
pub(crate) fn block_count_min(parts_count: usize, kind_count: usize) -> usize {
    let data = KIND_BLOCK_COUNT * kind_count.max(1);
    // The permanent share grows with the file.
    let least = permanent_count(0, parts_count) + data;
    (least..).find(|count| permanent_count(*count, parts_count) + data <= *count).unwrap_or(least)
}

/// Maps a file of so many blocks, all zeros (`.ring.size`). It is not open yet. `None`: there is no
/// memory.
pub(crate) fn map(file: c_int, block_count: usize, parts_count: usize) -> Option<()> {
    let permanent_end = permanent_count(block_count, parts_count) as u32;
    let slots = memory::map_slice(block_count)?;
    let rings = memory::map_slice(block_count)?;
    let pools = Pools::new(slots, memory::map_slice(POOL_COUNT_MAX)?, permanent_end);
    let blocks = Blocks::map_file(file, block_count)?;
    let exhaustion_told = false;
    let state = State { blocks, pools, rings, permanent: 1, permanent_end, exhaustion_told };
    let is_open = AtomicBool::new(false);
    REGION.set(Some(memory::place(Region { blocks, is_open, state: Locked::new(state) })?));
    Some(())
}

/// Maps it again, now that it has a name.
pub(crate) fn map_again(file: c_int) {
    if let Some(region) = REGION.get() {
        region.blocks.map_file_again(file);
    }
}

/// From now on rings take its blocks.
pub(crate) fn open() {
    if let Some(region) = REGION.get() {
        root::add_mapped(&region.blocks);
        region.is_open.store(true, Ordering::Release);
    }
}

/// There is none any more: no ring has a block of it.
pub(crate) fn forget() {
    REGION.set(None);
}

/// Leaves the file to the parent process. In a forked child, after all rings have
/// [left](Ring::leave_file_at_fork).
pub(crate) fn leave() {
    if let Some(region) = REGION.get() {
        EXPECTED.store(true, Ordering::Relaxed);
        REGION.set(None);
        region.blocks.leave_file();
    }
}

/// Puts bytes into the file. False: there is none, or they do not fit.
pub(crate) fn put_bytes(offset: u64, bytes: &[u8]) -> bool {
    let Some(region) = REGION.get() else { return false };
    let size = memory::block_size() as u64;
    let (place, at) = (offset / size, (offset % size) as usize);
    if place >= region.blocks.count() as u64 || bytes.len() > size as usize - at {
        return false;
    }
    region.blocks.get(place).put_bytes(at, bytes);
    true
}

/// The place of another block of parts: here one that is never given up; there are so many.
pub(crate) fn take_parts_place() -> Result<u64, PlinthError> {
    let none = PlinthError { operation: Operation::Write, errno: libc::ENOSPC };
    let region = REGION.get().ok_or(none)?;
    let mut state = region.state.lock_waiting().ok_or(none)?;
    if state.permanent == state.permanent_end {
        return Err(none);
    }
    state.permanent += 1;
    Ok(u64::from(state.permanent - 1))
}

/// Blocks of parts that the registries so far may need beside the header block.
pub(crate) fn parts_block_count() -> usize {
    let room = PartsBlock::payload_size_max(memory::block_size()) - STREAM_HEADER_SIZE;
    // Each has a header, as has each piece, and may leave a remainder too small for one.
    let sizes = registration::all().map(|each| encoded_registry_size(each.control.registry));
    let whole = sizes.map(|size| size + 3 * BLOCK_HEADER_SIZE).sum::<usize>();
    whole.div_ceil(room).saturating_sub(1)
}

/// The same for the store, which leaves one for parts.
pub(crate) fn take_store_block(entry: &Entry) -> Option<Block> {
    let mut state = open_one()?.state.lock(entry)?;
    let place = state.permanent;
    (place + 1 < state.permanent_end).then(|| {
        state.permanent += 1;
        state.blocks.get(u64::from(place))
    })
}

/// Takes the lock of it; `None` where there is none, or that must wait.
pub(crate) fn lock(entry: &Entry) -> Option<Guard<'static, State>> {
    open_one()?.state.lock(entry)
}

/// A block that a ring was given, which is not begun yet.
pub(crate) struct Taken {
    pub(crate) place: u32,
    pub(crate) block: Block,
}

impl State {
    pub(crate) fn block(&self, place: u32) -> Block {
        self.blocks.get(u64::from(place))
    }

    /// Gives a ring the block that it is to fill next. What that held is counted as overwritten, by
    /// the ring whose it was. `own`: the block that it fills so far, which is given again if there
    /// is no other. `None`, which is said once: there is no block for it (`.ring.full`).
    pub(crate) fn take(&mut self, ring: &'static Ring, own: Option<u32>) -> Option<Taken> {
        let Some(taken) = self.pools.take(ring.pool_owner(), own) else {
            if !core::mem::replace(&mut self.exhaustion_told, true) {
                let count = self.blocks.count();
                report::say(format_args!(
                    "more threads record a kind than the ring of {count} blocks has room for; \
                     their events are counted as `full`, the program goes on"
                ));
            }
            return None;
        };
        let block = self.block(taken.place);
        if taken.is_fresh {
            block.touch();
        } else if let Some(before) = self.rings[taken.place as usize].get() {
            before.give_up_block(self, taken.place);
        }
        self.rings[taken.place as usize].set(Some(ring));
        Some(Taken { place: taken.place, block })
    }

    /// The ring whose block that one is to begin anew, and the block.
    pub(crate) fn victim(&mut self, ring: &Ring) -> Option<(&'static Ring, u32)> {
        let place = self.pools.victim(ring.pool_owner())?;
        Some((self.rings[place as usize].get()?, place))
    }

    /// Whether there is room for what is told of buffers that are in the file no more: not where it
    /// would come to be missing for the store.
    pub(crate) fn has_room_to_tell(&self) -> bool {
        self.permanent <= self.permanent_end / 2
    }

    /// Nothing more is recorded into a block: it may be given up.
    pub(crate) fn close(&mut self, place: u32) {
        self.pools.close(place);
    }

    /// Whether a block is being filled.
    pub(crate) fn is_filled(&self, place: u32) -> bool {
        self.pools.is_open(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.ring.share`
    #[test]
    fn the_least_size_has_two_blocks_for_each_kind_and_room_for_registries() {
        assert_eq!(block_count_min(0, 1), 1 + 1 + 2);
        assert_eq!(block_count_min(2, 7), 1 + 3 + 14);
        for (parts_count, kind_count) in [(0, 0), (0, 7), (3, 64), (9, 448)] {
            let count = block_count_min(parts_count, kind_count);
            let data = count - permanent_count(count, parts_count);
            assert!(data >= 2 * kind_count.max(1), "{parts_count} {kind_count}");
        }
    }
}
