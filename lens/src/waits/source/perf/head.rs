//! The head of a perf.data: what is recorded how, and the sections after the records.
//!
//! ```text
//!  PERFILE2 │ size │ attributes │ records │ … │ features   size 16: a pipe, all of it in records
//!                        │           │          └▶ {offset, size} of each, after the records
//!                        │           └▶ {offset, size}
//!                        └▶ perf_event_attr, {offset, size} of its numbers
//! ```
//!
//! Design: `.waits.perf` in `design/waits.md`.

use super::layout::Layout;
use super::places::Places;
use crate::waits::source::cursor::{Cursor, until_zero};
use crate::waits::source::format::{ByteOrder, Machine};
use crate::waits::source::import::{ImportError, Imported, Input, Place};
use eventlog::format::ClockSync;
use eventlog::reader::Source;

/// Bytes of the header of a file.
const HEADER_SIZE: u64 = 104;
/// Bytes of the header of a pipe.
const PIPE_HEADER_SIZE: u64 = 16;
/// Attributes of a source, at most.
pub(super) const ATTR_COUNT_MAX: usize = 1 << 14;
/// Numbers of events of a source, at most.
pub(super) const ID_COUNT_MAX: usize = 1 << 20;
/// Bytes of a section, at most.
const SECTION_SIZE_MAX: u64 = 64 << 20;
/// The features that are read.
pub(super) const TRACING_DATA: u32 = 1;
const EVENT_DESC: u32 = 12;
pub(super) const CLOCK_DATA: u32 = 29;
/// CLOCK_MONOTONIC.
const MONOTONIC: u32 = 1;

/// What is known of a perf.data before its records.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) machine: Machine,
    pub(super) is_pipe: bool,
    pub(super) attrs: Vec<Layout>,
    /// Where the events were recorded.
    pub(super) places: Places,
    /// The description of the tracepoints.
    pub(super) tracing: Option<Vec<u8>>,
    /// One instant on CLOCK_MONOTONIC and of the time of day.
    pub(super) sync: Option<ClockSync>,
    /// The offsets of the first record, and after the last.
    pub(super) records: (u64, u64),
}

impl Head {
    /// Reads the head.
    pub(super) fn read(source: &dyn Source, done: &mut Imported) -> Result<Head, ImportError> {
        let bytes = section(source, (0, HEADER_SIZE))?;
        let order = match bytes.get(..8) {
            Some(b"PERFILE2") => ByteOrder::Little,
            Some(b"2ELIFREP") => ByteOrder::Big,
            _ => return Err(ImportError::Refused("is not a perf.data".into())),
        };
        let machine = Machine { order, word_size: 8 };
        let mut head = Head {
            machine,
            is_pipe: false,
            attrs: Vec::new(),
            places: Places::default(),
            tracing: None,
            sync: None,
            records: (PIPE_HEADER_SIZE, source.size()),
        };
        let mut cursor = Cursor::new(machine, bytes.get(8..).unwrap_or_default());
        let cut = || ImportError::Refused("ends within the header of perf.data".into());
        let size = cursor.u64().ok_or_else(cut)?;
        if size == PIPE_HEADER_SIZE {
            head.is_pipe = true;
            return Ok(head);
        }
        head.file(source, &mut cursor, done)?.ok_or_else(cut)?;
        Ok(head)
    }

    /// Reads the rest of the head of a file.
    fn file(
        &mut self,
        source: &dyn Source,
        cursor: &mut Cursor<'_>,
        done: &mut Imported,
    ) -> Result<Option<()>, ImportError> {
        let machine = self.machine;
        let mut pair = || Some((cursor.u64()?, cursor.u64()?));
        let Some((attr_size, attrs_from)) = pair() else { return Ok(None) };
        let Some((attrs_size, from)) = pair() else { return Ok(None) };
        let Some((size, _)) = pair() else { return Ok(None) };
        let Some((_, bits)) = pair() else { return Ok(None) };
        let all = section(source, (attrs_from, attrs_size))?;
        for bytes in all.chunks_exact(usize::try_from(attr_size).unwrap_or(0).max(1)) {
            let Some((attr, ids)) = bytes.split_last_chunk::<16>() else { break };
            let mut place = Cursor::new(machine, ids);
            let (Some(from), Some(size)) = (place.u64(), place.u64()) else { break };
            let ids = section(source, (from, size))?;
            self.attr(attr, &ids);
        }
        if self.attrs.is_empty() {
            return Err(ImportError::Refused("perf.data describes no events".into()));
        }
        let end = from.saturating_add(size);
        self.records = (from, end.min(source.size()));
        if size == 0 {
            // As perf itself says of it.
            let what = "perf record did not end: the features are missing";
            done.fault(Place::Offset(40), what);
            self.records.1 = source.size();
            return Ok(Some(()));
        }
        if end > source.size() {
            let what = format!("the file is cut: records end at {end:#x}");
            done.fault(Place::Offset(source.size()), what);
            return Ok(Some(()));
        }
        self.features(source, end, bits, done)?;
        Ok(Some(()))
    }

