//! The memory of a process in a core: addresses to bytes of the file.
//!
//! ```text
//!  address ──▶ range [address, size in the file] ──▶ offset in the file
//!          └── in none, or beyond its end: not in the core
//! ```
//!
//! Design: `.debug.core` in `design/telemetry.md`.

use super::byte_order::InByteOrder;
use super::elf::{Elf, Load};
use crate::reader::source::bytes::Source;
use bytemuck::Pod;
use byteorder::{BigEndian, LittleEndian};
use std::io;

/// Bytes that are searched in one step.
const SCAN_SIZE: usize = 1 << 18;

/// The dumped memory of a process.
pub(super) struct Memory {
    source: Box<dyn Source + Send + Sync>,
    /// Ranges in order of address, without overlap. The size of each is its size in the file.
    ranges: Vec<Load>,
    /// Ranges beyond the end of the file, by address: address, size, and size of all ranges before.
    cut: Vec<(u64, u64, u64)>,
    /// Bytes that are skipped, because the headers place them over other bytes.
    pub(super) overlap: u64,
    pub(super) big_endian: bool,
}

impl Memory {
    pub(super) fn new(elf: &Elf, source: Box<dyn Source + Send + Sync>) -> Memory {
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
        // No address and no byte of the file occurs twice. So reading all ranges takes no longer
        // than reading the file, whatever its headers state.
        let overlap = part(&mut ranges, |range| range.offset);
        let overlap = overlap.saturating_add(part(&mut ranges, |range| range.address));
        cut.sort_unstable();
        let mut sum = 0u64;
        for (_, size, before) in &mut cut {
            *before = sum;
            sum = sum.saturating_add(*size);
        }
        Memory { source, ranges, cut, overlap, big_endian: elf.big_endian }
    }

    /// Returns how many bytes of a stretch lay beyond the end of the file.
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

    /// Returns the size of the memory in the core.
    pub(super) fn size(&self) -> u64 {
        self.ranges.iter().fold(0, |sum, range| sum.saturating_add(range.size))
    }

    pub(super) fn range_count(&self) -> usize {
        self.ranges.len()
    }

    /// Returns how many ranges a block touches, at most.
    pub(super) fn piece_count(&self, address: u64, size: u64) -> usize {
        let before = |address: u64| self.ranges.partition_point(|range| range.address < address);
        1 + before(address.saturating_add(size)).saturating_sub(before(address))
    }

    /// Returns the range of an address, or the next one after it.
    fn range(&self, address: u64) -> Option<&Load> {
        let after = self.ranges.partition_point(|range| range.address <= address);
        let before = after.checked_sub(1).and_then(|at| self.ranges.get(at));
        let holds = |range: &&Load| address - range.address < range.size;
        before.filter(holds).or_else(|| self.ranges.get(after))
    }

    /// Returns the first address in the core from this one on.
    pub(super) fn next_address(&self, address: u64) -> Option<u64> {
        self.range(address).map(|range| range.address.max(address))
    }

    /// Returns whether the core holds all of a stretch.
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

    /// Reads memory at an address, and returns how many bytes of it the core has.
    pub(super) fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let Some(at) = address.checked_add(done as u64) else { break };
            let Some(range) = self.range(at).filter(|range| range.address <= at) else { break };
            let before = at - range.address;
            let size = usize::try_from(range.size - before).unwrap_or(usize::MAX).min(rest.len());
            let rest = rest.get_mut(..size).unwrap_or_default();
            let present = self.source.read_at(range.offset.saturating_add(before), rest)?;
            done += present;
            if present < size {
                break;
            }
        }
        Ok(done)
    }

    /// Reads a value in the process's byte order, if the core holds all of it (`.root.order`).
    pub(super) fn read_value<T: Pod + InByteOrder>(&self, address: u64) -> io::Result<Option<T>> {
        let mut value = T::zeroed();
        let bytes = bytemuck::bytes_of_mut(&mut value);
        let is_whole = self.read(address, bytes)? == bytes.len();
        Ok(is_whole.then(|| self.in_order(value)))
    }

    /// Converts a value of this memory to this machine's byte order.
    pub(super) fn in_order<T: InByteOrder>(&self, value: T) -> T {
        if self.big_endian {
            value.in_order::<BigEndian>()
        } else {
            value.in_order::<LittleEndian>()
        }
    }

    /// Finds the addresses in writable memory, multiples of `step`, of these bytes: at most
    /// `count_max`.
    pub(super) fn find(&self, what: &[u8], step: usize, count_max: usize) -> io::Result<Vec<u64>> {
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
                let present =
                    self.source.read_at(offset, bytes.get_mut(..size).unwrap_or_default())?;
                let present = bytes.get(..present).unwrap_or_default();
                for (index, piece) in present.chunks(step).enumerate() {
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

/// Sorts stretches by their beginning, and cuts off what earlier ones cover. Returns the number of
/// bytes that were cut off.
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
