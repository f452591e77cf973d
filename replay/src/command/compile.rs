//! Saves the operations of a log, modified or not.
//!
//! ```text
//!  LOG ─▶ operations ─ modify ─▶ FILE.ops: no addresses, no names, no contents
//! ```
//!
//! Design: `.rep.file`, `.rep.modify` in `design/replay.md`.

use crate::script::{Modify, write_with};
use crate::source::input::{Input, InputOperations, Opened};
use cli::output::Pending;
use cli::{Stop, said};
use std::io::{self, Write};
use std::path::PathBuf;

pub(crate) const ABOUT: &str = "\
Saves what a program asked of its memory manager as a file of operations: sizes, alignments, \
pools, threads and times. The file has no addresses, names or contents, so that it discloses \
nothing. `play` and `show` read it like a log, and faster.";

pub(crate) const EXAMPLES: &str = "\
Examples:
  replay compile program.log -o program.ops
  replay compile program.ops --scale-size 1.5 --round-size 16 -o larger.ops
  replay compile program.log --keep-size 4K.. -o large.ops     only large objects
  replay compile program.log --copies 4 -o server.ops          four copies at once
  replay compile - -o program.ops < program.log

Exit status:
  0  saved
  1  saved as far as the log could be read; standard error has the faults
  2  the log could not be read, or the file could not be written";

/// The arguments of `replay compile`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: Input,

    /// The file to save the operations to
    #[arg(short = 'o', long, value_name = "FILE")]
    output: PathBuf,

    /// Overwrite the file if it exists
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    modify: Modify,
}

/// Saves operations. Returns whether the log was read completely.
pub(crate) fn run(args: &Args) -> Result<bool, Stop> {
    let pending = Pending::new(&args.output, args.force)?;
    let opened = Opened::open(&args.input)?;
    let mut operations = opened.operations(&args.modify.list)?;
    let facts = |operations: &&mut InputOperations<'_>| operations.facts().clone();
    let counts = pending.write(|out| write_with(operations.by_ref(), facts, out))?;
    let size = pending.as_file().metadata()?.len();
    pending.finish()?;
    let is_complete = operations.end(false);
    let each = size as f64 / counts.operations.max(1) as f64;
    writeln!(
        io::stdout().lock(),
        "{}: {} operations on {} objects, {} threads: {size} bytes, {each:.1} an operation",
        said(&args.output),
        counts.operations,
        counts.objects,
        counts.threads
    )?;
    Ok(is_complete)
}
