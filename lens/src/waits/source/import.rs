//! What all imports share: bytes in their order, faults with their places, the result.
//!
//! ```text
//!  Source ── Input: 1 MiB at a time ──▶ lines, records     a fault ──▶ counted, the first are kept
//! ```
//!
//! Design: `.waits.import` in `design/waits.md`.

use crate::waits::source::format::FormatError;
use eventlog::format::checksum;
use eventlog::reader::Source;
use eventlog::writer::{Made, MakeError, Origin, uuid_of};
use std::fmt;
use std::io;
use thiserror::Error;

/// Bytes that are read in one step.
const STEP_SIZE: usize = 1 << 20;
/// Faults that are kept with their text; further ones are only counted.
const FAULT_COUNT_MAX: usize = 16;

/// The forms of sources that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A file or pipe of `perf record`.
    Perf,
    /// A file of `trace-cmd record`.
    Dat,
    /// The text of `perf script`.
    Script,
}

impl Form {
    /// Bytes that decide the form.
    pub const HEAD_SIZE: usize = 4096;

    /// Returns the form of a source that begins with these bytes. Bytes without a zero are text.
    pub fn of(head: &[u8]) -> Option<Form> {
        if head.starts_with(b"PERFILE2") || head.starts_with(b"2ELIFREP") {
            return Some(Form::Perf);
        }
        if head.starts_with(b"\x17\x08\x44tracing") {
            return Some(Form::Dat);
        }
        let head = head.get(..Form::HEAD_SIZE).unwrap_or(head);
        (!head.is_empty() && !head.contains(&0)).then_some(Form::Script)
    }
}

/// Where a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line, from 1.
    Line(u64),
    /// An offset in bytes.
    Offset(u64),
}

/// Damage of a source: what is missing in the log because of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it is.
    pub place: Place,
    /// What is wrong there, and what follows.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Line(line) => write!(f, "line {line}: {}", self.what),
            Place::Offset(offset) => write!(f, "offset {offset:#x}: {}", self.what),
        }
    }
}

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// Events of the source that became rows.
    pub known_count: u64,
    /// Sound events of the source that have no meaning here.
    pub unknown_count: u64,
    /// The types of these events with their numbers, the most frequent first.
    pub left_out: Vec<(String, u64)>,
    /// Events that are too short for their fields, and left out.
    pub damaged_count: u64,
    /// Events that the source states as lost; at least 1 for each gap.
    pub lost_count: u64,
    /// Faults.
    pub fault_count: u64,
    /// The first faults.
    pub faults: Vec<Fault>,
    /// What the log lacks, as sentences without a full stop.
    pub notes: Vec<String>,
    /// Whether the ticks can be laid on those of other logs.
    pub clock: Clock,
    /// The log.
    pub made: Made,
}

/// What is known of the clock of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// Its ticks are ns of a clock that no other log has.
    #[default]
    Own,
    /// Its ticks are ns of CLOCK_MONOTONIC.
    Monotonic,
    /// Its ticks are those of the processor's counter.
    Counter,
}

impl Imported {
    /// Names the types of events that have no meaning here.
    pub(crate) fn leave_out(&mut self, types: impl IntoIterator<Item = (String, u64)>) {
        self.left_out.extend(types);
        self.left_out.sort_by(|one, other| (other.1, &one.0).cmp(&(one.1, &other.0)));
    }

    /// Counts a fault, and keeps it if it is one of the first.
    pub(crate) fn fault(&mut self, place: Place, what: impl Into<String>) {
        self.fault_count += 1;
        if self.faults.len() < FAULT_COUNT_MAX {
            self.faults.push(Fault { place, what: what.into() });
        }
    }
}

/// Why a source cannot be imported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The source cannot be read.
    #[error("{0}")]
    Read(io::Error),
    /// The log cannot be made.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// The source is of a kind that has no meaning here, or too damaged to begin.
    #[error("{0}")]
    Refused(String),
}

impl From<FormatError> for ImportError {
    fn from(error: FormatError) -> ImportError {
        ImportError::Refused(error.to_string())
    }
}

/// Returns the UUID of the log of a source, made of all its bytes: importing it twice gives the
/// same log (`.waits.import`).
///
/// # Errors
///
/// Fails if the source cannot be read.
pub fn uuid_of_source(source: &dyn Source) -> io::Result<[u8; 16]> {
    let mut sums = source.size().to_le_bytes().to_vec();
    let mut input = Input::new(source, 0, source.size());
    loop {
        let size = input.fill(STEP_SIZE)?.len();
        if size == 0 {
            return Ok(uuid_of(&sums));
        }
        sums.extend_from_slice(&checksum(&[input.bytes()]).to_le_bytes());
        input.skip(size as u64);
    }
}

/// What the header of a log states that no source tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The UUID of the log: [`uuid_of_source`].
    pub uuid: [u8; 16],
    /// The boot on which the source was recorded; zeros if it is unknown.
    pub boot_id: [u8; 16],
}

impl From<[u8; 16]> for Identity {
    /// Returns the identity of a log of an unknown boot.
    fn from(uuid: [u8; 16]) -> Identity {
        Identity { uuid, boot_id: [0; 16] }
    }
}

