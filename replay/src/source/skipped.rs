//! Events that were skipped and operations that were added, counted by cause.
//!
//! ```text
//!  track.rs ── count(cause) ──▶ Skipped ──▶ "3 frees of memory that was already freed"
//! ```
//!
//! Design: `.rep.skipped` in `design/replay.md`.

use std::collections::BTreeMap;

/// A reason why an event gave no operation, or an operation has no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    UnknownFree,
    DoubleFree,
    UnknownReallocate,
    HandedOutTwice,
    Failed,
    Unfinished,
    EndedWithPool,
    GivenBack,
    PoolWithoutEnd,
    UnknownPiece,
    Uncommitted,
    Incomplete,
    Alignment,
    Missed,
    Beyond,
    UsableSize,
    NoFigures,
}

impl Cause {
    fn text(self) -> &'static str {
        match self {
            Cause::UnknownFree => "frees of memory whose allocation is not in the log: skipped",
            Cause::DoubleFree => "frees of memory that was already freed: skipped",
            Cause::UnknownReallocate => {
                "reallocations of memory whose allocation is not in the log: taken as allocations"
            }
            Cause::HandedOutTwice => {
                "allocations at an address whose object was not freed: that object is freed then"
            }
            Cause::Failed => "allocations that failed in the program: skipped",
            Cause::Unfinished => "reallocations without an end: skipped",
            Cause::EndedWithPool => {
                "objects that were not freed before their pool ended: freed then"
            }
            Cause::GivenBack => {
                "objects that were not freed before their pool gave their memory back or handed it \
                 out again: freed then"
            }
            Cause::PoolWithoutEnd => {
                "pools without an end before their arena ended or another pool had their address: \
                 ended then"
            }
            Cause::UnknownPiece => {
                "pieces given back to an arena that the log did not see given: skipped"
            }
            Cause::Uncommitted => {
                "reservations in buffers that were not committed: no objects, skipped"
            }
            Cause::Incomplete => "events that lack parameters: skipped",
            Cause::Alignment => "alignments other than a power of two up to 2 GiB: rounded to one",
            Cause::Missed => "calls that the recording library missed, as the log states",
            Cause::Beyond => "allocations beyond the first 4,294,967,295: skipped",
            Cause::UsableSize => {
                "calls of malloc_usable_size: skipped; the program may use more than it asked for"
            }
            Cause::NoFigures => {
                "processes that did not record their memory and times: a signal ended them, they \
                 still ran, or their logs ended earlier"
            }
        }
    }
}

/// The number of times that each cause occurred.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Skipped(BTreeMap<Cause, u64>);

impl Skipped {
    pub(crate) fn count(&mut self, cause: Cause) {
        self.add(cause, 1);
    }

    pub(crate) fn add(&mut self, cause: Cause, count: u64) {
        let sum = self.0.entry(cause).or_default();
        *sum = sum.saturating_add(count);
    }

    /// Takes back one count that proved wrong.
    pub(crate) fn take_back(&mut self, cause: Cause) {
        let sum = self.0.entry(cause).or_default();
        *sum = sum.saturating_sub(1);
    }

    #[cfg(test)]
    pub(crate) fn of(&self, cause: Cause) -> u64 {
        self.0.get(&cause).copied().unwrap_or(0)
    }

    /// Returns the texts of all causes that occurred, with their counts.
    pub(crate) fn texts(&self) -> Vec<(String, u64)> {
        let occurred = self.0.iter().filter(|(_, count)| **count > 0);
        occurred.map(|(cause, count)| (cause.text().to_owned(), *count)).collect()
    }
}
