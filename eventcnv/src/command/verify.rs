//! Whether a log is sound.
//!
//! ```text
//!  reading.rs ──▶ Log ── verify, on all cores ──▶ faults, by offset; what there is ──▶ text
//! ```
//!
//! Design: `.cnv.verify` in `design/eventcnv.md`.

use crate::reading::{Input, Reading};
use crate::stop::Stop;
use crate::text;
use eventlog::reader::{Faults, Format, Log, Verified, What};
use serde_json::{Value, json};
use std::io::{self, Write};

pub(crate) const ABOUT: &str = "\
Reads all of a log and checks all that can be checked: every checksum, every chain of events and \
their sizes, counts and numbers, the sequence of blocks, the registries, that clock syncs go \
forward and no event is later than that of its block, and that the log ends where it says. A raw \
log of the Memory Pool System has none of that but the sizes of its events and the clock.

What is wrong is told on standard error, a line each: where, what, what was lost. What there is is \
told on standard output.";

pub(crate) const EXAMPLES: &str = "\
Examples:
  eventcnv verify                     mpsio.log: what there is, and whether it is sound
  eventcnv verify run.log old.log     several logs, each by itself
  eventcnv verify -q run.log && echo sound
  eventcnv verify --json run.log      for another program

Exit status:
  0  sound: nothing is wrong, and nothing was lost
  1  faults were found
  2  a log could not be read";

/// Which logs are checked.
#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    input: Input,

    /// Say nothing: the exit status tells
    #[arg(short = 'q', long)]
    quiet: bool,

    /// Check several logs as one: the volumes of a stream
    #[arg(long)]
    together: bool,

    /// Print JSON, an object a line for each log
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
}

/// What is told of a log on standard output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    Nothing,
}

/// Checks logs. Whether all are sound.
pub(crate) fn run(args: &Verify) -> Result<bool, Stop> {
    let form = match (args.quiet, args.json) {
        (true, _) => Form::Nothing,
        (_, true) => Form::Json,
        _ => Form::Text,
    };
    if args.together || args.input.logs().len() < 2 {
        return one(&Reading::open(&args.input)?, form);
    }
    let mut is_sound = true;
    for reading in Reading::each(&args.input) {
        is_sound &= one(&reading?, form)?;
    }
    Ok(is_sound)
}

fn one(reading: &Reading, form: Form) -> Result<bool, Stop> {
    let log = &reading.log;
    let verified = log.verify(None);
    if form == Form::Nothing {
        return Ok(log.faults().loss_count() + verified.faults.loss_count() == 0);
    }
    let is_sound = reading.end(&verified.faults);
    let out = &mut io::stdout().lock();
    match form {
        Form::Json => writeln!(out, "{}", json(reading, &verified, is_sound))?,
        _ => write(reading, &verified, is_sound, out)?,
    }
    Ok(is_sound)
}

/// What a kind of piece is called: as a block, as a part.
fn names(what: What) -> (&'static str, &'static str) {
    match what {
        What::Stream => ("stream headers, and what is in their blocks", ""),
        What::Events => ("blocks of events", "parts of events"),
        What::Parts => ("blocks of parts", ""),
        What::Registry => ("", "pieces of registries"),
        What::End => ("", "ends of streams"),
        What::Unknown => ("blocks of unknown type", "parts of unknown type"),
        What::Hole => ("holes", ""),
        What::Damage => ("stretches that are no block", ""),
    }
}

/// How many faults were found that may have cost events, and how many others.
fn counts(log: &Log, verified: &Verified) -> (u64, u64) {
    let count = |faults: &Faults| (faults.loss_count(), faults.count() - faults.loss_count());
    let ((a, b), (c, d)) = (count(log.faults()), count(&verified.faults));
    (a + c, b + d)
}

fn json(reading: &Reading, verified: &Verified, is_sound: bool) -> Value {
    let log = &reading.log;
    let pieces = verified.pieces.iter().map(|((what, is_part), (count, size))| {
        let what = what.name();
        json!({ "what": what, "isPart": is_part, "count": count, "bytes": size })
    });
    let (fault_count, warning_count) = counts(log, verified);
    json!({
        "log": reading.name, "bytes": log.size(), "streams": log.streams().len(),
        "pieces": pieces.collect::<Value>(), "events": verified.event_count,
        "closed": log.is_closed(), "sound": is_sound,
        "faults": fault_count, "warnings": warning_count,
    })
}

fn write(
    reading: &Reading,
    verified: &Verified,
    is_sound: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let log = &reading.log;
    let name = &reading.name;
    let streams = text::counted(log.streams().len() as u64, "stream");
    writeln!(out, "{name}: {} bytes, {streams}", log.size())?;
    for ((what, is_part), (count, size)) in &verified.pieces {
        let (block, part) = names(*what);
        let what = match (log.format(), is_part) {
            (Format::Mps, _) => "runs of events",
            (_, true) => part,
            (_, false) => block,
        };
        let within = if *is_part { ", in blocks above" } else { "" };
        writeln!(out, "  {count:>10} {what}: {size} bytes{within}")?;
    }
    writeln!(out, "  {:>10} events", verified.event_count)?;
    if !log.is_closed() {
        writeln!(out, "  not closed: the program was stopped, or runs on; that is no fault")?;
    }
    let (fault_count, warning_count) = counts(log, verified);
    let warnings = match warning_count {
        0 => String::new(),
        count => format!(", {}", text::counted(count, "warning")),
    };
    match fault_count {
        _ if is_sound => writeln!(out, "{name}: sound{warnings}"),
        count => writeln!(out, "{name}: {}{warnings}", text::counted(count, "fault")),
    }
}
