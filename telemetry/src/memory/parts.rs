//! Blocks of parts that lie in memory for those who look into it: put so that a part is there as a
//! whole or not at all.
//!
//! ```text
//!  │ header │ part │ payload ─ rest of the header ─ its first eight bytes │ 0 0 0 …
//! ```
//!
//! Design: `.root.preamble` in `design/format.md`.
#![expect(unsafe_code, reason = "parts laid out in the memory of a block")]

use super::{Block, Blocks, block_size, fix_block_size};
use eventlog::format::{BLOCK_HEADER_SIZE, BlockHeader};

impl Blocks {
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
    /// nobody of this process reads.
    pub(crate) fn put_part(
        self,
        offset: usize,
        mut header: BlockHeader,
        fill: impl FnOnce(&mut [u8]),
    ) {
        let size = header.payload_size();
        let begin = offset + BLOCK_HEADER_SIZE;
        assert!(begin <= block_size() && size <= block_size() - begin);
        // SAFETY: B1 and the test; the caller has the block to himself.
        let payload = unsafe { core::slice::from_raw_parts_mut(self.start.add(begin), size) };
        fill(payload);
        header.seal(payload);
        self.put_bytes(offset, bytemuck::bytes_of(&header));
    }
}
