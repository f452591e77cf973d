//! Whether two logs have the same operations.
//!
//! ```text
//!  A ─▶ operations ─┐
//!  B ─▶ operations ─┴─ thread by thread ─▶ the same │ where they part
//! ```
//!
//! Design: `.rep.truth`, `.rep.truth.compare` in `design/replay.md`.

use super::play::Threads;
use crate::operation::Operation;
use crate::script::compare::{Side, compare};
use crate::source::input::{How, Opened};
use cli::units::number;
use cli::{Stop, said};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(crate) const ABOUT: &str = "\
Tells whether two logs (or saved operations) have the same operations, thread by thread: the same \
sizes and alignments in the same order, and freed and reallocated the same objects. Addresses, \
times, the numbers of threads, and who came first of two threads do not count.

All that is compared is held in memory: up to 80 bytes for each operation.";

pub(crate) const EXAMPLES: &str = "\
Examples:
  replay compare program.log program.ops
  replay compare first.log second.log || true      are two runs the same?
  replay compare --within program.ops replayed.log   was all of it done, one after the other?

Does the replayer do what the program did? Record the replayer, too, and compare:
  replay record -o again.log -- replay play --heap system --runs 1 program.log
  replay compare --within program.log again.log-*    (--threads one if it was played so)

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

    /// Another one, or several, each of which is compared with A
    #[arg(value_name = "B", required = true)]
    b: Vec<PathBuf>,

    /// B may do more, before and after: what a replayer does for itself. Of several B, those that
    /// are recordings of a replayer that played are compared
    #[arg(long)]
    within: bool,

    /// A on its threads, or all on one, in order of time, as B was played
    #[arg(long, value_enum, default_value_t = Threads::Recorded)]
    threads: Threads,

    #[command(flatten)]
    how: How,
}

/// What was read of a log.
struct Sided<'a> {
    path: &'a Path,
    side: Side,
    is_whole: bool,
}

/// Compares them. Whether they are the same, and were read whole.
pub(crate) fn run(args: &Args) -> Result<bool, Stop> {
    let a = read(&args.a, &args.how, args.threads == Threads::One)?;
    let mut others = Vec::new();
    for path in &args.b {
        let mut b = read(path, &args.how, false)?;
        if args.within && b.side.is_marked() {
            b.side.cut();
        }
        others.push(b);
    }
    let has_marks = others.iter().any(|b| b.side.is_marked());
    if args.within && others.len() > 1 {
        if !has_marks {
            let why = "none of these logs has marks of a replayer that played: record it by \
                       `replay record`, or give the log of the process that played";
            return Err(Stop::Message(why.to_owned()));
        }
        others.retain(|b| b.side.is_marked());
    }
    let mut out = io::stdout().lock();
    let mut is_same = a.is_whole;
    for b in &others {
        let is_within = args.within && !b.side.is_marked();
        is_same &= tell(&mut out, &a, b, is_within)? && b.is_whole;
    }
    out.flush()?;
    Ok(is_same)
}

/// Compares two, and says what came of it. Whether they are the same.
fn tell(out: &mut dyn Write, a: &Sided<'_>, b: &Sided<'_>, is_within: bool) -> io::Result<bool> {
    let partings = compare(&a.side, &b.side, is_within);
    let (name_a, name_b) = (said(a.path), said(b.path));
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
        let (count, threads) = (number(a.side.operation_count()), a.side.thread_count());
        writeln!(out, "the same: {count} operations of {threads} threads")?;
    }
    Ok(partings.is_empty())
}

fn read<'a>(path: &'a PathBuf, how: &How, is_single: bool) -> Result<Sided<'a>, Stop> {
    let opened = Opened::of(std::slice::from_ref(path), how)?;
    let mut operations = opened.operations(&[])?;
    let mut side = Side::default();
    while let Some(operation) = operations.next() {
        operations.take_marks().into_iter().for_each(|mark| side.mark(mark));
        let thread = if is_single { 0 } else { operation.thread };
        side.take(Operation { thread, ..operation });
    }
    operations.take_marks().into_iter().for_each(|mark| side.mark(mark));
    let is_whole = operations.end(false);
    Ok(Sided { path, side, is_whole })
}
