//! Why the kernel's events cannot be recorded.
//!
//! ```text
//!  a file of tracefs, perf_event_open, the spill ── refused ──▶ CollectError ──▶ words
//! ```

use eventlog::writer::MakeError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Bytes of the spill, at most. Later events are lost, and the log states it.
pub const SPILL_SIZE_MAX: u64 = 1 << 40;
/// Why the kernel's events cannot be recorded.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the documentation of a variant tells its fields")]
pub enum CollectError {
    /// The kernel has no tracefs.
    #[error("this kernel has no tracefs, which tells of its threads; see CONFIG_FTRACE")]
    Absent,
    /// The rights are missing.
    #[error(
        "the kernel tells of its threads only to root (tracefs: {error}); run it as root, as with \
         sudo"
    )]
    Rights { error: io::Error },
    /// The kernel refuses perf_event_open.
    #[error(
        "the kernel refuses perf_event_open ({error}); see /proc/sys/kernel/perf_event_paranoid"
    )]
    Perf { error: io::Error },
    /// A file of tracefs cannot be used.
    #[error("{}: {what} ({error})", path.display())]
    File { path: PathBuf, what: &'static str, error: io::Error },
    /// A format of the kernel has no meaning.
    #[error("{}: {error}", path.display())]
    Format { path: PathBuf, error: lens::waits::source::format::FormatError },
    /// The file for the pages cannot be used.
    #[error("cannot keep the kernel's events ({0})")]
    Spill(#[source] io::Error),
    /// The log cannot be made.
    #[error(transparent)]
    Make(#[from] MakeError),
}
