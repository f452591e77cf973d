//! The records of a perf.data, one after another.
//!
//! ```text
//!  type 4 │ flags 2 │ size 2 │ body │ …      after some records: data, whose size is in the body
//! ```
//!
//! Design: `.waits.perf` in `design/waits.md`.

use crate::waits::source::format::Machine;
use crate::waits::source::import::{ImportError, Imported, Input, Place};

/// Bytes of the header of a record.
pub(super) const HEADER_SIZE: usize = 8;

pub(super) const MMAP: u32 = 1;
pub(super) const LOST: u32 = 2;
pub(super) const COMM: u32 = 3;
pub(super) const EXIT: u32 = 4;
pub(super) const FORK: u32 = 7;
pub(super) const SAMPLE: u32 = 9;
pub(super) const MMAP2: u32 = 10;
pub(super) const LOST_SAMPLES: u32 = 13;
pub(super) const SWITCH: u32 = 14;
pub(super) const SWITCH_CPU_WIDE: u32 = 15;
/// Records from here on are of the tool, not of the kernel.
pub(super) const TOOL: u32 = 64;
pub(super) const ATTR: u32 = 64;
pub(super) const TRACING_DATA: u32 = 66;
pub(super) const FINISHED_ROUND: u32 = 68;
pub(super) const ID_INDEX: u32 = 69;
const AUXTRACE: u32 = 71;
pub(super) const TIME_CONV: u32 = 79;
pub(super) const FEATURE: u32 = 80;
pub(super) const COMPRESSED: u32 = 81;
pub(super) const COMPRESSED2: u32 = 83;

/// Returns the name of a record that the kernel makes.
pub(super) fn name(kind: u32) -> String {
    let name = match kind {
        5 => "THROTTLE",
        6 => "UNTHROTTLE",
        8 => "READ",
        SAMPLE => "SAMPLE",
        11 => "AUX",
        12 => "ITRACE_START",
        16 => "NAMESPACES",
        17 => "KSYMBOL",
        18 => "BPF_EVENT",
        19 => "CGROUP",
        20 => "TEXT_POKE",
        21 => "AUX_OUTPUT_HW_ID",
        _ => return format!("PERF_RECORD_{kind}"),
    };
    format!("PERF_RECORD_{name}")
}

/// A record, without its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) offset: u64,
    pub(super) kind: u32,
    pub(super) misc: u16,
    /// Bytes with the header.
    pub(super) size: usize,
}

impl Header {
    /// Reads a header. A size that is too small is given as it stands.
    #[inline]
    pub(super) fn parse(machine: Machine, bytes: &[u8], offset: u64) -> Option<Header> {
        let kind = machine.number(bytes.get(..4)?)? as u32;
        let misc = machine.number(bytes.get(4..6)?)? as u16;
        let size = machine.number(bytes.get(6..8)?)? as usize;
        Some(Header { offset, kind, misc, size })
    }
}

/// The records of a part of a source.
pub(super) struct Records<'s> {
    machine: Machine,
    input: Input<'s>,
    /// Bytes of the record that was given last.
    given: u64,
}

impl<'s> Records<'s> {
    pub(super) fn new(machine: Machine, input: Input<'s>) -> Records<'s> {
        Records { machine, input, given: 0 }
    }

    /// Returns the next record; `None` at the end, or at damage.
    #[inline]
    pub(super) fn next(&mut self, done: &mut Imported) -> Result<Option<Header>, ImportError> {
        self.input.skip(std::mem::take(&mut self.given));
        let (machine, offset) = (self.machine, self.input.offset());
        let bytes = self.input.fill(HEADER_SIZE).map_err(ImportError::Read)?;
        let Some(header) = Header::parse(machine, bytes, offset) else {
            if !bytes.is_empty() {
                done.fault(Place::Offset(offset), "the source ends within a record");
            }
            return Ok(None);
        };
        let bytes = self.input.fill(header.size).map_err(ImportError::Read)?;
        if header.size < HEADER_SIZE || bytes.len() < header.size {
            let what = match header.size {
                0..HEADER_SIZE => format!("a record of size {}; the rest is left out", header.size),
                _ => "the source ends within a record".into(),
            };
            done.fault(Place::Offset(offset), what);
            return Ok(None);
        }
        self.given = header.size as u64;
        let body = self.body(&header);
        let after = match header.kind {
            AUXTRACE => body.get(..8).and_then(|size| machine.number(size)),
            TRACING_DATA => {
                let size = body.get(..4).and_then(|size| machine.number(size));
                size.map(|size| size.next_multiple_of(8))
            }
            _ => None,
        };
        self.given = self.given.saturating_add(after.unwrap_or(0));
        Ok(Some(header))
    }

    /// Returns the body of the record that was given last.
    #[inline]
    pub(super) fn body(&self, header: &Header) -> &[u8] {
        self.input.bytes().get(HEADER_SIZE..header.size).unwrap_or_default()
    }

    /// Returns the data after the record that was given last, up to a limit.
    pub(super) fn data(&mut self, header: &Header, limit: usize) -> Result<Vec<u8>, ImportError> {
        let size = usize::try_from(self.given).unwrap_or(usize::MAX).min(header.size + limit);
        let bytes = self.input.fill(size).map_err(ImportError::Read)?;
        Ok(bytes.get(header.size..size.min(bytes.len())).unwrap_or_default().to_vec())
    }
}
