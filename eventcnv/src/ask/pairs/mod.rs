//! Prints how long slices lasted: what begins and ends in a log.
//!
//! ```text
//!  log ── reading ──▶ slices ──▶ summary.rs ──▶ view ──▶ Table
//!   OLD ── the same ───────────────────────┴─ --against
//! ```
//!
//! Design: `.cnv.pairs` in `design/eventcnv.md`.

pub(crate) mod lanes;
pub(crate) mod marks;
pub(crate) mod rates;
pub(crate) mod reading;
pub(crate) mod summary;
pub(crate) mod view;

use crate::ask::pairs::marks::PairOptions;
use crate::ask::pairs::rates::Rates;
use crate::ask::pairs::reading::{By, Found, Marked, Values};
use crate::ask::pairs::summary::{Groups, rates};
use crate::ask::pairs::view::against::against;
use crate::ask::pairs::view::{End, Overview, Slow};
use crate::open::select::Select;
use crate::open::{Input, Reading, select};
use crate::show;
use crate::show::View;
use crate::show::clock::Clock as Times;
use crate::show::columns::Columns;
use crate::show::line::{Line, Lines};
use crate::show::readable::Readable;
use crate::text::page::Page;
use cli::Stop;
use cli::table::Form;
use eventlog::reader::marks::Marks;
use eventlog::reader::{Clock, ClockBase, Filter, Log, Order, Registry};
use lens::slices::{Edge, Id, Limits, Long, Runs};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::convert::Infallible;
use std::path::PathBuf;

const ABOUT: &str = "\
Prints how long slices lasted: a row for each pair of event types that begin and end something, \
with counts, rates and percentiles.

Pairs are what `eventcnv export` draws as slices and spans: event types called XBegin and XEnd, \
XEnter and XLeave, XCreate and XDestroy and so on; those that a registry declares by \
[slice XBegin=XEnd] in a doc string; and those of the options. A selection chooses slices by the \
event that begins them.";

const EXAMPLES: &str = "\
count is the number of slices with a duration. Percentiles are exact while the log has at most 2^22
of these; after that, those with ~ are at most a thousandth too high. Columns that appear if they
count anything:
  crossing           ended after a slice that encloses their beginning; they have a duration
  doubtful           ended, but events may be missing in between; they have no duration
  again              began again before they ended
  unfinished         did not end in the log
  gave way           did not end while too many others were open; the oldest of the most frequent
                     pair give way
  without beginning  ends whose beginning is not in the log

--against compares two programs. Each process, with all that it forked, is a run. The durations of
one run depend on each other, so one run of each tells how far two logs differ, not whether that is
chance. With two runs or more of each, p is the probability that the mean durations of runs of one
program differ as much (the test of Welch).

Examples:
  eventcnv pairs mpsio.log                        a row for each pair
  eventcnv pairs mpsio.log --by thread            a row for each pair and thread
  eventcnv pairs mpsio.log --by arena --histogram   by a parameter, with bars
  eventcnv pairs mpsio.log --slowest 5            the longest, with their events
  eventcnv pairs mpsio.log --sort p99 --top 10    the rows whose 99th percentile is greatest
  eventcnv pairs run.log --slice FileBegin=FileEnd:file --no-names
  eventcnv pairs run.log --from +1ms --csv        what begins later than that, as CSV
  eventcnv pairs mpsio.log --against run.log      what changed from run.log to mpsio.log
  eventcnv pairs new1.log new2.log --against old1.log --against old2.log   and whether by chance";

/// Print how long slices lasted: count, rate, percentiles, the slowest
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Pairs {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    what: What,

    #[command(flatten)]
    form: Form,

    #[command(flatten)]
    marks: PairOptions,

    #[command(flatten)]
    select: Select,
}

#[derive(Debug, clap::Args)]
struct What {
    /// A row for each event, thread, key, or value of a parameter of the beginning or the end
    #[arg(long, value_name = "event|thread|key|PARAM", default_value = "event")]
    by: String,

