//! The root: from it a debugger, or a reader of a core dump, finds everything in memory.
//!
//! ```text
//!  EventRoot ─▶ extents:    preamble · store · rings · a mapped file       where blocks are
//!     │      └▶ registries: masks
//!     └ process, stream, last clock sync, losses without a buffer, entry points
//! ```
//!
//! Only the cold path updates it; the fast path does not. Nothing here waits, so any code may call
//! it: a signal handler, or under any lock. Design: `.sol.root` in `design/telemetry.md`; section 9
//! of `design/format.md`.
#![expect(unsafe_code, reason = "a symbol that a debugger finds by its name")]

mod chain;

use crate::block::clock;
use crate::block::losses::{Cause, Counts};
use crate::block::memory::{self, Blocks};
use crate::os::sys;
use bytemuck::Zeroable;
use chain::Chain;
use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use eventlog::format::{
    ClockSync, ExtentEntry, ExtentType, ROOT_ALIGNMENT, ROOT_MAGIC, ROOT_SIZE, RegistryEntry, Root,
};

const WORD_COUNT: usize = ROOT_SIZE / 8;
const MAGIC_WORD_COUNT: usize = ROOT_MAGIC.len() / 8;
const OWN_ADDRESS: usize = offset_of!(Root, own_address) / 8;
/// The word with the turn and the uncertainty; the other three words of a clock sync follow it.
const SYNC: usize = offset_of!(Root, sync_turn) / 8;
const UNHOUSED: usize = offset_of!(Root, unhoused) / 8;
const UNHOUSED_END: usize = offset_of!(Root, dump) / 8;
/// Dump, describe, flush, last, control.
const ENTRY_POINTS_END: usize = offset_of!(Root, control) / 8 + 1;
const _: () = assert!(ENTRY_POINTS_END == UNHOUSED_END + 5);
/// The word of an extent with its type.
const EXTENT_WHAT: usize = offset_of!(ExtentEntry, what) / 8;
const _: () = assert!(offset_of!(Root, sync_uncertainty) == offset_of!(Root, sync_turn) + 4);
const _: () = assert!(offset_of!(Root, sync_ticks) / 8 == SYNC + 1);
const _: () = assert!(offset_of!(Root, sync_monotonic) / 8 == SYNC + 2);
const _: () = assert!(offset_of!(Root, sync_realtime) / 8 == SYNC + 3);
const _: () = assert!(align_of::<Words>() == ROOT_ALIGNMENT && size_of::<Words>() == ROOT_SIZE);

#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Words([AtomicU64; WORD_COUNT]);

/// The root (`.root.magic`). All but the magic is zero until the first event (`.root.self`). No
/// other bytes of the program are the magic: nothing here compares with it. Other libraries cannot
/// see it (`debug/unit.rs`).
///
/// Y1: one program or shared library has this name once: the linker refuses two versions of this
/// library, and the root of another shared library stays separate.
// SAFETY: Y1: no other symbol in the same program or library has this name.
#[unsafe(no_mangle)]
#[used]
pub(crate) static EventRoot: Words = {
    let mut words = [const { AtomicU64::new(0) }; WORD_COUNT];
    let (halves, _) = ROOT_MAGIC.as_chunks::<8>();
    words[0] = AtomicU64::new(u64::from_ne_bytes(halves[0]));
    words[1] = AtomicU64::new(u64::from_ne_bytes(halves[1]));
    Words(words)
};

/// The places of blocks: in this order they are a stream (`.root.stream`).
pub(crate) static EXTENTS: Chain<{ size_of::<ExtentEntry>() / 8 }> = Chain::new();
pub(crate) static REGISTRIES: Chain<{ size_of::<RegistryEntry>() / 8 }> = Chain::new();
/// Whether the root ever began, in this process or in its parent.
pub(crate) static BEGUN: AtomicBool = AtomicBool::new(false);

fn word(index: usize) -> &'static AtomicU64 {
    &EventRoot.0[index]
}

pub(crate) fn is_there() -> bool {
    word(OWN_ADDRESS).load(Ordering::Relaxed) != 0
}

/// Notes the addresses that a debugger calls and changes: dump, describe, flush, last, control.
pub(crate) fn set_entry_points(addresses: [u64; 5]) {
    for (index, address) in (UNHOUSED_END..ENTRY_POINTS_END).zip(addresses) {
        word(index).store(address, Ordering::Relaxed);
    }
}

/// Makes the root valid: stores its own address last.
pub(crate) fn begin(uuid: [u8; 16]) {
    let mut root = Root::native();
    root.block_size_log2 = memory::block_size_log2();
    root.uuid = uuid;
    root.pid = sys::process_ids().0;
    root.extents = EXTENTS.address();
    root.registries = REGISTRIES.address();
    root.set_sync(sync());
    let words: [u64; WORD_COUNT] = bytemuck::cast(root);
    for (index, value) in words.into_iter().enumerate().skip(MAGIC_WORD_COUNT) {
        // These may have counts already, and the entry points are set.
        if index != OWN_ADDRESS && !(UNHOUSED..ENTRY_POINTS_END).contains(&index) {
            word(index).store(value, Ordering::Relaxed);
        }
    }
    BEGUN.store(true, Ordering::Relaxed);
    let own_address = core::ptr::from_ref(&EventRoot).addr() as u64;
    word(OWN_ADDRESS).store(own_address, Ordering::Release);
}

