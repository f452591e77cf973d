//! Notes which way of a fork has each letter, for one fork after the other.
//!
//! Design: `.paths.condition` in `design/paths.md`.

/// Which of some things has each letter.
#[derive(Debug)]
pub(crate) struct Seen {
    of: Vec<u32>,
    base: u32,
    next: u32,
}

impl Seen {
    pub(crate) fn new(letter_count: usize) -> Seen {
        Seen { of: vec![0; letter_count], base: 1, next: 1 }
    }

    /// Forgets all, and begins with things below a count.
    pub(crate) fn begin(&mut self, count: u32) {
        if self.next.checked_add(count).is_none() {
            self.of.fill(0);
            self.next = 1;
        }
        (self.base, self.next) = (self.next, self.next.saturating_add(count));
    }

    /// Returns the thing that has a letter.
    pub(crate) fn owner(&self, letter: u32) -> Option<u32> {
        self.of.get(letter as usize)?.checked_sub(self.base)
    }

    /// Gives a letter to a thing. Returns whether none had it.
    pub(crate) fn add(&mut self, letter: u32, thing: u32) -> bool {
        let own = self.of.get_mut(letter as usize);
        let is_new = own.as_ref().is_some_and(|own| **own < self.base);
        if let (Some(own), true) = (own, is_new) {
            *own = self.base + thing;
        }
        is_new
    }
}
