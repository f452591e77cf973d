//! Writes blocks and parts in the order of the file.
//!
//! ```text
//!  header block, then parts blocks: filled here │ whole blocks of events: written as they come
//! ```
//!
//! The output is never read again, so it may be a pipe. Layout: section 4 of `design/format.md`.

use super::pack::{self, Place};
use crate::format::{BLOCK_HEADER_SIZE, BlockHeader, BlockType, StreamHeader};
use std::io::{self, Write};

/// The largest piece of a registry in one part.
const PIECE_SIZE_MAX: usize = 2048;

pub(super) struct Out<'o> {
    to: &'o mut dyn Write,
    size: u64,
    block_size: usize,
    log2: u8,
    id: [u8; 8],
    /// The header block or parts block that is being filled.
    parts: Vec<u8>,
    parts_count: u64,
    /// Whether `parts` has registries or names, which must precede later blocks.
    is_first: bool,
    /// Blocks of this stream that were written.
    block_count: u64,
}

impl<'o> Out<'o> {
    pub(super) fn new(to: &'o mut dyn Write) -> Out<'o> {
        Out {
            to,
            size: 0,
            block_size: 0,
            log2: 0,
            id: [0; 8],
            parts: Vec::new(),
            parts_count: 0,
            is_first: false,
            block_count: 0,
        }
    }

    pub(super) fn begin(&mut self, header: &StreamHeader, log2: u8) -> io::Result<()> {
        // `.stream.again`: another stream begins at a block boundary.
        self.flush_parts()?;
        self.block_size = 1 << log2;
        self.log2 = log2;
        self.id = header.uuid.first_chunk().copied().unwrap_or_default();
        self.parts_count = 0;
        self.block_count = 0;
        self.is_first = true; // `.stream.first`
        self.parts.extend_from_slice(bytemuck::bytes_of(header));
        Ok(())
    }

    /// Writes the collected parts, padded to a block.
    pub(super) fn flush_parts(&mut self) -> io::Result<()> {
        if self.parts.is_empty() {
            return Ok(());
        }
        self.parts.resize(self.block_size, 0);
        let parts = std::mem::take(&mut self.parts);
        self.write(&parts)?;
        self.block_count += 1;
        self.parts = parts;
        self.parts.clear();
        self.is_first = false;
        Ok(())
    }

    pub(super) fn part(&mut self, mut header: BlockHeader, payload: &[u8]) -> io::Result<()> {
        let size = (BLOCK_HEADER_SIZE + payload.len()).next_multiple_of(8);
        if self.parts.len() + size > self.block_size {
            self.flush_parts()?;
        }
        if self.parts.is_empty() {
            let of = Place { flags: header.flags, ..Place::default() };
            let mut block = pack::header(BlockType::Parts, self.log2, self.id, &of);
            block.sequence = self.parts_count.into();
            self.parts_count += 1;
            block.seal(&[]);
            self.parts.extend_from_slice(bytemuck::bytes_of(&block));
        }
        if header.block_type == BlockType::End as u8 {
            header.sequence = (self.block_count + 1).into();
        }
        let is_store = header.buffer.get() == 0 && header.count.get() > 0;
        self.is_first |= is_store || header.block_type == BlockType::Registry as u8;
        header.seal(payload);
        self.parts.extend_from_slice(bytemuck::bytes_of(&header));
        self.parts.extend_from_slice(payload);
        self.parts.resize(self.parts.len().next_multiple_of(8), 0);
        Ok(())
    }

    /// Writes the encoding of a registry, in parts (`.part.registry`).
    pub(super) fn registry(&mut self, flags: u8, index: u16, encoding: &[u8]) -> io::Result<()> {
        let place = Place { flags, registry: index, ..Place::default() };
        for (n, piece) in encoding.chunks(PIECE_SIZE_MAX).enumerate() {
            let mut header = pack::header(BlockType::Registry, self.log2, self.id, &place);
            header.last = 0.into();
            header.top = (piece.len() as u32).into();
            header.first = ((n * PIECE_SIZE_MAX) as u64).into();
            header.sequence = (encoding.len() as u64).into();
            self.part(header, piece)?;
        }
        Ok(())
    }

    /// Writes a block of events, which is complete except for its header.
    pub(super) fn block(&mut self, mut header: BlockHeader, block: &mut [u8]) -> io::Result<()> {
        // `.part.registry-before`
        if self.is_first {
            self.flush_parts()?;
        }
        let last = header.last.get() as usize;
        let (head, payload) = block.split_at_mut_checked(last).unwrap_or_default();
        header.seal(payload);
        let (to, gap) = head.split_at_mut_checked(BLOCK_HEADER_SIZE).unwrap_or_default();
        to.iter_mut().zip(bytemuck::bytes_of(&header)).for_each(|(to, from)| *to = *from);
        gap.fill(0);
        self.write(block)?;
        self.block_count += 1;
        Ok(())
    }

    /// Writes the last parts, and returns the size of the log.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        // `.stream.tail`: the last block may be short.
        let parts = std::mem::take(&mut self.parts);
        self.write(&parts)?;
        self.to.flush()?;
        Ok(self.size)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.size += bytes.len() as u64;
        self.to.write_all(bytes)
    }
}
