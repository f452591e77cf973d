//! A heap with its name; its type is erased.
//!
//! ```text
//!  Contender::new("mine", "a heap of my own", Mine::new) ──▶ Vec<Contender> ──▶ main_with
//! ```
//!
//! Design: `.rep.heap` in `design/replay.md`.

use super::{Outcome, Session};
#[cfg(any(feature = "jemalloc", feature = "mimalloc", feature = "snmalloc"))]
use crate::heap::global::Global;
use crate::heap::{Heap, Null, pools::Pools, system::System, version};
use std::fmt;

type Play = Box<dyn Fn(&Session<'_>) -> Outcome>;

/// A heap that a workload can be played against, with its name.
pub struct Contender {
    name: &'static str,
    about: &'static str,
    /// Returns the version, if the heap states one.
    version: fn() -> Option<String>,
    /// The prefixes of the environment variables that the heap obeys.
    variables: &'static [&'static str],
    play: Play,
}

impl Contender {
    /// Returns a heap called `name`: a word without commas and slashes. `make` is called once in
    /// each process that plays against the heap.
    pub fn new<H: Heap + 'static>(
        name: &'static str,
        about: &'static str,
        make: fn() -> H,
    ) -> Contender {
        let play: Play = Box::new(move |session| session.play(&make()));
        Contender { name, about, version: || None, variables: &[], play }
    }

    /// Adds a function that returns the version, and the prefixes of the environment variables that
    /// the heap obeys.
    pub fn with_version(
        self,
        version: fn() -> Option<String>,
        variables: &'static [&'static str],
    ) -> Contender {
        Contender { version, variables, ..self }
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn play(&self, session: &Session<'_>) -> Outcome {
        (self.play)(session)
    }

    /// Returns a description in a line: the version, and the options that the environment sets.
    pub fn about(&self) -> String {
        let version = (self.version)().map_or(String::new(), |version| format!(" {version}"));
        let mut text = format!("{}{version}", self.about);
        let is_option = |name: &str| self.variables.iter().any(|begin| name.starts_with(begin));
        let mut options: Vec<(String, String)> = std::env::vars_os()
            .map(|(name, value)| [name, value].map(|text| text.to_string_lossy().into_owned()))
            .map(<(String, String)>::from)
            .filter(|(name, _)| is_option(name))
            .collect();
        options.sort();
        for (name, value) in options {
            text += &format!(", {name}={value}");
        }
        text
    }
}

impl fmt::Debug for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contender").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Returns the built-in heaps.
pub fn built_in() -> Vec<Contender> {
    vec![
        Contender::new("null", "does nothing: shows the cost of the loop", || Null),
        Contender::new("system", "malloc of the C library", || System)
            .with_version(version::system, &["MALLOC_", "GLIBC_TUNABLES"]),
        #[cfg(feature = "jemalloc")]
        Contender::new("jemalloc", "jemalloc", || Global(tikv_jemallocator::Jemalloc))
            .with_version(version::jemalloc, &["_RJEM_MALLOC_CONF", "MALLOC_CONF"]),
        #[cfg(feature = "mimalloc")]
        Contender::new("mimalloc", "mimalloc", || Global(mimalloc::MiMalloc))
            .with_version(version::mimalloc, &["MIMALLOC_"]),
        #[cfg(feature = "snmalloc")]
        Contender::new("snmalloc", "snmalloc 0.7", || Global(snmalloc_rs::SnMalloc)),
        Contender::new(
            "pools",
            "an example with pools: each has a lock and extents",
            Pools::default,
        ),
    ]
}
