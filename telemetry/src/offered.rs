//! What a program says to the runtime and hears from it, wherever it is built: plain types.
//!
//! ```text
//!  recording      config.rs, policy.rs, losses.rs, intern.rs ─┐
//!  no recording   absent.rs ──────────────────────────────────┴─▶ the same types
//! ```
//!
//! Design: `.req.port` in `design/telemetry.md`.

use core::fmt;
use core::ops::AddAssign;
use core::time::Duration;

/// log2 of the block size, unless another was chosen: 64 KiB.
pub const BLOCK_SIZE_LOG2_DEFAULT: u8 = 16;

/// What a program may choose before its first event.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// log2 of the block size, from 12 (4 KiB) to 20 (1 MiB).
    pub block_size_log2: u8,
    /// Blocks of each ring, from 2 to 64; more hold more history. `None`: as many as are needed, 2,
    /// or 8 with a writer thread.
    pub block_count: Option<usize>,
    /// Whether a thread writes the full blocks, so that the threads that record need not.
    pub writer_thread: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config { block_size_log2: BLOCK_SIZE_LOG2_DEFAULT, block_count: None, writer_thread: false }
    }
}

/// Why nothing was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// There was an event, an interned string or the like already.
    TooLate,
    /// There are no blocks of this size.
    BlockSize,
    /// There are no rings of so many blocks.
    BlockCount,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConfigError::TooLate => "the first event was recorded already",
            ConfigError::BlockSize => "block_size_log2 is not from 12 to 20",
            ConfigError::BlockCount => "block_count is not from 2 to 64",
        })
    }
}

impl core::error::Error for ConfigError {}

/// What a thread does that needs a block of its ring, of a kind that is output, when all wait to be
/// written. In a mapped ring there is nothing to wait for, and no policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// It writes the oldest itself. Nothing is lost, and the thread waits for the host.
    #[default]
    Write,
    /// It gives up the oldest, counted as overwritten: what is newest is kept. With no writer
    /// thread nothing of the kind goes out until a flush, and at the end of the program. The block
    /// that is just being written cannot be given up: meanwhile it is as with [`Policy::Discard`].
    Overwrite,
    /// It discards what it was to record, counted as full: what is oldest is kept.
    Discard,
    /// It waits for the writer thread, or a flush, at most so long (and a minute); then it
    /// discards.
    Wait(Duration),
}

/// Counts of events, as the program may ask for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Annotations that were passed with their kind recorded.
    pub requested: u64,
    /// Events recorded in memory.
    pub recorded: u64,
    /// Recorded events that were overwritten, because their kind was not output.
    pub overwritten: u64,
    /// Discarded: no room, and no way to make any.
    pub full: u64,
    /// Discarded: requested by a signal handler in the middle of recording another of the kind.
    pub nested: u64,
    /// Discarded: larger than a block holds.
    pub large: u64,
    /// Recorded events that the host failed to write. Some it may still take, when it is tried
    /// again: those are counted as long as it has not.
    pub io: u64,
}

impl AddAssign for Losses {
    fn add_assign(&mut self, other: Losses) {
        self.requested += other.requested;
        self.recorded += other.recorded;
        self.overwritten += other.overwritten;
        self.full += other.full;
        self.nested += other.nested;
        self.large += other.large;
        self.io += other.io;
    }
}

/// The number of an interned string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StringId(pub(crate) usize);

impl StringId {
    /// No string: what is labelled so has no label.
    pub const NONE: StringId = StringId(0);

    /// The number.
    pub fn get(self) -> usize {
        self.0
    }
}
