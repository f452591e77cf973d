//! What the records of an attribute consist of: the fields of a sample, and of the end of others.
//!
//! ```text
//!  sample: identifier │ ip │ pid, tid │ time │ addr │ id │ stream │ cpu │ period │ … │ chain │ raw
//!  others: … │ pid, tid │ time │ id │ stream │ cpu │ identifier        each if its bit is set
//! ```
//!
//! Design: `.waits.perf` in `design/waits.md`.

use crate::waits::source::cursor::Cursor;
use crate::waits::source::format::{ByteOrder, Machine};

const IP: u64 = 1;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
const RAW: u64 = 1 << 10;
const IDENTIFIER: u64 = 1 << 16;
/// A read value is a group of values.
const GROUP: u64 = 1 << 3;
/// Bits of the flags of an attribute.
const SAMPLE_ID_ALL: u32 = 18;
const USE_CLOCK: u32 = 25;
const CONTEXT_SWITCH: u32 = 26;
/// Bytes of the first published attribute.
const ATTR_SIZE_MIN: usize = 64;
const TRACEPOINT: u32 = 2;

/// An attribute: one kind of event that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    kind: u32,
    config: u64,
    sample: u64,
    read: u64,
    /// Whether other records than samples have their time, thread and processor.
    has_ends: bool,
    /// Whether the kernel writes a record for each switch.
    pub(super) has_switches: bool,
    /// The clock that was chosen; `None`: that of the kernel's scheduler.
    pub(super) clock: Option<u32>,
    /// The numbers of its events.
    pub(super) ids: Vec<u64>,
    /// Its name, as `page-faults`; empty if unknown.
    pub(super) name: String,
}

/// The facts that all records may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) process: u32,
    pub(super) thread: u32,
    /// In ns; 0 if unknown.
    pub(super) time: u64,
    /// The processor, if the record states it.
    pub(super) cpu: Option<u32>,
    /// The number of the event; 0 if unknown.
    pub(super) id: u64,
}

/// A sample: its stack and the record of its tracepoint, as bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sample<'r> {
    pub(super) facts: Facts,
    /// Addresses, the innermost first, with markers of the context.
    pub(super) chain: &'r [u8],
    pub(super) raw: &'r [u8],
}

impl Layout {
    /// Reads a `perf_event_attr`.
    pub(super) fn parse(machine: Machine, bytes: &[u8], ids: Vec<u64>) -> Option<Layout> {
        if bytes.len() < ATTR_SIZE_MIN {
            return None;
        }
        let mut cursor = Cursor::new(machine, bytes);
        let (kind, _) = (cursor.u32()?, cursor.u32()?);
        let (config, _, sample, read) =
            (cursor.u64()?, cursor.u64()?, cursor.u64()?, cursor.u64()?);
        let flags = cursor.u64()?;
        let has = |bit: u32| match machine.order {
            ByteOrder::Little => flags >> bit & 1 != 0,
            ByteOrder::Big => flags >> (u64::BITS - 1 - bit) & 1 != 0,
        };
        let clock = bytes.get(92..96).and_then(|bytes| machine.number(bytes));
        let clock = clock.filter(|_| has(USE_CLOCK)).map(|clock| clock as u32);
        let (has_ends, has_switches) = (has(SAMPLE_ID_ALL), has(CONTEXT_SWITCH));
        Some(Layout {
            kind,
            config,
            sample,
            read,
            has_ends,
            has_switches,
            clock,
            ids,
            name: String::new(),
        })
    }

    /// Returns the number of the tracepoint, if the attribute is one.
    pub(super) fn tracepoint(&self) -> Option<u64> {
        (self.kind == TRACEPOINT).then_some(self.config)
    }

    /// Returns whether samples tell that a thread ran: clocks and cycles.
    pub(super) fn is_clock(&self) -> bool {
        const HARDWARE: u32 = 0;
        const SOFTWARE: u32 = 1;
        // The upper half names the kind of core.
        match (self.kind, self.config & 0xFFFF_FFFF) {
            (HARDWARE, 0 | 9) => true,
            (SOFTWARE, config) => matches!(config, 0 | 1),
            _ => false,
        }
    }

    /// Returns whether records of both can be read without knowing their attribute.
    pub(super) fn is_like(&self, other: &Layout) -> bool {
        self.sample == other.sample && self.read == other.read && self.has_ends == other.has_ends
    }

    /// Returns whether each record has its number at a place of its own.
    pub(super) fn has_identifier(&self) -> bool {
        self.sample & IDENTIFIER != 0
    }

    /// Returns whether records tell their processor.
    pub(super) fn has_cpu(&self) -> bool {
        self.sample & CPU != 0 && self.has_ends
    }

    /// Returns whether records tell the number of their event.
    pub(super) fn has_id(&self) -> bool {
        self.sample & (ID | IDENTIFIER) != 0 && self.has_ends
    }

    /// Returns the number of the event in a sample. All layouts of a source agree on its place.
    #[inline]
    pub(super) fn id(&self, machine: Machine, body: &[u8]) -> Option<u64> {
        if self.sample & IDENTIFIER != 0 {
            return machine.number(body.get(..8)?);
        }
        let before = [IP, TID, TIME, ADDR].iter().filter(|bit| self.sample & **bit != 0).count();
        let bytes = body.get(8 * before..)?.get(..8)?;
        machine.number(bytes).filter(|_| self.sample & ID != 0)
    }

