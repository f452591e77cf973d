//! The plinth: the host's services for a stream: files, sockets, mapped files, several at once.
//!
//! ```text
//!  blocks ─▶ create ─ write_block(offset, bytes) … ─ flush ─ finish
//!            file.rs · mapped.rs · memory.rs · socket.rs · tee.rs, for several · your own
//! ```
//!
//! Design: `.sol.plinth` in `design/telemetry.md`; `.stream.grow`, `.write.fail` in
//! `design/format.md`.
//!
//! Knows registry and all below, and no stream.

mod connect;
pub(crate) mod destination;
pub(crate) mod failure;
mod file;
pub(crate) mod host;
mod mapped;
mod memory;
mod name;
mod queue;
pub(crate) mod region;
mod socket;
mod tee;
mod volumes;

pub use file::FilePlinth;
pub use mapped::MappedPlinth;
pub(crate) use mapped::loss;
pub use memory::MemoryPlinth;
pub(crate) use name::PATH_SIZE_MAX;
pub use socket::SocketPlinth;
pub use tee::TeePlinth;
pub(crate) use volumes::{COUNT_MAX, COUNT_MIN, Volumes};

use crate::block::identity;
use crate::os::{process, sys};
use core::fmt;
use eventlog::format::{STREAM_MAGIC, StreamHeader};

/// Returns whether the header of a log names this process, before it executed its current program.
/// Another process with the same number, while this one runs, counts too.
fn is_own_before(header: &StreamHeader) -> bool {
    header.magic == STREAM_MAGIC
        && header.boot_id == identity::boot_id()
        && header.pid.get() == sys::process_ids().0
        && process::start().is_none_or(|start| start <= header.start.get())
}

/// The destination of a stream. Any thread may call it, several at once, even from inside the
/// program's allocator: a plinth for such a program must not allocate. Events that a plinth itself
/// records are lost, and counted as *nested*.
pub trait Plinth: Send + Sync {
    /// Begins the stream. The first call of all; repeated for each further volume that the plinth
    /// [wants](Plinth::wants_volume), and in a forked child that [left](Plinth::leave) its parent's
    /// stream.
    fn create(&self, block_size: usize) -> Result<(), PlinthError>;

    /// Writes bytes at `offset` from the start of the stream. They are whole blocks, each written
    /// once. If the plinth [can rewrite](Plinth::can_rewrite), they may be pieces of a growing
    /// block, never over written bytes. After a failure, the same bytes may follow again at the
    /// same offset, perhaps with more after them.
    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError>;

    /// Returns whether bytes can be written at any offset, in any order. If not, the plinth gets
    /// only whole blocks, the header block first. It writes them one after the other as they
    /// arrive, whatever the offset is.
    fn can_rewrite(&self) -> bool;

    /// Returns whether the stream goes on in another volume, complete in itself (`.header.volume`),
    /// instead of this one, which would get `size` bytes. If so, the runtime ends the volume and
    /// calls [`create`](Plinth::create), and all offsets count from there. While `create` fails, it
    /// is called again for each block; output is lost meanwhile, and counted. A volume may be a
    /// little larger than a size that hardly has room for registries and strings. Several threads
    /// call this at once, for each block.
    fn wants_volume(&self, size: u64) -> bool {
        let _ = size;
        false
    }

    /// Passes on what the plinth itself holds back. Called at the end of every flush.
    fn flush(&self) {}

    /// Finishes when the program ends normally and everything is written. Writes may still follow.
    fn finish(&self) {}

    /// Returns whether its host has not accepted everything, so that some may never arrive. The
    /// counts of the buffers are then output at the end of the program. Called at that time, if the
    /// plinth only appends.
    fn is_behind(&self) -> bool {
        false
    }

    /// Leaves the stream to the parent, in a forked child, before `fork` returns there: gives up
    /// what the two share. It may call only what a signal handler may call. Returns true if the
    /// child's own stream can go here, to another place than the parent's;
    /// [`create`](Plinth::create) is then called first. Returns false if the child outputs nothing.
    fn leave(&self) -> bool {
        false
    }

    /// Returns whether a signal handler may write and flush blocks, even if it interrupted a write
    /// or flush: by calls that POSIX allows there, without allocation, and without an unlimited
    /// wait for a lock. If not, a [fatal signal](crate::on_fatal_signals) outputs nothing from
    /// memory.
    fn is_signal_safe(&self) -> bool {
        false
    }

    /// Writes its name, for a message on standard error.
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the log")
    }
}

/// An operation of a plinth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Beginning the stream.
    Create,
    /// Finding the address of its host, which the system does not know.
    Find,
    /// Claiming it, which another process has claimed.
    Claim,
    /// Writing to it.
    Write,
    /// Keeping a mapped file, which another process truncated.
    Keep,
    /// Beginning a stream in volumes that are too small.
    Bound,
    /// Beginning the stream: the reason is on standard error already.
    Refuse,
}

/// A failure of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlinthError {
    /// The operation that failed.
    pub operation: Operation,
    /// The error number of the operating system.
    pub errno: i32,
}

/// The text for a host that cannot be found.
pub(crate) const FIND_TEXT: &str = "the system knows no address of this host";
/// The text for a mapped file that was truncated.
pub(crate) const KEEP_TEXT: &str = "another process has truncated it";
/// The text for volumes that are too small.
pub(crate) const BOUND_TEXT: &str = "a volume must have room for at least 8 blocks";

impl fmt::Display for PlinthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 128];
        let text = crate::os::report::Text(crate::os::sys::error_text(self.errno, &mut text));
        match self.operation {
            Operation::Create => write!(f, "cannot create: {text}"),
            Operation::Find => f.write_str(FIND_TEXT),
            Operation::Claim => f.write_str("in use by another process"),
            Operation::Write => write!(f, "cannot write: {text}"),
            Operation::Keep => f.write_str(KEEP_TEXT),
            Operation::Bound => f.write_str(BOUND_TEXT),
            Operation::Refuse => f.write_str("refused"),
        }
    }
}

impl core::error::Error for PlinthError {}