/// Makes the root invalid until [`begin`]: the memory describes a parent, and not yet the child.
pub(crate) fn leave() {
    word(OWN_ADDRESS).store(0, Ordering::Release);
}

/// Reads one instant on the three clocks, and notes it as the last one (`.root.sync`).
pub(crate) fn sync() -> ClockSync {
    let sync = clock::sync();
    note_sync(&sync);
    sync
}

/// Returns the last clock sync; `None` if there is none, or a thread is noting one.
pub(crate) fn last_sync() -> Option<ClockSync> {
    let before = word(SYNC).load(Ordering::Acquire);
    let [ticks, monotonic, realtime] =
        [1, 2, 3].map(|index| word(SYNC + index).load(Ordering::Acquire));
    let [turn, uncertainty]: [u32; 2] = bytemuck::cast(before);
    let is_whole = turn % 2 == 0 && word(SYNC).load(Ordering::Relaxed) == before && monotonic != 0;
    is_whole.then_some(ClockSync { ticks, monotonic, realtime, uncertainty })
}

/// Notes a clock sync, unless another thread is just noting one.
fn note_sync(sync: &ClockSync) {
    let old = word(SYNC).load(Ordering::Relaxed);
    let [turn, uncertainty]: [u32; 2] = bytemuck::cast(old);
    let odd = bytemuck::cast([turn.wrapping_add(1), uncertainty]);
    if !is_there()
        || turn % 2 != 0
        || word(SYNC).compare_exchange(old, odd, Ordering::Acquire, Ordering::Relaxed).is_err()
    {
        return;
    }
    // The odd turn comes before the other words.
    fence(Ordering::Release);
    for (index, value) in [sync.ticks, sync.monotonic, sync.realtime].into_iter().enumerate() {
        word(SYNC + 1 + index).store(value, Ordering::Relaxed);
    }
    let even = bytemuck::cast([turn.wrapping_add(2), sync.uncertainty]);
    word(SYNC).store(even, Ordering::Release);
}

/// Counts events that no buffer could count.
pub(crate) fn discard_unhoused(cause: Cause, count: u64) {
    word(UNHOUSED + cause as usize).fetch_add(count, Ordering::Relaxed);
}

/// Moves counts to a buffer, which states them from now on.
pub(crate) fn house(cause: Cause, count: u64) {
    // A page without stores stays shared with the parent.
    if count != 0 {
        word(UNHOUSED + cause as usize).fetch_sub(count, Ordering::Relaxed);
    }
}

/// Resets these counts, in a forked child.
pub(crate) fn reset_unhoused() {
    for index in UNHOUSED..UNHOUSED_END {
        // A page without stores stays shared with the parent.
        if word(index).load(Ordering::Relaxed) != 0 {
            word(index).store(0, Ordering::Relaxed);
        }
    }
}

/// The word of an extent with the address of its blocks.
pub(crate) type Extent = AtomicU64;

/// Changes the address of an extent's blocks, in a forked child.
pub(crate) fn move_extent(extent: &Extent, blocks: &Blocks) {
    extent.store(blocks.get(0).address() as u64, Ordering::Release);
}

/// Adds an extent (`.root.extent`). Returns `None` if the system has no memory; then readers of
/// this process will not find the blocks.
pub(crate) fn add_extent(entry: ExtentEntry) -> Option<&'static Extent> {
    let words = EXTENTS.insert(bytemuck::cast(entry), EXTENT_WHAT)?;
    words.get(offset_of!(ExtentEntry, address) / 8)
}

fn extent_of(blocks: &Blocks, what: ExtentType) -> ExtentEntry {
    let address = blocks.get(0).address() as u64;
    let count = blocks.count() as u32;
    ExtentEntry { address, count, what: what as u8, ..ExtentEntry::zeroed() }
}

fn address_of(counts: &'static Counts) -> u64 {
    core::ptr::from_ref(counts).addr() as u64
}

pub(crate) fn add_ring(
    blocks: &Blocks,
    (registry, kind): (u16, u8),
    buffer: u32,
    counts: &'static Counts,
) -> Option<&'static Extent> {
    let extent = extent_of(blocks, ExtentType::Ring);
    add_extent(ExtentEntry { registry, kind, buffer, counts: address_of(counts), ..extent })
}

pub(crate) fn add_store(blocks: &Blocks, counts: &'static Counts) {
    let extent = extent_of(blocks, ExtentType::Store);
    add_extent(ExtentEntry { counts: address_of(counts), ..extent });
}

pub(crate) fn add_mapped(blocks: &Blocks) {
    add_extent(extent_of(blocks, ExtentType::Mapped));
}
