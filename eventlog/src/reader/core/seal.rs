//! Seals the open blocks of a core for a log.
//!
//! ```text
//!  │ header │ gap │ newest ──▶ … ──▶ oldest │ top    chain whole? ──▶ count, base last, checksum
//! ```
//!
//! A block with a broken chain stays open, so the reader reports its fault as in the core itself.
//! Rules: `.write.seal`, `.block.sync` in `design/format.md`.

use crate::format::{
    BASE_RECORD_CODE, BLOCK_HEADER_SIZE, BlockHeader, BlockType, ClockSync, EVENT_HEADER_SIZE,
};
use crate::reader::stream::block;

/// Seals an open block of events. The core has `present` bytes of it. An event that extends
/// beyond them is removed, so that the chain ends before it.
pub(super) fn seal(bytes: &mut [u8], present: usize, big_endian: bool, sync: Option<ClockSync>) {
    let Some(mut header) = BlockHeader::read(bytes) else { return };
    let (last, top) = (header.last.get() as usize, header.top.get() as usize);
    let is_plausible = (block::header_size(&header)..=top).contains(&last) && top <= bytes.len();
    let is_open = !header.is_sealed() && header.block_type == BlockType::Events as u8;
    if !(is_plausible && is_open) {
        return;
    }
    let events = match block::chain(&header, bytes, present, big_endian) {
        Ok(events) => events,
        Err(end) => {
            let broken = bytes.get_mut(end..).filter(|_| end >= BLOCK_HEADER_SIZE);
            broken.into_iter().flatten().take(EVENT_HEADER_SIZE).for_each(|byte| *byte = 0);
            return;
        }
    };
    // The newest base record states the base in force; without one, the base did not change.
    let newest = block::head_in(bytes, last, big_endian).filter(|_| last < top);
    let base_last = newest.and_then(|head| match events.last() {
        _ if head.code == BASE_RECORD_CODE => {
            Some(block::bases_in(bytes, last, head.size, big_endian)?.0)
        }
        newest => Some(newest?.ticks.wrapping_sub(head.delta.into())),
    });
    header.base_last = base_last.unwrap_or(header.base.get()).into();
    header.count = (events.len() as u32).into();
    // No event in a sealed block is later than its sync.
    let latest = events.iter().map(|event| event.ticks).max().unwrap_or(0);
    let latest = latest.max(header.base_last.get());
    let is_later = |sync: &ClockSync| sync.ticks >= latest && sync.ticks != 0;
    let sync = Some(header.sync()).filter(is_later).or(sync.filter(is_later));
    header.set_sync(sync.unwrap_or_default());
    header.seal(bytes.get(block::payload(&header, false)).unwrap_or_default());
    let to = bytes.iter_mut().zip(bytemuck::bytes_of(&header));
    to.for_each(|(to, from)| *to = *from);
}
