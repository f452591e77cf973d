//! The mapped ring: a file whose pages are the blocks that threads record into.
//!
//! ```text
//!  │ header │ store, parts … │ blocks of kinds: open, closed, …                    │
//!  0        1                permanent_end                                         count
//!             never given up   taken and closed by rings, by turns                 └▶ kept: copies
//! ```
//!
//! One for the process at most. Which ring has which block is known to the rings (`shares.rs`).
//! Design: `.sol.mapped` in `design/telemetry.md`; section 8 of `design/format.md`.

use crate::block::memory::{self, Block, Blocks};
use crate::block::parts::PartsBlock;
use crate::block::root;
use crate::os::link::Link;
use crate::os::pages;
use crate::plinth::{Operation, PlinthError};
use crate::registry::registration;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use eventlog::format::{BLOCK_HEADER_SIZE, STREAM_HEADER_SIZE, encoded_registry_size};

/// The store and parts get the number of blocks divided by this.
const PERMANENT_FRACTION: usize = 8;
/// The least number of blocks of an output kind: one to fill, and one before it.
const KIND_BLOCK_COUNT: usize = 2;

pub(crate) struct Region {
    pub(crate) blocks: Blocks,
    /// Whether the file has its name, and rings take its blocks.
    is_open: AtomicBool,
    /// The next block for the store or for parts, and the end of those.
    permanent: AtomicU32,
    pub(crate) permanent_end: u32,
    /// Where blocks are kept behind the ring; `None`: none is.
    kept: Option<Kept>,
}

/// Places behind the ring.
struct Kept {
    /// The next one.
    next: AtomicU64,
    /// That after the last one with a block.
    end: AtomicU64,
}

static REGION: Link<Region> = Link::none();
/// Whether a parent process had a file.
static EXPECTED: AtomicBool = AtomicBool::new(false);

/// Returns the file, if rings take its blocks.
pub(crate) fn open_one() -> Option<&'static Region> {
    REGION.get().filter(|region| region.is_open.load(Ordering::Acquire))
}

/// Returns whether a file exists, and rings take its blocks.
pub(crate) fn is_open() -> bool {
    open_one().is_some()
}

/// Returns whether a file exists, perhaps without its name yet.
pub(crate) fn is_there() -> bool {
    REGION.get().is_some()
}

pub(crate) fn has(block: Block) -> bool {
    REGION.get().is_some_and(|region| region.blocks.has(block))
}

/// Returns whether this is a forked child whose parent's stream was a mapped file. The child's file
/// must exist before it records, and begins with its first event.
pub(crate) fn is_expected() -> bool {
    EXPECTED.load(Ordering::Relaxed)
}

/// Returns the number of blocks of the file, with those that were kept, or `other` without a file.
pub(crate) fn block_count_or(other: u64) -> u64 {
    REGION.get().map_or(other, |region| match &region.kept {
        Some(kept) => kept.end.load(Ordering::Relaxed),
        None => region.blocks.count() as u64,
    })
}

/// Returns the size of the ring, in bytes; 0: no file.
pub(crate) fn size() -> u64 {
    REGION.get().map_or(0, |region| (region.blocks.count() * memory::block_size()) as u64)
}

/// Returns what the header says of the ring (`.header.ring-blocks`); `None`: no file.
pub(crate) fn ring() -> Option<u64> {
    let region = REGION.get()?;
    Some(if region.kept.is_some() { region.blocks.count() as u64 } else { 0 })
}

