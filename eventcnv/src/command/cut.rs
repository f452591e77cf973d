//! A valid log of a selection.
//!
//! ```text
//!  reading.rs ──▶ Log ── select/ ──▶ events ── eventlog::writer ──▶ a log of them and the store
//! ```
//!
//! Design: `.cnv.cut` in `design/eventcnv.md`.

use super::output::Output;
use super::recover::left_out;
use crate::reading::{Input, Reading};
use crate::select::{Select, Selection};
use cli::Stop;
use eventlog::reader::{Faults, Log, Order};
use eventlog::writer::{Purpose, Writer, Written};
use std::io::{self, Write};

pub(crate) const ABOUT: &str = "\
Writes a log with the events that are selected, and no others but those that name things: \
strings, labels, threads. Events keep what identifies them (stream, buffer, number); what was \
left out is not reported as lost. A raw log of the Memory Pool System becomes one of ours, which \
says itself what its events are called.";

pub(crate) const EXAMPLES: &str = "\
Examples:
  eventcnv cut run.log --kinds Pool -o pool.log       the events of a kind
  eventcnv cut --from +1ms --to +2ms -o part.log      of a time, of mpsio.log
  eventcnv cut run.log --last 1000 -o end.log         the last of all
  eventcnv cut old.log -o new.log                     an MPS log, as a log of ours

Exit status:
  0  the log was read whole
  1  faults were found; what could be had was written
  2  the log could not be read, or the new one not be written";

/// What is cut out of which log, and where to.
#[derive(Debug, clap::Args)]
pub(crate) struct Cut {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    select: Select,

    #[command(flatten)]
    output: Output,
}

/// Writes what is selected of a log. Whether the log was read whole.
pub(crate) fn run(args: &Cut) -> Result<bool, Stop> {
    let reading = Reading::open(&args.input)?;
    let selection = reading.select(&args.select, false)?;
    let output = &args.output;
    let (written, faults) =
        output.write(args.input.logs(), |out| write(&reading.log, &selection, out))?;
    let is_whole = reading.end(&faults);
    let (count, size, short) = (written.event_count, written.size, left_out(&written));
    output.tell(&format!("{count} events, {size} bytes{short}"))?;
    Ok(is_whole)
}

fn write(log: &Log, selection: &Selection, out: &mut dyn Write) -> io::Result<(Written, Faults)> {
    let mut writer = Writer::new(log, Purpose::Cut, out);
    // The first and the last are so by time. Then streams take turns, and are written one by one.
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
