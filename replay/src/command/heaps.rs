//! Which heaps a workload can be played against.
//!
//! ```text
//!  contenders ──▶ name ⇥ what it is, one a line
//! ```
//!
//! Design: `.rep.heap` in `design/replay.md`.

use crate::play::Contender;
use cli::Stop;
use std::io::{self, Write};

pub(crate) const ABOUT: &str = "\
Lists the heaps that are built in: what `replay play --heap` takes beside the paths of libraries.";

pub(crate) const EXAMPLES: &str = "\
Any shared library with malloc and free is a heap too, by its path: it is preloaded, and what the
workload then asks of malloc, it asks of that library.

Examples:
  replay heaps                          their names, and what each is
  replay play --heap system,jemalloc program.log
  replay play --heap system,./libmine.so program.log

Exit status:
  0  always";

/// Nothing is asked.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Prints them.
pub(crate) fn run(_: &Args, contenders: &[Contender]) -> Result<bool, Stop> {
    let width = contenders.iter().map(|heap| heap.name().len()).max().unwrap_or(0);
    let mut out = io::stdout().lock();
    for heap in contenders {
        writeln!(out, "{:width$}  {}", heap.name(), heap.about())?;
    }
    out.flush()?;
    Ok(true)
}
