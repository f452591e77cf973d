//! Decodes a block or part to located events, oldest first.
//!
//! ```text
//!  │ header │ gap │ newest ──size──▶ older ──size──▶ base record ──size──▶ oldest │ top
//!                 last              base in force: base last ──────▶ base before
//! ```
//!
//! The walk goes along the chain of events from *last* upwards (`.block.last`); a writer may have
//! stopped at any instant. Layout: 3.1 and 3.2 of `design/format.md`; rules: 3.3.

use super::numbers;
use crate::format::{
    BASE_RECORD_CODE, BASE_RECORD_SIZE, BIG_ENDIAN, BLOCK_HEADER_SIZE, BlockHeader, WORD64,
};
use crate::reader::fault::kind::FaultKind;
use crate::reader::fault::list::Faults;
use crate::reader::index::segment::{Decoded, Located, Segment};
use crate::reader::model::registry::{Platform, Registry, Row};
use byteorder::{BigEndian, ByteOrder, LittleEndian};

/// Flag of a [`Segment`]: a part, whose payload follows its header.
pub(crate) const PART: u8 = 1;
/// Flag of a [`Segment`]: another segment gives some of its events (`.event.identity`).
pub(crate) const TRIMMED: u8 = 2;

/// Flag of a [`Segment`]: several parts of one buffer in one parts block, with consecutive numbers.
/// Parts of other buffers may lie between them. (`identity.rs` has flag 4.)
pub(crate) const SEVERAL: u8 = 8;
/// Flag of a [`Segment`]: it states the numbers of its events (`.cut.numbers`).
pub(crate) const NUMBERED: u8 = 16;

/// Returns the header size that a block or part states (`.block.header-size`).
pub(crate) fn header_size(header: &BlockHeader) -> usize {
    usize::from(header.header_size_words) * 8
}

/// Returns the platform that a block's flags state (`.block.flags`).
pub(crate) fn platform(header: &BlockHeader) -> Platform {
    let word_size = if header.flags & WORD64 != 0 { 8 } else { 4 };
    Platform::stream(header.flags & BIG_ENDIAN != 0, word_size)
}

/// Returns the range of the events: [last, top) in a block (`.block.last`); after the header in a
/// part (`.parts.payload`).
pub(crate) fn payload(header: &BlockHeader, is_part: bool) -> std::ops::Range<usize> {
    let start = if is_part { header_size(header) } else { header.last.get() as usize };
    start..start.saturating_add(header.payload_size())
}

/// Returns whether the checksum of a block or part is right: over the header, in its stated size,
/// and the payload (`.block.crc`).
pub(crate) fn is_intact(header: &BlockHeader, bytes: &[u8], is_part: bool) -> bool {
    bytes.get(payload(header, is_part)).is_some_and(|payload| is_right(header, bytes, payload))
}

/// Returns whether the checksum of a parts block is right. It covers only the header
/// (`.parts.header`).
pub(crate) fn is_header_intact(header: &BlockHeader, bytes: &[u8]) -> bool {
    is_right(header, bytes, &[])
}

fn is_right(header: &BlockHeader, bytes: &[u8], payload: &[u8]) -> bool {
    let Some(added) = bytes.get(BLOCK_HEADER_SIZE..header_size(header)) else { return false };
    header.checksum_with(added, payload) == header.crc.get()
}

/// Decodes a block or part: see [`crate::reader::index::segment::Decode`].
pub(crate) fn decode(
    segment: &Segment,
    registry: &Registry,
    decoded: &mut Decoded,
    faults: &mut Faults,
) {
    decoded.located.clear();
    decoded.numbers.clear();
    decoded.first = segment.first;
    // `.stream.tail`: missing bytes count as zero.
    let present = decoded.bytes.len();
    decoded.bytes.resize(segment.size as usize, 0);
    if segment.flags & SEVERAL != 0 {
        several(segment, registry, decoded, present, faults);
    } else {
        match one(segment, 0, registry, decoded, present, faults) {
            Some(first) => decoded.first = first,
            None => return,
        }
    }
    if segment.flags & TRIMMED != 0 {
        trim(segment, decoded);
    }
}

