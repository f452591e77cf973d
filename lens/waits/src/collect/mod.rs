//! The kernel's own events, recorded: a private instance of tracefs.
//!
//! ```text
//!  Recording::begin ─ tracefs: an instance, its clock, its events
//!      │                 per_cpu/cpuN/trace_pipe_raw ── drain: splice ──▶ spill, a file
//!      │                 trace_marker ── clock: syncs        /proc ── threads: There, names
//!  Recording::finish ─ the spill ── decode ──▶ rows ──▶ log; the instance is gone
//!  without rights, and samples: rings ─ perf_event_open ──▶ spill ── told ──▶ rows ──▶ log
//! ```
//!
//! While it records, pages go unread from the kernel to the spill: rows are made at the end.
//!
//! Design: `.waits.record` in `design/waits.md`.

mod clock;
mod decode;
mod drain;
mod own;
mod recording;
mod rings;
mod sockets;
mod stolen;
mod threads;
mod told;
mod tracefs;

pub use own::OwnRecording;
pub use recording::{Options, Recorded, Recording, SPILL_SIZE_MAX};

use eventlog::writer::MakeError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

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
    Format { path: PathBuf, error: crate::source::format::FormatError },
    /// The file for the pages cannot be used.
    #[error("cannot keep the kernel's events ({0})")]
    Spill(#[source] io::Error),
    /// The log cannot be made.
    #[error(transparent)]
    Make(#[from] MakeError),
}
