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
pub(crate) mod collect;
pub(crate) mod inputs;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) mod jobs;
pub(crate) mod marked;
pub(crate) mod plan;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) mod program;
pub(crate) mod said;
pub(crate) mod verify;
#[cfg(feature = "paths")]
pub(crate) mod view;
pub(crate) mod walk;

use clap::Subcommand;
use cli::Stop;

const EXAMPLES: &str = "\
Examples:
  eventcnv paths plan shop.graph                       what to record, and what it costs
  eventcnv paths plan shop.graph --machines 2 --svg shop.svg   two runs share the work; a drawing
  eventcnv paths plan shop.graph --blocks -o shop.plan  blocks, as breakpoints are
  eventcnv paths verify shop.graph --profile sell,serve --profile refuse,serve   do they do?
  eventcnv paths collect -o path.log -- gzip -c notes.txt   the path of a program, by breakpoints
  eventcnv paths walk shop.graph shop.plan run0 -o path.log
  eventcnv pairs path.log                              how often each block and function ran";

/// Find the few events that tell the whole path of a program, and the path from them
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
