//! Blocks of parts for readers of memory: at every instant a part is either whole or absent.
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

/// Zeros among the program's own data, near the root. These come first in a core, so a truncated
/// core most likely has them. A page of them takes memory once it is used.
#[repr(C, align(4096))]
struct Reserve {
    /// V1: accessed only through blocks, as B1 to B5 state: as atomics.
    bytes: UnsafeCell<[u8; RESERVE_SIZE]>,
}

// SAFETY: V1: all threads access the bytes as atomics, only through blocks.
unsafe impl Sync for Reserve {}

impl Reserve {
    const fn new() -> Reserve {
        Reserve { bytes: UnsafeCell::new([0; RESERVE_SIZE]) }
    }

    /// Returns the block at this place; `None` if the reserve is too small.
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

/// The first blocks of the preamble, and of the store.
static PREAMBLE: Reserve = Reserve::new();
static STORE: Reserve = Reserve::new();
static STORE_COUNT: AtomicUsize = AtomicUsize::new(0);

impl Blocks {
    /// Returns a block of the preamble near the root, the same one for the same place; `None`: no
    /// room.
    pub(crate) fn of_preamble(index: usize) -> Option<Blocks> {
        PREAMBLE.block(index)
    }

    /// Takes a block for the store near the root; returns `None` when none is left.
    pub(crate) fn for_store() -> Option<Blocks> {
        let index = STORE_COUNT.load(Ordering::Relaxed);
        let block = STORE.block(index)?;
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        STORE_COUNT.compare_exchange(index, index + 1, success, failure).ok()?;
        Some(block)
    }
}

impl Block {
    /// Puts a part at an offset (`.parts.chain`): its header, sealed here (`.parts.sealed`), and
    /// its top − last bytes, which `fill` writes. Only this thread may change the block, and no
    /// thread of this process may read it. Returns `None` if the system has no memory.
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
