//! The allocation replayer: measures the cost of a program's allocations under other allocators.
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     replay::main_with(replay::play::built_in()) // the tool, with the heaps that are built in
//! }
//! ```
//!
//! ```text
//!  log ─ source ─▶ operations ─ modify ─▶ operations ─ compile ─▶ workload
//!                                            page, table, JSON ◀─ measured ◀─ play
//! ```
//!
//! - **Platforms**: Linux.
//! - **Rust**: 1.91 or later.
//! - **Features**, all on by default: `jemalloc`, `mimalloc`, `snmalloc` build these allocators in.
//!   Each needs a C compiler; jemalloc also needs make, snmalloc a compiler of C++17.
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
/// use replay::heap::Null;
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
