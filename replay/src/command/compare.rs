//! Compares the operations of two logs.
//!
//! ```text
//!  A ─▶ operations ─┐
//!  B ─▶ operations ─┴─ thread by thread ─▶ the same │ the first differences
//! ```
//!
//! Design: `.rep.truth`, `.rep.truth.compare` in `design/replay.md`.

use crate::operation::Operation;
use crate::play::Threads;
use crate::script::compare::{Side, compare};
use crate::source::input::{Opened, ReadOptions};
use cli::units::number;
use cli::{Stop, said};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(crate) const ABOUT: &str = "\
Compares two logs (or saved operations), thread by thread: the sizes and alignments in their \
order, and the objects that were freed and reallocated. Addresses, times, the numbers of threads, \
and the order of two threads do not count.

Both logs are held in memory: up to 80 bytes for each operation.";

pub(crate) const EXAMPLES: &str = "\
Examples:
  replay compare program.log program.ops
  replay compare first.log second.log || true      compare two runs

To check that the replayer does what the program did, record the replayer, too, and compare:
  replay record -o again.log -- replay play --heap system --runs 1 program.log
  replay compare --within program.log again.log-*    (with --threads one if it was played so)

Exit status:
  0  they are the same
  1  they differ, or a log could not be read completely
  2  a log could not be read at all";

/// The maximum number of differences that are printed.
const DIFFERENCE_COUNT_MAX: usize = 16;

/// The logs to compare.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A log, or saved operations
    #[arg(value_name = "A")]
    a: PathBuf,

    /// Another one, or several; each is compared with A
    #[arg(value_name = "B", required = true)]
    b: Vec<PathBuf>,

    /// Compare only what a replayer played: B is a recording of `replay play`, or all logs of one.
    /// Logs of processes that did not play are left out
    #[arg(long)]
    within: bool,

    /// Compare A on its own threads, or all on one thread in order of time, if B was played so
    #[arg(long, value_enum, default_value_t = Threads::Recorded)]
    threads: Threads,

    #[command(flatten)]
    options: ReadOptions,
}

/// The operations of a log.
struct Recording<'a> {
    path: &'a Path,
    side: Side,
    is_complete: bool,
}

/// Compares the logs. Returns whether they are the same, and were read completely.
pub(crate) fn run(args: &Args) -> Result<bool, Stop> {
    let a = read(&args.a, &args.options, args.threads == Threads::One)?;
    let mut others = Vec::new();
    for path in &args.b {
        others.push(read(path, &args.options, false)?);
    }
    if args.within {
        others.retain(|b| b.side.is_marked());
        others.iter_mut().for_each(|b| b.side.cut());
        if others.is_empty() {
            let why = "--within: no B is a recording of a replayer that played (none has its \
                       marks); record `replay play` with `replay record`";
            return Err(Stop::Message(why.to_owned()));
        }
    }
    let mut out = io::stdout().lock();
    let mut is_same = a.is_complete;
    for b in &others {
        is_same &= print(&mut out, &a, b)? && b.is_complete;
    }
    out.flush()?;
    Ok(is_same)
}

/// Compares two logs, and prints the result. Returns whether they are the same.
fn print(out: &mut dyn Write, a: &Recording<'_>, b: &Recording<'_>) -> io::Result<bool> {
    let differences = compare(&a.side, &b.side);
    let (name_a, name_b) = (said(a.path), said(b.path));
    let thread = |thread: Option<u32>| match thread {
        Some(thread) => format!("thread {thread}"),
        None => "no thread".to_owned(),
    };
    for difference in differences.iter().take(DIFFERENCE_COUNT_MAX) {
        let (of_a, of_b) = (thread(difference.a), thread(difference.b));
        let [text_a, text_b] = &difference.texts;
        let index = number(difference.index as u64);
        writeln!(out, "operation {index} of {of_a} of {name_a}: {text_a}")?;
        writeln!(out, "  but {of_b} of {name_b}: {text_b}")?;
    }
    if let Some(more) = differences.len().checked_sub(DIFFERENCE_COUNT_MAX + 1) {
        writeln!(out, "and {} more threads differ", more + 1)?;
    }
    if differences.is_empty() {
        let (count, threads) = (number(a.side.operation_count()), a.side.thread_count());
        writeln!(out, "the same: {count} operations of {threads} threads")?;
    }
    Ok(differences.is_empty())
}

fn read<'a>(
    path: &'a PathBuf,
    options: &ReadOptions,
    is_single: bool,
) -> Result<Recording<'a>, Stop> {
    let opened = Opened::of(std::slice::from_ref(path), options)?;
    let mut operations = opened.operations(&[])?;
    let mut side = Side::default();
    while let Some(operation) = operations.next() {
        operations.take_marks().into_iter().for_each(|mark| side.mark(mark));
        let thread = if is_single { 0 } else { operation.thread };
        side.take(Operation { thread, ..operation });
    }
    operations.take_marks().into_iter().for_each(|mark| side.mark(mark));
    let is_complete = operations.end(false);
    Ok(Recording { path, side, is_complete })
}
