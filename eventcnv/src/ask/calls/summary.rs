//! Sums of the calls of a log that the lens does not keep: durations, threads, tasks.
//!
//! ```text
//!  Told ──▶ durations by function or edge │ owners by thread and task
//! ```
//!
//! Design: `.cnv.calls` in `design/eventcnv.md`.

use addr2line::demangle_auto;
use lens::calls::{CallEdge, Graph, Link, NONE, Owners, Sum, Told};
use lens::slices::{Durations, Limits, Runs};
use std::borrow::Cow;
use std::collections::HashMap;

/// The value by which calls are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum By {
    /// A row for each function
    Function,
    /// A row for each pair of caller and function
    Edge,
    /// A tree: a row for each path of calls
    Path,
    /// Functions that call each other, by flooding
    Cluster,
    /// A row for each thread
    Thread,
    /// A row for each task: a future
    Task,
}

/// What to leave out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cutoff {
    /// Functions that were called at most so often.
    Count(u64),
    /// Calls with less than this part of the time, in percent.
    Percent(f64),
}

impl Cutoff {
    /// Parses `5` and `0.5%`.
    pub(crate) fn parse(text: &str) -> Result<Cutoff, String> {
        let wrong = || "a number of calls, or a percentage of the time: 5, 0.5%".to_owned();
        match text.strip_suffix('%') {
            Some(percent) => {
                let percent = percent.trim().parse().map_err(|_| wrong())?;
                let is_right = (0.0..=100.0).contains(&percent);
                if is_right { Ok(Cutoff::Percent(percent)) } else { Err(wrong()) }
            }
            None => text.parse().map(Cutoff::Count).map_err(|_| wrong()),
        }
    }

    /// Returns whether calls are left in; `time` is theirs, of `all`.
    pub(crate) fn has(self, count: u64, time: u64, all: u64) -> bool {
        match self {
            Cutoff::Count(least) => count > least,
            Cutoff::Percent(least) => time as f64 * 100.0 >= least * all as f64,
        }
    }
}

/// Returns the calls between functions, for clusters.
pub(crate) fn links(graph: &Graph, is_shown: impl Fn(&Sum) -> bool) -> Vec<Link> {
    let edges = graph.edges().iter().filter(|edge| edge.caller != NONE && is_shown(&edge.sum));
    edges
        .map(|&CallEdge { caller, function, sum }| Link { caller, function, count: sum.count })
        .collect()
}

/// Returns a name of C++ or Rust as the source has it. A file may follow the name, in brackets.
pub(crate) fn demangled<'n>(name: impl Into<Cow<'n, str>>) -> Cow<'n, str> {
    let name = name.into();
    // The name of a function of C may be the code of a type: `f` is that of float.
    if !name.starts_with('_') {
        return name;
    }
    match name.split_once(" (") {
        Some((symbol, file)) => format!("{} ({file}", demangle_auto(symbol.into(), None)).into(),
        None => demangle_auto(name, None),
    }
}

/// Sums that the tree does not have.
pub(crate) struct Extra {
    by: By,
    pub(crate) durations: Durations,
    /// Those that are to be compared, apart.
    pub(crate) runs: Runs,
    pub(crate) owners: Owners,
    /// By function or edge: calls that are polls.
    polls: HashMap<u32, u64>,
}

impl Extra {
    pub(crate) fn new(by: By, runs: Runs) -> Extra {
        let durations = Durations::new(Limits::default());
        Extra { by, durations, runs, owners: Owners::default(), polls: HashMap::new() }
    }

    pub(crate) fn by(&self) -> By {
        self.by
    }

    /// Returns how many calls of a function or of an edge are polls.
    pub(crate) fn polls(&self, group: u32) -> u64 {
        self.polls.get(&group).copied().unwrap_or_default()
    }

    #[inline]
    pub(crate) fn add(&mut self, told: &Told<'_>) {
        match (self.by, told) {
            (By::Thread | By::Task, _) => self.owners.add(told),
            (By::Function | By::Edge, Told::Call(call)) => {
                let group = if self.by == By::Edge { call.edge } else { call.function };
                if call.task.is_some() {
                    *self.polls.entry(group).or_default() += 1;
                }
                if let Some(ns) = call.duration {
                    self.durations.add(group as usize, ns);
                    self.runs.add(group as usize, call.begin.id.stream, ns);
                }
            }
            _ => {}
        }
    }
}
