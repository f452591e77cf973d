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
use crate::reader::stream::block::{self, Head};

/// Seals an open block of events. The core has `present` bytes of it. An event that extends
/// beyond them is removed, so that the chain ends before it.
pub(super) fn seal(bytes: &mut [u8], present: usize, big_endian: bool, sync: Option<ClockSync>) {
    let Some(mut header) = BlockHeader::read(bytes) else { return };
    if header.is_sealed() || header.block_type != BlockType::Events as u8 {
        return;
    }
    let chain = match walk(&header, bytes, present, big_endian) {
        Ok(chain) => chain,
        Err(end) => {
            let broken = bytes.get_mut(end..).filter(|_| end >= BLOCK_HEADER_SIZE);
            broken.into_iter().flatten().take(EVENT_HEADER_SIZE).for_each(|byte| *byte = 0);
            return;
        }
    };
    header.count = chain.count.into();
    header.base_last = chain.base_last.into();
    // No event in a sealed block is later than its sync.
    let is_later = |sync: &ClockSync| sync.ticks >= chain.ticks_max && sync.ticks != 0;
    let sync = Some(header.sync()).filter(is_later).or(sync.filter(is_later));
    header.set_sync(sync.unwrap_or_default());
    header.seal(bytes.get(block::payload(&header, false)).unwrap_or_default());
    let to = bytes.iter_mut().zip(bytemuck::bytes_of(&header));
    to.for_each(|(to, from)| *to = *from);
}

/// The facts of a block's chain.
struct Chain {
    count: u32,
    base_last: u64,
    ticks_max: u64,
}

/// Walks the chain of a block from *last* to *top*. Fails with the offset where it is broken.
fn walk(
    header: &BlockHeader,
    bytes: &[u8],
    present: usize,
    big_endian: bool,
) -> Result<Chain, usize> {
    let mut at = block::payload(header, false).start;
    let top = header.top.get() as usize;
    let whole = bytes.get(..top.min(present)).unwrap_or_default();
    if at > top || top > bytes.len() || at < block::header_size(header) {
        return Err(0);
    }
    let mut chain = Chain { count: 0, base_last: header.base.get(), ticks_max: 0 };
    // The first base record on the way is the newest. The bases of all records must match.
    let mut older: Option<u64> = None;
    let mut delta_max = 0;
    while at < top {
        let (code, size, delta) = event(whole, at, big_endian).ok_or(at)?;
        if code == BASE_RECORD_CODE {
            let (after, before) = block::bases_in(whole, at, size, big_endian).ok_or(at)?;
            match older {
                None => chain.base_last = after,
                Some(older) if older != after => return Err(0),
                Some(_) => {}
            }
            chain.ticks_max = chain.ticks_max.max(after.saturating_add(delta_max));
            delta_max = 0;
            older = Some(before);
        } else {
            chain.count += 1;
            delta_max = delta_max.max(u64::from(delta));
        }
        at += usize::from(size);
    }
    let base = header.base.get();
    if older.is_some_and(|older| older != base) {
        return Err(0);
    }
    chain.ticks_max = chain.ticks_max.max(base.saturating_add(delta_max));
    Ok(chain)
}

/// Returns code, size and delta of the event at an offset, if the bytes hold all of it.
fn event(bytes: &[u8], at: usize, big_endian: bool) -> Option<(u16, u16, u32)> {
    let Head { code, size, delta } = block::head_in(bytes, at, big_endian)?;
    let is_sound = size != 0 && size % 8 == 0 && at + usize::from(size) <= bytes.len();
    is_sound.then_some((code, size, delta))
}