/// Decodes the block or part at offset `at`, and returns the number of its oldest event; `None` if
/// it is damaged.
fn one(
    segment: &Segment,
    at: usize,
    registry: &Registry,
    decoded: &mut Decoded,
    present: usize,
    faults: &mut Faults,
) -> Option<u64> {
    let is_part = segment.flags & PART != 0;
    let rest = decoded.bytes.get(at..)?;
    let header = BlockHeader::read(rest)?;
    let range = payload(&header, is_part);
    // `.read.sealed`: a wrong checksum costs the block.
    if header.is_sealed() && !is_intact(&header, rest, is_part) {
        let kind = damage(&header, range.end, present.saturating_sub(at));
        faults.push(segment.offset.saturating_add(at as u64), kind);
        return None;
    }
    let range = at + range.start..at.saturating_add(range.end);
    // `.read.chain`: an event that extends beyond the end of the log ends the chain.
    let limit = present.min(range.end);
    let walk = Walk { offset: segment.offset, header: &header, registry, range, limit };
    let before = decoded.located.len();
    let end = walk.run(&decoded.bytes, &mut decoded.located, faults);
    let located = decoded.located.get_mut(before..)?;
    located.reverse();
    let first = walk.close(&end, &decoded.bytes, located, faults);
    if numbers::is_numbered(&header) {
        let count = located.len();
        let ranges = numbers::ranges(&header, decoded.bytes.get(at..)?, is_part);
        let beyond = ranges.last().map_or(first, |last| last.end);
        // If the chain is broken, the newest events are the ones that were found.
        let missing = first.saturating_sub(header.first.get()) as usize;
        let all = ranges.into_iter().flatten().chain(beyond..=u64::MAX);
        decoded.numbers.extend(all.skip(missing).take(count));
    }
    Some(first)
}

/// Decodes the parts of one buffer in a stretch of a parts block. The first pass has checked them.
fn several(
    segment: &Segment,
    registry: &Registry,
    decoded: &mut Decoded,
    present: usize,
    faults: &mut Faults,
) {
    let Some(first) = BlockHeader::read(&decoded.bytes) else { return };
    decoded.first = first.first.get();
    let mut at = 0;
    while let Some(header) = decoded.bytes.get(at..).and_then(BlockHeader::read)
        && header_size(&header) >= BLOCK_HEADER_SIZE
    {
        let next = decoded.first.wrapping_add(decoded.located.len() as u64);
        let is_next = header.block_type == first.block_type
            && header.buffer == first.buffer
            && header.stream == first.stream
            && header.first.get() == next
            && header.count.get() > 0
            && !numbers::is_numbered(&header);
        if is_next && one(segment, at, registry, decoded, present, faults).is_none() {
            return;
        }
        at = at.saturating_add(payload(&header, true).end);
        at = at.checked_next_multiple_of(8).unwrap_or(usize::MAX);
    }
}

/// Returns whether the chain of a part has as many events as the header states.
pub(crate) fn is_count_right(header: &BlockHeader, bytes: &[u8]) -> bool {
    let range = payload(header, true);
    let Some(mut rest) = bytes.get(range) else { return false };
    let mut count = 0;
    while !rest.is_empty() {
        let head = head_in(rest, 0, header.flags & BIG_ENDIAN != 0);
        let Some(Head { code, size, .. }) = head else { return false };
        if size & 7 != 0 || size == 0 {
            return false;
        }
        let Some(older) = rest.get(usize::from(size)..) else { return false };
        rest = older;
        count += u32::from(code != BASE_RECORD_CODE);
    }
    count == header.count.get()
}

/// Returns the fault of a block or part with a wrong checksum. Its payload ends at `end`, and
/// `present` bytes are in the log.
pub(crate) fn damage(header: &BlockHeader, end: usize, present: usize) -> FaultKind {
    match end.saturating_sub(present) as u64 {
        0 => FaultKind::BlockChecksum { count: header.count.get() },
        missing => FaultKind::BlockCut { missing },
    }
}

