//! The plain types that a program shares with the runtime, on every platform.
//!
//! ```text
//!  recording      record/, rings/, plinth/, … ─┐
//!  no recording   absent.rs ───────────────────┴─▶ the same types
//! ```
//!
//! Design: `.req.port` in `design/telemetry.md`.

pub(crate) mod plinth;
pub(crate) mod setup;

use core::ops::AddAssign;
use core::time::Duration;

/// log2 of the default block size: 64 KiB.
#[cfg(recording)]
pub(crate) const BLOCK_SIZE_LOG2_DEFAULT: u8 = 16;
/// The maximum number of blocks of a ring.
pub const BLOCK_COUNT_MAX: usize = 64;

/// What a recording thread does when its ring needs a block and all of them wait to be written, for
/// a kind that is output. A mapped ring never waits, and has no policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// The thread writes the oldest block itself. Nothing is lost, and the thread waits for the
    /// host.
    #[default]
    Write,
    /// The thread gives up the oldest block, and counts its events as overwritten: the newest
    /// events are kept. Without a writer thread, events of the kind go out only at a flush and at
    /// the end of the program. The thread cannot give up a block that is being written: meanwhile
    /// it acts as with [`Policy::Discard`].
    Overwrite,
    /// The thread discards the new event, and counts it as full: the oldest events are kept.
    Discard,
    /// The thread waits for the writer thread or a flush, at most for that time and for a minute.
    /// Then it discards the new event.
    Wait(Duration),
}

/// When an observer is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before what was recorded goes out, at any time: all sums are recorded.
    Flush,
    /// Before this thread ends: its sums are recorded.
    ThreadEnd,
    /// Before the log ends: all sums are recorded.
    Exit,
    /// In a forked child: the sums are its parent's, and are forgotten. Nothing can be recorded.
    Forked,
}

/// Counts of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Losses {
    /// Events that annotations requested while their kind was recorded.
    pub requested: u64,
    /// Events that were recorded in memory.
    pub recorded: u64,
    /// Recorded events that were overwritten, because their kind was not output.
    pub overwritten: u64,
    /// Events discarded because no block had room.
    pub full: u64,
    /// Events discarded because a signal handler requested them in the middle of recording another
    /// event of the kind.
    pub nested: u64,
    /// Events discarded because they are larger than a block holds.
    pub large: u64,
    /// Recorded events that the host failed to write. It may still take some of them at a later
    /// attempt; they count until then.
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

/// The number of a string in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StringId(pub(crate) usize);

impl StringId {
    /// No string: labelling an address with it takes the label away.
    pub const NONE: StringId = StringId(0);

    /// Returns the number.
    pub fn get(self) -> usize {
        self.0
    }
}

/// A place in the source text of a program. Numbers that are not known are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Source<'a> {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// The offset in the file, in bytes.
    pub offset: u32,
    /// The size of the text, in bytes.
    pub size: u32,
    /// The path of the file, as the compiler knows it.
    pub file: &'a str,
}
