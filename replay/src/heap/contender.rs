//! A heap with its name, among others whose types are different.
//!
//! ```text
//!  Contender::new("mine", "a heap of my own", Mine::new) ──▶ Vec<Contender> ──▶ main_with
//! ```
//!
//! Design: `.rep.heap` in `design/replay.md`.

use super::{Heap, null::Null};
use std::fmt;

/// A heap that a workload can be played against, by its name.
pub struct Contender {
    name: &'static str,
    about: &'static str,
}

impl Contender {
    /// A heap that is called `name`: a word, without commas and slashes. `make` is called once in
    /// each process that plays against it.
    pub fn new<H: Heap + 'static>(
        name: &'static str,
        about: &'static str,
        make: fn() -> H,
    ) -> Contender {
        let _ = make;
        Contender { name, about }
    }

    /// What it is called.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it is, in a line.
    pub fn about(&self) -> &'static str {
        self.about
    }
}

impl fmt::Debug for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contender").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The heaps that come with the tool.
pub fn built_in() -> Vec<Contender> {
    vec![Contender::new("null", "costs nothing: what the loop itself takes", || Null)]
}
