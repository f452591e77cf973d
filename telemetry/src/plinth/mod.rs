//! The plinth: what the runtime asks of its host to put a stream somewhere.
//!
//! ```text
//!  blocks ─▶ create ─ write_block(offset, bytes) … ─ flush ─ finish
//!            file.rs · mapped.rs · memory.rs · socket.rs · tee.rs, which is several · your own
//! ```
//!
//! Design: `.sol.plinth` in `design/telemetry.md`; `.stream.grow`, `.write.fail` in
//! `design/format.md`.
//!
//! This room knows registries, blocks and the system; it knows no stream.

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

/// Whether the header of a log says that this process wrote it, before it executed the program that
/// it is now; or another one of the same number, while this one was there.
fn is_own_before(header: &StreamHeader) -> bool {
    header.magic == STREAM_MAGIC
        && header.boot_id == identity::boot_id()
        && header.pid.get() == sys::process_ids().0
        && process::start().is_none_or(|start| start <= header.start.get())
}

/// Where a stream goes. Called from any thread, from several at once, and from inside the program's
/// allocator: a plinth for such a program must not allocate. What a plinth itself records is lost,
/// and counted as *nested*.
pub trait Plinth: Send + Sync {
    /// Begins the stream. Called before everything else; again for each further volume that the
    /// plinth [wants](Plinth::wants_volume), and in a forked child that [left](Plinth::leave) its
    /// parent's.
    fn create(&self, block_size: usize) -> Result<(), PlinthError>;

    /// Puts bytes at `offset` from the start of the stream. They are whole blocks, each written
    /// once; where the plinth [can rewrite](Plinth::can_rewrite), also pieces of a block that
    /// grows: never over what was written. What failed may come once more, the same bytes at the
    /// same offset, perhaps with more after them.
    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError>;

    /// Whether bytes can be put at any offset, in any order. If not, only whole blocks come, the
    /// header block first, and they are to be put one after the other as they come, whatever the
    /// offset says.
    fn can_rewrite(&self) -> bool;

    /// Whether the stream is to go on in another volume, complete in itself (`.header.volume`),
    /// rather than in this one, which would have `size` bytes then. If so the volume is ended,
    /// [`create`](Plinth::create) comes, and all offsets count from there; while `create` fails, it
    /// comes again for each block, and what goes out meanwhile is lost, and counted. A volume may
    /// be a little larger than a size that has hardly room for registries and strings. Asked for
    /// each block, by several threads at once.
    fn wants_volume(&self, size: u64) -> bool {
        let _ = size;
        false
    }

    /// Hands on what the plinth itself may hold back. Called at the end of every flush.
    fn flush(&self) {}

    /// The program ends in good order: all was written. Writes may follow nonetheless.
    fn finish(&self) {}

    /// Whether its host has not taken all that it was given, so that some may never come there.
    /// Then what the buffers counted goes out at the end of the program. Asked then, where the
    /// plinth only appends.
    fn is_behind(&self) -> bool {
        false
    }

    /// This is a forked child, which leaves the stream to its parent. Called in the child, before
    /// `fork` returns there: to give up what the two share. It may call only what a signal handler
    /// may. True: a stream of the child's own can go here, to another place than the parent's;
    /// [`create`](Plinth::create) comes before anything else. False: the child outputs nothing.
    fn leave(&self) -> bool {
        false
    }

    /// Whether blocks may be written, and flushed, in a signal handler which may have interrupted
    /// just that: by calls that POSIX allows there, without allocating, with no lock that is waited
    /// for without a limit. If not, what [fatal signals](crate::on_fatal_signals) find in memory is
    /// not output.
    fn is_signal_safe(&self) -> bool {
        false
    }

    /// Its name, for the line on standard error that says what failed.
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the log")
    }
}

/// What the plinth was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Beginning the stream.
    Create,
    /// Looking for the address of its host, which the system does not know.
    Find,
    /// Making sure that nobody else writes it: somebody does.
    Claim,
    /// Writing to it.
    Write,
    /// Keeping a mapped file: somebody truncated it.
    Keep,
    /// Beginning a stream in volumes that have room for hardly anything.
    Bound,
    /// Beginning the stream: it was said already on standard error why there is none.
    Refuse,
}

/// Why the host failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlinthError {
    /// What was being done.
    pub operation: Operation,
    /// The error number of the operating system.
    pub errno: i32,
}

/// What is wrong with a host that cannot be found.
pub(crate) const FIND_TEXT: &str = "the system knows no address of this host";
/// What is wrong with a mapped file that is not as large as it was.
pub(crate) const KEEP_TEXT: &str = "another process has truncated it";
/// What is wrong with the size of volumes.
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
