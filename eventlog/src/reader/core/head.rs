//! The stream header in block 0 of the preamble: whether it is there; else one of what is known.
//!
//! ```text
//!  block 0 ── sound, of this stream? ──▶ as it is
//!          └── cut, damaged ──▶ a header of what root and notes say │ parts that are there
//! ```
//!
//! Rules: `.root.preamble` in `design/format.md`.

use super::{Image, root::Root};
use crate::format::{BYTE_ORDER_MARK, STREAM_HEADER_SIZE, STREAM_MAGIC, STREAM_RING, StreamHeader};

/// Whether block 0 begins with the stream's header (`.root.preamble`).
pub(super) fn is_there(block: &[u8], root: &Root) -> bool {
    let header = block.get(..STREAM_HEADER_SIZE);
    let header = header.and_then(|bytes| bytemuck::try_pod_read_unaligned(bytes).ok());
    header.is_some_and(|header: StreamHeader| {
        header.magic == STREAM_MAGIC
            && header.checksum() == header.crc.get()
            && header.uuid == root.uuid
            && header.block_size.get() == 1 << root.block_size_log2
    })
}

/// Puts a stream header of what the root says; parts that are there stay.
pub(super) fn put(block: &mut Vec<u8>, image: &Image, root: &Root) {
    let mut header = StreamHeader::native(root.block_size_log2);
    let mark = BYTE_ORDER_MARK;
    let big_endian = image.elf.big_endian;
    header.byte_order_mark = if big_endian { mark.to_be_bytes() } else { mark.to_le_bytes() };
    header.word_size = image.elf.word_size;
    header.address_size = image.elf.word_size;
    header.architecture = image.elf.machine.into();
    header.uuid = root.uuid;
    header.pid = root.pid.into();
    header.flags = STREAM_RING.into();
    header.set_sync(root.sync.unwrap_or_default());
    let program = image.notes.program.bytes();
    header.program.iter_mut().zip(program).for_each(|(to, from)| *to = from);
    header.seal();
    block.resize(1 << root.block_size_log2, 0);
    let to = block.iter_mut().zip(bytemuck::bytes_of(&header));
    to.for_each(|(to, from)| *to = *from);
}
