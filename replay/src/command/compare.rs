//! Whether two logs have the same operations.
//!
//! ```text
//!  A ─▶ operations ─┐
//!  B ─▶ operations ─┴─ thread by thread ─▶ the same │ where they part
//! ```
//!
//! Design: `.rep.truth`, `.rep.truth.compare` in `design/replay.md`.

use crate::script::compare::{Side, compare};
use crate::show::text::number;
use crate::source::input::{How, Opened};
use crate::stop::Stop;
use std::io::{self, Write};
use std::path::PathBuf;

pub(crate) const ABOUT: &str = "\
Tells whether two logs (or saved operations) have the same operations, thread by thread: the same \
sizes and alignments in the same order, and freed and reallocated the same objects. Addresses, \
times, the numbers of threads, and who came first of two threads do not count.";

pub(crate) const EXAMPLES: &str = "\
Examples:
  replay compare program.log program.ops
  replay compare first.log second.log || true      are two runs the same?
  replay compare --within program.ops replayed.log   was all of it done, one after the other?

Exit status:
  0  they are the same
  1  they differ, or a log could not be read whole
  2  a log could not be read at all";

/// Threads whose partings are told one by one.
const PARTING_COUNT_MAX: usize = 16;

/// What is compared.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A log, or saved operations
    #[arg(value_name = "A")]
    a: PathBuf,

    /// Another one
    #[arg(value_name = "B")]
    b: PathBuf,

    /// B may do more, before and after: what a replayer does for itself
    #[arg(long)]
    within: bool,

    #[command(flatten)]
    how: How,
}

/// Compares them. Whether they are the same, and were read whole.
pub(crate) fn run(args: &Args) -> Result<bool, Stop> {
    let (a, is_a_whole) = read(&args.a, &args.how)?;
    let (b, is_b_whole) = read(&args.b, &args.how)?;
    let partings = compare(&a, &b, args.within);
    let (name_a, name_b) = (args.a.display(), args.b.display());
    let mut out = io::stdout().lock();
    for parting in partings.iter().take(PARTING_COUNT_MAX) {
        let thread = |thread: Option<u32>| match thread {
            Some(thread) => format!("thread {thread}"),
            None => "no thread".to_owned(),
        };
        let (of_a, of_b) = (thread(parting.a), thread(parting.b));
        let [what_a, what_b] = &parting.what;
        let place = number(parting.index as u64);
        writeln!(out, "operation {place} of {of_a} of {name_a}: {what_a}")?;
        writeln!(out, "  where {of_b} of {name_b}: {what_b}")?;
    }
    if let Some(more) = partings.len().checked_sub(PARTING_COUNT_MAX + 1) {
        writeln!(out, "and {} threads more part", more + 1)?;
    }
    if partings.is_empty() {
        let (count, threads) = (number(a.operation_count()), a.thread_count());
        writeln!(out, "the same: {count} operations of {threads} threads")?;
    }
    out.flush()?;
    Ok(partings.is_empty() && is_a_whole && is_b_whole)
}

fn read(path: &PathBuf, how: &How) -> Result<(Side, bool), Stop> {
    let opened = Opened::of(std::slice::from_ref(path), how)?;
    let mut operations = opened.operations(&[])?;
    let side = Side::new(operations.by_ref());
    let is_whole = operations.end(false);
    Ok((side, is_whole))
}
