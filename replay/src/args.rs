//! The command line, and which command it is.
//!
//! ```text
//!  words ──▶ Args ── command ──▶ command/NAME.rs, with its arguments, help and examples
//! ```
//!
//! Design: `.rep.exit` in `design/replay.md`.

use crate::command::{heaps, record};
use crate::heap::Contender;
use crate::stop::Stop;
use clap::{Parser, Subcommand};

/// Plays the allocations of a recorded program against other allocators.
#[derive(Debug, Parser)]
#[command(name = "replay", version, disable_help_subcommand = true)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

/// What is done.
#[derive(Debug, Subcommand)]
enum Command {
    /// List the heaps that are built in
    #[command(long_about = heaps::ABOUT, after_long_help = heaps::EXAMPLES)]
    #[command(after_help = "More, with examples: replay heaps --help")]
    Heaps(heaps::Args),

    /// Record what a program asks of malloc
    #[command(long_about = record::ABOUT, after_long_help = record::EXAMPLES)]
    #[command(after_help = "More, with examples: replay record --help")]
    Record(record::Args),
}

impl Args {
    /// Does what the command line says. Whether that was done without a fault.
    pub(crate) fn run(&self, contenders: &[Contender]) -> Result<bool, Stop> {
        match &self.command {
            Command::Heaps(args) => heaps::run(args, contenders),
            Command::Record(args) => record::run(args),
        }
    }
}
