//! A valid log of a damaged one.
//!
//! ```text
//!  reading.rs ──▶ Log: what is to be had ── eventlog::writer ──▶ a log that is sound
//! ```
//!
//! Design: `.cnv.recover` in `design/eventcnv.md`.

use super::output::Output;
use crate::reading::{Input, Reading};
use cli::Stop;
use eventlog::writer::{Purpose, Writer, Written};

pub(crate) const ABOUT: &str = "\
Writes a log that is sound, with all that is to be had of one that is damaged, cut short, or was \
never closed: of blocks that are whole, of those that are open, and of chains as far as they \
lead. What is lost is told on standard error, and counted in the new log as refused by the host; \
so are events that are too short for their parameters, as no sound log has any. \
Events keep what identifies them (stream, buffer, number), so that both logs can be read \
together, each event once.";

pub(crate) const EXAMPLES: &str = "\
Examples:
  eventcnv recover run.log -o sound.log     what is to be had of run.log
  eventcnv recover -f run.log -o - | xz > run.log.xz

Exit status:
  0  nothing was lost
  1  faults were found; what could be had was written
  2  the log could not be read, or the new one not be written";

/// Which log is recovered, and where to.
#[derive(Debug, clap::Args)]
pub(crate) struct Recover {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    output: Output,
}

/// Writes what is to be had of a log. Whether nothing was lost.
pub(crate) fn run(args: &Recover) -> Result<bool, Stop> {
    let reading = Reading::open(&args.input)?;
    write_all(&reading, &args.output, args.input.logs())
}

/// Writes all events of what is read as one log.
pub(crate) fn write_all(
    reading: &Reading,
    output: &Output,
    read: &[std::path::PathBuf],
) -> Result<bool, Stop> {
    let (written, faults) = output.write(read, |out| {
        let mut writer = Writer::new(&reading.log, Purpose::Whole, out);
        writer.write_all().and_then(|()| writer.finish())
    })?;
    let is_whole = reading.end(&faults);
    let lost = match written.lost_count {
        0 => String::new(),
        count => format!("; {count} are lost, and counted in it as refused by the host"),
    };
    let (count, size, short) = (written.event_count, written.size, left_out(&written));
    output.tell(&format!("{count} events, {size} bytes{lost}{short}"))?;
    Ok(is_whole)
}

/// What is said of events that no sound log may have.
pub(super) fn left_out(written: &Written) -> String {
    match written.short_count {
        0 => String::new(),
        1 => "; 1 is left out that is too short for its parameters".to_owned(),
        count => format!("; {count} are left out that are too short for their parameters"),
    }
}
