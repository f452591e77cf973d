//! Checks whether the witnesses of some runs tell the whole path.
//!
//! ```text
//!  GRAPH, PLAN │ blocks ── lens_paths::clashes ──▶ verdict, with the forks that are not told
//! ```
//!
//! Design: `.paths.condition` in `design/paths.md`.

use crate::ask::paths::inputs::{graph, plan_of, say_all, stop};
use cli::Stop;
use lens_paths::graph::{BlockId, Element, ElementId, Program};
use lens_paths::{Profile, clashes};
use std::io::{self, Write};
use std::path::PathBuf;

pub(super) const ABOUT: &str = "\
Checks whether the witnesses of some runs together tell every branch that a program takes. If they \
do not, it names each fork, and the two ways that no run tells apart.";

pub(super) const EXAMPLES: &str = "\
Examples:
  eventcnv paths verify shop.graph shop.plan
  eventcnv paths verify shop.graph --profile sell --profile refuse      two runs, by their blocks

A block is its label or its number in main, or FUNCTION.BLOCK.

Exit status:
  0  the witnesses tell every branch
  1  they do not: standard output names the forks
  2  an input could not be read, or the command line is wrong";

/// Check whether the witnesses of some runs tell the whole path
#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    /// The graph of the program
    #[arg(value_name = "GRAPH")]
    graph: PathBuf,

    /// A plan of "paths plan"
    #[arg(value_name = "PLAN", required_unless_present = "profile", conflicts_with = "profile")]
    plan: Option<PathBuf>,

    /// The blocks that one run witnesses; give it once for each run
    #[arg(long, value_name = "BLOCK,…", value_delimiter = None)]
    profile: Vec<String>,
}

/// Checks, and prints the verdict. Returns whether every branch is told.
pub(crate) fn run(args: &Verify) -> Result<bool, Stop> {
    let program = graph(&args.graph)?;
    let profiles: Vec<Profile> = match &args.plan {
        Some(path) => plan_of(&program, path)?.into_iter().map(|run| run.profile).collect(),
        None => {
            args.profile.iter().map(|words| profile(&program, words)).collect::<Result<_, _>>()?
        }
    };
    let found = clashes(&program, &profiles).map_err(|error| stop(&args.graph, &error))?;
    let mut out = io::stdout().lock();
    if found.is_empty() {
        let runs = cli::units::counted(profiles.len() as u64, "run");
        writeln!(out, "{runs}: every branch is told")?;
    }
    for line in say_all(&program, &found) {
        writeln!(out, "{line}")?;
    }
    Ok(found.is_empty())
}

/// Returns the profile of some blocks.
fn profile(program: &Program, words: &str) -> Result<Profile, Stop> {
    let words = words.split(',').map(str::trim).filter(|word| !word.is_empty());
    let found: Result<Vec<ElementId>, Stop> = words.map(|word| block(program, word)).collect();
    Ok(Profile::of(found?))
}

/// Returns the block of a word: of `main`, or of the function before the last point.
fn block(program: &Program, word: &str) -> Result<ElementId, Stop> {
    let own = word.rsplit_once('.').and_then(|(name, block)| Some((program.named(name)?, block)));
    let (id, block) = own.unwrap_or((program.main(), word));
    let function = program.function(id);
    let blocks = function.map_or(&[][..], |own| own.blocks());
    let labelled = blocks.iter().position(|own| own.label.as_deref() == Some(block));
    let number = labelled.and_then(|at| u32::try_from(at).ok()).or_else(|| block.parse().ok());
    let element = number.and_then(|at| program.id(Element::Block(id, BlockId(at))));
    element.ok_or_else(|| {
        let name = function.map_or("?", |own| own.name());
        Stop::Message(format!("--profile: {name} has no block {block}"))
    })
}
