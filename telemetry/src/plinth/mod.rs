//! The plinth: what the runtime asks of its host to put a stream somewhere.
//!
//! ```text
//!  blocks ─▶ create ─ write_block(offset, bytes) … ─ flush ─ finish
//!            file.rs · memory.rs · your own
//! ```
//!
//! Design: `.sol.plinth` in `design/telemetry.md`; `.stream.grow`, `.write.fail` in
//! `design/format.md`.

mod file;
mod memory;

pub use file::FilePlinth;
pub(crate) use file::PATH_SIZE_MAX;
pub use memory::MemoryPlinth;

use core::fmt;

/// Where a stream goes. Called from any thread, from several at once, and from inside the program's
/// allocator: a plinth for such a program must not allocate. What a plinth itself records is lost,
/// and counted as *nested*.
pub trait Plinth: Send + Sync {
    /// Begins the stream. Called once, before everything else.
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

    /// Hands on what the plinth itself may hold back. Called at the end of every flush.
    fn flush(&self) {}

    /// The program ends in good order: all was written. Writes may follow nonetheless.
    fn finish(&self) {}

    /// This is a forked child, which leaves the stream to its parent. Called in the child, before
    /// `fork` returns there, and nothing after it: to give up what the two share. It may call only
    /// what a signal handler may.
    fn leave(&self) {}

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
    /// Making sure that nobody else writes it: somebody does.
    Claim,
    /// Writing to it.
    Write,
}

/// Why the host failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlinthError {
    /// What was being done.
    pub operation: Operation,
    /// The error number of the operating system.
    pub errno: i32,
}

impl fmt::Display for PlinthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 128];
        let text = crate::report::Text(crate::sys::error_text(self.errno, &mut text));
        match self.operation {
            Operation::Create => write!(f, "cannot create: {text}"),
            Operation::Claim => f.write_str("in use by another process"),
            Operation::Write => write!(f, "cannot write: {text}"),
        }
    }
}

impl core::error::Error for PlinthError {}
