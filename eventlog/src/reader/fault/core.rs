//! What is wrong with a core: why nothing can be read of it, or what of it is missing.
//!
//! ```text
//!  CoreError: no telemetry in it, no core          CoreFault: this much is not in it
//! ```
//!
//! Design: `.debug.core` in `design/telemetry.md`; section 9 of `design/format.md`.

use crate::format::ROOT_VERSION;
use crate::reader::fault::kind::OpenError;
use std::fmt;

/// Why no stream can be rescued from an ELF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CoreError {
    /// Its headers are damaged, or cut.
    Header,
    /// It is a program or a shared library.
    Program,
    /// It is an ELF file of another kind.
    Object,
    /// No memory of the process is in it.
    NoMemory,
    /// There is no root in it; of so many bytes this many are missing.
    NoRoot {
        /// Bytes of the core that were cut away.
        missing: u64,
    },
    /// There is a root, but no block of its stream.
    NoBlocks {
        /// Bytes of the core that were cut away.
        missing: u64,
    },
    /// There is a runtime that recorded nothing (`.root.self`).
    NothingRecorded,
    /// The root is of another version (`.root.version`).
    RootVersion {
        /// The version.
        found: u16,
    },
    /// A field of the root makes no sense.
    RootField {
        /// Name of the field.
        field: &'static str,
        /// What it says.
        found: u64,
    },
}

impl fmt::Display for CoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use CoreError::*;
        match self {
            Header => write!(f, "is an ELF file of which the header is damaged or cut"),
            Program => write!(
                f,
                "is a program or a library, not a log: give the log that it wrote, or a core of it"
            ),
            Object => write!(f, "is an ELF file, but neither a log nor a core"),
            NoMemory => write!(
                f,
                "is a core with no memory in it: it was cut, or ulimit -c or \
                 /proc/PID/coredump_filter left it out"
            ),
            NoRoot { missing: 0 } => write!(
                f,
                "is a core with no telemetry in it: the program was not linked with the \
                 telemetry library"
            ),
            NoRoot { missing } => write!(
                f,
                "is a core with no telemetry in what is there of it: its last {missing} bytes \
                 were cut away"
            ),
            NoBlocks { missing: 0 } => write!(
                f,
                "has a telemetry root, but none of the blocks that it leads to: the root is \
                 damaged, or the core leaves anonymous memory out"
            ),
            NoBlocks { missing } => write!(
                f,
                "has a telemetry root, but none of the blocks that it leads to: its last \
                 {missing} bytes were cut away"
            ),
            NothingRecorded => write!(
                f,
                "is a core of a program that has the telemetry library, but recorded nothing"
            ),
            RootVersion { found } => write!(
                f,
                "has a telemetry root of version {found}, and this reader knows {ROOT_VERSION}: \
                 use the reader that came with the program's library"
            ),
            RootField { field, found } => {
                write!(f, "has a damaged telemetry root: its {field} is {found:#X}")
            }
        }
    }
}

impl From<CoreError> for OpenError {
    fn from(error: CoreError) -> OpenError {
        OpenError::Core(error)
    }
}

/// What of a core is missing or makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CoreFault {
    /// The core was cut.
    Cut {
        /// Bytes that are missing.
        missing: u64,
    },
    /// A second root cannot be used.
    Root(CoreError),
    /// Its headers place memory over other memory.
    Overlap {
        /// Bytes that are passed over.
        size: u64,
    },
    /// Blocks of the stream's are not in the core, or not whole.
    Blocks {
        /// How many.
        missing: u64,
        /// Of so many.
        count: u64,
        /// Of those that are missing, how many lay beyond the end, where the core was cut.
        beyond: u64,
    },
    /// The blocks of a mapped ring are not in the core.
    Mapped {
        /// Its file.
        path: Box<str>,
    },
    /// The stream header is not in the core, or damaged.
    Preamble,
    /// The chain of extents ends where it should not (`.root.node`).
    Chain {
        /// What is wrong.
        what: &'static str,
    },
}

impl CoreFault {
    /// Whether nothing is known to be lost by it.
    pub fn is_warning(&self) -> bool {
        matches!(self, CoreFault::Cut { .. })
    }
}

impl fmt::Display for CoreFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use CoreFault::*;
        match self {
            Cut { missing } => write!(f, "the core was cut: its last {missing} bytes are missing"),
            Overlap { size } => write!(
                f,
                "the headers of the core place memory over other memory: {size} bytes are passed \
                 over"
            ),
            Root(error) => write!(f, "a second telemetry root is not read: it {error}"),
            Blocks { missing, count, beyond } => {
                write!(f, "{missing} of {count} blocks are not in the core")?;
                if *beyond > 0 {
                    write!(f, " ({beyond} of them lay beyond its end)")?;
                }
                write!(f, ": what they held is lost, unless the log has it")
            }
            Mapped { path } => write!(
                f,
                "the blocks of the mapped ring {path} are not in this core: give it as well"
            ),
            Preamble => write!(
                f,
                "the stream header is not in the core: taken from the root; events may have no \
                 names"
            ),
            Chain { what } => write!(f, "the list of blocks {what}: those beyond are lost"),
        }
    }
}
