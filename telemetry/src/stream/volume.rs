//! Volumes: the gate through which whole blocks go out, their places, and the change from one file
//! of the stream to the next.
//!
//! ```text
//!  ring ── block ─▶ gate ─▶ place ─▶ plinth      one addition, one subtraction; side by side
//!                    │ shut, and nobody inside
//!                    └─ end part ─ create ─ header ─ registries ─ parts that the old one lacks
//!                    open ─ the store again, before the next block of events
//!
//!  place 0: the header  place p: file (p − 1) mod N of a host that deals blocks out to N files
//! ```
//!
//! Buffers, numbers and counts do not depend on volumes (`.volume.blocks`). A place belongs to the
//! current volume. So a thread takes it inside the gate, or under the lock of the stream, without
//! which no volume changes. A signal handler cannot wait: it uses `try_enter`, and takes a place by
//! force, which never changes the volume. Design: `.sol.volume`, `.sol.directory` in
//! `design/telemetry.md`; sections 2.3 and 2.4 of `design/format.md`.

use crate::block::memory;
use crate::os::atomic::{AtomicU64, Ordering};
use crate::os::sys;
use crate::plinth::Plinth;
use crate::stream::gate::Gate;

const FILE_COUNT_MAX: usize = eventlog::format::FILE_COUNT_MAX as usize;

struct Volume {
    gate: Gate,
    /// The number of the current volume (`.header.volume`).
    number: AtomicU64,
    /// The number of blocks in it, the header's included (`.stream.first`); of one file, the next
    /// place (`.stream.blocks`).
    count: AtomicU64,
    /// Between how many files the host deals out the blocks (`.directory.blocks`).
    file_count: AtomicU64,
    files: [InFile; FILE_COUNT_MAX],
    /// The blocks of it that a host accepted which only appends: as many as it has there
    /// (`.part.end`).
    appended: AtomicU64,
    /// The last volume that has the store as it was at the volume's beginning: blocks of events go
    /// into no other.
    with_store: AtomicU64,
}

/// The blocks in one of the files: on a cache line of its own.
#[repr(align(64))]
struct InFile {
    /// The blocks after the header block whose places are taken; 0 of a host with one file.
    taken: AtomicU64,
    /// The blocks up to the last one accepted by a host that can be written anywhere.
    written: AtomicU64,
}

impl InFile {
    const fn none() -> InFile {
        InFile { taken: AtomicU64::new(0), written: AtomicU64::new(0) }
    }
}

static VOLUME: Volume = Volume {
    gate: Gate::new(),
    number: AtomicU64::new(0),
    count: AtomicU64::new(1),
    file_count: AtomicU64::new(1),
    files: [const { InFile::none() }; FILE_COUNT_MAX],
    appended: AtomicU64::new(0),
    with_store: AtomicU64::new(0),
};

/// Resets volumes and gate, in a forked child.
pub(super) fn restart() {
    VOLUME.gate.restart();
    begin(0);
    set_with_store(0);
}

/// Notes between how many files the host deals out the blocks.
pub(super) fn begin_files(plinth: &dyn Plinth) {
    let count = plinth.file_count().clamp(1, FILE_COUNT_MAX as u64);
    VOLUME.file_count.store(count, Ordering::Relaxed);
}

fn file_count() -> u64 {
    VOLUME.file_count.load(Ordering::Relaxed)
}

pub(super) fn gate() -> &'static Gate {
    &VOLUME.gate
}

pub(crate) fn number() -> u64 {
    VOLUME.number.load(Ordering::Acquire)
}

/// Begins the volume with this number. No thread may be inside the gate.
pub(crate) fn begin(number: u64) {
    VOLUME.count.store(1, Ordering::Relaxed);
    VOLUME.appended.store(0, Ordering::Relaxed);
    for file in &VOLUME.files {
        file.taken.store(0, Ordering::Relaxed);
        file.written.store(0, Ordering::Relaxed);
    }
    VOLUME.number.store(number, Ordering::Release);
}

/// Returns whether a volume has the store as it was at the volume's beginning.
pub(crate) fn has_store(volume: u64) -> bool {
    VOLUME.with_store.load(Ordering::Acquire) == volume
}

