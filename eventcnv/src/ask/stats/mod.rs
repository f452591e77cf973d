//! Prints statistics of a log.
//!
//! ```text
//!  partitions of the log ── all processors ──▶ Summary ──▶ Overview ──▶ tables
//! ```
//!
//! Design: `.cnv.stats` in `design/eventcnv.md`.

pub(crate) mod summary;
pub(crate) mod view;

use crate::ask::stats::summary::gather::gather;
use crate::ask::stats::summary::overview::Overview;
use crate::ask::stats::summary::{Summary, Wanted};
use crate::open::select::{Select, Selection};
use crate::open::{Input, Reading, parallel};
use cli::Stop;
use cli::table::Form;
use eventlog::reader::{Faults, Format};
use std::io::{self, Write};

const ABOUT: &str = "\
Counts the events of a log, and their bytes: by kind, event type and thread, with rates. Also \
prints the longest times without events, missing numbers of events, and losses by cause.

With --params it also prints the values of parameters: least, mean, percentiles, greatest, and the \
most frequent with their labels. That takes several times as long.";

const EXAMPLES: &str = "\
Gaps of at least a 2048th of the log are found. If a parameter has more than 256 values, counts are
at most one 257th of all too low, and percentiles, with ~, at most 1/64, except up to 127.
\"not in the log\" has a column for each cause: no room (full), recorded while the thread recorded
another event, or by a child of `clone` before its log began, at most that many (nested), too large
(large), refused by the host (io), recorded but missing (lost),
overwritten in memory because their kind was not output (overwritten).

Examples:
  eventcnv stats                          statistics of mpsio.log
  eventcnv stats --params run.log         also the values of parameters
  eventcnv stats --params --events PoolAlloc run.log   of one event type
  eventcnv stats --last 100 run.log       of the last events
  eventcnv stats --json run.log           for another program";

/// Count events and bytes: by type, thread and value; show gaps and losses
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Stats {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    select: Select,

    /// Also print the values of parameters
    #[arg(long)]
    params: bool,

    #[command(flatten)]
    form: Form,
}

/// Workers that read parameters: each takes up to 20 MiB. Counts of values that are too low depend
/// on the shares of the workers, so their number does not depend on the processors.
const PARAM_WORKER_COUNT: usize = 2;

/// Runs the command. Returns whether the log was read completely.
pub(crate) fn run(args: &Stats) -> Result<bool, Stop> {
    let reading = Reading::open(&args.input)?;
    write(&reading, &args.select, args.params, &args.form, &mut io::stdout().lock())
}

/// Writes the statistics of a log. Returns whether it was read completely.
pub(crate) fn write(
    reading: &Reading,
    select: &Select,
    params: bool,
    form: &Form,
    out: &mut dyn Write,
) -> Result<bool, Stop> {
    let selection = reading.select(select, params)?;
    let (overview, faults) = overview(reading, &selection, params);
    let text = view::answer(&overview, form)?;
    reading.finish();
    cli::unless_closed(out.write_all(&text))?;
    // Its own numbers tell them.
    reading.forget_overwritten();
    let is_whole = reading.end(&faults);
    if form.is_text() {
        reading.note_losses(&overview.all_losses());
    }
    Ok(is_whole)
}

/// Returns the overview of a log, and the faults of its events.
pub(crate) fn overview<'l>(
    reading: &'l Reading,
    selection: &Selection,
    params: bool,
) -> (Overview<'l>, Faults) {
    let log = &reading.log;
    // A selection misses numbers that the log has; a log of the MPS has no numbers.
    let filter = selection.filter();
    let is_all = filter.event_types.is_empty()
        && filter.times.is_empty()
        && !selection.is_conditional()
        && log.format() == Format::Stream;
    let wanted = Wanted { params, runs: is_all };
    let history = log.history();
    let worker_count = if params { PARAM_WORKER_COUNT } else { parallel::worker_count() };
    let (summary, faults) = gather(
        log,
        selection,
        worker_count,
        || Summary::new(wanted, history.spans()),
        |summary, events| events.each_run(summary, Summary::add_run, Summary::add),
        Summary::merge,
    );
    (Overview::new(summary, log, selection, &faults), faults)
}
