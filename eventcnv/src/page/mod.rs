//! Writes a web page that shows a log.
//!
//! ```text
//!  partitions of the log ── all processors ──▶ Summary + Sample ──▶ page.html, of bounded size
//! ```
//!
//! Design: `.cnv.report` in `design/eventcnv.md`.

pub(crate) mod flame;
pub(crate) mod lanes;
pub(crate) mod sample;
pub(crate) mod view;
pub(crate) mod waitflame;

use crate::ask::calls::longest::Longest;
use crate::ask::calls::reading::Found;
use crate::ask::calls::summary::{By, Extra};
use crate::ask::lines::summary::Correction;
use crate::ask::stats::summary::gather::gather;
use crate::ask::stats::summary::overview::Overview;
use crate::ask::stats::summary::{Summary, Wanted};
use crate::ask::{calls, lines};
use crate::open::input::sources::Sources;
use crate::open::output::Output;
use crate::open::select::{Select, Selection};
use crate::open::{Input, Reading, Stdout, parallel};
use crate::page::lanes::Laned;
use crate::page::sample::{Axis, Sample};
use cli::output::{self, Pending};
use cli::{Stop, complain};
use eventlog::format::text::is_steering;
use eventlog::reader::marks::Marks;
use eventlog::reader::{Clock, ClockBase, Event, Faults, Filter, Log, Order, Pick, Value};
use lens::calls::{Graph, Told};
use lens::slices::Runs;
use lens::statements::Statements;
use maud::Markup;
use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::path::PathBuf;

const ABOUT: &str = "\
Writes a web page that shows a log: events of each kind over time, with zoom; a table of event \
types; events to search; threads, labels, gaps, losses. A log of calls has a tab of calls: where \
the time goes, a flame graph, a table of functions, the call graph, what is never called. A log of \
statements has a tab of their source: how often each line ran, how long it took, what never ran. A \
log of slices or flows has a tab of threads: what each did, from the whole time to a microsecond. \
A log of `waits explain` has a tab of its flame, too: threads, and below each what it waited for, \
over time and merged.

The page is one file of at most 5 MB for any log, and uses no network. Calls add 3 MB at most, \
statements 4 MB, threads 4 MB, flames 4 MB. It has counts, all events of rare types, and a \
sample of the other events, spread over time.";

const EXAMPLES: &str = "\
A view can be shared: the address of the page, after #, has the time range and the search.

Examples:
  eventcnv report -o page.html run.log    a page to open in a browser
  eventcnv report -o pools.html --kinds Pool,Object run.log   events of two kinds
  eventcnv report --source shop -o lines.html run.log   statements, with source files from shop
  eventcnv report --from -0.001s -o end.html run.log   the end of a log, in detail
  eventcnv report -o - run.log | gzip > page.html.gz";

/// Workers, at most: each has its own sample.
const WORKER_COUNT_MAX: usize = 4;

fn worker_count() -> usize {
    parallel::worker_count().min(WORKER_COUNT_MAX)
}

const LABEL_COUNT_MAX: usize = 2000;
const LABEL_SIZE_MAX: usize = 80;

/// Write a web page that shows a log: events over time, types, values, labels, losses
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(super) input: Input,

    #[command(flatten)]
    pub(super) select: Select,

    #[command(flatten)]
    pub(super) output: Output,

    /// How the cost of the recorder is taken out of the times of statements [default: calibrated,
    /// or raw if the log does not state that cost]
    #[arg(long, value_enum)]
    pub(super) method: Option<Correction>,

    /// The folder in which source files are looked for
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(super) source: PathBuf,
}

/// Writes the page. Returns whether the log was read completely.
pub(crate) fn run(args: &Report) -> Result<bool, Stop> {
    write(args, None)
}

/// Writes the page, with the markup of a plan if there is one.
pub(super) fn write(args: &Report, plan: Option<Markup>) -> Result<bool, Stop> {
    let Output { path, force } = &args.output;
    let is_stdout = path.as_os_str() == "-";
    output::refuse_inputs(path, args.input.logs())?;
    let pending = if is_stdout { None } else { Some(Pending::new(path, *force)?) };
    let reading = Reading::open_with(&args.input, Stdout::unless(path))?;
    let has_calls = lens::calls::has_calls(&reading.log);
    let has_lanes = !Marks::of(reading.log.registries()).pairs.is_empty();
    // Calls, the sample, statements; slices and their parameters.
    reading.expect_passes(1 + 2 * u64::from(has_calls) + 2 * u64::from(has_lanes));
    let called = Called::new(args, &reading)?;
    let selection = reading.select(&args.select, true)?;
    let log = &reading.log;
    let (axis, (summary, sample), faults) = summarise(log, &selection);
    let overview = Overview::new(summary, log, &selection, &faults);
    let lined = Lined::new(args, &reading, &overview)?;
    reading.expect_passes(2 * u64::from(has_lanes));
    let laned = Laned::new(args, &reading, &overview)?;
    // Of a log of statements alone, no call was recorded.
    let has_calls_to_show =
        |called: &&Called| lined.is_none() || called.found.calls.tree().nodes().len() > 1;
    let flame =
        laned.as_ref().and_then(|laned| waitflame::read(log, &Clock::new(log), laned.range));
    let report = view::Report {
        name: &reading.name,
        overview: &overview,
        registries: log.registries(),
        axis: &axis,
        sample: &sample,
        labels: &labels(log, &axis),
        calls: called.as_ref().filter(has_calls_to_show).map(|called| called.shown(log)),
        source: lined.as_ref().map(Lined::shown),
        threads: laned.as_ref().map(|laned| laned.shown(log)),
        flame: flame.as_ref(),
        plan,
    };
    reading.step("writing the page");
    match pending {
        None => view::write(&report, &mut io::stdout().lock())?,
        Some(pending) => {
            pending.write(|out| view::write(&report, out))?;
            pending.finish()?;
        }
    }
    reading.finish();
    let is_whole = reading.end(&faults);
    reading.note_losses(&overview.all_losses());
    Ok(is_whole)
}