/// Keeps only the events that the segment gives.
fn trim(segment: &Segment, decoded: &mut Decoded) {
    let skip = segment.first.saturating_sub(decoded.first).min(decoded.located.len() as u64);
    let end = segment.first.saturating_add(u64::from(segment.count));
    let keep = end.saturating_sub(decoded.first).min(decoded.located.len() as u64);
    decoded.located.truncate(keep as usize);
    decoded.located.drain(..(skip as usize).min(decoded.located.len()));
    decoded.first = decoded.first.saturating_add(skip);
}

/// A walk from the newest event of a block to the oldest.
struct Walk<'a> {
    /// Of the block or part, for faults.
    offset: u64,
    header: &'a BlockHeader,
    registry: &'a Registry,
    range: std::ops::Range<usize>,
    /// No event extends beyond this.
    limit: usize,
}

struct End {
    /// The base in force at the end.
    base: u64,
    /// Where the chain is broken, and the size that the event there states.
    broken: Option<(usize, u16)>,
    /// Whether the bases of base records do not match.
    torn: bool,
}

/// The first eight bytes of an event.
pub(crate) struct Head {
    pub(crate) code: u16,
    pub(crate) size: u16,
    pub(crate) delta: u32,
}

#[inline(always)]
fn head<O: ByteOrder>(bytes: &[u8], at: usize) -> Option<Head> {
    let [a, b, c, d, delta @ ..] = bytes.get(at..)?.first_chunk::<8>()?;
    let (code, size) = (O::read_u16(&[*a, *b]), O::read_u16(&[*c, *d]));
    Some(Head { code, size, delta: O::read_u32(delta) })
}

/// Reads the first eight bytes of an event in a given byte order.
pub(crate) fn head_in(bytes: &[u8], at: usize, is_big: bool) -> Option<Head> {
    if is_big { head::<BigEndian>(bytes, at) } else { head::<LittleEndian>(bytes, at) }
}

/// Returns the events of an open block, oldest first; only `present` of its bytes exist. Fails with
/// the offset where its chain is broken.
pub(crate) fn chain(
    header: &BlockHeader,
    bytes: &[u8],
    present: usize,
    big_endian: bool,
) -> Result<Vec<Located>, usize> {
    let registry = &Registry::unknown(0, 0, Platform::stream(big_endian, 8));
    let range = payload(header, false);
    let walk = Walk { offset: 0, header, registry, limit: present.min(range.end), range };
    let (mut located, mut unknown) = (Vec::new(), Faults::default());
    let end = walk.run(bytes, &mut located, &mut unknown);
    if let Some((at, _)) = end.broken {
        return Err(at);
    }
    located.reverse();
    walk.close(&end, bytes, &mut located, &mut unknown);
    Ok(located)
}

