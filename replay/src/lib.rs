//! The allocation replayer: shows what a program would cost under another allocator.
//!
//! ```text
//!  log ─ source ─▶ operations ─ modify ─▶ operations ─ compile ─▶ workload
//!                                            page, table, JSON ◀─ measured ◀─ play
//! ```
//!
//! Design: `design/replay.md`.

mod args;
mod command;
pub mod facts;
pub mod heap;
mod mark;
pub mod measured;
pub mod operation;
pub mod play;
pub mod report;
pub mod script;
pub mod show;
pub mod source;
mod timeline;
pub mod workload;

use clap::Parser;
use play::Contender;
use std::process::ExitCode;

/// Runs the whole tool with the command line of this process, and these heaps. A program with its
/// own heap calls this from `main`, with [`play::built_in`] and that heap:
///
/// ```no_run
/// use replay::heap::null::Null;
/// use replay::play::{Contender, built_in};
///
/// fn main() -> std::process::ExitCode {
///     let mut heaps = built_in();
///     heaps.push(Contender::new("mine", "a heap of my own", || Null));
///     replay::main_with(heaps)
/// }
/// ```
pub fn main_with(heaps: Vec<Contender>) -> ExitCode {
    cli::exit("replay", args::Args::parse().run(&heaps))
}
