//! Plans: the cheapest witnesses that tell the whole path, on one machine or on several.
//!
//! ```text
//!  program, weights ─┬ links: a maximum spanning forest; what it lacks is witnessed ─┐ edges
//!                    └ nodes: the paper's choice, or greedy ─────────────────────────┤ blocks
//!                                              repair: condition A; prune ◀──────────┘
//!                                                 │ one profile
//!  jobs: fine │ functions │ grouped ─▶ distribute: forks to machines ─▶ profiles; the best is kept
//! ```
//!
//! Design: `.paths.plan` in `design/paths.md`.

mod distribute;
mod jobs;
mod links;
mod nodes;
mod prune;
mod repair;
pub mod text;

pub use distribute::plan;
pub use prune::spare;

use crate::condition::Clash;
use crate::first::TooLarge;
use crate::points::Fork;
use crate::profile::Profile;
use core::fmt;

/// Machines of a plan, at most.
pub const MACHINE_COUNT_MAX: usize = 1024;

/// The elements that can be witnessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Edges, and functions that begin or return: cheapest.
    #[default]
    Edges,
    /// Blocks, as breakpoints are.
    Blocks,
}

/// How the forks of a program become jobs. All forks of a job are told on one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// One job: nothing is distributed.
    Single,
    /// A job for each fork.
    Fine,
    /// A job for each function.
    Functions,
    /// A job for all forks of a function whose diamonds share a circle or an edge.
    Grouped,
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Strategy::Single => "one profile",
            Strategy::Fine => "fine",
            Strategy::Functions => "by function",
            Strategy::Grouped => "grouped",
        })
    }
}

/// What a plan has to keep.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Machines, from 1 to [`MACHINE_COUNT_MAX`].
    pub machines: usize,
    /// Witnesses of a profile, at most.
    pub limit: Option<usize>,
    /// The elements that can be witnessed.
    pub kind: Kind,
}

impl Default for Options {
    fn default() -> Options {
        Options { machines: 1, limit: None, kind: Kind::Edges }
    }
}

/// The profile of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its witnesses.
    pub profile: Profile,
    /// The machine that runs it, from 0.
    pub machine: usize,
    /// The sum of the weights of its witnesses.
    pub cost: u64,
}

/// Profiles that tell the whole path together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How its jobs were made.
    pub strategy: Strategy,
    /// Its profiles.
    pub runs: Vec<Run>,
}

/// Returns the cost of each machine: the sum of the costs of its runs.
pub fn loads(runs: &[Run]) -> Vec<u64> {
    let count = runs.iter().map(|run| run.machine + 1).max().unwrap_or(0);
    let mut loads = vec![0u64; count];
    for run in runs {
        if let Some(load) = loads.get_mut(run.machine) {
            *load = load.saturating_add(run.cost);
        }
    }
    loads
}

impl Plan {
    /// Returns the cost of the machine with the greatest load: the time of the collection.
    pub fn cost(&self) -> u64 {
        loads(&self.runs).into_iter().max().unwrap_or(0)
    }

    /// Returns its profiles.
    pub fn profiles(&self) -> Vec<Profile> {
        self.runs.iter().map(|run| run.profile.clone()).collect()
    }
}

/// The plans of a program.
#[derive(Clone, Debug)]
pub struct Plans {
    /// All plans: of each strategy one.
    pub all: Vec<Plan>,
    /// The number of the cheapest in `all`.
    pub best: usize,
}

impl Plans {
    /// Returns the cheapest plan.
    pub fn best(&self) -> Option<&Plan> {
        self.all.get(self.best)
    }
}

/// Why a program has no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// The number of machines is 0, or greater than [`MACHINE_COUNT_MAX`].
    Machines,
    /// No witnesses of this kind tell these ways apart.
    Open(Vec<Clash>),
    /// A fork needs more witnesses than a profile may have.
    Limit {
        /// the fork
        fork: Fork,
        /// the witnesses that it needs
        needs: usize,
    },
    /// The first letters are too many.
    TooLarge(TooLarge),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Machines => write!(f, "a plan has from 1 to {MACHINE_COUNT_MAX} machines"),
            PlanError::Open(clashes) => {
                let count = clashes.len();
                write!(f, "no witnesses of this kind tell {count} pairs of ways apart")
            }
            PlanError::Limit { fork, needs } => write!(
                f,
                "block {} of function {} needs {needs} witnesses in one profile",
                fork.block.0, fork.function.0
            ),
            PlanError::TooLarge(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for PlanError {}

impl From<TooLarge> for PlanError {
    fn from(error: TooLarge) -> PlanError {
        PlanError::TooLarge(error)
    }
}
