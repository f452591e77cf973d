//! What is wrong with a core: why it cannot be read, or which parts of it are missing.
//!
//! ```text
//!  CoreError: no core, or no telemetry in it          CoreFault: these parts are missing
//! ```
//!
//! Design: `.debug.core` in `design/telemetry.md`; section 9 of `design/format.md`.

use crate::format::ROOT_VERSION;
use crate::reader::fault::kind::OpenError;
use std::fmt;

/// Why the reader cannot rescue a stream from an ELF file. `missing` counts the bytes that were
/// cut away from the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the documentation of a variant tells its fields")]
pub enum CoreError {
    /// The ELF headers are damaged or cut.
    Header,
    /// The file is a program or a shared library.
    Program,
    /// The file is an ELF file of another type.
    Object,
    /// The core holds no memory of the process.
    NoMemory,
    /// The core holds no root.
    NoRoot { missing: u64 },
    /// The core holds a root, but no block of its stream.
    NoBlocks { missing: u64 },
    /// The runtime recorded nothing (`.root.self`).
    NothingRecorded,
    /// The root has the unknown version `found` (`.root.version`).
    RootVersion { found: u16 },
    /// A field of the root is invalid.
    RootField { field: &'static str, found: u64 },
}

impl fmt::Display for CoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use CoreError::*;
        match self {
            Header => write!(f, "is an ELF file whose header is damaged or cut"),
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
                "is a core with no telemetry in it, as far as it goes: its last {missing} bytes \
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

/// A part of a core that is missing or invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the documentation of a variant tells its fields")]
pub enum CoreFault {
    /// The core was cut: `missing` bytes are missing.
    Cut { missing: u64 },
    /// A second root cannot be used.
    Root(CoreError),
    /// The headers place memory over other memory; the reader skips `size` bytes.
    Overlap { size: u64 },
    /// Of `count` blocks of the stream, `missing` are missing or incomplete. `beyond` of these lay
    /// beyond the end of the core.
    Blocks { missing: u64, count: u64, beyond: u64 },
    /// The core lacks the blocks of a mapped ring: the file at `path`.
    Mapped { path: Box<str> },
    /// The stream header is missing or damaged.
    Preamble,
    /// The chain of extents ends too early (`.root.node`).
    Chain { what: &'static str },
}

impl CoreFault {
    /// Returns whether the fault is a warning: no known loss.
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
