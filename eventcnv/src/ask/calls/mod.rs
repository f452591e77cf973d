//! Prints the calls of a log: callers, counts, times.
//!
//! ```text
//!  log ── reading.rs ──▶ calls, tree ──▶ view.rs ──▶ Table
//!   OLD ── the same ─────────────────────────────┴─ --against
//! ```
//!
//! Design: `.cnv.calls` in `design/eventcnv.md`.

pub(crate) mod longest;
pub(crate) mod reading;
pub(crate) mod summary;
pub(crate) mod view;

use crate::ask::calls::reading::Found;
use crate::ask::calls::summary::{By, Cutoff, Extra};
use crate::ask::calls::view::Summary;
use crate::ask::pairs::view::Overview;
use crate::ask::pairs::view::against::against;
use crate::open::input::family;
use crate::open::select::Select;
use crate::open::{Input, Reading};
use cli::Stop;
use cli::table::{Around, Form, clock};
use eventlog::reader::{Clock, ClockBase};
use lens::calls::Graph;
use lens::slices::Runs;
use serde_json::json;
use std::convert::Infallible;
use std::path::PathBuf;

const ABOUT: &str = "\
Prints the calls of a log: callers, counts, times.

The crate calls records them: #[traced] before a function, an impl or a mod. `eventcnv record \
--calls` records them in a C or C++ program that was built with -finstrument-functions. A \
selection chooses calls by the event that begins them.";

const EXAMPLES: &str = "\
Columns:
  own         the time of calls without that of the calls in them; own % is its part of all
  total       the time with that of the calls in them; recursion counts it again and again
  outermost   the same, of calls that no call of the same function (or edge) encloses
  p50 … p99.9 percentiles; those with ~ are at most a thousandth too high
Columns that appear if they count anything:
  unfinished  calls that did not end in the log
  doubtful    calls without a time: events may be missing in between, or their end is
  unwound     calls that a panic, or a jump of C, ended
  polls       calls that are polls of an async function: its calls are in --by task
  without beginning  ends whose beginning is not in the log
  muted       calls that the filter did not select

--cutoff 5 leaves out functions that were called at most 5 times; --cutoff 1% those with less of the
time. For clusters it leaves out such edges.

--against compares two programs. Each process, with all that it forked, is a run. The durations of
one run depend on each other, so one run of each tells how far two logs differ, not whether that is
chance. With two runs or more of each, p is the probability that the mean durations of runs of one
program differ as much (the test of Welch).

Examples:
  eventcnv calls shop.log                    a row for each function, by its own time
  eventcnv calls shop.log --sort calls --top 20   the functions that were called most often
  eventcnv calls shop.log --by path          the tree of calls
  eventcnv calls shop.log --by edge --cutoff 1% --csv
  eventcnv calls shop.log --by cluster --undirected
  eventcnv calls shop.log-4711 --family      also what its parent had called before the fork
  eventcnv calls shop.log --unused           functions that were never called
  eventcnv calls shop.log --unfinished       the calls in progress of each thread; also of a core
  eventcnv calls shop.log --against older-shop.log   what changed from older-shop.log to shop.log
  eventcnv calls new1.log new2.log --against old1.log --against old2.log   and whether by chance
  eventcnv calls mpsio.log --slices          the slices of any log, as calls";

/// Print the calls of a log: callers, counts, times; functions that are never called
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Calls {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    select: Select,

    #[command(flatten)]
    what: What,

    #[command(flatten)]
    form: Form,
}

#[derive(Debug, clap::Args)]
struct What {
    /// The rows
    #[arg(long, value_enum, default_value = "function")]
    by: By,

    /// Print the functions that were never called
    #[arg(long, conflicts_with_all = ["by", "unfinished", "against", "cutoff"])]
    unused: bool,

    /// Print the calls in progress at the end of the log, by thread
    #[arg(long, conflicts_with_all = ["by", "against", "cutoff"])]
    unfinished: bool,

    /// Leave out rows that were called at most N times, or have less than N percent of the time
    #[arg(long, value_name = "N|N%", value_parser = Cutoff::parse, conflicts_with = "against")]
    cutoff: Option<Cutoff>,

    /// Let clusters grow to callers too
    #[arg(long)]
    undirected: bool,

    /// Also take the slices of other registries as calls, by their names
    #[arg(long)]
    slices: bool,

    /// Also take the calls that its ancestors had made before they forked the process of the first
    /// log. Their logs are found in its folder
    #[arg(long)]
    family: bool,

    /// Compare with the log of an earlier run, by function or edge. Name several runs by several
    /// logs, and this option for each old one
    #[arg(long, value_name = "OLD")]
    against: Vec<PathBuf>,
}

/// Runs the command. Returns whether the log was read completely.
pub(crate) fn run(args: &Calls) -> Result<bool, Stop> {
    let what = &args.what;
    if !what.against.is_empty() && !matches!(what.by, By::Function | By::Edge) {
        return Err(Stop::Message("--against needs --by function or --by edge".to_owned()));
    }
    if what.cutoff.is_some() && matches!(what.by, By::Thread | By::Task) {
        let what = "--cutoff needs --by function, edge, path or cluster";
        return Err(Stop::Message(what.to_owned()));
    }
    if args.form.sort.is_some() && matches!(what.by, By::Path | By::Cluster) {
        let what = "--sort needs --by function, edge, thread or task: paths and clusters have \
                    an order of their own";
        return Err(Stop::Message(what.to_owned()));
    }
    if what.undirected && what.by != By::Cluster {
        return Err(Stop::Message("--undirected needs --by cluster".to_owned()));
    }
    let open = |logs: &[PathBuf]| match what.family {
        true => Reading::open_others(&args.input, &family::with_ancestors(logs)),
        false => Reading::open_others(&args.input, logs),
    };
    let new = open(args.input.logs())?;
    let new = Summed::new(args, &new)?;
    if what.against.is_empty() {
        let text = new.text(args)?;
        return new.end(&text);
    }
    let old = open(&what.against)?;
    let old = Summed::new(args, &old)?;
    let names = [&old, &new].map(|side| &*side.reading.name);
    let [before, after] = &[old.summary(what), new.summary(what)];
    let overviews = [&old.overview(before, what), &new.overview(after, what)];
    let (table, around) = against(overviews, names)?;
    let text = args.form.answer(table, around)?;
    Ok([old.end(&[])?, new.end(&text)?] == [true, true])
}

/// The calls of a log, summed up.
struct Summed<'l> {
    reading: &'l Reading,
    clock: Clock,
    found: Found,
    graph: Graph,
    extra: Extra,
}

impl<'l> Summed<'l> {
    fn new(args: &Calls, reading: &'l Reading) -> Result<Summed<'l>, Stop> {
        let log = &reading.log;
        let marks = lens::calls::marks(log, args.what.slices);
        if !lens::calls::has_calls(log) && !args.what.slices {
            let what = "the log has no calls: its program did not record them; to take its slices \
                        as calls, pass --slices";
            return Err(reading.error(what));
        }
        let mut selection = reading.select(&args.select, false)?;
        if args.what.family {
            reading.restrict_to_family(&mut selection);
        }
        let clock = Clock::new(log);
        if clock.base == ClockBase::Start {
            reading.use_seconds();
        }
        let is_compared = !args.what.against.is_empty();
        let runs = if is_compared { Runs::of(log) } else { Runs::default() };
        let mut extra = Extra::new(args.what.by, runs);
        let Ok(found) = reading::each(log, &clock, &marks, &selection, |_, told| {
            extra.add(&told);
            Ok::<(), Infallible>(())
        });
        extra.durations.settle();
        let graph = Graph::of(found.calls.tree());
        Ok(Summed { reading, clock, found, graph, extra })
    }

    fn summary(&self, what: &What) -> Summary<'_> {
        Summary {
            log: &self.reading.log,
            clock: &self.clock,
            found: &self.found,
            graph: &self.graph,
            extra: &self.extra,
            cutoff: what.cutoff,
            is_undirected: what.undirected,
        }
    }

    fn overview<'s>(&'s self, summary: &'s Summary<'s>, what: &What) -> Overview<'s> {
        let by = if what.by == By::Edge { "caller" } else { "" };
        let rows = summary.rows();
        Overview {
            base: self.clock.base,
            what: "function",
            by,
            seconds: None,
            rows,
            run_count: self.extra.runs.count(),
            slowest: Vec::new(),
            is_stream_shown: false,
        }
    }

    fn text(&self, args: &Calls) -> Result<Vec<u8>, Stop> {
        let what = &args.what;
        let summary = self.summary(what);
        let (table, none) = match (what.unused, what.unfinished) {
            (true, _) => (summary.unused(), "each function that the log knows was called"),
            (_, true) => (summary.unfinished(), "no call is in progress"),
            _ => (summary.groups(), "no call is selected"),
        };
        let has_times = !what.unused && !matches!(what.by, By::Cluster);
        let before = has_times.then(|| format!("{}\n\n", clock(self.clock.base)));
        let facts = json!({ "overwritten": self.reading.overwritten() });
        let around =
            Around { before: before.unwrap_or_default(), none, facts, ..Around::default() };
        args.form.answer(table, around)
    }

    /// Prints the text, then faults and notes. Returns whether the log was read completely.
    fn end(&self, text: &[u8]) -> Result<bool, Stop> {
        let notes = self.found.notes(self.extra.by() == By::Path);
        self.reading.answer(text, &self.found.faults, notes)
    }
}
