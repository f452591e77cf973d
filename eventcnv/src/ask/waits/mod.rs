//! What threads waited for: the commands on the events of a kernel.
//!
//! ```text
//!  perf.data, trace.dat, text ── waits import ─┐
//!                             record --kernel ─┴─▶ log "kernel" ─┐
//!                                           the program's log ──┴─ waits explain ──▶ text,
//!                                                                  JSON, CSV, log "waits"
//! ```
//!
//! Design: `design/waits.md`.

pub(crate) mod explain;
pub(crate) mod import;
#[cfg(feature = "waits")]
pub(crate) mod reading;
#[cfg(feature = "waits")]
pub(crate) mod view;

use clap::Subcommand;
use cli::Stop;

const EXAMPLES: &str = "\
Examples:
  eventcnv record --kernel -- ./store                what the kernel does meanwhile: kernel.log
  eventcnv waits import perf.data -o imported.log    what perf record wrote
  eventcnv waits import events.txt -o events.log     what perf script printed
  eventcnv waits explain kernel.log --of store       what the process waited for, and for how long
  eventcnv waits explain store.log kernel.log        next to the events that the program recorded
  eventcnv waits explain store.log kernel.log -o waits.log --force   runs, waits, wakes as a log";

/// Explain what threads waited for, from the events of a kernel
///
/// `eventcnv waits record` is another name for `eventcnv record --kernel`, which records them.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Waits {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(long_about = explain::ABOUT, after_long_help = explain::EXAMPLES)]
    Explain(explain::Explain),
    #[command(long_about = import::ABOUT, after_long_help = import::EXAMPLES)]
    Import(import::Import),
}

/// Runs the command. Returns whether it found no fault.
pub(crate) fn run(args: &Waits) -> Result<bool, Stop> {
    match &args.command {
        Command::Explain(args) => explain::run(args),
        Command::Import(args) => import::run(args),
    }
}
