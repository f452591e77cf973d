//! Writes a log of selected events.
//!
//! ```text
//!  open/ ──▶ Log ── open/select ──▶ events ── eventlog::writer ──▶ a log of these and the store
//! ```
//!
//! Design: `.cnv.cut` in `design/eventcnv.md`.

use crate::open::output::Output;
use crate::open::select::{Select, Selection};
use crate::open::{Input, Reading};
use crate::tools::recover::short_event_note;
use cli::Stop;
use eventlog::reader::{Faults, Log, Order};
use eventlog::writer::{Purpose, Writer, Written};
use std::io::{self, Write};

const ABOUT: &str = "\
Writes a log with the selected events, and the events that name strings, labels and threads. \
Events keep their identity (stream, buffer, number). Events that are left out do not count as \
lost. A raw log of the Memory Pool System becomes a log in the format of this project, which \
declares its event types.";

const EXAMPLES: &str = "\
Examples:
  eventcnv cut run.log --kinds Pool -o pool.log       the events of a kind
  eventcnv cut --from +1ms --to +2ms -o part.log      a millisecond of mpsio.log
  eventcnv cut run.log --last 1000 -o end.log         the last thousand events
  eventcnv cut old.log -o new.log                     an MPS log in the new format";

/// Write a log of selected events
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Cut {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    select: Select,

    #[command(flatten)]
    output: Output,
}

/// Writes the selected events. Returns whether the log was read completely.
pub(crate) fn run(args: &Cut) -> Result<bool, Stop> {
    let reading = Reading::open(&args.input)?;
    let selection = reading.select(&args.select, false)?;
    let output = &args.output;
    let (written, faults) =
        output.write(args.input.logs(), |out| write(&reading.log, &selection, out))?;
    let is_whole = reading.end(&faults);
    let (count, size, short) = (written.event_count, written.size, short_event_note(&written));
    output.print(&format!("{count} events, {size} bytes{short}"))?;
    Ok(is_whole)
}

fn write(log: &Log, selection: &Selection, out: &mut dyn Write) -> io::Result<(Written, Faults)> {
    let mut writer = Writer::new(log, Purpose::Cut, out);
    // `--first` and `--last` count in order of time. Streams take turns then, so each has its own
    // pass.
    let is_counted = selection.is_counted();
    let order = if is_counted { Order::Time } else { Order::File };
    let passes = if is_counted { log.streams().len() } else { 1 };
    let mut faults = Faults::default();
    for stream in 0..passes {
        let mut events = selection.events(log, order);
        while let Some(event) = events.next() {
            if passes == 1 || usize::from(event.stream) == stream {
                writer.add(&event)?;
            }
        }
        faults = events.faults().clone();
    }
    let (written, _) = writer.finish()?;
    Ok((written, faults))
}
