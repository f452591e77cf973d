//! What is wrong with a core: why it cannot be read, or which parts of it are missing.
//!
//! ```text
//!  CoreError: no core, or no telemetry in it          CoreFault: these parts are missing
//! ```
//!
//! Design: `.debug.core` in `design/telemetry.md`; section 9 of `design/format.md`.

use crate::format::ROOT_VERSION;
use thiserror::Error;

/// Why the reader cannot rescue a stream from an ELF file. `missing` counts the bytes that were
/// cut away from the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the documentation of a variant tells its fields")]
pub enum CoreError {
    /// The ELF headers are damaged or cut.
    #[error("is an ELF file whose header is damaged or cut")]
    Header,
    /// The file is a program or a shared library.
    #[error("is a program or a library, not a log: give the log that it wrote, or a core of it")]
    Program,
    /// The file is an ELF file of another type.
    #[error("is an ELF file, but neither a log nor a core")]
    Object,
    /// The core holds no memory of the process.
    #[error("is a core with no memory in it: it was cut, or ulimit -c left it out")]
    NoMemory,
    /// The core holds no root.
    #[error("is a core with no telemetry in it{}", without_root(*.missing))]
    NoRoot { missing: u64 },
    /// The core leaves out the private anonymous memory of the process, where events are.
    #[error("is a core without the memory of its process (coredump_filter left it out); {FILTER}")]
    Filtered,
    /// The core holds a root, but no block of its stream.
    #[error(
        "has a telemetry root, but none of the blocks that it leads to: {}",
        without_blocks(*.missing)
    )]
    NoBlocks { missing: u64 },
    /// The runtime recorded nothing (`.root.self`).
    #[error("is a core of a program that has the telemetry library, but recorded nothing")]
    NothingRecorded,
    /// The root has the unknown version `found` (`.root.version`).
    #[error(
        "has a telemetry root of version {found}, and this reader knows {ROOT_VERSION}: use the \
         reader that came with the program's library"
    )]
    RootVersion { found: u16 },
    /// A field of the root is invalid.
    #[error("has a damaged telemetry root: its {field} is {found:#X}")]
    RootField { field: &'static str, found: u64 },
}

/// How to have private memory in a core.
const FILTER: &str = "in the shell that starts the program: echo 0x33 \
                      >/proc/self/coredump_filter (children inherit it)";

fn without_root(missing: u64) -> String {
    match missing {
        0 => ": the program was not linked with the telemetry library".to_owned(),
        _ => format!(", as far as it goes: its last {missing} bytes were cut away"),
    }
}

fn without_blocks(missing: u64) -> String {
    match missing {
        0 => format!("the root is damaged, or private memory was left out; {FILTER}"),
        _ => format!("its last {missing} bytes were cut away"),
    }
}

/// A part of a core that is missing or invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the documentation of a variant tells its fields")]
pub enum CoreFault {
    /// The core was cut: `missing` bytes are missing.
    #[error("the core was cut: its last {missing} bytes are missing")]
    Cut { missing: u64 },
    /// A second root cannot be used.
    #[error("a second telemetry root is not read: it {0}")]
    Root(CoreError),
    /// The headers place memory over other memory; the reader skips `size` bytes.
    #[error("the headers of the core place memory over other memory: {size} bytes are passed over")]
    Overlap { size: u64 },
    /// Of `count` blocks of the stream, `missing` are missing or incomplete. `beyond` of these lay
    /// beyond the end of the core.
    #[error(
        "{missing} of {count} blocks are not in the core{}: what they held is lost, unless the log \
         has it",
        if *.beyond > 0 { format!(" ({beyond} of them lay beyond its end)") } else { "".into() }
    )]
    Blocks { missing: u64, count: u64, beyond: u64 },
    /// The core lacks the blocks of a mapped ring: the file at `path`.
    #[error("the blocks of the mapped ring {path} are not in this core: give it as well")]
    Mapped { path: Box<str> },
    /// The stream header is missing or damaged.
    #[error("the stream header is not in the core: taken from the root; events may have no names")]
    Preamble,
    /// The chain of extents ends too early (`.root.node`).
    #[error("the list of blocks {what}: those beyond are lost")]
    Chain { what: &'static str },
}

impl CoreFault {
    /// Returns whether the fault is a warning: no known loss.
    pub fn is_warning(&self) -> bool {
        matches!(self, CoreFault::Cut { .. })
    }
}
