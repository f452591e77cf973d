//! Lists the heaps that a workload can be played against.
//!
//! ```text
//!  contenders ──▶ name, description, one a line
//! ```
//!
//! Design: `.rep.heap` in `design/replay.md`.

use crate::play::Contender;
use cli::Stop;
use std::io::{self, Write};

pub(crate) const ABOUT: &str = "\
Lists the built-in heaps. `replay play --heap` takes these names, and paths of libraries.";

pub(crate) const EXAMPLES: &str = "\
The path of a shared library with malloc and free names a heap, too: replay preloads the library,
and the workload calls its malloc.

Examples:
  replay heaps                          names and descriptions
  replay play --heap system,jemalloc program.log
  replay play --heap system,./libmine.so program.log

Exit status:
  0  always";

pub(crate) fn run(contenders: &[Contender]) -> Result<bool, Stop> {
    let width = contenders.iter().map(|heap| heap.name().len()).max().unwrap_or(0);
    let mut out = io::stdout().lock();
    for heap in contenders {
        writeln!(out, "{:width$}  {}", heap.name(), heap.about())?;
    }
    out.flush()?;
    Ok(true)
}
