//! What threads waited for: the commands on the events of a kernel.
//!
//! ```text
//!  perf.data, trace.dat, text ── waits import ──▶ log "kernel"
//! ```
//!
//! Design: `design/waits.md`.

mod import;

use clap::Subcommand;
use cli::Stop;

const EXAMPLES: &str = "\
Examples:
  eventcnv waits import perf.data -o imported.log      what perf record wrote
  eventcnv waits import events.txt -o events.log       what perf script printed";

/// Make logs of a kernel's events: what threads waited for
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Waits {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(long_about = import::ABOUT, after_long_help = import::EXAMPLES)]
    Import(import::Import),
}

/// Runs the command. Returns whether it found no fault.
pub(crate) fn run(args: &Waits) -> Result<bool, Stop> {
    match &args.command {
        Command::Import(args) => import::run(args),
    }
}
