//! Saves the operations of a log, modified or not.
//!
//! ```text
//!  LOG ─▶ operations ─ modify ─▶ a log of operations: no addresses, no names, no contents
//! ```
//!
//! Design: `.rep.file`, `.rep.modify` in `design/replay.md`.

use crate::script::Modify;
use crate::source::input::{Input, InputOperations, Opened};
use crate::source::save;
use cli::output::{self, Pending};
use cli::{Stop, said};
use std::io::{self, Write};
use std::path::PathBuf;

pub(crate) const ABOUT: &str = "\
Saves what a program asked of its memory manager as a log of operations: sizes, alignments, pools, \
threads and times. That log has no addresses, names or contents, so that it discloses nothing. \
`play`, `show` and `eventcnv` read it like any log.";

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
    output::refuse_inputs(&args.output, &args.input.logs)?;
    let pending = Pending::new(&args.output, args.force)?;
    let opened = Opened::open(&args.input)?;
    let mut operations = opened.operations(&args.modify);
    let facts = |operations: &&mut InputOperations<'_>| operations.facts().clone();
    let made = pending.write(|out| save(&mut operations, facts, out))?;
    pending.finish()?;
    let is_complete = operations.end(false);
    let (count, size) = (made.event_count, made.size);
    writeln!(
        io::stdout().lock(),
        "{}: {count} events: {size} bytes, {:.1} each",
        said(&args.output),
        size as f64 / count.max(1) as f64
    )?;
    Ok(is_complete)
}
