//! The command line: chooses the command.
//!
//! ```text
//!  words ──▶ Args ── command ──▶ command/NAME.rs: its arguments, help and examples
//! ```
//!
//! Design: `.rep.exit` in `design/replay.md`.

use crate::command::{compile, heaps, play, show};
use crate::play::{Contender, player};
use clap::{CommandFactory, Parser, Subcommand};
use cli::Stop;
use std::io::{self, Write};

const EXAMPLES: &str = "\
Examples:
  replay record -o a.log -- python3 script.py            record a program's calls of malloc
  replay show program.log                                sizes, lifetimes, the peak, leaks
  replay play -o page.html program.log                   its cost with each heap, and charts
  replay play --heap system,./libmine.so program.log     its cost with your own allocator

replay COMMAND --help has more about each command.";

const COMPLETIONS: &str = "\
Examples:
  replay completions bash > replay.bash     for this shell: . ./replay.bash";

/// Plays the allocations of a recorded program against other allocators.
#[derive(Debug, Parser)]
#[command(name = "replay", version, disable_help_subcommand = true, after_help = EXAMPLES)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
enum Command {
    /// Record a program: its calls of malloc or of its functions, and the kernel's events
    #[command(long_about = record_command::ABOUT)]
    #[command(after_long_help = record_command::examples("replay"))]
    #[command(after_help = "More, with examples: replay record --help")]
    Record(record_command::Args),
    /// Show a workload: counts, sizes, lifetimes, live bytes, leaks, call stacks
    #[command(long_about = show::ABOUT, after_long_help = show::EXAMPLES)]
    #[command(after_help = "More, with examples: replay show --help")]
    Show(show::Args),
    /// Play a workload against other allocators: time, latency, memory
    #[command(long_about = play::ABOUT, after_long_help = play::EXAMPLES)]
    #[command(after_help = "More, with examples: replay play --help")]
    Play(Box<play::Args>),
    /// Save the operations of a log, modified or not, as a log that discloses nothing else
    #[command(long_about = compile::ABOUT, after_long_help = compile::EXAMPLES)]
    #[command(after_help = "More, with examples: replay compile --help")]
    Compile(compile::Args),
    /// List the built-in heaps
    #[command(long_about = heaps::ABOUT, after_long_help = heaps::EXAMPLES)]
    #[command(after_help = "More, with examples: replay heaps --help")]
    Heaps,
    /// Print the manual page
    #[command(after_help = "Examples:\n  replay man > replay.1     the page: man ./replay.1")]
    Man,
    /// Print completions for a shell
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },

    /// Play one run, as the process that `replay play` starts
    #[command(hide = true)]
    Player {
        /// The task, as JSON
        task: String,
    },
}

impl Args {
    /// Runs the command. Returns whether it found no fault.
    pub(crate) fn run(&self, contenders: &[Contender]) -> Result<bool, Stop> {
        match &self.command {
            Command::Compile(args) => compile::run(args),
            Command::Show(args) => show::run(args),
            Command::Heaps => heaps::run(contenders),
            Command::Man => cli::man::print(Args::command()),
            Command::Completions { shell } => {
                let mut text = Vec::new();
                clap_complete::generate(*shell, &mut Args::command(), "replay", &mut text);
                io::stdout().lock().write_all(&text)?;
                Ok(true)
            }
            Command::Record(args) => record_command::run(args, "replay"),
            Command::Play(args) => play::run(args, contenders),
            Command::Player { task } => player(task, contenders),
        }
    }
}
