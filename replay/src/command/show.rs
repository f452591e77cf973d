//! What a workload is.
//!
//! ```text
//!  LOG │ FILE.ops ─▶ operations ─ modify ─▶ Shown ─▶ text │ JSON
//! ```
//!
//! Design: `.rep.show` in `design/replay.md`.

use crate::script::Modify;
use crate::show::{Gather, text};
use crate::source::input::{Input, Opened};
use cli::Stop;
use std::io::{self, Write};

pub(crate) const ABOUT: &str = "\
Tells what a program asked of its memory manager: how many allocations, reallocations and frees, \
how large and how long-lived, live bytes over time and at their peak, threads and pools, what was \
left at the end, and, if the log has call stacks (`replay record --stacks`), which of them held \
the peak, allocated most, and left most: functions with their lines where the program has them (-g).

Threads and pools have the numbers that the modifications take.";

pub(crate) const EXAMPLES: &str = "\
Examples:
  replay show program.log
  replay show program.log --keep-size 1M..     what only large objects make of it
  replay show program.ops --json | jq .live_peak
  replay show program.log program.log-4711     a program and its child, as one

Exit status:
  0  told
  1  told, as far as the log could be read; faults are told on standard error
  2  the log could not be read";

/// What is shown, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: Input,

    /// Print JSON, for other programs
    #[arg(long)]
    json: bool,

    /// Call stacks of each list
    #[arg(long, value_name = "N", default_value_t = 5)]
    stacks: usize,

    #[command(flatten)]
    modify: Modify,
}

/// Tells what there is. Whether the log was read whole.
pub(crate) fn run(args: &Args) -> Result<bool, Stop> {
    let opened = Opened::open(&args.input)?;
    let mut operations = opened.operations(&args.modify.list)?;
    // Modified objects are others than those of the log.
    let log = opened.log().filter(|_| args.modify.list.is_empty() && args.stacks > 0);
    let mut gather = Gather::default();
    if log.is_some() {
        operations.keep_stacks();
    }
    while let Some(operation) = operations.next() {
        gather.take_of(&operation, operations.stack_of(&operation));
    }
    let stacks = gather.take_stacks();
    let top = log.map_or(Vec::new(), |log| stacks.top(args.stacks, log));
    let mut shown = gather.finish();
    shown.stacks = top;
    shown.subject.name = opened.title.clone();
    shown.subject.skipped = operations.skipped();
    // What is modified is another program.
    let facts = operations.facts();
    shown.subject.program = facts.program().filter(|_| args.modify.list.is_empty());
    let mut out = Vec::new();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &shown).map_err(io::Error::from)?;
        out.push(b'\n');
    } else {
        text::write(&shown, &args.modify.words(), args.stacks, &mut out)?;
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(&out)?;
    stdout.flush()?;
    Ok(operations.end(true))
}