/// The calls of a log.
struct Called {
    clock: Clock,
    found: Found,
    graph: Graph,
    extra: Extra,
    longest: Longest,
    is_part: bool,
}

impl Called {
    /// Reads the calls of a log, if it can have any.
    fn new(args: &Report, reading: &Reading) -> Result<Option<Called>, Stop> {
        let log = &reading.log;
        if !lens::calls::has_calls(log) {
            return Ok(None);
        }
        let selection = reading.select(&args.select, false)?;
        let (clock, marks) = (Clock::new(log), lens::calls::marks(log, false));
        let mut extra = Extra::new(By::Function, Runs::default());
        let mut longest = Longest::new(log, &clock, view::SPAN_COUNT_MAX);
        let Ok(found) = calls::reading::each(log, &clock, &marks, &selection, |_, told| {
            extra.add(&told);
            if let Told::Call(call) = &told {
                longest.add(call);
            }
            Ok::<(), Infallible>(())
        });
        extra.durations.settle();
        let graph = Graph::of(found.calls.tree());
        let is_part = args.select.is_given();
        Ok(Some(Called { clock, found, graph, extra, longest, is_part }))
    }

    fn shown<'l>(&'l self, log: &'l Log) -> view::Calls<'l> {
        let Called { clock, found, graph, extra, longest, is_part } = self;
        view::Calls { log, clock, found, graph, extra, longest, is_part: *is_part }
    }
}

/// The statements of a log.
struct Lined {
    base: ClockBase,
    found: Statements,
    sources: RefCell<Sources>,
    is_part: bool,
}

impl Lined {
    /// Reads the statements of a log, if it has any.
    fn new(
        args: &Report,
        reading: &Reading,
        overview: &Overview<'_>,
    ) -> Result<Option<Lined>, Stop> {
        let log = &reading.log;
        let is_of = |name: &str| name.ends_with("StatementSum") || name.ends_with("StatementEnter");
        let clock = Clock::new(log);
        let has_any = overview.types.iter().any(|row| is_of(&row.name))
            || !Statements::new(log, &clock, None).all().is_empty();
        if !has_any {
            return Ok(None);
        }
        let selection = reading.select(&args.select, false)?;
        if let Some(what) = lines::reading::refusal(&selection) {
            complain(&format!("eventcnv: {}: note: no tab of source: {what}\n", reading.name));
            return Ok(None);
        }
        let (found, _) =
            lines::reading::read(log, &clock, &selection, args.method.map(Correction::method));
        if let Some(what) = lines::reading::lack(&found) {
            return Err(reading.error(what));
        }
        let sources = RefCell::new(Sources::new(log, &args.source));
        let is_part = args.select.is_given();
        Ok(Some(Lined { base: clock.base, found, sources, is_part }))
    }

    fn shown(&self) -> view::Lines<'_> {
        let Lined { base, found, sources, is_part } = self;
        view::Lines { found, sources, base: *base, is_part: *is_part }
    }
}

/// Reads the log once. Returns the time axis, the summary with the sample, and the faults.
fn summarise(log: &Log, selection: &Selection) -> (Axis, (Summary, Sample), Faults) {
    let history = log.history();
    let times = &selection.filter().times;
    // The page shows the selected part of the time.
    let narrow = |(span, stream): (&Option<(u64, u64)>, usize)| {
        let (first, last) = (*span)?;
        let asked = times.get(stream).cloned().unwrap_or(0..=u64::MAX);
        let (from, to) = (first.max(*asked.start()), last.min(*asked.end()));
        Some((from, to.max(from)))
    };
    let spans: Vec<Option<(u64, u64)>> = history.spans().iter().zip(0..).map(narrow).collect();
    let axis = Axis::new(log, &spans);
    let wanted = Wanted::default();
    let (result, faults) = gather(
        log,
        selection,
        worker_count(),
        || (Summary::new(wanted, &spans), Sample::new(log, &axis)),
        |(summary, sample), events| {
            events.each(|event| {
                summary.add(event);
                sample.add(event, view::params);
            });
        },
        |(summary, sample), (other_summary, other_sample)| {
            summary.merge(other_summary);
            sample.merge(other_sample);
        },
    );
    (axis, result, faults)
}

/// Returns the labels: string, address, time.
fn labels(log: &Log, axis: &Axis) -> Vec<(String, String, f64)> {
    let names = ["Label", "LabelPointer"].map(|name| Pick::Name(name.to_owned()));
    let filter = Filter::new().events(names).labels(true);
    let mut events = log.events(Order::Time, &filter);
    let mut found = Vec::new();
    while let Some(event) = events.next() {
        if let Some((label, value)) = label(&event)
            && let Some(time) = axis.time(event.stream, event.ticks)
        {
            found.push((label, value, time));
        }
        if found.len() >= LABEL_COUNT_MAX {
            break;
        }
    }
    found
}

fn label(event: &Event<'_, '_>) -> Option<(String, String)> {
    let (Value::P(value) | Value::A(value) | Value::W(value)) = event.param_at(0)? else {
        return None;
    };
    let string = event.labels.string(event.param_at(1)?.as_u64()?)?;
    let string = string.get(..LABEL_SIZE_MAX).unwrap_or(string);
    let string = String::from_utf8_lossy(string).replace(is_steering, "\u{FFFD}");
    Some((string, format!("{value:X}")))
}
