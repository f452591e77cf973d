//! A heap with its name, among others whose types are different.
//!
//! ```text
//!  Contender::new("mine", "a heap of my own", Mine::new) ──▶ Vec<Contender> ──▶ main_with
//! ```
//!
//! Design: `.rep.heap` in `design/replay.md`.

use super::{Outcome, Session};
#[cfg(any(feature = "jemalloc", feature = "mimalloc", feature = "snmalloc"))]
use crate::heap::global::Global;
use crate::heap::{Heap, null::Null, pools::Pools, system::System, version};
use std::fmt;

/// Plays against a heap of a type that is forgotten.
type Play = Box<dyn Fn(&Session<'_>) -> Outcome>;

/// A heap that a workload can be played against, by its name.
pub struct Contender {
    name: &'static str,
    about: &'static str,
    /// Which version it is, where it says so itself.
    version: fn() -> Option<String>,
    /// What the variables of the environment begin with that it obeys.
    variables: &'static [&'static str],
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
        let play: Play = Box::new(move |session| session.play(&make()));
        Contender { name, about, version: || None, variables: &[], play }
    }

    /// It says itself which version it is, and obeys variables of the environment whose names begin
    /// so.
    pub fn with_version(
        self,
        version: fn() -> Option<String>,
        variables: &'static [&'static str],
    ) -> Contender {
        Contender { version, variables, ..self }
    }

    /// What it is called.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn play(&self, session: &Session<'_>) -> Outcome {
        (self.play)(session)
    }

    /// What it is, in a line: its version, and the options that the environment sets.
    pub fn about(&self) -> String {
        let version = (self.version)().map_or(String::new(), |version| format!(" {version}"));
        let mut text = format!("{}{version}", self.about);
        let is_its = |name: &str| self.variables.iter().any(|begin| name.starts_with(begin));
        let mut options: Vec<(String, String)> = std::env::vars_os()
            .map(|(name, value)| [name, value].map(|text| text.to_string_lossy().into_owned()))
            .map(<(String, String)>::from)
            .filter(|(name, _)| is_its(name))
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

/// The heaps that come with the tool.
pub fn built_in() -> Vec<Contender> {
    vec![
        Contender::new("null", "costs nothing: what the loop itself takes", || Null),
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
            "pools of our own, an example: a lock and extents each",
            Pools::default,
        ),
    ]
}
