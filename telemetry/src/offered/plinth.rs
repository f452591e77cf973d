//! The plinth: what the runtime asks of its host to put a stream somewhere.
//!
//! ```text
//!  blocks ─▶ create ─ write_block(offset, bytes) … ─ flush ─ finish
//!            FilePlinth · DirectoryPlinth · MappedPlinth · MemoryPlinth · SocketPlinth · TeePlinth
//!            · your own
//! ```
//!
//! Design: `.sol.plinth` in `design/telemetry.md`; `.stream.grow`, `.write.fail` in
//! `design/format.md`.

use core::fmt;
use std::io;

/// The destination of a stream. The runtime calls it from any thread, from several at once, and
/// from inside the program's allocator: a plinth for such a program must not allocate. The runtime
/// does not record what a plinth itself records, and counts it as *nested*.
///
/// ```
/// use std::fs::File;
/// use std::os::unix::fs::FileExt;
/// use telemetry::{Kinds, Operation, Plinth, PlinthError};
///
/// struct Disk(File);
///
/// impl Plinth for Disk {
///     fn create(&self, _block_size: usize) -> Result<(), PlinthError> {
///         self.0.set_len(0).map_err(|error| PlinthError::new(Operation::Create, &error))
///     }
///
///     fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
///         Ok(self.0.write_all_at(bytes, offset)?)
///     }
///
///     fn can_rewrite(&self) -> bool {
///         true
///     }
/// }
///
/// # let path = std::env::temp_dir().join(format!("plinth-{}.log", std::process::id()));
/// # #[cfg(any())]
/// let path = "shop.log";
/// telemetry::setup().plinth(Disk(File::create(&path)?)).output(Kinds::Object).start()?;
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Plinth: Send + Sync {
    /// Begins the stream. The runtime calls it first; again for each further volume that the
    /// plinth [wants](Plinth::wants_volume), and in a forked child that [left](Plinth::leave) its
    /// parent's stream.
    fn create(&self, block_size: usize) -> Result<(), PlinthError>;

    /// Puts bytes at `offset` from the start of the stream. They are whole blocks, each written
    /// once. A plinth that [can rewrite](Plinth::can_rewrite) also gets pieces of a block that
    /// grows: never over bytes that it has written. After a failure the same bytes may come once
    /// more at the same offset, perhaps with more after them.
    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError>;

    /// Returns whether the plinth puts bytes at any offset, in any order. If not, it gets only
    /// whole blocks, the header block first, and appends them as they come, whatever the offset.
    fn can_rewrite(&self) -> bool;

    /// Returns whether the stream should go on in another volume, complete in itself
    /// (`.header.volume`), rather than grow to `size` bytes. The runtime then ends the volume and
    /// calls [`create`](Plinth::create), and all offsets count from there. While `create` fails,
    /// the runtime calls it for each block, and counts the blocks meanwhile as lost. A volume may
    /// be a little larger than a size that hardly has room for registries and strings. The runtime
    /// asks for each block, from several threads at once.
    fn wants_volume(&self, size: u64) -> bool {
        let _ = size;
        false
    }

    /// Returns the number of files, at most 64, between which the plinth deals out blocks: block k,
    /// from block 1 on, goes to file `(k - 1) % file_count`. Threads on different processors then
    /// write blocks of different files, so that they do not wait for one another. The runtime asks
    /// after [`create`](Plinth::create).
    fn file_count(&self) -> u64 {
        1
    }

    /// Hands on what the plinth itself holds back. The runtime calls it at the end of every flush.
    fn flush(&self) {}

    /// Finishes: the program ends in good order, and everything is written. Writes may still
    /// follow.
    fn finish(&self) {}

    /// Returns whether the receiver lacks bytes that the plinth accepted, so that some may never
    /// arrive. Then the counts of the buffers go out at the end of the program. The runtime asks
    /// then, where the plinth only appends.
    fn is_behind(&self) -> bool {
        false
    }

    /// Leaves the stream to the parent process: this is a forked child. The runtime calls it in the
    /// child, before `fork` returns there, so that the child gives up what the two share. It may
    /// call only what a signal handler may. Returns true if a stream of the child can go to this
    /// plinth, at another place than the parent's; then [`create`](Plinth::create) comes first.
    /// After false the child outputs nothing.
    fn leave(&self) -> bool {
        false
    }

    /// Returns whether a signal handler may write and flush blocks, even one that interrupted the
    /// same: by calls that POSIX allows there, without allocating, with no lock that it waits for
    /// without a limit. If not, [fatal signals](crate::Setup::on_fatal_signals) output nothing.
    fn is_signal_safe(&self) -> bool {
        false
    }

    /// Writes the plinth's name, for the line on standard error that reports a failure.
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the log")
    }
}

/// What the plinth was doing when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Beginning the stream.
    Create,
    /// Looking up the address of its host, which the system does not know.
    Find,
    /// Claiming the log for this process: another process has it.
    Claim,
    /// Writing.
    Write,
    /// Keeping a mapped file: another process truncated it.
    Keep,
    /// Beginning a stream in volumes that hardly have room for anything.
    Bound,
    /// Beginning the stream: the runtime has already reported on standard error why it cannot.
    Refuse,
    /// Writing, to a file that another process removed or truncated. The plinth
    /// [wants](Plinth::wants_volume) another volume, and gets the same bytes again there.
    Renew,
}

/// Why a plinth failed. A plinth of the program's own makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlinthError {
    /// What the plinth was doing.
    pub operation: Operation,
    /// The error number of the operating system.
    pub errno: i32,
}

impl PlinthError {
    /// Makes the error of an operation. Where `error` has no number of the operating system, the
    /// number is that of "input/output error".
    #[must_use]
    pub fn new(operation: Operation, error: &io::Error) -> PlinthError {
        const EIO: i32 = 5; // On every Unix.
        PlinthError { operation, errno: error.raw_os_error().unwrap_or(EIO) }
    }
}

impl From<io::Error> for PlinthError {
    /// Makes the error of [writing](Operation::Write).
    fn from(error: io::Error) -> PlinthError {
        PlinthError::new(Operation::Write, &error)
    }
}

/// Why a plinth cannot be made for a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DestinationError {
    destination: String,
    problem: &'static str,
}

#[cfg_attr(not(recording), expect(dead_code, reason = "nothing is recorded"))]
impl DestinationError {
    pub(crate) const NUL: &str = "the path contains a NUL byte; choose another path";

    pub(crate) fn new(destination: &std::ffi::OsStr, problem: &'static str) -> DestinationError {
        DestinationError { destination: destination.to_string_lossy().into_owned(), problem }
    }
}

impl fmt::Display for DestinationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.destination.escape_debug(), self.problem)
    }
}

impl core::error::Error for DestinationError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_the_number_of_the_system() {
        let full = PlinthError { operation: Operation::Write, errno: 28 };
        assert_eq!(PlinthError::from(io::Error::from_raw_os_error(28)), full);
        let other = PlinthError::new(Operation::Create, &io::Error::other("no room"));
        assert_eq!(other, PlinthError { operation: Operation::Create, errno: 5 });
    }
}
