//! Statistics: what there is in a log, how much, when, and what was lost.
//!
//! ```text
//!  partitions of the log ── all processors ──▶ Summary ──▶ Overview ──▶ text │ JSON
//! ```
//!
//! Design: `.cnv.stats` in `design/eventcnv.md`.

use crate::reading::{Input, Reading};
use crate::select::{Select, Selection};
use crate::summary::gather::gather;
use crate::summary::overview::Overview;
use crate::summary::{Summary, Wanted, json};
use crate::view;
use cli::Stop;
use eventlog::reader::{Faults, Format};
use std::io::{self, Write};

pub(crate) const ABOUT: &str = "\
Counts the events of a log, and their bytes: by kind, event type and thread, with how many there \
were a second; tells the longest stretches without events, the numbers that are missing, and what \
was lost and why.

With --params also what values the parameters have: least, mean, percentiles, greatest, and those \
that come most often, with their labels. That takes several times as long.";

pub(crate) const EXAMPLES: &str = "\
A gap is told if it is no shorter than a 2048th of the log. Of a parameter of which more than 256
values come, counts are too low by at most one 257th of all; percentiles are exact up to 127, else
at most 1/64 too low. \"not in the log\" is told by cause: no room (full), recorded in the middle of
recording another (nested), too large (large), refused by the host (io), recorded and nowhere to be
found (lost), overwritten in memory because their kind was not output (overwritten).

Examples:
  eventcnv stats                          what is in mpsio.log
  eventcnv stats --params run.log         and what values parameters have
  eventcnv stats --params --events PoolAlloc run.log   of one event type
  eventcnv stats --last 100 run.log       of the last events
  eventcnv stats --json run.log           for another program

Exit status:
  0  the log was read whole
  1  faults were found and reported on standard error; what could be read was counted
  2  the log could not be read, or the command line is wrong";

/// Which events of which log are counted, and what is told of them.
#[derive(Debug, clap::Args)]
pub(crate) struct Stats {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    select: Select,

    #[command(flatten)]
    form: Form,
}

/// What is told.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Form {
    /// Tell what values parameters have, too
    #[arg(long)]
    params: bool,

    /// Print JSON, for other programs
    #[arg(long)]
    json: bool,
}

/// Workers that look at parameters, at most: what each knows of them may take 20 MiB.
const PARAM_WORKER_COUNT_MAX: usize = 2;
/// Workers that count.
const WORKER_COUNT_MAX: usize = 16;

/// Does what the arguments say. Whether the log was read whole.
pub(crate) fn run(args: &Stats) -> Result<bool, Stop> {
    let reading = Reading::open(&args.input)?;
    write(&reading, &args.select, args.form, &mut io::stdout().lock())
}

/// Writes what there is in a log. Whether it was read whole.
pub(crate) fn write(
    reading: &Reading,
    select: &Select,
    form: Form,
    out: &mut dyn Write,
) -> Result<bool, Stop> {
    let selection = reading.select(select, form.params)?;
    let (overview, faults) = overview(reading, &selection, form.params);
    let mut text = Vec::new();
    if form.json {
        let json = format!("{:#}\n", json::overview(&overview));
        text = view::json::escaped(&json).into_bytes();
    } else {
        view::stats::write(&overview, &mut text)?;
    }
    reading.finish();
    out.write_all(&text)?;
    let is_whole = reading.end(&faults);
    if !form.json {
        reading.note_losses(&overview.all_losses());
    }
    Ok(is_whole)
}

/// What there is in a log, and what was found wrong with it.
pub(crate) fn overview<'l>(
    reading: &'l Reading,
    selection: &Selection,
    params: bool,
) -> (Overview<'l>, Faults) {
    let log = &reading.log;
    // Of a selection numbers are missing that are in the log; one of MPS has none.
    let filter = selection.filter();
    let is_all = filter.event_types.is_empty()
        && filter.times.is_empty()
        && !selection.is_conditional()
        && log.format() == Format::Stream;
    let wanted = Wanted { params, runs: is_all };
    let spans = Summary::spans(log);
    let worker_count = if params { PARAM_WORKER_COUNT_MAX } else { WORKER_COUNT_MAX };
    let (summary, faults) = gather(
        log,
        selection,
        worker_count,
        || Summary::new(wanted, &spans),
        |summary, events| events.each_run(summary, Summary::add_run, Summary::add),
        Summary::merge,
    );
    let fault_count = log.faults().loss_count() + faults.loss_count();
    (Overview::new(summary, log, selection, fault_count), faults)
}
