//! Faults: what was found wrong in a log, where, what it costs, and what to do.
//!
//! ```text
//!  Fault = offset + kind ── fault_text.rs ──▶ "offset 0x30000: block checksum is wrong: …"
//! ```
//!
//! A fault never stops the reading. What cannot be read at all is an [`OpenError`]. Design:
//! `.read.*` in `design/format.md`.

use super::core::{CoreError, CoreFault};
use eventdef::Version;
use std::fmt;
use std::io;

/// Something that was found wrong, or that the user should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where in the source.
    pub offset: u64,
    /// What.
    pub kind: FaultKind,
}

/// What was found wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// The stream header's checksum is wrong (`.read.header-damage`).
    HeaderChecksum,
    /// There is no stream header, but a stream follows (`.read.no-magic`).
    HeaderMissing,
    /// A field of the stream header makes no sense; this was used instead (`.read.header-damage`).
    HeaderField {
        /// Name of the field.
        field: &'static str,
        /// What it says.
        found: u64,
        /// What was used.
        used: u64,
    },
    /// The stream is of a higher median or minor version (`.read.minor`).
    HeaderVersion {
        /// The version of the stream.
        found: Version,
        /// The version that this library knows.
        known: Version,
    },
    /// A second stream is of a higher major version (`.read.major`): it is passed over.
    HeaderMajor {
        /// The version of the stream.
        found: Version,
        /// The version that this library knows.
        known: Version,
    },
    /// More streams in one log than are read; those from here on are not.
    StreamLimit,
    /// No block begins where one should (`.read.resync`).
    BlockMagic {
        /// Bytes that were passed over.
        size: u64,
    },
    /// A field of a block's or part's header makes no sense: it is passed over (`.read.sealed`).
    BlockField {
        /// Name of the field.
        field: &'static str,
        /// What it says.
        found: u64,
    },
    /// A sealed block's or part's checksum is wrong: its events are lost (`.read.sealed`).
    BlockChecksum {
        /// Events that it claims to hold.
        count: u32,
    },
    /// A block of another stream (`.block.stream`).
    BlockForeign,
    /// A block or part of unknown type (`.block.unknown`).
    BlockType {
        /// The type.
        found: u8,
    },
    /// Blocks that were never written, before one that was (`.stream.hole`).
    BlockHole {
        /// Size in bytes.
        size: u64,
    },
    /// The stream ends before all blocks that it had when it was closed (`.read.cut`).
    StreamCut {
        /// Blocks that are missing.
        missing: u64,
        /// Blocks that it had.
        stated: u64,
    },
    /// Volumes of a stream that are missing between others (`.volume.missing`).
    VolumeMissing {
        /// The number of the first.
        first: u64,
        /// How many.
        missing: u64,
    },
    /// The log ends within a block or part.
    BlockCut {
        /// Bytes that are missing.
        missing: u64,
    },
    /// Bytes among parts that are not a part (`.parts.sealed`).
    PartMagic {
        /// Bytes that were passed over.
        size: u64,
    },
    /// A registry does not parse, or pieces of it are missing (`.registry.trust`).
    Registry {
        /// Its index in the stream.
        index: u16,
        /// What is wrong.
        what: &'static str,
    },
    /// The chain of events is broken (`.read.chain`).
    EventChain {
        /// The size that the event states.
        size: u16,
        /// Events of the block that are lost for it.
        lost: u64,
    },
    /// A sealed block holds another number of events than it says (`.block.count`).
    EventCount {
        /// The number that it says.
        stated: u32,
        /// The number that it holds.
        found: u32,
    },
    /// An event is too short for its parameters (`.event.short`).
    EventShort {
        /// Its code.
        code: u16,
        /// Its size.
        size: u16,
    },
    /// An event whose code the registry lacks (`.event.unknown`).
    EventUnknown {
        /// Index of the registry.
        registry: u16,
        /// The code.
        code: u16,
    },
    /// An event is later than the clock sync of its sealed block (`.block.sync`).
    EventLate {
        /// Ticks of the latest event.
        ticks: u64,
        /// Ticks of the sync.
        sync: u64,
    },
    /// Of two blocks of a buffer the one with the higher numbers has the lower *sequence*
    /// (`.event.number`).
    BlockSequence {
        /// The buffer.
        buffer: u32,
        /// The sequence that is stated.
        found: u64,
        /// That of the block of the buffer that was met before it.
        before: u64,
    },
    /// A clock sync that says that CLOCK_MONOTONIC went back (`.time.sync`).
    SyncBack {
        /// Ticks of the sync.
        ticks: u64,
        /// By how much, in ns.
        by: u64,
    },
    /// The time of day was set back between two clock syncs: a warning.
    SyncSet {
        /// Ticks of the sync.
        ticks: u64,
        /// By how much, in ns.
        by: u64,
    },
    /// Events of a buffer that are neither here nor accounted for (`.read.loss`).
    Lost {
        /// The buffer.
        buffer: u32,
        /// How many.
        count: u64,
    },
    /// More strings or labels than are kept: some values go without their label.
    LabelLimit,
    /// The host failed to read; what was there is lost.
    Io {
        /// What the host said.
        message: String,
    },
    /// A raw MPS stream of another version than the registry at hand: its codes mean something
    /// else.
    MpsVersion {
        /// The version that the stream states, if it does.
        found: Option<Version>,
        /// The version of the registry.
        known: Version,
    },
    /// A raw MPS stream of a later minor version than the registry at hand has event types that
    /// were added since.
    MpsMinor {
        /// The version that the stream states.
        found: Version,
        /// The version of the registry.
        known: Version,
    },
    /// The first events of a raw MPS stream do not tell its platform from others.
    MpsPlatform {
        /// The platform that is used.
        used: &'static str,
        /// The others.
        others: Vec<&'static str>,
    },
    /// Of a core something is missing.
    Core(CoreFault),
    /// Bytes of a raw MPS stream that are not an event.
    Mps {
        /// What is wrong with them.
        what: &'static str,
        /// Bytes that were passed over.
        size: u64,
    },
}

impl Fault {
    /// Whether nothing is lost by it: a warning.
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
    /// The host says no.
    Io(io::Error),
    /// It is a directory.
    Directory,
    /// There is nothing in it.
    Empty,
    /// It is neither a stream of ours nor of the Memory Pool System.
    NotALog,
    /// It is an ELF file from which no stream can be rescued.
    Core(CoreError),
    /// Its major version is too high (`.read.major`).
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
