//! Writes a sound log from a damaged one.
//!
//! ```text
//!  open/ ──▶ Log: the readable events ── eventlog::writer ──▶ a sound log
//! ```
//!
//! Design: `.cnv.recover` in `design/eventcnv.md`.

use crate::open::output::Output;
use crate::open::{Input, Reading};
use cli::Stop;
use eventlog::writer::{Purpose, Writer, Written};

const ABOUT: &str = "\
Writes a sound log with the readable events of a log that is damaged, truncated or not closed: \
those of whole blocks, of open blocks, and of broken chains up to the break. Losses are reported \
on \
standard error, and the new log counts them as refused by the host. Events too short for their \
parameters are left out and counted too, as a sound log has none. Events keep their identity \
(stream, buffer, number), so both logs can be read together, each event once.";

const EXAMPLES: &str = "\
Examples:
  eventcnv recover run.log -o sound.log     the readable events of run.log
  eventcnv recover -f run.log -o - | xz > run.log.xz";

/// Write a sound log from a damaged one
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Recover {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    output: Output,
}

/// Writes the readable events of a log. Returns whether no event was lost.
pub(crate) fn run(args: &Recover) -> Result<bool, Stop> {
    let reading = Reading::open(&args.input)?;
    write_all(&reading, &args.output, args.input.logs())
}

/// Writes all events as one log. Returns whether the input was read completely.
pub(crate) fn write_all(
    reading: &Reading,
    output: &Output,
    inputs: &[std::path::PathBuf],
) -> Result<bool, Stop> {
    let (written, faults) = output.write(inputs, |out| {
        let mut writer = Writer::new(&reading.log, Purpose::Whole, out);
        writer.write_all().and_then(|()| writer.finish())
    })?;
    let is_whole = reading.end(&faults);
    let lost = match written.lost_count {
        0 => String::new(),
        count => format!("; {count} are lost, and count in it as refused by the host"),
    };
    let (count, size, short) = (written.event_count, written.size, short_event_note(&written));
    output.print(&format!("{count} events, {size} bytes{lost}{short}"))?;
    Ok(is_whole)
}

/// Returns the note about events that a sound log cannot have.
pub(super) fn short_event_note(written: &Written) -> String {
    match written.short_count {
        0 => String::new(),
        1 => "; 1 event is left out, too short for its parameters".to_owned(),
        count => format!("; {count} events are left out, too short for their parameters"),
    }
}