pub(crate) fn set_with_store(volume: u64) {
    VOLUME.with_store.store(volume, Ordering::Release);
}

pub(crate) fn block_count() -> u64 {
    VOLUME.count.load(Ordering::Relaxed)
}

/// Notes that a host that only appends accepted a whole block.
pub(crate) fn add_appended() {
    VOLUME.appended.fetch_add(1, Ordering::Relaxed);
}

/// Notes that a host that can be written anywhere accepted bytes at an offset.
pub(crate) fn note_written(offset: u64, size: usize) {
    let end = (offset + size as u64).div_ceil(memory::block_size() as u64);
    let (file, count) = in_file(end - 1);
    let more = |before| (before < count).then_some(count);
    let written = &VOLUME.files[file].written;
    let _ = written.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
}

/// Returns the file of a place, and the number of blocks up to it there.
fn in_file(place: u64) -> (usize, u64) {
    match place.checked_sub(1) {
        None => (0, 1),
        Some(place) => ((place % file_count()) as usize, place / file_count() + 2),
    }
}

/// Returns the number of blocks of the volume's file when its end part is written at a place.
/// Refused blocks after the last accepted one do not count. Appended blocks leave no hole, and that
/// of the end part is still to follow.
pub(crate) fn block_count_at_end(plinth: &dyn Plinth, place: u64) -> u64 {
    match plinth.can_rewrite() {
        true => {
            let (file, count) = in_file(place);
            VOLUME.files[file].written.load(Ordering::Relaxed).max(count)
        }
        false => VOLUME.appended.load(Ordering::Relaxed) + 1,
    }
}

/// Returns whether the plinth prefers another volume to this one with `count` more blocks. One
/// block is always kept for the end part (`.volume.end`).
pub(crate) fn is_full_with(plinth: &dyn Plinth, count: u64) -> bool {
    plinth.wants_volume((block_count() + count + 1) * memory::block_size() as u64)
}

/// Calls `give` with the number of blocks of each file, for the end part, if they are several.
pub(crate) fn each_written(give: impl FnMut(u64)) {
    let count = Some(file_count()).filter(|count| *count > 1).unwrap_or(0);
    // Each has the header block.
    let written = |file: &InFile| file.written.load(Ordering::Relaxed).max(1);
    VOLUME.files.iter().take(count as usize).map(written).for_each(give);
}

/// Where a block goes, of several files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The first one: it is the store's, or has parts (`.directory.store`).
    First,
    /// That of this thread's processor.
    Own,
}

/// Takes the place of another block, inside the gate or under the stream's lock. Returns `None` if
/// the volume must change first, unless the place is taken by force.
pub(crate) fn take_place(plinth: &dyn Plinth, side: Side, is_forced: bool) -> Option<u64> {
    let size = memory::block_size() as u64;
    let next = |count: u64| {
        // With this block, and one for the end part.
        let is_taken = is_forced || !plinth.wants_volume((count + 2) * size);
        is_taken.then_some(count + 1)
    };
    let count = VOLUME.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
    let files = file_count();
    if files == 1 {
        return Some(count);
    }
    let file = if side == Side::First { 0 } else { sys::processor() % files };
    let taken = VOLUME.files[file as usize].taken.fetch_add(1, Ordering::Relaxed);
    Some(1 + taken * files + file)
}

/// Takes a place for a signal handler, which changes no volume.
pub(crate) fn take_place_by_force(plinth: &dyn Plinth) -> u64 {
    take_place(plinth, Side::First, true).unwrap_or_default()
}

/// A whole block that is being output.
pub(crate) struct Outgoing {
    pub(crate) registry: u16,
    /// The place and the volume for which the host refused it; place 0: any place.
    pub(crate) place: u64,
    pub(crate) volume: u64,
    /// Whether it may precede the store: it is the store's, or the host refuses the store.
    pub(crate) is_first: bool,
    /// Whether it goes into any volume, however full.
    pub(crate) is_forced: bool,
}

pub(crate) enum Written {
    Yes,
    /// The host refused it (`.write.fail`): its place, if it has one, is a hole
    /// (`.stream.hole`).
    No {
        place: u64,
        volume: u64,
    },
    /// The stream goes on in another volume, where the store goes first (`.volume.store`).
    Elsewhere,
}
