//! Events that were skipped and operations that were added, counted by cause.
//!
//! ```text
//!  track.rs ── count(cause) ──▶ Skipped ──▶ "3 frees of memory that was already freed"
//! ```
//!
//! Design: `.rep.skipped` in `design/replay.md`.

use std::collections::BTreeMap;

/// Defines the causes, each with its text.
macro_rules! causes {
    ($($cause:ident => $text:literal,)*) => {
        /// A reason why an event gave no operation, or an operation has no event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Cause { $($cause),* }

        const TEXTS: &[&str] = &[$($text),*];
    };
}

causes! {
    UnknownFree => "frees of memory whose allocation is not in the log: skipped",
    DoubleFree => "frees of memory that was already freed: skipped",
    UnknownReallocate =>
        "reallocations of memory whose allocation is not in the log: taken as allocations",
    HandedOutTwice =>
        "allocations at an address whose object was not freed: that object is freed then",
    Failed => "allocations that failed in the program: skipped",
    Unfinished => "reallocations without an end: skipped",
    EndedWithPool => "objects that were not freed before their pool ended: freed then",
    GivenBack =>
        "objects that were not freed before their pool gave their memory back or handed it out \
        again: freed then",
    PoolWithoutEnd =>
        "pools without an end before their arena ended or another pool had their address: ended \
        then",
    UnknownPiece => "pieces given back to an arena that the log did not see given: skipped",
    Uncommitted => "reservations in buffers that were not committed: no objects, skipped",
    Incomplete => "events that lack parameters: skipped",
    Alignment => "alignments other than a power of two up to 2 GiB: rounded to one",
    Missed => "calls that the recording library missed, as the log states",
    Beyond => "allocations beyond the first 4,294,967,295: skipped",
    UsableSize =>
        "calls of malloc_usable_size: skipped; the program may use more than it asked for",
    SharedThread => "threads that began after another one had ended: played on its thread",
    NoFigures =>
        "processes that did not record their memory and times: a signal ended them, they still \
        ran, or their logs ended earlier",
}

/// The number of times that each cause occurred.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Skipped {
    counts: [u64; TEXTS.len()],
    /// Libraries whose calls are not in the log, each with the number of times it was loaded.
    unreached: BTreeMap<String, u64>,
}

impl Skipped {
    pub(crate) fn count(&mut self, cause: Cause) {
        self.add(cause, 1);
    }

    pub(crate) fn add(&mut self, cause: Cause, count: u64) {
        self.counts[cause as usize] = self.counts[cause as usize].saturating_add(count);
    }

    /// Counts a library whose calls are not in the log.
    pub(crate) fn count_unreached(&mut self, library: String) {
        *self.unreached.entry(library).or_default() += 1;
    }

    /// Takes back one count that proved wrong.
    pub(crate) fn take_back(&mut self, cause: Cause) {
        self.counts[cause as usize] = self.counts[cause as usize].saturating_sub(1);
    }

    #[cfg(test)]
    pub(crate) fn of(&self, cause: Cause) -> u64 {
        self.counts[cause as usize]
    }

    /// Returns the texts of all causes that occurred, with their counts.
    pub(crate) fn texts(&self) -> Vec<(String, u64)> {
        let unreached = |(library, count): (&String, &u64)| {
            (format!("times that {library} was loaded: its calls are not in the log"), *count)
        };
        let texts = TEXTS.iter().zip(self.counts).filter(|(_, count)| *count > 0);
        let texts = texts.map(|(text, count)| ((*text).to_owned(), count));
        self.unreached.iter().map(unreached).chain(texts).collect()
    }
}
