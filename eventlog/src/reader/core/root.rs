//! The root in a core: found by its magic, valid if it states its own address.
//!
//! ```text
//!  writable memory ── magic at a multiple of 64? ──▶ 256 bytes ── self = address? ──▶ Root
//! ```
//!
//! Each copy of the runtime in a process has a root. Rules: `.root.magic`, `.root.self`,
//! `.root.order` in `design/format.md`.

use super::elf::Elf;
use super::memory::Memory;
use crate::format::{
    BLOCK_SIZE_LOG2_MAX, BLOCK_SIZE_LOG2_MIN, BYTE_ORDER_MARK, ClockSync, ROOT_ALIGNMENT,
    ROOT_MAGIC, ROOT_SIZE, ROOT_VERSION, Root as RawRoot,
};
use crate::reader::fault::core::CoreError;
use crate::reader::source::bytes::Source;
use std::io;

/// Places with the magic that are checked, at most: a core may hold copies.
const PLACE_COUNT_MAX: usize = 1 << 12;
/// Roots that are read, at most.
const ROOT_COUNT_MAX: usize = 64;

/// The facts of a root that the reader needs.
#[derive(Clone, Debug)]
pub(super) struct Root {
    pub(super) block_size_log2: u8,
    pub(super) uuid: [u8; 16],
    pub(super) pid: u64,
    pub(super) extents: u64,
    pub(super) registries: u64,
    pub(super) sync: Option<ClockSync>,
    pub(super) unhoused: [u64; 4],
}

/// The roots of a core, and the faults of unusable ones.
#[derive(Debug, Default)]
pub(super) struct Roots {
    pub(super) sound: Vec<Root>,
    pub(super) damaged: Vec<CoreError>,
    /// Whether a runtime recorded nothing.
    pub(super) is_idle: bool,
}

/// Finds the roots (`.root.magic`).
pub(super) fn find(source: &dyn Source, memory: &Memory, elf: &Elf) -> io::Result<Roots> {
    let mut roots = Roots::default();
    for address in memory.find(source, &ROOT_MAGIC, ROOT_ALIGNMENT, PLACE_COUNT_MAX)? {
        let Some(root) = memory.read_value::<RawRoot>(source, address)? else { continue };
        match read(&root, address, elf) {
            Ok(Some(_)) if roots.sound.len() >= ROOT_COUNT_MAX => break,
            Ok(Some(root)) => roots.sound.push(root),
            Ok(None) => {}
            Err(CoreError::NothingRecorded) => roots.is_idle = true,
            Err(error) if roots.damaged.len() < ROOT_COUNT_MAX => roots.damaged.push(error),
            Err(_) => {}
        }
    }
    Ok(roots)
}

/// Checks a root. Returns `None` for a copy (`.root.self`).
fn read(root: &RawRoot, address: u64, elf: &Elf) -> Result<Option<Root>, CoreError> {
    if root.own_address == 0 {
        return Err(CoreError::NothingRecorded);
    }
    if root.own_address != address {
        return Ok(None);
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
    Ok(Some(Root {
        block_size_log2: log2,
        uuid: root.uuid,
        pid: root.pid,
        extents: root.extents,
        registries: root.registries,
        // `.root.sync`
        sync: Some(root.sync()).filter(|sync| root.sync_turn.is_multiple_of(2) && sync.ticks != 0),
        unhoused: root.unhoused,
    }))
}
