//! What threads waited for: the commands on the events of a kernel.
//!
//! ```text
//!  perf.data, trace.dat, text ── waits import ─┐
//!                                waits record ─┴─▶ log "kernel" ─┐
//!                                           the program's log ──┴─ waits explain ──▶ text,
//!                                                                  JSON, CSV, log "waits"
//! ```
//!
//! Design: `design/waits.md`.

mod explain;
mod import;
#[cfg(target_os = "linux")]
mod record;

use clap::Subcommand;
use cli::Stop;

/// Record the kernel's events, and explain what threads waited for
#[derive(Debug, clap::Args)]
pub(crate) struct Waits {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[cfg(target_os = "linux")]
    #[command(long_about = record::ABOUT, after_long_help = record::EXAMPLES)]
    Record(record::Record),
    #[command(long_about = explain::ABOUT, after_long_help = explain::EXAMPLES)]
    Explain(explain::Explain),
    #[command(long_about = import::ABOUT, after_long_help = import::EXAMPLES)]
    Import(import::Import),
}

/// Runs the command. Returns whether it found no fault.
pub(crate) fn run(args: &Waits) -> Result<bool, Stop> {
    match &args.command {
        #[cfg(target_os = "linux")]
        Command::Record(args) => record::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Import(args) => import::run(args),
    }
}
