//! Pages of the kernel's ring buffer to records.
//!
//! ```text
//!  ┌ header ────────────────┬ record ──────────────────────────┬ record ─┬ unused ┬ missed ┐
//!  │ ticks u64 │ size, flags│ type 5 bits │ ticks 27 bits │ data│ …       │        │ count  │
//!  └────────────────────────┴──────────────────────────────────┴─────────┴────────┴────────┘
//!  type 0: data with its size in a word │ 1-28: words of data │ 29 padding
//!       30: ticks to add │ 31: absolute ticks
//! ```
//!
//! A page is input of somebody else: each size is checked, and a damaged page ends at the damage.
//!
//! Design: `.waits.page` in `design/waits.md`.

use super::format::{ByteOrder, FormatError, Machine, Slot, fields};

/// Bits of a record's ticks; further bits are in the word after.
const DELTA_BITS: u32 = 27;
/// Bits of the ticks that a record of absolute ticks has.
const STAMP_BITS: u32 = 59;
/// Bits of absolute ticks that come from the ticks before.
const STAMP_HIGH: u64 = !0 << STAMP_BITS;
const PADDING: u32 = 29;
const EXTEND: u32 = 30;
const STAMP: u32 = 31;
/// Flag in the size of a page: records were lost before it.
const IS_MISSED: u64 = 1 << 31;
/// Flag in the size of a page: the count of lost records comes after its data.
const IS_COUNTED: u64 = 1 << 30;
/// The size of the data, without the flags.
const SIZE: u64 = (1 << 27) - 1;

/// How a kernel lays out its pages, as its file `events/header_page` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The order and size of words.
    pub machine: Machine,
    stamp: Slot,
    commit: Slot,
    /// Where the records begin.
    data: usize,
    /// Bytes of a page with its header.
    pub page_size: usize,
}

impl Layout {
    /// The layout of kernels with words of this order and size, and pages of 4096 bytes.
    pub fn of(machine: Machine) -> Layout {
        let size = u32::from(machine.word_size);
        let slot = |offset, size| Slot {
            offset,
            size,
            count: 1,
            is_signed: false,
            place: super::format::Place::Own,
        };
        Layout {
            machine,
            stamp: slot(0, 8),
            commit: slot(8, size),
            data: 8 + size as usize,
            page_size: 4096,
        }
    }

    /// Reads the text of `events/header_page`. The size of words comes from it.
    ///
    /// # Errors
    ///
    /// Fails if the text lacks `timestamp`, `commit` or `data`, or has other sizes than these can
    /// have.
    pub fn parse(order: ByteOrder, text: &str) -> Result<Layout, FormatError> {
        let fields = fields(text)?;
        let find = |name: &str| fields.iter().find(|field| *field.name == *name);
        let is_number = |slot: &Slot| matches!(slot.size, 4 | 8);
        let lacks = |what| FormatError::Lacks { what };
        let stamp = find("timestamp").map(|field| field.slot).filter(|slot| slot.size == 8);
        let commit = find("commit").map(|field| field.slot).filter(is_number);
        let data = find("data").map(|field| field.slot).filter(|slot| slot.size > 0);
        let commit = commit.ok_or(lacks("a field \"commit\" of 4 or 8 bytes"))?;
        let data = data.ok_or(lacks("a field \"data\""))?;
        Ok(Layout {
            machine: Machine { order, word_size: commit.size as u8 },
            stamp: stamp.ok_or(lacks("a field \"timestamp\" of 8 bytes"))?,
            commit,
            data: data.offset as usize,
            page_size: data.offset as usize + data.size as usize,
        })
    }

    /// Opens a page. Returns `None` if it is shorter than its header, or than the size in it.
    pub fn open<'p>(&self, page: &'p [u8]) -> Option<Page<'p>> {
        let ticks = self.stamp.number(self.machine, page)?;
        let commit = self.machine.number(self.commit.bytes(page)?)?;
        let size = usize::try_from(commit & SIZE).ok()?;
        let rest = page.get(self.data..)?;
        let bytes = rest.get(..size)?;
        let count_size = usize::from(self.machine.word_size);
        let after = rest.get(size..).and_then(|rest| rest.get(..count_size));
        let count = after.and_then(|bytes| self.machine.number(bytes));
        let lost = (commit & IS_MISSED != 0)
            .then(|| count.filter(|_| commit & IS_COUNTED != 0).unwrap_or(0));
        Some(Page { machine: self.machine, bytes, ticks, begin: ticks, lost, is_damaged: false })
    }
}

