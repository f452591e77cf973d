//! The allocation replayer: what would this program cost under another allocator?
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
pub mod workload;

use clap::Parser;
use play::Contender;
use std::process::ExitCode;

/// The whole tool, with the command line of this process, and these heaps. A program that has a
/// heap of its own calls this from `main`, with [`play::built_in`] and its own:
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
