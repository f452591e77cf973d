//! Shows the counts of a workload.
//!
//! ```text
//!  LOG ─▶ operations ─ modify ─▶ Shown ─▶ text │ CSV │ JSON
//! ```
//!
//! Design: `.rep.show` in `design/replay.md`.

use crate::script::Modify;
use crate::show::{Gather, answer};
use crate::source::input::{Input, Opened};
use cli::Stop;
use cli::table::Form;
use std::io::{self, Write};

pub(crate) const ABOUT: &str = "\
Shows what a program asked of its memory manager: numbers of allocations, reallocations and frees, \
sizes, lifetimes, live bytes over time and at their peak, threads, pools, and objects left at the \
end. If the log has call stacks (`replay record --stacks`), the command lists those that held the \
peak, allocated most, and left most, with source lines if the program has debug information (-g).

The modifications take the same numbers of threads and pools.";

pub(crate) const EXAMPLES: &str = "\
Examples:
  replay show program.log
  replay show program.log --keep-size 1M..     only large objects
  replay show program.ops --json | jq .live_peak
  replay show program.log program.log-4711     a program and its child together

Exit status:
  0  shown
  1  shown as far as the log could be read; standard error has the faults
  2  the log could not be read";

/// The arguments of `replay show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    form: Form,

    /// Number of call stacks in each list
    #[arg(long, value_name = "N", default_value_t = 5)]
    stacks: usize,

    #[command(flatten)]
    modify: Modify,
}

/// Prints the counts. Returns whether the log was read completely.
pub(crate) fn run(args: &Args) -> Result<bool, Stop> {
    let opened = Opened::open(&args.input)?;
    let mut operations = opened.operations(&args.modify);
    // Modified objects differ from those of the log.
    let has_stacks = args.modify.list.is_empty() && args.stacks > 0;
    let mut gather = Gather::default();
    if has_stacks {
        operations.keep_stacks();
    }
    while let Some(operation) = operations.next() {
        gather.take_of(&operation, operations.stack_of(&operation));
    }
    let stacks = gather.take_stacks();
    let mut shown = gather.finish();
    shown.stacks = if has_stacks { stacks.top(args.stacks, opened.log()) } else { Vec::new() };
    shown.subject.name = opened.title.clone();
    shown.subject.skipped = operations.skipped();
    // The recorded figures are not those of a modified program.
    let facts = operations.facts();
    shown.subject.program = facts.program().filter(|_| args.modify.list.is_empty());
    shown.subject.malloc = facts.malloc();
    let out = answer::answer(&shown, &args.modify.to_string(), args.stacks, &args.form)?;
    let mut stdout = io::stdout().lock();
    stdout.write_all(&out)?;
    stdout.flush()?;
    Ok(operations.end(true))
}