/// Adds the upper bits that the kernel leaves out of absolute ticks. The ticks of a page have all.
fn repair(stamp: u64, before: u64) -> u64 {
    let high = before & STAMP_HIGH;
    if high == 0 {
        return stamp;
    }
    let whole = stamp & !STAMP_HIGH | high;
    if whole < before { whole.wrapping_add(1 << STAMP_BITS) } else { whole }
}

/// A record of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'p> {
    /// The ticks of the trace's clock.
    pub ticks: u64,
    /// The fields of a tracepoint, its number first.
    pub bytes: &'p [u8],
}

/// The records of a page, in their order.
#[derive(Clone, Debug)]
pub struct Page<'p> {
    machine: Machine,
    /// The rest of the page.
    bytes: &'p [u8],
    /// The ticks of the last record.
    ticks: u64,
    begin: u64,
    lost: Option<u64>,
    is_damaged: bool,
}

impl Page<'_> {
    /// Returns the ticks of the page itself: no record of it is older.
    pub fn begin(&self) -> u64 {
        self.begin
    }

    /// Returns the number of records that were lost before this page; 0 if the kernel does not
    /// tell it. `None`: nothing was lost.
    pub fn lost(&self) -> Option<u64> {
        self.lost
    }

    /// Returns the ticks up to which the page was read.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Returns whether a record had no meaning. The records from there on are unknown.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// Takes this number of bytes from the rest.
    #[inline]
    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.bytes.split_first_chunk::<4>()?;
        self.bytes = rest;
        Some(match self.machine.order {
            ByteOrder::Little => u32::from_le_bytes(*word),
            ByteOrder::Big => u32::from_be_bytes(*word),
        })
    }

    fn damage<T>(&mut self) -> Option<T> {
        self.bytes = &[];
        self.is_damaged = true;
        None
    }
}

impl<'p> Page<'p> {
    fn data(&mut self, size: usize) -> Option<&'p [u8]> {
        let Some((data, rest)) = self.bytes.split_at_checked(size) else { return self.damage() };
        self.bytes = rest;
        Some(data)
    }

    /// Takes data whose size, that of its own word included, stands before it.
    fn long(&mut self) -> Option<&'p [u8]> {
        let Some(size) = self.word() else { return self.damage() };
        // The kernel aligns what follows.
        let size = size.checked_sub(4).map(|size| (size as usize).next_multiple_of(4));
        let Some(size) = size else { return self.damage() };
        self.data(size)
    }
}

impl<'p> Iterator for Page<'p> {
    type Item = Record<'p>;

    #[inline]
    fn next(&mut self) -> Option<Record<'p>> {
        while !self.bytes.is_empty() {
            let Some(head) = self.word() else { return self.damage() };
            let (kind, delta) = match self.machine.order {
                ByteOrder::Little => (head & 31, u64::from(head >> 5)),
                ByteOrder::Big => (head >> DELTA_BITS, u64::from(head & ((1 << DELTA_BITS) - 1))),
            };
            match kind {
                // The rest of the page is unused.
                PADDING if delta == 0 => self.bytes = &[],
                PADDING => {
                    self.long()?;
                    // 1 stands for a record without ticks of its own.
                    let delta = if delta == 1 { 0 } else { delta };
                    self.ticks = self.ticks.wrapping_add(delta);
                }
                EXTEND | STAMP => {
                    let Some(high) = self.word() else { return self.damage() };
                    let ticks = u64::from(high) << DELTA_BITS | delta;
                    self.ticks = match kind {
                        EXTEND => self.ticks.wrapping_add(ticks),
                        _ => repair(ticks, self.ticks),
                    };
                }
                _ => {
                    let bytes =
                        if kind == 0 { self.long()? } else { self.data(kind as usize * 4)? };
                    self.ticks = self.ticks.wrapping_add(delta);
                    return Some(Record { ticks: self.ticks, bytes });
                }
            }
        }
        None
    }
}
