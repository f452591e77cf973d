//! Which few events tell the whole path of a program, and the path from these events.
//!
//! ```text
//!  GRAPH ── paths plan ──▶ PLAN: the witnesses of each run ── recorders ──▶ RUN…
//!  GRAPH, PLAN ── paths verify ──▶ verdict
//!  PROGRAM ── paths collect ──▶ log "path", by breakpoints
//!  LOG of functions with #[path] ── paths walk ──▶ log "path", or lines
//!  GRAPH, PLAN, RUN… ── paths walk ──▶ log "path": calls and blocks as slices
//! ```
//!
//! Design: `design/paths.md`.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod collect;
mod marked;
mod plan;
mod said;
mod verify;
mod walk;

use clap::Subcommand;
use cli::Stop;
use lens_paths::graph::{Note, Program};
use lens_paths::plan::Run;
use lens_paths::{Clash, Way};
use said::stop;
use std::fs;
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  eventcnv paths plan shop.graph                       what to record, and what it costs
  eventcnv paths plan shop.graph --machines 2 --svg shop.svg   two runs share the work; a drawing
  eventcnv paths plan shop.graph --blocks -o shop.plan  blocks, as breakpoints are
  eventcnv paths verify shop.graph --profile sell,serve --profile refuse,serve   do they do?
  eventcnv paths collect -o path.log -- gzip -c notes.txt   the path of a program, by breakpoints
  eventcnv paths walk shop.graph shop.plan run0 -o path.log
  eventcnv pairs path.log                              how often each block and function ran";

/// Plan the few events that tell the whole path of a program, and find the path from them
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Paths {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(long_about = plan::ABOUT, after_long_help = plan::EXAMPLES)]
    Plan(plan::Plan),
    #[command(long_about = verify::ABOUT, after_long_help = verify::EXAMPLES)]
    Verify(verify::Verify),
    #[command(long_about = walk::ABOUT, after_long_help = walk::EXAMPLES)]
    Walk(walk::Walk),
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[command(long_about = collect::ABOUT, after_long_help = collect::EXAMPLES)]
    Collect(collect::Collect),
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[command(hide = true)]
    Start(collect::Start),
}

/// Runs the command. Returns whether it found no fault.
pub(crate) fn run(args: &Paths) -> Result<bool, Stop> {
    match &args.command {
        Command::Plan(args) => plan::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Walk(args) => match args.marked()? {
            Some(log) => marked::run(log, args.output().as_ref()),
            None => walk::run(args),
        },
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        Command::Collect(args) => collect::run(args),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        Command::Start(args) => collect::start(args),
    }
}

/// Bytes of a text, at most.
const TEXT_SIZE_MAX: u64 = 1 << 30;

/// Returns the text of a file.
fn text(path: &Path) -> Result<String, Stop> {
    let size = fs::metadata(path).map_err(|error| stop(path, &error))?.len();
    if size > TEXT_SIZE_MAX {
        return Err(stop(path, &"is larger than 1 GiB"));
    }
    fs::read_to_string(path).map_err(|error| stop(path, &error))
}

/// Reads a graph, and says what a user may not expect of it.
fn graph(path: &Path) -> Result<Program, Stop> {
    let program = lens_paths::graph::read(&text(path)?).map_err(|error| stop(path, &error))?;
    let name = |function| program.function(function).map_or("?", |own| own.name());
    for note in program.notes() {
        let said = match note {
            Note::Unreachable(function, blocks) => {
                let count = cli::units::counted(blocks.len() as u64, "block");
                format!("no path of {} leads to {count} of it", name(*function))
            }
            Note::Endless(function) => {
                format!("no path through {} returns or ends the program", name(*function))
            }
            Note::Doubled(function, from, to) => format!(
                "{} has several edges from block {} to block {}, which are one",
                name(*function),
                from.0,
                to.0
            ),
            _ => continue,
        };
        cli::complain(&format!("eventcnv: {}: note: {said}\n", cli::log::name(path)));
    }
    Ok(program)
}

/// Reads a plan of a program.
fn plan_of(program: &Program, path: &Path) -> Result<Vec<Run>, Stop> {
    lens_paths::plan::text::read(program, &text(path)?).map_err(|error| stop(path, &error))
}

/// Says which ways are not told apart.
fn say(program: &Program, clash: &Clash) -> String {
    let function = program.function(clash.fork.function);
    let name = |id| program.function(id).map_or("?", |own| own.name());
    let block = |id: lens_paths::graph::BlockId| {
        let label = function.and_then(|own| own.block(id)).and_then(|own| own.label.as_deref());
        label.map_or_else(|| format!("block {}", id.0), |label| format!("block {label}"))
    };
    let way = |way: Way| match way {
        Way::Edge(edge) => {
            let to = function.and_then(|own| own.edges().get(edge.0 as usize));
            to.map_or("?".into(), |edge| block(edge.to))
        }
        Way::Return => "its return".into(),
        Way::Stop => "the end of the program".into(),
        Way::Into(callee) => format!("a call of {}", name(callee)),
        Way::Outside => "a call of code outside".into(),
    };
    let (one, other) = clash.ways;
    format!(
        "{}, after {}: nothing tells {} from {}",
        name(clash.fork.function),
        block(clash.fork.block),
        way(one),
        way(other)
    )
}

/// Says the first clashes of several.
fn say_all(program: &Program, clashes: &[Clash]) -> Vec<String> {
    const SAID_COUNT_MAX: usize = 20;
    let mut lines: Vec<String> =
        clashes.iter().take(SAID_COUNT_MAX).map(|clash| say(program, clash)).collect();
    match clashes.len().saturating_sub(SAID_COUNT_MAX) {
        0 => {}
        more => lines.push(format!("and {more} more pairs")),
    }
    lines
}
