//! The index entry of an event block or part: from its header to a [`Segment`].
//!
//! ```text
//!  header ── plausible? ──▶ Segment, registry by index ── resolve ──▶ by its place in the log
//! ```
//!
//! Rules: `.block.size`, `.read.sealed`, `.registry.index` in `design/format.md`.

use super::block;
use super::encoding::{self, Pieces};
use super::numbers;
use crate::format::{BIG_ENDIAN, BLOCK_HEADER_SIZE, BlockHeader, WORD64};
use crate::reader::fault::kind::FaultKind;
use crate::reader::fault::list::Faults;
use crate::reader::index::Index;
use crate::reader::index::segment::Segment;
use crate::reader::model::registry::{Platform, Registry};
use std::collections::BTreeMap;

/// The blocks of one stream.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    /// The stream, by its index in the log.
    pub(crate) stream: u16,
    pub(crate) block_size_log2: u8,
    pub(crate) block_size: u64,
    /// The platform flags that an open block must have, if they are certain.
    pub(crate) flags: Option<u8>,
    /// Whether blocks are used again (`.header.ring`, `.ring.size`).
    pub(crate) is_ring: bool,
}

/// Returns the index entry of an event block or part.
pub(crate) fn segment(
    grid: Grid,
    offset: u64,
    size: u32,
    flags: u8,
    header: &BlockHeader,
) -> Segment {
    let sync = header.sync_ticks.get();
    let is_max = header.is_sealed() && sync >= header.base_last.get();
    Segment {
        offset,
        ticks_min: header.base.get(),
        ticks_max: if is_max { sync } else { u64::MAX },
        first: header.first.get(),
        count: header.count.get().min(header.payload_size() as u32 / 8),
        size,
        buffer: header.buffer.get(),
        thread: header.thread.get(),
        registry: registry_key(header.registry.get(), header.flags),
        stream: grid.stream,
        kind: header.kind,
        flags: if numbers::is_numbered(header) { flags | block::NUMBERED } else { flags },
    }
}

/// Returns whether the header of an event block or part is plausible (`.block.size`,
/// `.read.sealed`). Reports a fault if it is not.
pub(crate) fn is_plausible(
    faults: &mut Faults,
    grid: Grid,
    offset: u64,
    header: &BlockHeader,
    is_part: bool,
) -> bool {
    let (last, top) = (header.last.get(), header.top.get());
    let last_min = if is_part { 0 } else { BLOCK_HEADER_SIZE as u32 };
    let fault = if header.block_size_log2 != grid.block_size_log2 {
        Some(("block size", u64::from(header.block_size_log2)))
    } else if u64::from(top) > grid.block_size {
        Some(("top", u64::from(top)))
    } else if block::header_size(header) < BLOCK_HEADER_SIZE {
        Some(("header size", u64::from(header.header_size_words)))
    } else if !header.is_sealed()
        && grid.flags.is_some_and(|flags| flags != header.flags & (BIG_ENDIAN | WORD64))
    {
        Some(("flags", u64::from(header.flags))) // `.read.open`
    } else if last < last_min || last > top {
        Some(("last", u64::from(last)))
    } else if usize::from(header.kind) >= eventdef::KIND_COUNT_MAX {
        Some(("kind", u64::from(header.kind)))
    } else {
        None
    };
    if let Some((field, found)) = fault {
        faults.push(offset, FaultKind::BlockField { field, found });
    }
    fault.is_none()
}

/// Replaces the [`registry_key`] of each segment and account by the index of its registry in the
/// log. Each registry is laid out for the platform of the block.
pub(crate) fn resolve(index: &mut Index, pieces: Pieces) {
    let mut places: BTreeMap<(u16, u32), u32> = BTreeMap::new();
    let mut known: BTreeMap<(u16, u16), u32> = BTreeMap::new();
    let mut left = encoding::REGISTRY_MEMORY_MAX;
    for ((stream, registry_index), mut registry) in pieces.finish(&mut left, &mut index.faults) {
        let platform = index.streams.get(usize::from(stream)).map(|stream| stream.platform);
        let flags = platform.map_or(WORD64, flags_of);
        registry.lay_out(platform.unwrap_or(registry.platform));
        let place = index.registries.len() as u32;
        places.insert((stream, registry_key(registry_index, flags)), place);
        known.insert((stream, registry_index), place);
        index.registries.push(registry);
    }
    let registries = &mut index.registries;
    let mut place = |stream: u16, key: u32| {
        *places.entry((stream, key)).or_insert_with(|| {
            let registry_index = key as u16;
            let platform = platform_of(key);
            let known = known.get(&(stream, registry_index));
            let known = known.and_then(|&place| registries.get(place as usize));
            // A second layout of a registry must fit in memory too.
            let fits = known.filter(|known| {
                let rest = left.checked_sub(encoding::memory(known));
                left = rest.unwrap_or(left);
                rest.is_some()
            });
            let mut registry = fits
                .cloned()
                .unwrap_or_else(|| Registry::unknown(stream, registry_index, platform));
            registry.lay_out(platform);
            registries.push(registry);
            registries.len() as u32 - 1
        })
    };
    for segment in &mut index.segments {
        segment.registry = place(segment.stream, segment.registry);
    }
    for account in &mut index.accounts {
        account.registry = place(account.stream, account.registry);
    }
}

/// Returns the platform flags of a platform's blocks.
pub(crate) fn flags_of(platform: Platform) -> u8 {
    let order = if platform.big_endian { BIG_ENDIAN } else { 0 };
    order | if platform.word_size == 8 { WORD64 } else { 0 }
}

/// Combines a registry's index in its stream and the platform flags of a block.
pub(crate) fn registry_key(registry: u16, flags: u8) -> u32 {
    u32::from(registry) | u32::from(flags & (BIG_ENDIAN | WORD64)) << 16
}

/// Returns the platform of a [`registry_key`].
pub(crate) fn platform_of(key: u32) -> Platform {
    let flags = (key >> 16) as u8;
    Platform::stream(flags & BIG_ENDIAN != 0, if flags & WORD64 != 0 { 8 } else { 4 })
}
