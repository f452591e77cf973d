//! The root in a core: found by its magic, valid if it states its own address. And the header of
//! its stream: the one in the core, or one made of known facts.
//!
//! ```text
//!  writable memory ── magic at a multiple of 64? ──▶ 256 bytes ── self = address? ──▶ Root
//!  block 0 ── sound, of this stream? ──▶ as it is
//!          └── cut, damaged ──▶ a header of what root and notes say │ parts in the core
//! ```
//!
//! Each copy of the runtime in a process has a root. Rules: `.root.magic`, `.root.self`,
//! `.root.order`, `.root.preamble` in `design/format.md`.

use super::Image;
use super::elf::Elf;
use super::memory::Memory;
use crate::format::{
    BLOCK_SIZE_LOG2_MAX, BLOCK_SIZE_LOG2_MIN, BYTE_ORDER_MARK, ClockSync, ROOT_ALIGNMENT,
    ROOT_MAGIC, ROOT_SIZE, ROOT_VERSION, Root, STREAM_RING, StreamHeader,
};
use crate::reader::fault::core::CoreError;
use std::io;

/// Places with the magic that are checked, at most: a core may hold copies.
const PLACE_COUNT_MAX: usize = 1 << 12;
const ROOT_COUNT_MAX: usize = 64;

/// The roots of a core, and the faults of unusable ones.
#[derive(Default)]
pub(super) struct Roots {
    pub(super) sound: Vec<Root>,
    pub(super) damaged: Vec<CoreError>,
    /// Whether a runtime recorded nothing.
    pub(super) is_idle: bool,
}

/// Finds the roots (`.root.magic`).
pub(super) fn find(memory: &Memory, elf: &Elf) -> io::Result<Roots> {
    let mut roots = Roots::default();
    for address in memory.find(&ROOT_MAGIC, ROOT_ALIGNMENT, PLACE_COUNT_MAX)? {
        let Some(root) = memory.read_value::<Root>(address)? else { continue };
        match check(&root, address, elf) {
            Ok(true) if roots.sound.len() >= ROOT_COUNT_MAX => break,
            Ok(true) => roots.sound.push(root),
            Ok(false) => {}
            Err(CoreError::NothingRecorded) => roots.is_idle = true,
            Err(error) if roots.damaged.len() < ROOT_COUNT_MAX => roots.damaged.push(error),
            Err(_) => {}
        }
    }
    Ok(roots)
}

/// Checks a root. Returns false for a copy (`.root.self`).
fn check(root: &Root, address: u64, elf: &Elf) -> Result<bool, CoreError> {
    if root.own_address == 0 {
        return Err(CoreError::NothingRecorded);
    }
    if root.own_address != address {
        return Ok(false);
    }
    let check = |is_right: bool, field: &'static str, found: u64| {
        is_right.then_some(()).ok_or(CoreError::RootField { field, found })
    };
    // `.root.order`
    let mark = root.byte_order_mark;
    check(mark == BYTE_ORDER_MARK, "byte-order mark", mark.into())?;
    if root.version != ROOT_VERSION {
        return Err(CoreError::RootVersion { found: root.version });
    }
    check(usize::from(root.size) >= ROOT_SIZE, "size", root.size.into())?;
    check(root.word_size == elf.word_size, "word size", root.word_size.into())?;
    check(root.address_size == elf.word_size, "address size", root.address_size.into())?;
    let log2 = root.block_size_log2;
    if log2 == 0 {
        return Err(CoreError::NothingRecorded);
    }
    let log2_range = BLOCK_SIZE_LOG2_MIN..=BLOCK_SIZE_LOG2_MAX;
    check(log2_range.contains(&log2), "block size", log2.into())?;
    Ok(true)
}

/// Returns the clock sync of a root, if it is valid (`.root.sync`).
pub(super) fn sync(root: &Root) -> Option<ClockSync> {
    Some(root.sync()).filter(|sync| root.sync_turn.is_multiple_of(2) && sync.ticks != 0)
}

/// Returns whether block 0 begins with the stream's header (`.root.preamble`).
pub(super) fn is_header(block: &[u8], root: &Root) -> bool {
    StreamHeader::read(block).is_some_and(|header| {
        header.is_sound()
            && header.uuid == root.uuid
            && header.block_size.get() == 1 << root.block_size_log2
    })
}

/// Puts a stream header into block 0, made of what the root and the notes say (`.root.preamble`).
/// The parts after it stay.
pub(super) fn put_header(block: &mut Vec<u8>, image: &Image, root: &Root) {
    let mut header = StreamHeader::native(root.block_size_log2);
    header.set_big_endian(image.elf.big_endian);
    header.word_size = image.elf.word_size;
    header.address_size = image.elf.word_size;
    header.architecture = image.elf.machine.into();
    header.uuid = root.uuid;
    header.pid = root.pid.into();
    header.flags = STREAM_RING.into();
    header.set_sync(sync(root).unwrap_or_default());
    let program = image.notes.program.bytes();
    header.program.iter_mut().zip(program).for_each(|(to, from)| *to = from);
    header.seal();
    block.resize(1 << root.block_size_log2, 0);
    let to = block.iter_mut().zip(bytemuck::bytes_of(&header));
    to.for_each(|(to, from)| *to = *from);
}
