//! A profile: which elements give events in a run, and which letter each event has.
//!
//! Design: `.paths.collection` in `design/paths.md`.

use crate::graph::ElementId;

/// The letter that stands for the end of the program. No element has it.
pub const END: u32 = u32::MAX;

/// The letter of an unwinding, or of a jump out of several calls. No element has it, so no path
/// goes on over it.
pub const UNWOUND: u32 = u32::MAX - 1;

/// The witnesses of a run, each with its letter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    letters: Vec<(ElementId, u32)>,
}

impl Profile {
    /// Returns the profile of these witnesses. The letter of each is its number.
    pub fn of(witnesses: impl IntoIterator<Item = ElementId>) -> Profile {
        Profile::lettered(witnesses.into_iter().map(|element| (element, element.0)))
    }

    /// Returns the profile of witnesses with letters: one event type may stand for several
    /// elements. Of two letters of an element, the last holds. The letter [`END`] is left out.
    pub fn lettered(witnesses: impl IntoIterator<Item = (ElementId, u32)>) -> Profile {
        let mut letters: Vec<_> = witnesses.into_iter().filter(|(_, own)| *own != END).collect();
        letters.sort_by_key(|(element, _)| *element);
        letters.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 = next.1;
            }
            is_same
        });
        Profile { letters }
    }

    /// Returns the witnesses and their letters, by their elements.
    pub fn letters(&self) -> &[(ElementId, u32)] {
        &self.letters
    }

    /// Returns the number of witnesses.
    pub fn size(&self) -> usize {
        self.letters.len()
    }

    /// Returns the letter of an element.
    pub fn letter(&self, element: ElementId) -> Option<u32> {
        let at = self.letters.binary_search_by_key(&element, |(own, _)| *own).ok()?;
        self.letters.get(at).map(|(_, letter)| *letter)
    }
}
