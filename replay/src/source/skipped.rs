//! What of a log was skipped or made up, counted by cause.
//!
//! ```text
//!  track.rs ── count(cause) ──▶ Skipped ──▶ "3 frees of memory that was freed already"
//! ```
//!
//! Design: `.rep.skipped` in `design/replay.md`.

/// Why an event gave no operation, or an operation has no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Cause {
    /// A free of what is not known.
    UnknownFree,
    /// A free of what was freed.
    DoubleFree,
    /// A reallocation of what is not known.
    UnknownReallocate,
    /// An allocation where an object is.
    HandedOutTwice,
    /// An allocation that failed.
    Failed,
    /// A reallocation that began, and has no end.
    Unfinished,
    /// An object whose pool ended.
    EndedWithPool,
    /// An object whose memory its pool gave back, or handed out again.
    GivenBack,
    /// A pool whose arena ended, or whose address is that of another one.
    PoolWithoutEnd,
    /// A piece that was given back and is nobody's.
    UnknownPiece,
    /// Memory in a buffer that was reserved and not committed.
    Uncommitted,
    /// An event without its parameters.
    Short,
    /// An alignment that no heap gives.
    Alignment,
    /// A call that the recording library says it missed.
    Missed,
    /// More objects than have numbers.
    Beyond,
    /// A question how large memory is.
    Asked,
    /// A process that did not say what it took.
    Untold,
}

/// Of each cause, what it is called.
const TEXTS: [(Cause, &str); 17] = [
    (Cause::UnknownFree, "frees of memory whose allocation is not in the log: skipped"),
    (Cause::DoubleFree, "frees of memory that was freed already: skipped"),
    (
        Cause::UnknownReallocate,
        "reallocations of memory whose allocation is not in the log: taken as allocations",
    ),
    (
        Cause::HandedOutTwice,
        "allocations at an address whose object was not freed: it is freed then",
    ),
    (Cause::Failed, "allocations that failed in the program: skipped"),
    (Cause::Unfinished, "reallocations that begin and do not end: skipped"),
    (Cause::EndedWithPool, "objects that were not freed before their pool ended: freed then"),
    (
        Cause::GivenBack,
        "objects that were not freed before their pool gave their memory back or handed it out \
         again: freed then",
    ),
    (
        Cause::PoolWithoutEnd,
        "pools that have no end before their arena ends or their address is that of another: \
         ended then",
    ),
    (Cause::UnknownPiece, "pieces given back to an arena that the log did not see given: skipped"),
    (Cause::Uncommitted, "reservations in buffers that were not committed: no objects, skipped"),
    (Cause::Short, "events that lack parameters: skipped"),
    (Cause::Alignment, "alignments that are no power of two up to 2 GiB: the next that is one"),
    (Cause::Missed, "calls that were not recorded, as what recorded the log says itself"),
    (Cause::Beyond, "allocations beyond the first 4,294,967,295: skipped"),
    (
        Cause::Asked,
        "calls of malloc_usable_size: skipped; what the program uses beyond what it asked for is \
         not known",
    ),
    (
        Cause::Untold,
        "processes that did not tell their own memory and times: a signal ended them, they still \
         ran, or their logs ended earlier",
    ),
];

/// How often each cause occurred.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    counts: [u64; TEXTS.len()],
}

impl Skipped {
    /// Counts one.
    pub(crate) fn count(&mut self, cause: Cause) {
        self.add(cause, 1);
    }

    /// Counts several.
    pub(crate) fn add(&mut self, cause: Cause, count: u64) {
        self.counts[cause as usize] = self.counts[cause as usize].saturating_add(count);
    }

    /// One was counted that was none.
    pub(crate) fn take_back(&mut self, cause: Cause) {
        self.counts[cause as usize] = self.counts[cause as usize].saturating_sub(1);
    }

    /// How often it occurred.
    pub fn of(&self, cause: Cause) -> u64 {
        self.counts[cause as usize]
    }

    /// What occurred, in words, and how often.
    pub fn texts(&self) -> Vec<(String, u64)> {
        let texts = TEXTS.iter().map(|&(cause, text)| (text.to_owned(), self.of(cause)));
        texts.filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_own_words() {
        for (index, (cause, _)) in TEXTS.iter().enumerate() {
            assert_eq!(*cause as usize, index);
        }
        let mut skipped = Skipped::default();
        skipped.count(Cause::Beyond);
        skipped.count(Cause::DoubleFree);
        skipped.count(Cause::DoubleFree);
        skipped.count(Cause::Failed);
        skipped.take_back(Cause::Failed);
        let texts = skipped.texts();
        assert!(texts[0].0.starts_with("frees of memory that was freed already"));
        assert!(texts[1].0.contains("4,294,967,295"));
        assert_eq!(texts.iter().map(|text| text.1).collect::<Vec<_>>(), [2, 1]);
    }
}
