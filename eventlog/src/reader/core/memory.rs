//! The memory of a process as a core has it: addresses to bytes of the file.
//!
//! ```text
//!  address ──▶ range [address, size there] ──▶ offset in the file
//!          └── in none, or beyond what is there: not in the core
//! ```
//!
//! Design: `.debug.core` in `design/telemetry.md`.

use super::elf::{Elf, Load};
use super::order::InOrder;
use crate::reader::source::bytes::Source;
use bytemuck::Pod;
use byteorder::{BigEndian, LittleEndian};
use std::io;

/// Bytes that are looked through at a time.
const SCAN_SIZE: usize = 1 << 18;

/// The dumped memory of a process.
#[derive(Debug)]
pub(super) struct Memory {
    /// By address, none over another; of each the size is what is there of it in the file.
    ranges: Vec<Load>,
    /// By address, what lay beyond the end of the file: address, size, and size of all before.
    cut: Vec<(u64, u64, u64)>,
    /// Bytes that are passed over, as the headers place them over others.
    pub(super) overlap: u64,
    pub(super) big_endian: bool,
}

impl Memory {
    pub(super) fn new(elf: &Elf, source: &dyn Source) -> Memory {
        let (mut ranges, mut cut): (Vec<Load>, _) = (Vec::new(), Vec::new());
        for load in &elf.loads {
            let whole = load.size.min(u64::MAX - load.address);
            let size = whole.min(source.size().saturating_sub(load.offset));
            if size > 0 {
                ranges.push(Load { size, ..*load });
            }
            if size < whole {
                cut.push((load.address + size, whole - size, 0));
            }
        }
        // No address is there twice, and no byte of the file: to read all of them takes no longer
        // than to read the file, whatever its headers say.
        let overlap = part(&mut ranges, |range| range.offset);
        let overlap = overlap.saturating_add(part(&mut ranges, |range| range.address));
        cut.sort_unstable();
        let mut sum = 0u64;
        for (_, size, before) in &mut cut {
            *before = sum;
            sum = sum.saturating_add(*size);
        }
        Memory { ranges, cut, overlap, big_endian: elf.big_endian }
    }

    /// Bytes of a stretch that lay beyond the end of the file.
    pub(super) fn cut_of(&self, address: u64, size: u64) -> u64 {
        let before = |address: u64| {
            let after = self.cut.partition_point(|(start, ..)| *start < address);
            let last = after.checked_sub(1).and_then(|at| self.cut.get(at));
            last.map_or(0, |&(start, size, before)| {
                before.saturating_add(size.min(address - start))
            })
        };
        before(address.saturating_add(size)).saturating_sub(before(address))
    }

    /// Bytes of memory that are in the core, of those that could be written.
    pub(super) fn size(&self) -> u64 {
        self.ranges.iter().fold(0, |sum, range| sum.saturating_add(range.size))
    }

    /// Stretches of memory that are in the core.
    pub(super) fn range_count(&self) -> usize {
        self.ranges.len()
    }

    /// How many stretches a block is in, at most.
    pub(super) fn piece_count(&self, address: u64, size: u64) -> usize {
        let before = |address: u64| self.ranges.partition_point(|range| range.address < address);
        1 + before(address.saturating_add(size)).saturating_sub(before(address))
    }

    /// The range that an address is in, or else the next one after it.
    fn range(&self, address: u64) -> Option<&Load> {
        let after = self.ranges.partition_point(|range| range.address <= address);
        let before = after.checked_sub(1).and_then(|at| self.ranges.get(at));
        let holds = |range: &&Load| address - range.address < range.size;
        before.filter(holds).or_else(|| self.ranges.get(after))
    }

    /// The first address from this one on that is in the core.
    pub(super) fn next_address(&self, address: u64) -> Option<u64> {
        self.range(address).map(|range| range.address.max(address))
    }

    /// Whether all of a stretch is in the core.
    pub(super) fn holds(&self, address: u64, size: u64) -> bool {
        let mut at = address;
        let Some(end) = address.checked_add(size) else { return false };
        while at < end {
            match self.range(at).filter(|range| range.address <= at) {
                Some(range) => at = range.address + range.size,
                None => return false,
            }
        }
        true
    }

    /// Reads memory at an address, and says how much of it is in the core.
    pub(super) fn read(
        &self,
        source: &dyn Source,
        address: u64,
        bytes: &mut [u8],
    ) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let Some(at) = address.checked_add(done as u64) else { break };
            let Some(range) = self.range(at).filter(|range| range.address <= at) else { break };
            let before = at - range.address;
            let size = usize::try_from(range.size - before).unwrap_or(usize::MAX).min(rest.len());
            let rest = rest.get_mut(..size).unwrap_or_default();
            let there = source.read_at(range.offset.saturating_add(before), rest)?;
            done += there;
            if there < size {
                break;
            }
        }
        Ok(done)
    }

    /// Reads a value of the process's byte order, if all of it is in the core (`.root.order`).
    pub(super) fn read_value<T: Pod + InOrder>(
        &self,
        source: &dyn Source,
        address: u64,
    ) -> io::Result<Option<T>> {
        let mut value = T::zeroed();
        let bytes = bytemuck::bytes_of_mut(&mut value);
        let is_whole = self.read(source, address, bytes)? == bytes.len();
        Ok(is_whole.then(|| self.in_order(value)))
    }

    /// A value that was read from this memory, in this machine's byte order.
    pub(super) fn in_order<T: InOrder>(&self, value: T) -> T {
        if self.big_endian {
            value.in_order::<BigEndian>()
        } else {
            value.in_order::<LittleEndian>()
        }
    }

    /// The addresses in writable memory, multiples of `step`, at which these bytes are; no more
    /// than so many.
    pub(super) fn find(
        &self,
        source: &dyn Source,
        what: &[u8],
        step: usize,
        count_max: usize,
    ) -> io::Result<Vec<u64>> {
        let mut found = Vec::new();
        let mut bytes = vec![0; SCAN_SIZE];
        for range in self.ranges.iter().filter(|range| range.is_writable) {
            let Some(mut at) = range.address.checked_next_multiple_of(step as u64) else {
                continue;
            };
            let end = range.address + range.size;
            while at < end && found.len() < count_max {
                let size = (end - at).min(SCAN_SIZE as u64) as usize;
                let offset = range.offset.saturating_add(at - range.address);
                let there = source.read_at(offset, bytes.get_mut(..size).unwrap_or_default())?;
                let there = bytes.get(..there).unwrap_or_default();
                for (index, piece) in there.chunks(step).enumerate() {
                    if piece.starts_with(what) {
                        found.push(at + (index * step) as u64);
                    }
                }
                at += size as u64;
            }
        }
        found.truncate(count_max);
        Ok(found)
    }
}

/// Puts stretches in the order of where they begin, and takes each off those before it. Gives how
/// many bytes that costs.
fn part(ranges: &mut Vec<Load>, begin: fn(&Load) -> u64) -> u64 {
    ranges.sort_by_key(begin);
    let (mut end, mut overlap) = (0u64, 0u64);
    ranges.retain_mut(|range| {
        let over = end.saturating_sub(begin(range)).min(range.size);
        overlap = overlap.saturating_add(over);
        range.address = range.address.saturating_add(over);
        range.offset = range.offset.saturating_add(over);
        range.size -= over;
        end = end.max(begin(range).saturating_add(range.size));
        range.size > 0
    });
    overlap
}
