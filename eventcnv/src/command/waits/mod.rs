//! What threads waited for: the commands on the events of a kernel.
//!
//! ```text
//!  waits record ──▶ log "kernel"
//! ```
//!
//! Design: `design/waits.md`.

#[cfg(target_os = "linux")]
mod record;

use clap::Subcommand;
use cli::Stop;

/// Record the kernel's events: what threads waited for
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
}

/// Runs the command. Returns whether it found no fault.
pub(crate) fn run(args: &Waits) -> Result<bool, Stop> {
    match &args.command {
        #[cfg(target_os = "linux")]
        Command::Record(args) => record::run(args),
    }
}