    /// Also print a bar for each power of two of the durations
    #[arg(long, conflicts_with_all = ["csv", "json"])]
    histogram: bool,

    /// Also print the N longest slices, with the events that begin and end them
    #[arg(long, value_name = "N", conflicts_with = "csv")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    slowest: Option<u16>,

    /// Compare with the log of an earlier run. Name several runs by several logs, and this option
    /// for each old one
    #[arg(long, value_name = "OLD", conflicts_with_all = ["histogram", "slowest"])]
    against: Vec<PathBuf>,
}

impl What {
    fn by(&self, registries: &[Registry]) -> Result<By, String> {
        match &*self.by {
            "event" => return Ok(By::Event),
            "thread" => return Ok(By::Thread),
            "key" => return Ok(By::Key),
            _ => {}
        }
        let rows = || registries.iter().flat_map(|registry| &registry.event_types);
        if rows().any(|row| row.param(&self.by).is_some()) {
            return Ok(By::Param(self.by.clone()));
        }
        let names = rows().flat_map(|row| &row.params).map(|param| &*param.name);
        let names = ["event", "thread", "key"].into_iter().chain(names);
        Err(format!("--by: {}", select::unknown("parameter", &self.by, names)))
    }
}

/// Runs the command. Returns whether the log was read completely.
pub(crate) fn run(args: &Pairs) -> Result<bool, Stop> {
    let new = Reading::open(&args.input)?;
    let mut new = Summed::new(args, &new)?;
    if args.what.against.is_empty() {
        let text = new.text(args)?;
        return new.end(&text);
    }
    let old = Reading::open_others(&args.input, &args.what.against)?;
    let mut old = Summed::new(args, &old)?;
    let names = [&old, &new].map(|side| &*side.reading.name);
    let overviews = [&old.overview(args), &new.overview(args)];
    let (table, around) = against(overviews, names)?;
    let text = args.form.answer(table, around)?;
    Ok([old.end(&[])?, new.end(&text)?] == [true, true])
}

/// The slices of a log, summed up.
struct Summed<'l> {
    reading: &'l Reading,
    base: ClockBase,
    rates: Rates,
    marks: Marks,
    groups: Groups,
    values: Values,
    found: Found,
    /// Why there are no slices.
    no_beginnings: Option<String>,
}

