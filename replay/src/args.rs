//! The command line, and which command it is.
//!
//! ```text
//!  words ──▶ Args ── command ──▶ command/NAME.rs, with its arguments, help and examples
//! ```
//!
//! Design: `.rep.exit` in `design/replay.md`.

use crate::command::{compare, compile, heaps, play, player, record, show};
use crate::play::Contender;
use clap::{Parser, Subcommand};
use cli::Stop;

const EXAMPLES: &str = "\
Examples:
  replay record -o a.log -- python3 script.py            what a program asks of malloc
  replay show program.log                                sizes, lifetimes, the peak, what is left
  replay play -o page.html program.log                   what it costs with each heap, and charts
  replay play --heap system,./libmine.so program.log     and with an allocator of one's own

replay COMMAND --help has more of each.";

/// Plays the allocations of a recorded program against other allocators.
#[derive(Debug, Parser)]
#[command(name = "replay", version, disable_help_subcommand = true, after_help = EXAMPLES)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

/// What is done.
#[derive(Debug, Subcommand)]
enum Command {
    /// Record what a program asks of malloc
    #[command(long_about = record::ABOUT, after_long_help = record::EXAMPLES)]
    #[command(after_help = "More, with examples: replay record --help")]
    Record(record::Args),
    /// Tell what a workload is: counts, sizes, lifetimes, live bytes, leaks, who allocated
    #[command(long_about = show::ABOUT, after_long_help = show::EXAMPLES)]
    #[command(after_help = "More, with examples: replay show --help")]
    Show(show::Args),
    /// Play it against other allocators: time, latency, memory
    #[command(long_about = play::ABOUT, after_long_help = play::EXAMPLES)]
    #[command(after_help = "More, with examples: replay play --help")]
    Play(Box<play::Args>),
    /// Save the operations of a log, modified or not, as a file that gives nothing away
    #[command(long_about = compile::ABOUT, after_long_help = compile::EXAMPLES)]
    #[command(after_help = "More, with examples: replay compile --help")]
    Compile(compile::Args),
    /// Tell whether two logs have the same operations, and where they part
    #[command(long_about = compare::ABOUT, after_long_help = compare::EXAMPLES)]
    #[command(after_help = "More, with examples: replay compare --help")]
    Compare(compare::Args),
    /// List the heaps that are built in
    #[command(long_about = heaps::ABOUT, after_long_help = heaps::EXAMPLES)]
    #[command(after_help = "More, with examples: replay heaps --help")]
    Heaps(heaps::Args),

    #[command(hide = true)]
    Player(player::Args),
}

impl Args {
    /// Does what the command line says. Whether that was done without a fault.
    pub(crate) fn run(&self, contenders: &[Contender]) -> Result<bool, Stop> {
        match &self.command {
            Command::Compile(args) => compile::run(args),
            Command::Show(args) => show::run(args),
            Command::Compare(args) => compare::run(args),
            Command::Heaps(args) => heaps::run(args, contenders),
            Command::Record(args) => record::run(args),
            Command::Play(args) => play::run(args, contenders),
            Command::Player(args) => player::run(args, contenders),
        }
    }
}
