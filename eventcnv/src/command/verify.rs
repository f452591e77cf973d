//! Whether a log is sound.
//!
//! ```text
//!  reading.rs ──▶ Log ── verify, on all cores ──▶ faults, by offset; what there is ──▶ text
//! ```
//!
//! Design: `.cnv.verify` in `design/eventcnv.md`.

use crate::reading::{Input, Reading, told};
use cli::Stop;
use cli::units::counted;
use eventlog::reader::{Faults, Format, Log, Losses, Verified, What};
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
  0  sound: nothing is damaged, and no event is known to be lost
  1  faults were found: the log is damaged, or events are missing that nothing accounts for
  2  a log could not be read
  3  undamaged, but the log states that events were lost: how many, and why, is told";

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

/// Checks logs. Whether all are undamaged; [`Stop::Lost`] if they are, but state losses.
pub(crate) fn run(args: &Verify) -> Result<bool, Stop> {
    let form = match (args.quiet, args.json) {
        (true, _) => Form::Nothing,
        (_, true) => Form::Json,
        _ => Form::Text,
    };
    let mut worst = Verdict::Sound;
    if args.together || args.input.logs().len() < 2 {
        worst = one(&Reading::open(&args.input)?, form)?;
    } else {
        for reading in Reading::each(&args.input) {
            worst = worst.max(one(&reading?, form)?);
        }
    }
    match worst {
        Verdict::Sound => Ok(true),
        Verdict::Lossy => Err(Stop::Lost),
        Verdict::Damaged => Ok(false),
    }
}

/// What is to be said of a log: damage is one thing, losses that it states are another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Sound,
    Lossy,
    Damaged,
}

fn one(reading: &Reading, form: Form) -> Result<Verdict, Stop> {
    let log = &reading.log;
    let verified = log.verify(None);
    let losses = log.losses(&verified.faults);
    let is_whole = match form {
        Form::Nothing => log.faults().loss_count() + verified.faults.loss_count() == 0,
        _ => reading.end(&verified.faults),
    };
    let verdict = match is_whole {
        false => Verdict::Damaged,
        true if losses.total() > 0 => Verdict::Lossy,
        true => Verdict::Sound,
    };
    let out = &mut io::stdout().lock();
    match form {
        Form::Nothing => {}
        Form::Json => writeln!(out, "{}", json(reading, &verified, verdict, &losses))?,
        Form::Text => write(reading, &verified, verdict, &losses, out)?,
    }
    Ok(verdict)
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

fn json(reading: &Reading, verified: &Verified, verdict: Verdict, losses: &Losses) -> Value {
    let log = &reading.log;
    let pieces = verified.pieces.iter().map(|((what, is_part), (count, size))| {
        let what = what.name();
        json!({ "what": what, "isPart": is_part, "count": count, "bytes": size })
    });
    let (fault_count, warning_count) = counts(log, verified);
    json!({
        "log": reading.name, "bytes": log.size(), "streams": log.streams().len(),
        "pieces": pieces.collect::<Value>(), "events": verified.event_count,
        "closed": log.is_closed(), "sound": verdict == Verdict::Sound, "lost": losses.total(),
        "faults": fault_count, "warnings": warning_count,
    })
}

fn write(
    reading: &Reading,
    verified: &Verified,
    verdict: Verdict,
    losses: &Losses,
    out: &mut dyn Write,
) -> io::Result<()> {
    let log = &reading.log;
    let name = &reading.name;
    let streams = counted(log.streams().len() as u64, "stream");
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
        count => format!(", {}", counted(count, "warning")),
    };
    if losses.overwritten > 0 {
        writeln!(
            out,
            "  {:>10} older events had given way, as they were meant to",
            losses.overwritten
        )?;
    }
    if losses.total() > 0 {
        writeln!(out, "{name}: {}", told(losses))?;
    }
    let verdict = match verdict {
        Verdict::Sound => "sound".to_owned(),
        Verdict::Lossy => "undamaged, but events were lost".to_owned(),
        Verdict::Damaged => counted(fault_count, "fault"),
    };
    writeln!(out, "{name}: {verdict}{warnings}")
}