impl Walk<'_> {
    /// Walks from *last* to *top* (`.event.fill`), newest event first.
    fn run(&self, bytes: &[u8], located: &mut Vec<Located>, faults: &mut Faults) -> End {
        if self.registry.platform.big_endian {
            self.run_in::<BigEndian>(bytes, located, faults)
        } else {
            self.run_in::<LittleEndian>(bytes, located, faults)
        }
    }

    fn run_in<O: ByteOrder>(
        &self,
        bytes: &[u8],
        located: &mut Vec<Located>,
        faults: &mut Faults,
    ) -> End {
        let bytes = bytes.get(..self.limit.min(bytes.len())).unwrap_or_default();
        // The count may be false: reserve no more than the bytes can hold.
        let most = (self.header.count.get() as usize).min(self.range.len() / 8);
        located.reserve(most);
        let mut base = self.header.base_last.get();
        let mut torn = false;
        let mut at = self.range.start;
        while at < self.range.end {
            let Some(Head { code, size, delta }) = head::<O>(bytes, at) else {
                return End { base, torn, broken: Some((at, 0)) };
            };
            let next = at + usize::from(size);
            // `.event.size`, `.read.chain`
            if size & 7 != 0 || size == 0 || next > bytes.len() {
                return End { base, torn, broken: Some((at, size)) };
            }
            if code == BASE_RECORD_CODE {
                // `.event.base`: older events count from the base before.
                match base_record::<O>(bytes, at, size) {
                    Some((after, before)) => {
                        torn |= after != base;
                        base = before;
                    }
                    None => return End { base, torn, broken: Some((at, size)) },
                }
            } else {
                let row = self.registry.row(code);
                if row.is_unknown() || size < row.size_min() {
                    self.odd(at, code, size, row, faults);
                }
                let ticks = base.wrapping_add(u64::from(delta));
                located.push(Located { ticks, offset: at as u32, size, row: row.index() });
            }
            at = next;
        }
        torn |= base != self.header.base.get();
        End { base, torn, broken: None }
    }

    /// Reports an event of unknown code or of too small a size (`.event.unknown`, `.event.short`).
    #[cold]
    fn odd(&self, at: usize, code: u16, size: u16, row: Row, faults: &mut Faults) {
        let offset = self.offset.saturating_add(at as u64);
        if row.is_unknown() {
            let registry = self.header.registry.get();
            faults.push_once(offset, FaultKind::EventUnknown { registry, code });
        } else {
            faults.push(offset, FaultKind::EventShort { code, size });
        }
    }

    /// Checks the end of the walk, and returns the number of the oldest event found
    /// (`.block.first`). `located` is already oldest first.
    fn close(&self, end: &End, bytes: &[u8], located: &mut [Located], faults: &mut Faults) -> u64 {
        let found = located.len() as u64;
        let stated = self.header.count.get();
        let first = self.header.first.get(); // `.block.first`
        if let Some((at, size)) = end.broken {
            // `.read.chain`: the events nearer to *last* are kept, numbered down from the newest.
            let lost = u64::from(stated).saturating_sub(found);
            let offset = self.offset.saturating_add(at as u64);
            faults.push(offset, FaultKind::EventChain { size, lost });
            if end.torn {
                self.rebase(bytes, located, end.base, at);
            }
            return first.saturating_add(lost);
        }
        if self.header.is_sealed() && found != u64::from(stated) {
            let found = located.len() as u32;
            faults.push(self.offset, FaultKind::EventCount { stated, found });
        }
        // `.block.base`: a writer that stopped between storing *base last* and publishing the base
        // record leaves a base that is not in force. Then the base at *top* holds, upwards in time.
        if end.torn {
            self.rebase(bytes, located, self.header.base.get(), self.range.end);
        }
        first
    }

    /// Computes the ticks of the events below `top` again, from the oldest on (`.block.base`).
    /// `base` is in force at `top`.
    #[cold]
    fn rebase(&self, bytes: &[u8], located: &mut [Located], mut base: u64, mut top: usize) {
        let is_big = self.registry.platform.big_endian;
        let head = |at| head_in(bytes, at, is_big);
        for event in located {
            // Only base records lie between two events. The one next to the newer event holds.
            let mut at = event.offset as usize + usize::from(event.size);
            let mut newest = None;
            while at < top {
                let size = head(at).map_or(0, |head| head.size);
                newest = newest.or(bases_in(bytes, at, size, is_big));
                at += usize::from(size).max(BASE_RECORD_SIZE);
            }
            base = newest.map_or(base, |(base, _)| base);
            top = event.offset as usize;
            let delta = head(top).map_or(0, |head| head.delta);
            event.ticks = base.wrapping_add(u64::from(delta));
        }
    }
}

/// Returns the bases of a base record: the new one, and the one before.
fn base_record<O: ByteOrder>(bytes: &[u8], at: usize, size: u16) -> Option<(u64, u64)> {
    if usize::from(size) < BASE_RECORD_SIZE {
        return None;
    }
    let rest = bytes.get(at + 8..)?;
    let (base, rest) = rest.split_first_chunk::<8>()?;
    let before = rest.first_chunk::<8>()?;
    Some((O::read_u64(base), O::read_u64(before)))
}

/// Returns the bases of a base record in a given byte order.
pub(crate) fn bases_in(bytes: &[u8], at: usize, size: u16, is_big: bool) -> Option<(u64, u64)> {
    if is_big {
        base_record::<BigEndian>(bytes, at, size)
    } else {
        base_record::<LittleEndian>(bytes, at, size)
    }
}
