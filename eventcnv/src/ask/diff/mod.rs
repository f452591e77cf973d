//! Compares the logs of two runs.
//!
//! ```text
//!  A ── stats.rs ──▶ Overview ─┐
//!  B ── stats.rs ──▶ Overview ─┴──▶ Difference ──▶ tables, exit status as of diff(1)
//! ```
//!
//! Design: `.cnv.diff` in `design/eventcnv.md`.

pub(crate) mod summary;
pub(crate) mod view;

use crate::ask::diff::summary::{Difference, Side};
use crate::ask::stats;
use crate::open::select::Select;
use crate::open::{Known, Reading};
use cli::Stop;
use cli::table::Form;
use eventlog::reader::{Filter, Log, Order, Value};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;

const ABOUT: &str = "\
Compares log B with log A: counts of events by kind and type, values of parameters, labels, \
losses, and registries. The most significant difference comes first.

Durations and rates are printed but do not count as differences. Pointers and addresses, which \
change in each run, are not compared.";

const EXAMPLES: &str = "\
The column \"distance\" is the part of the values that differs: for numbers the Kolmogorov-Smirnov
distance, for strings and Booleans the part that the other log does not have as often. Medians
(p50) are exact while a parameter has at most 256 values, and up to 127; others, with ~, are at most
1/64 too low.

Examples:
  eventcnv diff run.log run.log           a log and itself
  eventcnv diff mpsio.log run.log || true   changes from the first run to the second
  eventcnv diff --kinds Object mpsio.log run.log || true   changes in events of one kind
  eventcnv diff --tolerance 90 --json mpsio.log run.log || true   large changes only, as JSON

Exit status:
  0  the logs are the same
  1  the logs differ, or faults were found and reported on standard error
  2  a log could not be read, or the command line is wrong";

/// Labels of a log, at most, and bytes of each.
const LABEL_COUNT_MAX: usize = 1 << 15;
const LABEL_SIZE_MAX: usize = 128;

/// Compare two logs: counts, values, labels, losses
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Diff {
    /// The log of the first run
    #[arg(value_name = "A")]
    a: PathBuf,

    /// The log of the second run
    #[arg(value_name = "B")]
    b: PathBuf,

    #[command(flatten)]
    select: Select,

    /// Ignore differences of at most this percentage
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = percent)]
    tolerance: f64,

    #[command(flatten)]
    known: Known,

    #[command(flatten)]
    form: Form,
}

fn percent(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    let is_percentage = (0.0..=100.0).contains(&value);
    is_percentage.then_some(value).ok_or_else(|| "not between 0 and 100".to_owned())
}

/// Prints the differences. Returns whether there are none and both logs were read completely.
pub(crate) fn run(args: &Diff) -> Result<bool, Stop> {
    let open = |path: &PathBuf| Reading::open_paths(std::slice::from_ref(path), &args.known);
    let readings = [open(&args.a)?, open(&args.b)?];
    let [a, b] = &readings;
    let selections = [a.select(&args.select, false)?, b.select(&args.select, false)?];
    let [(a_overview, a_faults), (b_overview, b_faults)] =
        [(a, &selections[0]), (b, &selections[1])]
            .map(|(reading, selection)| stats::overview(reading, selection, true));
    let labels = [labels(&a.log), labels(&b.log)];
    let side = |overview, log, labels| Side { overview, registries: Log::registries(log), labels };
    let sides = [side(&a_overview, &a.log, &labels[0]), side(&b_overview, &b.log, &labels[1])];
    let difference = Difference::new([&sides[0], &sides[1]], args.tolerance);
    let names = [&*a.name, &b.name];
    let text = view::answer(&difference, names, [&a_overview, &b_overview], &args.form)?;
    a.finish();
    b.finish();
    cli::unless_closed(io::stdout().lock().write_all(&text))?;
    let is_whole = [a.end(&a_faults), b.end(&b_faults)] == [true, true];
    Ok(is_whole && difference.is_none())
}

/// Returns the interned strings of a log.
fn labels(log: &Log) -> BTreeSet<Vec<u8>> {
    let filter = Filter::new().event("Intern");
    let mut events = log.events(Order::File, &filter);
    let mut labels = BTreeSet::new();
    while let Some(event) = events.next() {
        if let Some(Value::S(string)) = event.param("string")
            && labels.len() < LABEL_COUNT_MAX
        {
            labels.insert(string.get(..LABEL_SIZE_MAX).unwrap_or(string).to_vec());
        }
    }
    labels
}
