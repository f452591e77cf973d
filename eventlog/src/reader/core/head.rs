//! The stream header in block 0 of the preamble: the one in the core, or one made of known facts.
//!
//! ```text
//!  block 0 ── sound, of this stream? ──▶ as it is
//!          └── cut, damaged ──▶ a header of what root and notes say │ parts in the core
//! ```
//!
//! Rules: `.root.preamble` in `design/format.md`.

use super::{Image, root::Root};
use crate::format::{STREAM_RING, StreamHeader};

/// Returns whether block 0 begins with the stream's header (`.root.preamble`).
pub(super) fn is_present(block: &[u8], root: &Root) -> bool {
    StreamHeader::read(block).is_some_and(|header| {
        header.is_sound()
            && header.uuid == root.uuid
            && header.block_size.get() == 1 << root.block_size_log2
    })
}

/// Writes a stream header made of the root's facts. The parts after it stay.
pub(super) fn put(block: &mut Vec<u8>, image: &Image, root: &Root) {
    let mut header = StreamHeader::native(root.block_size_log2);
    header.set_big_endian(image.elf.big_endian);
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