impl<'l> Summed<'l> {
    fn new(args: &Pairs, reading: &'l Reading) -> Result<Summed<'l>, Stop> {
        let log = &reading.log;
        let wrong = |what| reading.error(what);
        let marks = args.marks.marks(log.registries()).map_err(wrong)?;
        let by = args.what.by(log.registries()).map_err(wrong)?;
        let selection = reading.select(&args.select, false)?;
        let clock = Clock::new(log);
        if clock.base == ClockBase::Start {
            reading.use_seconds();
        }
        // Which part of the time `--first` and `--last` choose is unknown.
        let is_known = !selection.is_counted();
        let rates =
            if is_known { rates(log, &clock, selection.filter()) } else { Rates::default() };
        let slowest_count = args.what.slowest.unwrap_or(0).into();
        let (registries, limits) = (log.registries(), Limits::default());
        let mut groups = Groups::new(registries, &marks, by.clone(), slowest_count, limits);
        if !args.what.against.is_empty() {
            groups = groups.with_runs(Runs::of(log));
        }
        let marked = Marked { log, clock: &clock, marks: &marks };
        let Ok((found, values)) = marked.each(&selection, &by, |told, values| {
            groups.add(told, values);
            Ok::<(), Infallible>(())
        });
        let no_beginnings = marked.beginnings_note(&selection);
        let base = clock.base;
        Ok(Summed { reading, base, rates, marks, groups, values, found, no_beginnings })
    }

    fn overview<'g>(&'g mut self, args: &'g Pairs) -> Overview<'g> {
        let by = if args.what.by == "event" { "" } else { &args.what.by };
        let run_count = self.groups.run_count();
        let slowest = self.groups.slowest.sorted().collect::<Vec<_>>();
        let name = |begin: &Edge| self.groups.name_of(begin, &self.values).into_owned();
        let slowest = slow(&self.reading.log, name, &slowest, args.form.json);
        let Summed { reading, marks, groups, values, rates, .. } = self;
        let rows = groups.rows(&reading.log, marks, values, rates);
        let is_stream_shown = self.reading.log.streams().len() > 1;
        let (base, seconds) = (self.base, rates.seconds);
        Overview { base, what: "slice", by, seconds, rows, run_count, slowest, is_stream_shown }
    }

    fn text(&mut self, args: &Pairs) -> Result<Vec<u8>, Stop> {
        let overwritten = self.reading.overwritten();
        let overview = self.overview(args);
        let mut around = overview.around(args.what.histogram);
        around.facts["overwritten"] = overwritten.into();
        args.form.answer(overview.table(), around)
    }

    /// Prints the text, then faults and notes. Returns whether the log was read completely.
    fn end(&self, text: &[u8]) -> Result<bool, Stop> {
        let notes = self.found.notes.iter().chain(&self.no_beginnings).cloned();
        self.reading.answer(text, &self.found.faults, notes.chain(self.groups.notes()))
    }
}

/// Returns the longest slices with the lines of their events: those for people, or for JSON those
/// of `dump -v`.
fn slow(log: &Log, name: impl Fn(&Edge) -> String, slowest: &[Long], is_json: bool) -> Vec<Slow> {
    let edges = slowest.iter().flat_map(|long| [&long.begin, &long.end]);
    let name_width = show::name_width(log.registries());
    let lines = match is_json {
        true => lines(log, edges, Columns { clock: Times::Ticks, name_width }),
        false => lines(log, edges, Readable::new(Times::for_people(log), log, false)),
    };
    let line = |edge: &Edge| lines.get(&edge.id).cloned().unwrap_or_default();
    let slow = |long: &Long| Slow {
        name: name(&long.begin),
        ns: long.ns,
        thread: long.begin.thread,
        ends: [&long.begin, &long.end].map(|edge| End {
            id: edge.id,
            ticks: edge.ticks,
            line: line(edge),
        }),
    };
    slowest.iter().map(slow).collect()
}

/// Returns the lines of events, in one pass over their threads from the first event to the last.
fn lines<'e>(
    log: &Log,
    edges: impl Iterator<Item = &'e Edge>,
    line: impl Line,
) -> HashMap<Id, String> {
    let mut times: Vec<Option<(u64, u64)>> = vec![None; log.streams().len()];
    let (mut wanted, mut threads) = (HashSet::new(), BTreeSet::new());
    for &Edge { id, thread, ticks, .. } in edges {
        wanted.insert(id);
        threads.insert((id.stream, thread));
        if let Some(times) = times.get_mut(usize::from(id.stream)) {
            let (from, to) = times.unwrap_or((ticks, ticks));
            *times = Some((from.min(ticks), to.max(ticks)));
        }
    }
    if wanted.is_empty() {
        return HashMap::new();
    }
    let all = Filter::new().threads(threads).labels(true);
    let filter = times.into_iter().fold(all, |filter, times| {
        let (from, to) = times.unwrap_or((1, 0));
        filter.times(from..=to)
    });
    let view = Lines::new(line, log.registries());
    let mut found = HashMap::new();
    log.events(Order::Time, &filter).each_while(|event| {
        let id = Id { stream: event.stream, buffer: event.buffer, number: event.number };
        if wanted.remove(&id) {
            let mut page = Page::new();
            view.write(event, &mut page);
            found.insert(id, String::from_utf8_lossy(page.text()).trim_end().to_owned());
        }
        !wanted.is_empty()
    });
    found
}