/// Passes on a place behind the ring for a block that is kept, which `put` writes there; `None` if
/// none is kept. A place that stays empty is the next one again, unless another thread has a later
/// one.
pub(crate) fn keep<E>(put: impl FnOnce(u64) -> Result<(), E>) -> Option<Result<(), E>> {
    let kept = open_one()?.kept.as_ref()?;
    let place = kept.next.fetch_add(1, Ordering::Relaxed);
    let result = put(place);
    match result {
        Ok(()) => drop(kept.end.fetch_max(place + 1, Ordering::Relaxed)),
        Err(_) => {
            let (now, before) = (place + 1, place);
            let _ = kept.next.compare_exchange(now, before, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
    Some(result)
}

/// Returns the number of blocks that are not for events: the header, the store, and registries in
/// this many parts blocks.
fn permanent_count(block_count: usize, parts_count: usize) -> usize {
    1 + (block_count / PERMANENT_FRACTION).max(parts_count + 1)
}

/// Returns the least size of a file, in blocks, for this number of parts blocks and of kinds that
/// are output.
pub(crate) fn block_count_min(parts_count: usize, kind_count: usize) -> usize {
    let data = KIND_BLOCK_COUNT * kind_count.max(1);
    // The permanent share grows with the file.
    let least = permanent_count(0, parts_count) + data;
    (least..).find(|count| permanent_count(*count, parts_count) + data <= *count).unwrap_or(least)
}

/// Maps a file of `block_count` blocks, all zeros (`.ring.size`). It is not open yet. Returns
/// `None` if the system has no memory.
pub(crate) fn map(
    file: c_int,
    block_count: usize,
    parts_count: usize,
    is_kept: bool,
) -> Option<()> {
    let permanent_end = permanent_count(block_count, parts_count) as u32;
    let blocks = Blocks::map_file(file, block_count)?;
    let (is_open, permanent) = (AtomicBool::new(false), AtomicU32::new(1));
    let count = || AtomicU64::new(block_count as u64);
    let kept = is_kept.then(|| Kept { next: count(), end: count() });
    REGION.set(Some(pages::place(Region { blocks, is_open, permanent, permanent_end, kept })?));
    Some(())
}

/// Maps it again, now that it has a name.
pub(crate) fn map_again(file: c_int) {
    if let Some(region) = REGION.get() {
        region.blocks.map_file_again(file);
    }
}

/// Lets rings take its blocks.
pub(crate) fn open() {
    if let Some(region) = REGION.get() {
        root::add_mapped(&region.blocks);
        region.is_open.store(true, Ordering::Release);
    }
}

/// Forgets the file, when no ring has a block of it.
pub(crate) fn forget() {
    REGION.set(None);
}

/// Leaves the file to the parent process, in a forked child, after all rings have left it.
pub(crate) fn leave() {
    if let Some(region) = REGION.get() {
        EXPECTED.store(true, Ordering::Relaxed);
        REGION.set(None);
        region.blocks.leave_file();
    }
}

/// Puts bytes into the file; returns false if no file exists, or they do not fit.
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

/// Returns the place of another block of parts: one that is never given up, of a fixed number.
pub(crate) fn take_parts_place() -> Result<u64, PlinthError> {
    let none = PlinthError { operation: Operation::Write, errno: libc::ENOSPC };
    let region = REGION.get().ok_or(none)?;
    region.take_permanent(region.permanent_end).map(u64::from).ok_or(none)
}

/// Returns the number of parts blocks that the registries so far may need after the header block.
pub(crate) fn parts_block_count() -> usize {
    let room = PartsBlock::payload_size_max(memory::block_size()) - STREAM_HEADER_SIZE;
    // Each has a header, as has each piece, and may leave a remainder too small for one.
    let sizes = registration::all().map(|each| encoded_registry_size(each.control.registry));
    let whole = sizes.map(|size| size + 3 * BLOCK_HEADER_SIZE).sum::<usize>();
    whole.div_ceil(room).saturating_sub(1)
}

/// Takes a block for the store, which leaves one for parts.
pub(crate) fn take_store_block() -> Option<Block> {
    let region = open_one()?;
    let place = region.take_permanent(region.permanent_end - 1)?;
    Some(region.blocks.get(u64::from(place)))
}

/// Returns whether the file has room for the counts of buffers that left it, without taking the
/// store's room.
pub(crate) fn has_room_to_tell() -> bool {
    open_one()
        .is_some_and(|region| region.permanent.load(Ordering::Relaxed) <= region.permanent_end / 2)
}

impl Region {
    /// Takes the next block that is never given up, before `end`.
    fn take_permanent(&self, end: u32) -> Option<u32> {
        let next = |place| (place < end).then_some(place + 1);
        self.permanent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.ring.share`
    #[test]
    fn the_least_size_holds_two_blocks_a_kind_and_the_registries() {
        assert_eq!(block_count_min(0, 1), 1 + 1 + 2);
        assert_eq!(block_count_min(2, 7), 1 + 3 + 14);
        for (parts_count, kind_count) in [(0, 0), (0, 7), (3, 64), (9, 448)] {
            let count = block_count_min(parts_count, kind_count);
            let data = count - permanent_count(count, parts_count);
            assert!(data >= 2 * kind_count.max(1), "{parts_count} {kind_count}");
        }
    }
}
