//! A heap with its name, among others whose types are different.
//!
//! ```text
//!  Contender::new("mine", "a heap of my own", Mine::new) ──▶ Vec<Contender> ──▶ main_with
//! ```
//!
//! Design: `.rep.heap` in `design/replay.md`.

#[cfg(any(feature = "jemalloc", feature = "mimalloc", feature = "snmalloc"))]
use super::global::Global;
use super::{Heap, null::Null, pools::Pools, system::System};
use crate::play::{Outcome, Session};
use std::fmt;

/// Plays against a heap of a type that is forgotten.
type Play = Box<dyn Fn(&Session<'_>) -> Outcome>;

/// A heap that a workload can be played against, by its name.
pub struct Contender {
    name: &'static str,
    about: &'static str,
    play: Play,
}

impl Contender {
    /// A heap that is called `name`: a word, without commas and slashes. `make` is called once in
    /// each process that plays against it.
    pub fn new<H: Heap + 'static>(
        name: &'static str,
        about: &'static str,
        make: fn() -> H,
    ) -> Contender {
        Contender { name, about, play: Box::new(move |session| session.play(&make())) }
    }

    /// What it is called.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn play(&self, session: &Session<'_>) -> Outcome {
        (self.play)(session)
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
    vec![
        Contender::new("null", "costs nothing: what the loop itself takes", || Null),
        Contender::new("system", "malloc of the C library", || System),
        #[cfg(feature = "jemalloc")]
        Contender::new("jemalloc", "jemalloc 5.3", || Global(tikv_jemallocator::Jemalloc)),
        #[cfg(feature = "mimalloc")]
        Contender::new("mimalloc", "mimalloc 2", || Global(mimalloc::MiMalloc)),
        #[cfg(feature = "snmalloc")]
        Contender::new("snmalloc", "snmalloc 0.7", || Global(snmalloc_rs::SnMalloc)),
        Contender::new(
            "pools",
            "pools of our own, an example: a lock and extents each",
            Pools::default,
        ),
    ]
}