    /// Adds an attribute with the numbers of its events.
    pub(super) fn attr(&mut self, attr: &[u8], ids: &[u8]) {
        let room = ID_COUNT_MAX - self.attrs.iter().map(|attr| attr.ids.len()).sum::<usize>();
        let ids = ids.chunks_exact(8).take(room).filter_map(|id| self.machine.number(id));
        let attr = Layout::parse(self.machine, attr, ids.collect());
        if let Some(attr) = attr.filter(|_| self.attrs.len() < ATTR_COUNT_MAX) {
            self.attrs.push(attr);
        }
    }

    /// Reads the sections after the records.
    fn features(
        &mut self,
        source: &dyn Source,
        table: u64,
        bits: u64,
        done: &mut Imported,
    ) -> Result<(), ImportError> {
        let set = (0..u64::BITS).filter(|bit| bits >> bit & 1 != 0);
        for (index, feature) in (0u64..).zip(set) {
            let place = table.saturating_add(index * 16);
            let bytes = section(source, (place, 16))?;
            let mut cursor = Cursor::new(self.machine, &bytes);
            let (Some(from), Some(size)) = (cursor.u64(), cursor.u64()) else {
                done.fault(Place::Offset(place), "the table of features is cut");
                break;
            };
            if matches!(feature, TRACING_DATA | EVENT_DESC | CLOCK_DATA) {
                let bytes = section(source, (from, size))?;
                if bytes.len() as u64 != size {
                    let what = format!("the section of feature {feature} is cut, or too long");
                    done.fault(Place::Offset(place), what);
                }
                self.feature(feature, bytes);
            }
        }
        Ok(())
    }

    /// Takes the section of a feature.
    pub(super) fn feature(&mut self, feature: u32, bytes: Vec<u8>) {
        match feature {
            TRACING_DATA => self.tracing = Some(bytes),
            EVENT_DESC => _ = self.names(&bytes),
            CLOCK_DATA => self.sync = sync(self.machine, &bytes).or(self.sync),
            _ => {}
        }
    }
}

impl Head {
    /// Reads EVENT_DESC: a count and a size; then an attribute, a count of numbers, the size of a
    /// name, the name, and the numbers of each.
    fn names(&mut self, bytes: &[u8]) -> Option<()> {
        let mut cursor = Cursor::new(self.machine, bytes);
        let (count, size) = (cursor.u32()?, cursor.u32()?);
        for at in 0..count as usize {
            cursor.take(size as usize)?;
            let (id_count, name_size) = (cursor.u32()?, cursor.u32()?);
            let name = until_zero(cursor.take(name_size as usize)?);
            cursor.take_u64(u64::from(id_count) * 8)?;
            self.attrs.get_mut(at)?.name = String::from_utf8_lossy(name).into_owned();
        }
        Some(())
    }
}

/// Reads CLOCK_DATA: version, clock, time of day, time of the clock.
fn sync(machine: Machine, bytes: &[u8]) -> Option<ClockSync> {
    let mut cursor = Cursor::new(machine, bytes);
    cursor.u32()?;
    let clock = cursor.u32()?;
    let (realtime, ticks) = (cursor.u64()?, cursor.u64()?);
    let is_sync = clock == MONOTONIC && ticks != 0;
    is_sync.then_some(ClockSync { ticks, monotonic: ticks, realtime, uncertainty: 0 })
}

/// Returns the bytes of a section, as far as the source has them, and at most the limit.
fn section(source: &dyn Source, (from, size): (u64, u64)) -> Result<Vec<u8>, ImportError> {
    let end = from.saturating_add(size.min(SECTION_SIZE_MAX));
    let mut input = Input::new(source, from, end);
    let rest = end.min(source.size()).saturating_sub(from);
    let bytes = input.fill(rest as usize).map_err(ImportError::Read)?;
    Ok(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_is_taken_of_the_monotonic_clock_alone() {
        let machine = Machine { order: ByteOrder::Big, word_size: 8 };
        let mut bytes = [1u32.to_be_bytes(), 1u32.to_be_bytes()].concat();
        bytes.extend([7u64.to_be_bytes(), 5u64.to_be_bytes()].concat());
        let expected = ClockSync { ticks: 5, monotonic: 5, realtime: 7, uncertainty: 0 };
        assert_eq!(sync(machine, &bytes), Some(expected));
        bytes[7] = 4;
        assert_eq!(sync(machine, &bytes), None, "CLOCK_MONOTONIC_RAW");
        assert_eq!(sync(machine, &bytes[..20]), None);
    }
}
