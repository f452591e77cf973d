//! Faults: what is wrong in a log, where, what it costs, and what to do.
//!
//! ```text
//!  Fault = offset + kind ── text.rs ──▶ "offset 0x30000: block checksum is wrong: …"
//! ```
//!
//! A fault never stops the reading. An [`OpenError`] says why a log cannot be read at all.
//! Design: `.read.*` in `design/format.md`.

use super::core::{CoreError, CoreFault};
use eventdef::Version;
use std::fmt;
use std::io;

/// A fault of a log, or a fact that the user should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Offset in the source.
    pub offset: u64,
    /// What is wrong.
    pub kind: FaultKind,
}

/// What is wrong. In the fields, `found` is in the log, `known` is what this library or the
/// registry knows, and sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the documentation of a variant tells its fields")]
pub enum FaultKind {
    /// The stream header's checksum is wrong (`.read.header-damage`).
    HeaderChecksum,
    /// A stream has no header (`.read.no-magic`).
    HeaderMissing,
    /// A field of the stream header is invalid; the reader uses `used` (`.read.header-damage`).
    HeaderField { field: &'static str, found: u64, used: u64 },
    /// The stream has a higher median or minor version (`.read.minor`).
    HeaderVersion { found: Version, known: Version },
    /// A second stream has a higher major version, and is skipped (`.read.major`).
    HeaderMajor { found: Version, known: Version },
    /// The log has too many streams; the reader skips this one and all later ones.
    StreamLimit,
    /// No block begins where one should; the reader skips `size` bytes (`.read.resync`).
    BlockMagic { size: u64 },
    /// A field of a block or part header is invalid; the reader skips the block (`.read.sealed`).
    BlockField { field: &'static str, found: u64 },
    /// The checksum of a sealed block or part is wrong: its `count` events are lost
    /// (`.read.sealed`).
    BlockChecksum { count: u32 },
    /// The block belongs to another stream (`.block.stream`).
    BlockForeign,
    /// The type of a block or part is unknown (`.block.unknown`).
    BlockType { found: u8 },
    /// Blocks before a written block were never written (`.stream.hole`).
    BlockHole { size: u64 },
    /// The stream had `stated` blocks when it was closed; `missing` are missing (`.read.cut`).
    StreamCut { missing: u64, stated: u64 },
    /// Volumes of a stream are missing, from number `first` on (`.volume.missing`).
    VolumeMissing { first: u64, missing: u64 },
    /// The log ends within a block or part: `missing` bytes are missing.
    BlockCut { missing: u64 },
    /// Bytes among parts are not a part; the reader skips `size` bytes (`.parts.sealed`).
    PartMagic { size: u64 },
    /// The registry with this index does not parse, or pieces of it are missing
    /// (`.registry.trust`).
    Registry { index: u16, what: &'static str },
    /// An event states the wrong size `size`: `lost` events of the block are lost (`.read.chain`).
    EventChain { size: u16, lost: u64 },
    /// A sealed block states `stated` events and holds `found` (`.block.count`).
    EventCount { stated: u32, found: u32 },
    /// An event is too short for its parameters (`.event.short`).
    EventShort { code: u16, size: u16 },
    /// The registry has no event type of this code (`.event.unknown`).
    EventUnknown { registry: u16, code: u16 },
    /// An event, at `ticks`, is later than the clock sync of its sealed block (`.block.sync`).
    EventLate { ticks: u64, sync: u64 },
    /// Two blocks of a buffer have numbers in one order and *sequence* in the other: `before`
    /// is the sequence of the earlier block (`.event.number`).
    BlockSequence { buffer: u32, found: u64, before: u64 },
    /// CLOCK_MONOTONIC went back by `by` ns at a clock sync (`.time.sync`).
    SyncBack { ticks: u64, by: u64 },
    /// The time of day was set back by `by` ns between two clock syncs: a warning.
    SyncSet { ticks: u64, by: u64 },
    /// Events of a buffer are neither in the log nor accounted for (`.read.loss`).
    Lost { buffer: u32, count: u64 },
    /// The log has too many strings or labels: some values have no label.
    LabelLimit,
    /// The host failed to read. The bytes there are lost.
    Io { message: String },
    /// A raw MPS stream has another version than the registry: its codes have other meanings.
    MpsVersion { found: Option<Version>, known: Version },
    /// A raw MPS stream has a later minor version than the registry: event types are missing.
    MpsMinor { found: Version, known: Version },
    /// The first events of a raw MPS stream fit several platforms; the reader uses `used`.
    MpsPlatform { used: &'static str, others: Vec<&'static str> },
    /// A part of a core is missing.
    Core(CoreFault),
    /// Bytes of a raw MPS stream are not an event; the reader skips `size` bytes.
    Mps { what: &'static str, size: u64 },
}

impl Fault {
    /// Returns whether the fault is a warning: nothing is lost.
    pub fn is_warning(&self) -> bool {
        use FaultKind::*;
        if let Core(fault) = &self.kind {
            return fault.is_warning();
        }
        matches!(
            self.kind,
            HeaderVersion { .. }
                | BlockType { .. }
                | EventUnknown { .. }
                | LabelLimit
                | MpsPlatform { .. }
                | MpsMinor { .. }
                | SyncSet { .. }
        )
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {:#X}: {}", self.offset, self.kind)
    }
}

/// Why a log cannot be read at all.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The host cannot read it.
    Io(io::Error),
    /// It is a directory.
    Directory,
    /// It is empty.
    Empty,
    /// It is neither a stream in our format nor one of the Memory Pool System.
    NotALog,
    /// It is an ELF file from which no stream can be rescued.
    Core(CoreError),
    /// Its major version is too high (`.read.major`): `found` in the log, `known` here.
    Major {
        /// The version of the stream.
        found: Version,
        /// The version that this library knows.
        known: Version,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Io(error) => write!(f, "{error}"),
            OpenError::Directory => write!(f, "is a directory, not a log"),
            OpenError::Core(error) => write!(f, "{error}"),
            OpenError::Empty => write!(f, "is empty: no log was written to it"),
            OpenError::NotALog => write!(
                f,
                "is not a log: offset 0 has neither the magic of a stream nor an event of the \
                 Memory Pool System"
            ),
            OpenError::Major { found, known } => write!(
                f,
                "has stream format {found}, and this reader knows {known}: use a newer reader"
            ),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OpenError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> OpenError {
        OpenError::Io(error)
    }
}
