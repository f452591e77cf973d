//! The numbers of events in a block that lacks some numbers, as the block states them.
//!
//! ```text
//!  record at last:  │ code 0, size │ base │ base │ 2044 1 │ 3 7 │ 0 … │
//!                      events that follow on one another ┘ └ numbers left out after them
//!  first = 0, count = 2050  ──▶  [0, 2044)  [2045, 2048)  [2055, 2058)
//! ```
//!
//! Layout: `.cut.numbers` in `design/format.md`.

use super::block::{Head, head_in, payload};
use crate::format::{BASE_RECORD_CODE, BASE_RECORD_SIZE, BIG_ENDIAN, BlockHeader, NUMBERED};
use std::ops::Range;

/// Returns whether a block or part states the numbers of its events.
pub(crate) fn is_numbered(header: &BlockHeader) -> bool {
    header.flags & NUMBERED != 0 && header.is_sealed()
}

/// Returns the numbers of the events of a block or part as ascending ranges: as many as its
/// *count*. If the record is damaged, the numbers are consecutive.
pub(crate) fn ranges(header: &BlockHeader, bytes: &[u8], is_part: bool) -> Vec<Range<u64>> {
    let mut words = Words(record(header, bytes, is_part));
    let (mut ranges, mut left) = (Vec::new(), u64::from(header.count.get()));
    let mut start = header.first.get();
    while left > 0 && start < u64::MAX {
        let stated = words.next().filter(|&count| count > 0).unwrap_or(left);
        let count = stated.min(left).min(u64::MAX - start);
        let end = start + count;
        ranges.push(start..end);
        left -= count;
        let next = words.next().and_then(|skipped| end.checked_add(skipped));
        start = next.unwrap_or(end);
    }
    ranges
}

/// Returns the contents of the record at the start of a block or part, if it has one.
fn record<'a>(header: &BlockHeader, bytes: &'a [u8], is_part: bool) -> &'a [u8] {
    let bytes = bytes.get(payload(header, is_part)).unwrap_or_default();
    let head = head_in(bytes, 0, header.flags & BIG_ENDIAN != 0);
    let is_record = |head: &Head| head.code == BASE_RECORD_CODE && is_numbered(header);
    let size = head.filter(is_record).map_or(0, |head| usize::from(head.size));
    bytes.get(BASE_RECORD_SIZE..size).unwrap_or_default()
}

/// Numbers of seven bits a byte, lowest first. The last byte of a number is less than 128.
struct Words<'a>(&'a [u8]);

impl Iterator for Words<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let mut word = 0u64;
        for shift in (0..u64::BITS).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            word |= u64::from(byte & 0x7F) << shift;
            if *byte < 0x80 {
                return Some(word);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{BLOCK_HEADER_SIZE, BLOCK_MAGIC, BlockType, SEALED, WORD64};
    use crate::reader::Faults;
    use crate::reader::block;
    use crate::reader::index::segment::{Decoded, Segment};
    use crate::reader::model::registry::{Platform, Registry};
    use bytemuck::Zeroable;

    /// `.cut.numbers`: a block may state any number.
    #[test]
    fn the_highest_number_ends_a_block() {
        let mut header = BlockHeader::zeroed();
        (header.magic, header.block_type) = (BLOCK_MAGIC, BlockType::Events as u8);
        header.flags = NUMBERED | WORD64 | SEALED;
        (header.block_size_log2, header.header_size_words) = (12, (BLOCK_HEADER_SIZE / 8) as u8);
        let event = [1, 0, 8, 0, 0, 0, 0, 0];
        let record = [[0, 0, 32, 0, 0, 0, 0, 0], [0; 8], [0; 8], [1, 3, 0, 0, 0, 0, 0, 0]];
        let payload = [record.concat(), event.repeat(5)].concat();
        (header.top, header.count) = ((payload.len() as u32).into(), 5.into());
        for (first, expected) in
            [(0, [0, 4, 5, 6, 7]), (u64::MAX - 7, [7, 3, 2, 1, 0].map(|left| u64::MAX - left))]
        {
            header.first = first.into();
            header.crc = header.checksum_with(&[], &payload).into();
            let bytes = [bytemuck::bytes_of(&header), &payload].concat();
            let segment = Segment {
                first,
                count: 5,
                size: bytes.len() as u32,
                flags: block::PART | block::NUMBERED,
                ..Segment::default()
            };
            let registry = Registry::unknown(0, 1, Platform::stream(false, 8));
            let (mut decoded, mut faults) = (Decoded::default(), Faults::default());
            decoded.bytes = bytes;
            block::decode(&segment, &registry, &mut decoded, &mut faults);
            let numbers = |n: usize| decoded.get(n).map(|(number, _)| number);
            let found: Vec<u64> = (0..5).map_while(numbers).collect();
            assert_eq!(found, expected, "{faults:?}");
        }
    }
}
