//! Checks whether a log is sound.
//!
//! ```text
//!  open/ ──▶ Log ── verify, on all cores ──▶ faults, by offset; counts ──▶ text
//! ```
//!
//! Design: `.cnv.verify` in `design/eventcnv.md`.

use crate::open::{Input, Reading, loss_summary, open_end};
use cli::Stop;
use cli::units::counted;
use eventlog::reader::{Faults, Format, Log, Losses, Verified, What};
use serde_json::{Value, json};
use std::io::{self, Write};

const ABOUT: &str = "\
Reads a log completely and checks it: every checksum, every chain of events, sizes, counts and \
numbers of events, the sequence of blocks, the registries, and the end of the log. Clock syncs \
must \
go forward, and no event may be later than the sync of its block. A raw log of the Memory Pool \
System has only sizes of events and a clock to check.

Each fault is a line on standard error: the offset, the fault, the loss. Standard output has the \
counts of blocks and events.";

const EXAMPLES: &str = "\
Examples:
  eventcnv verify                     check mpsio.log
  eventcnv verify run.log old.log     several logs, each by itself
  eventcnv verify -q run.log && echo sound
  eventcnv verify --json run.log      for another program

Exit status:
  0  sound: no damage, and no event is known to be lost
  1  faults were found: the log is damaged, or events are missing without an account
  2  a log could not be read
  3  undamaged, but the log states losses, which the output lists";

/// Check a log: every checksum, count, number and clock
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Verify {
    #[command(flatten)]
    input: Input,

    /// Print nothing; only set the exit status
    #[arg(short = 'q', long)]
    quiet: bool,

    /// Check several logs as one, such as the volumes of a stream
    #[arg(long)]
    together: bool,

    /// Print JSON, an object a line for each log
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
}

/// The form of standard output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    Nothing,
}

/// Checks logs. Returns whether all are undamaged, or [`Stop::Lost`] if they are undamaged and
/// state losses.
pub(crate) fn run(args: &Verify) -> Result<bool, Stop> {
    let form = match (args.quiet, args.json) {
        (true, _) => Form::Nothing,
        (_, true) => Form::Json,
        _ => Form::Text,
    };
    let mut worst = Verdict::Sound;
    if args.together || args.input.logs().len() < 2 {
        worst = check(&Reading::open(&args.input)?, form)?;
    } else {
        for reading in Reading::each(&args.input) {
            worst = worst.max(check(&reading?, form)?);
        }
    }
    match worst {
        Verdict::Sound => Ok(true),
        Verdict::Lossy => Err(Stop::Lost),
        Verdict::Damaged => Ok(false),
    }
}

/// The verdict on a log, which tells damage from stated losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Sound,
    Lossy,
    Damaged,
}

fn check(reading: &Reading, form: Form) -> Result<Verdict, Stop> {
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
    cli::unless_closed(match form {
        Form::Nothing => Ok(()),
        Form::Json => writeln!(out, "{}", json(reading, &verified, verdict, &losses)),
        Form::Text => write(reading, &verified, verdict, &losses, out),
    })?;
    Ok(verdict)
}

/// Returns the name of a kind of piece: as a block, as a part.
fn names(what: What) -> (&'static str, &'static str) {
    match what {
        What::Stream => ("stream headers, with the rest of their blocks", ""),
        What::Events => ("blocks of events", "parts of events"),
        What::Parts => ("blocks of parts", ""),
        What::Registry => ("", "pieces of registries"),
        What::End => ("", "ends of streams"),
        What::Unknown => ("blocks of unknown type", "parts of unknown type"),
        What::Hole => ("holes", ""),
        What::Damage => ("damaged stretches", ""),
    }
}

/// Counts the faults that may have cost events, and the others.
fn counts(log: &Log, verified: &Verified) -> (u64, u64) {
    let count = |faults: &Faults| (faults.loss_count(), faults.count() - faults.loss_count());
    let ((a, b), (c, d)) = (count(log.faults()), count(&verified.faults));
    (a + c, b + d)
}

fn json(reading: &Reading, verified: &Verified, verdict: Verdict, losses: &Losses) -> Value {
    let log = &reading.log;
    let pieces = verified.pieces.iter().map(|((what, is_part), (count, size))| {
        let what = what.name();
        json!({ "what": what, "part": is_part, "count": count, "bytes": size })
    });
    let (fault_count, warning_count) = counts(log, verified);
    json!({
        "log": reading.name, "bytes": log.size(), "streams": log.streams().len(),
        "pieces": pieces.collect::<Value>(), "events": verified.event_count,
        "closed": log.is_closed(), "may_lack_last": open_end(log).is_some(),
        "sound": verdict == Verdict::Sound, "lost": losses.total(),
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
    writeln!(out, "{name}: {}, {streams}", counted(log.size(), "byte"))?;
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
        writeln!(out, "  not closed: the program was killed, or still runs; not a fault")?;
    }
    let open_end = open_end(log);
    if let Some(what) = &open_end {
        writeln!(out, "{name}: {what}")?;
    }
    let (fault_count, warning_count) = counts(log, verified);
    let warnings = match warning_count {
        0 => String::new(),
        count => format!(", {}", counted(count, "warning")),
    };
    if losses.overwritten > 0 {
        writeln!(
            out,
            "  {:>10} older events were overwritten in memory, as intended",
            losses.overwritten
        )?;
    }
    if losses.total() > 0 {
        writeln!(out, "{name}: {}", loss_summary(losses))?;
    }
    let verdict = match verdict {
        Verdict::Sound if open_end.is_some() => "sound, but not closed".to_owned(),
        Verdict::Sound => "sound".to_owned(),
        Verdict::Lossy => "undamaged, but events were lost".to_owned(),
        Verdict::Damaged => counted(fault_count, "fault"),
    };
    writeln!(out, "{name}: {verdict}{warnings}")
}