/// Returns the header's facts of a log that is made of a source.
pub(crate) fn origin(identity: Identity, program: &str) -> Origin {
    let mut origin = Origin::new();
    origin.uuid = identity.uuid;
    origin.boot_id = identity.boot_id;
    origin.producer = concat!("lens ", env!("CARGO_PKG_VERSION")).into();
    origin.program = program.into();
    origin
}

/// A part of a source, read from its beginning to its end.
pub(crate) struct Input<'s> {
    source: &'s dyn Source,
    /// The offset of the first byte that is not yet in the buffer.
    next: u64,
    end: u64,
    buffer: Vec<u8>,
    /// The bytes of the buffer that were not taken yet.
    from: usize,
    to: usize,
}

impl<'s> Input<'s> {
    /// Returns the part of a source from an offset to another, or to the source's end.
    pub(crate) fn new(source: &'s dyn Source, from: u64, to: u64) -> Input<'s> {
        let end = to.min(source.size());
        Input { source, next: from, end, buffer: Vec::new(), from: 0, to: 0 }
    }

    /// Returns the offset of the next byte.
    pub(crate) fn offset(&self) -> u64 {
        self.next - (self.to - self.from) as u64
    }

    /// Returns the bytes that are read and not taken.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.get(self.from..self.to).unwrap_or_default()
    }

    /// Returns at least `size` of the next bytes; fewer at the end.
    #[inline]
    pub(crate) fn fill(&mut self, size: usize) -> io::Result<&[u8]> {
        if self.to - self.from < size {
            self.read(size)?;
        }
        Ok(self.bytes())
    }

    fn read(&mut self, size: usize) -> io::Result<()> {
        self.buffer.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        let rest = self.end.saturating_sub(self.next);
        let room = size.max(STEP_SIZE).saturating_sub(self.to);
        let room = usize::try_from(rest).map_or(room, |rest| room.min(rest));
        if self.buffer.len() < self.to + room {
            self.buffer.resize(self.to + room, 0);
        }
        while self.to < size {
            let Some(place) = self.buffer.get_mut(self.to..) else { break };
            let limit = usize::try_from(self.end.saturating_sub(self.next)).unwrap_or(usize::MAX);
            let limit = place.len().min(limit);
            let Some(place) = place.get_mut(..limit).filter(|place| !place.is_empty()) else {
                break;
            };
            match self.source.read_at(self.next, place)? {
                0 => break,
                count => {
                    self.to += count;
                    self.next += count as u64;
                }
            }
        }
        Ok(())
    }

    /// Takes bytes, also those beyond the buffer.
    #[inline]
    pub(crate) fn skip(&mut self, size: u64) {
        let here = (self.to - self.from) as u64;
        if size <= here {
            self.from += size as usize;
        } else {
            (self.from, self.to) = (0, 0);
            self.next = self.next.saturating_add(size - here).min(self.end.max(self.next));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte more with each reading.
    struct Slow(Vec<u8>);

    impl Source for Slow {
        fn size(&self) -> u64 {
            self.0.len() as u64
        }

        fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
            let size = buf.len().min(7);
            self.0.read_at(offset, &mut buf[..size])
        }
    }

    #[test]
    fn an_input_gives_each_byte_once_whatever_the_source_gives() {
        let bytes: Vec<u8> = (0..5000u32).map(|n| n as u8).collect();
        let source = Slow(bytes.clone());
        let mut input = Input::new(&source, 3, 4000);
        let mut read = Vec::new();
        for size in (1..200).cycle() {
            assert_eq!(input.offset(), 3 + read.len() as u64);
            let got = input.fill(size).unwrap();
            let got = got[..got.len().min(size)].to_vec();
            if got.is_empty() {
                break;
            }
            input.skip(got.len() as u64);
            read.extend(got);
        }
        assert_eq!(read, bytes[3..4000]);
    }

    #[test]
    fn a_jump_beyond_the_end_stays_at_the_end() {
        let source = vec![1u8; 100];
        let mut input = Input::new(&source, 0, u64::MAX);
        input.fill(10).unwrap();
        input.skip(u64::MAX);
        assert_eq!(input.offset(), 100);
        assert!(input.fill(1).unwrap().is_empty());
    }

    #[test]
    fn the_uuid_of_a_source_depends_on_each_byte() {
        let mut bytes = vec![7u8; 3 << 20];
        let uuid = uuid_of_source(&bytes).unwrap();
        assert_eq!(uuid, uuid_of_source(&bytes).unwrap());
        for at in [0, 1 << 20, (3 << 20) - 1] {
            bytes[at] ^= 1;
            assert_ne!(uuid, uuid_of_source(&bytes).unwrap(), "byte {at}");
            bytes[at] ^= 1;
        }
    }

    #[test]
    fn the_first_bytes_tell_the_form() {
        assert_eq!(Form::of(b"PERFILE2\x68"), Some(Form::Perf));
        assert_eq!(Form::of(b"2ELIFREP"), Some(Form::Perf));
        assert_eq!(Form::of(b"\x17\x08\x44tracing7\0"), Some(Form::Dat));
        assert_eq!(Form::of(b"perf 1 [000] 1.000000: a:"), Some(Form::Script));
        assert_eq!(Form::of(b"\xD5EVL\r\n\x1A\0"), None);
        assert_eq!(Form::of(b""), None);
    }
}
