//! Blocks of parts that lie in memory for those who look into it: put so that a part is there as a
//! whole or not at all.
//!
//! ```text
//!  │ header │ part │ payload ─ rest of the header ─ its first eight bytes │ 0 0 0 …
//! ```
//!
//! Design: `.sol.root` in `design/telemetry.md`; `.root.preamble` in `design/format.md`.
#![expect(unsafe_code, reason = "parts laid out in the memory of a block")]

use super::{BLOCK_SIZE_LOG2_DEFAULT, Block, Blocks, block_size, fix_block_size};
use crate::os::pages::Temporary;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicUsize, Ordering};
use eventlog::format::{BLOCK_HEADER_SIZE, BlockHeader};

/// Size of the reserve: a block, unless larger ones were chosen.
const RESERVE_SIZE: usize = 1 << BLOCK_SIZE_LOG2_DEFAULT;

/// Zeros among the program's own data, near the root, which come first in a core: one that was cut
/// has them longest. A page of them is there once it is used.
#[repr(C, align(4096))]
struct Reserve {
    /// V1: accessed through blocks alone, as B1 to B5 say: as atomics.
    bytes: UnsafeCell<[u8; RESERVE_SIZE]>,
}

// SAFETY: V1: all threads access the bytes as atomics, through blocks alone.
unsafe impl Sync for Reserve {}

impl Reserve {
    const fn new() -> Reserve {
        Reserve { bytes: UnsafeCell::new([0; RESERVE_SIZE]) }
    }

    /// The block that has this place; `None`: there is none.
    fn block(&self, index: usize) -> Option<Blocks> {
        fix_block_size();
        let offset = index.checked_mul(block_size())?;
        if offset >= RESERVE_SIZE || block_size() > RESERVE_SIZE - offset {
            return None;
        }
        let start = self.bytes.get().cast::<u8>().wrapping_add(offset);
        Some(Blocks { first: Block { start }, count: 1 })
    }
}

/// What the preamble begins in, and the store.
static PREAMBLE: Reserve = Reserve::new();
static STORE: Reserve = Reserve::new();
static STORE_COUNT: AtomicUsize = AtomicUsize::new(0);

impl Blocks {
    /// A block of the preamble near the root, for the same place the same each time; `None`: there
    /// is no room for it.
    pub(crate) fn of_preamble(index: usize) -> Option<Blocks> {
        PREAMBLE.block(index)
    }

    /// A block for the store near the root, each once; `None`: there is no more room.
    pub(crate) fn for_store() -> Option<Blocks> {
        let index = STORE_COUNT.load(Ordering::Relaxed);
        let block = STORE.block(index)?;
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        STORE_COUNT.compare_exchange(index, index + 1, success, failure).ok()?;
        Some(block)
    }

    /// Maps a block of zeros whose pages are there once they are used.
    pub(crate) fn map_lazily() -> Option<Blocks> {
        fix_block_size();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON;
        // SAFETY: a new private mapping, placed by the system, changes no memory that exists.
        let start =
            unsafe { libc::mmap(core::ptr::null_mut(), block_size(), access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        Some(Blocks { first: Block { start: start.cast() }, count: 1 })
    }
}

impl Block {
    /// Puts a part at an offset (`.parts.chain`): its header, sealed here (`.parts.sealed`), and
    /// its top − last bytes, which `fill` puts. In a block that nobody else changes, and that
    /// nobody of this process reads. `None`: the system has no memory.
    pub(crate) fn put_part(
        self,
        offset: usize,
        mut header: BlockHeader,
        fill: impl FnOnce(&mut [u8]),
    ) -> Option<()> {
        let mut payload = Temporary::map(header.payload_size())?;
        fill(&mut payload);
        header.seal(&payload);
        self.store(offset + BLOCK_HEADER_SIZE, &payload);
        self.put_bytes(offset, bytemuck::bytes_of(&header));
        Some(())
    }
}