    /// Reads the body of a sample.
    #[inline]
    pub(super) fn sample<'r>(&self, machine: Machine, body: &'r [u8]) -> Option<Sample<'r>> {
        let mut cursor = Cursor::new(machine, body);
        let mut found = Sample::default();
        let has = |bit: u64| self.sample & bit != 0;
        if has(IDENTIFIER) {
            found.facts.id = cursor.u64()?;
        }
        if has(IP) {
            cursor.take(8)?;
        }
        if has(TID) {
            (found.facts.process, found.facts.thread) = (cursor.u32()?, cursor.u32()?);
        }
        if has(TIME) {
            found.facts.time = cursor.u64()?;
        }
        if has(ADDR) {
            cursor.take(8)?;
        }
        if has(ID) {
            found.facts.id = cursor.u64()?;
        }
        if has(STREAM_ID) {
            cursor.take(8)?;
        }
        if has(CPU) {
            found.facts.cpu = Some(cursor.u32()?);
            cursor.take(4)?;
        }
        if has(PERIOD) {
            cursor.take(8)?;
        }
        if has(READ) {
            self.skip_read(&mut cursor)?;
        }
        if has(CALLCHAIN) {
            let count = cursor.u64()?;
            found.chain = cursor.take_u64(count.checked_mul(8)?)?;
        }
        if has(RAW) {
            let size = cursor.u32()?;
            found.raw = cursor.take(size as usize)?;
        }
        Some(found)
    }

    fn skip_read(&self, cursor: &mut Cursor<'_>) -> Option<()> {
        const TIMES: u64 = 3;
        const ID_AND_LOST: u64 = 1 << 2 | 1 << 4;
        let times = u64::from((self.read & TIMES).count_ones());
        let each = 1 + u64::from((self.read & ID_AND_LOST).count_ones());
        let count = match self.read & GROUP {
            0 => times + each,
            _ => cursor.u64()?.checked_mul(each)?.checked_add(times)?,
        };
        cursor.take_u64(count.checked_mul(8)?)?;
        Some(())
    }

    /// Returns the facts at the end of a record other than a sample.
    pub(super) fn end(&self, machine: Machine, body: &[u8]) -> Option<Facts> {
        if !self.has_ends {
            return None;
        }
        let bits = [TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER];
        let count = bits.iter().filter(|bit| self.sample & **bit != 0).count();
        let mut cursor = Cursor::new(machine, body.get(body.len().checked_sub(8 * count)?..)?);
        let mut facts = Facts::default();
        for bit in bits.into_iter().filter(|bit| self.sample & bit != 0) {
            match bit {
                TID => (facts.process, facts.thread) = (cursor.u32()?, cursor.u32()?),
                TIME => facts.time = cursor.u64()?,
                CPU => (facts.cpu, _) = (Some(cursor.u32()?), cursor.u32()?),
                ID | IDENTIFIER => facts.id = cursor.u64()?,
                _ => _ = cursor.u64()?,
            }
        }
        Some(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LITTLE: Machine = Machine { order: ByteOrder::Little, word_size: 8 };

    fn layout(sample: u64, read: u64) -> Layout {
        let ids = Vec::new();
        let (has_ends, has_switches, clock) = (true, false, None);
        let name = String::new();
        Layout { kind: 2, config: 7, sample, read, has_ends, has_switches, clock, ids, name }
    }

    #[test]
    fn a_sample_has_the_fields_whose_bits_are_set() {
        let sample = IDENTIFIER | TID | TIME | CPU | READ | CALLCHAIN | RAW;
        let mut body = Vec::new();
        for word in [99u64, 5 | 6 << 32, 1000, 3, 2, 11, 12, 21, 22, 2, 0xAA, 0xBB] {
            body.extend(word.to_le_bytes());
        }
        body.extend(4u32.to_le_bytes());
        body.extend(*b"rawd");
        let layout = layout(sample, GROUP | 1 << 2);
        let found = layout.sample(LITTLE, &body).unwrap();
        let facts = Facts { process: 5, thread: 6, time: 1000, cpu: Some(3), id: 99 };
        assert_eq!((found.facts, found.raw), (facts, &b"rawd"[..]));
        assert_eq!(found.chain, [0xAAu64.to_le_bytes(), 0xBBu64.to_le_bytes()].concat());
        assert_eq!(layout.id(LITTLE, &body), Some(99));
        for size in 0..body.len() {
            assert_eq!(layout.sample(LITTLE, &body[..size]), None, "{size} bytes");
        }
    }

    #[test]
    fn the_end_of_a_record_has_its_time_and_processor() {
        let layout = layout(TID | TIME | CPU | IDENTIFIER | RAW, 0);
        let mut body = b"12345678".to_vec();
        for word in [5 | 6u64 << 32, 1000, 3, 99] {
            body.extend(word.to_le_bytes());
        }
        let facts = Facts { process: 5, thread: 6, time: 1000, cpu: Some(3), id: 99 };
        assert_eq!(layout.end(LITTLE, &body), Some(facts));
        assert_eq!(layout.end(LITTLE, &body[..31]), None);
    }

    #[test]
    fn counts_that_no_record_has_are_refused() {
        let mut body = 0x2000_0000_0000_0000u64.to_le_bytes().to_vec();
        body.extend([0; 64]);
        assert_eq!(layout(CALLCHAIN, 0).sample(LITTLE, &body), None);
        assert_eq!(layout(READ, GROUP | 1 << 2).sample(LITTLE, &body), None);
    }
}
