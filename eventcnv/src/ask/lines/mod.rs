//! Prints the statements of a log: counts, times, what never ran.
//!
//! ```text
//!  log ── reading.rs ──▶ Statements ─┬─ view.rs ──▶ Table
//!   OLD ── the same ── --against ───────────────┘
//!  source files ── open/input/sources.rs ──▶ texts
//! ```
//!
//! Design: `.cnv.lines` in `design/eventcnv.md`.

pub(crate) mod reading;
pub(crate) mod summary;
pub(crate) mod view;

use crate::ask::lines::reading::{all_notes, end_note, lack, read, refusal};
use crate::ask::lines::summary::{By, Correction, Which, method_name};
use crate::open::input::sources::Sources;
use crate::open::select::Select;
use crate::open::{Input, Reading};
use cli::Stop;
use cli::table::{Around, Form, Table, clock};
use eventlog::reader::{Clock, ClockBase, Faults};
use lens::statements::{Facts, Statements};
use serde_json::json;
use std::cell::RefCell;
use std::path::PathBuf;

const ABOUT: &str = "\
Prints the statements of a log: how often each ran, and the time that it took.

The crate calls records them: #[profiled] before a function, an impl or a mod, and \
MPS_TELEMETRY_PROFILE=count, time or trace. A selection chooses the threads that recorded, and the \
time up to which sums count.";

const EXAMPLES: &str = "\
Columns:
  count       executions that began
  own         the time of executions without the statements in them; own % is its part of all
  total       the time with all in them; recursion counts it again and again
  mean …      of the total times; the deviation is the standard deviation of the measured times
  p50 … p99.9 percentiles, where the log has a trace; those with ~ are at most a thousandth too high
  traced      executions that the percentiles cover, if the trace lacks some
  ±           how far the time may be off: the error bar of the correction
  waiting     the time of statements with an .await, which contains the time in which nothing ran
A time with ≤ is too short to be measured: at most its error bar.

Methods of correction (the sums in the log never change):
  raw, a         as measured
  outer, b       without the cost of the recorder in the statements beneath
  leaves, c      a statement with others in it has their sum; needs a trace
  calibrated, d  without all cost of the recorder, with an error bar; the default

The text of a statement comes from its source file: in the folder of --source, else in this folder.
A note tells if a file is gone, is newer than the log, or does not fit the log.

--tdk prints the columns of TDK's profiler, with times in µs: NrCallsToCmd, Filename, CmdLine, Min,
Avg, Max, Total, CmdCharIndex, CmdLength; the index and the length are in bytes.

--against finds a statement of the old run by its function, its column and its size, in the order
of the function's statements. `moved` has another line, `changed` has another size. If a log has
counts alone, the change is one of counts.

Examples:
  eventcnv lines till.log                    hot statements first
  eventcnv lines till.log --top 20 --sort total
  eventcnv lines till.log --by function      also file
  eventcnv lines till.log --never            statements that never ran
  eventcnv lines till.log --all --tdk        all of them, with zeros
  eventcnv lines till.log --method raw       as measured
  eventcnv lines till.log --against older-till.log   what changed from older-till.log to till.log
  eventcnv lines till.log --source src       where to look for source files";

/// The error about a log without statements.
pub(crate) const NO_STATEMENTS: &str = "the log has no statements: its program did not record \
                                        them; put #[profiled] before its functions, and set \
                                        MPS_TELEMETRY_PROFILE=time";

/// Print the statements of a log: counts, times, hot spots; statements that never ran
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Lines {
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
    #[arg(long, value_enum, default_value = "statement")]
    by: By,

    /// How the cost of the recorder is taken out [default: calibrated, or raw if the log does not
    /// state that cost]
    #[arg(long, value_enum)]
    method: Option<Correction>,

    /// Print the statements that never ran
    #[arg(long, conflicts_with_all = ["all", "against"])]
    never: bool,

    /// Also print statements that never ran, with zeros
    #[arg(long, conflicts_with = "against")]
    all: bool,

    /// Compare with the log of an earlier run
    #[arg(long, value_name = "OLD")]
    against: Option<PathBuf>,

    /// The folder in which source files are looked for
    #[arg(long, value_name = "DIR", default_value = ".")]
    source: PathBuf,

    /// Print CSV with the columns of TDK's profiler, in the order of places
    #[arg(long, conflicts_with_all = ["csv", "json", "sort", "top", "by", "against"])]
    tdk: bool,
}

/// Runs the command. Returns whether the log was read completely.
pub(crate) fn run(args: &Lines) -> Result<bool, Stop> {
    let what = &args.what;
    if what.against.is_some() && what.by != By::Statement {
        return Err(Stop::Message("--against needs --by statement".to_owned()));
    }
    let new = Reading::open(&args.input)?;
    let new = Summed::new(args, &new)?;
    let Some(path) = &what.against else {
        let text = new.text(args)?;
        return new.end(&text);
    };
    let old = Reading::open_others(&args.input, std::slice::from_ref(path))?;
    let old = Summed::new(args, &old)?;
    if old.unit() != new.unit() {
        return Err(Stop::Message(format!(
            "{}: times are in {} and those of {} in {}; state --clock-rate",
            path.display(),
            old.unit(),
            new.reading.name,
            new.unit()
        )));
    }
    let text = new.against(&old, args)?;
    Ok([old.end(&[])?, new.end(&text)?] == [true, true])
}

/// The statements of a log.
struct Summed<'l> {
    reading: &'l Reading,
    base: ClockBase,
    found: Statements,
    faults: Faults,
    sources: RefCell<Sources>,
}

impl<'l> Summed<'l> {
    fn new(args: &Lines, reading: &'l Reading) -> Result<Summed<'l>, Stop> {
        let log = &reading.log;
        let selection = reading.select(&args.select, false)?;
        if let Some(what) = refusal(&selection) {
            return Err(reading.error(what));
        }
        let clock = Clock::new(log);
        let method = args.what.method.map(Correction::method);
        let (found, faults) = read(log, &clock, &selection, method);
        if found.all().is_empty() {
            return Err(reading.error(NO_STATEMENTS));
        }
        if let Some(what) = lack(&found) {
            return Err(reading.error(what));
        }
        if clock.base == ClockBase::Start && found.has_times() {
            reading.use_seconds();
        }
        let sources = RefCell::new(Sources::new(log, &args.what.source));
        Ok(Summed { reading, base: clock.base, found, faults, sources })
    }

    fn unit(&self) -> &'static str {
        if self.base == ClockBase::Ticks && self.found.has_times() { "ticks" } else { "ns" }
    }

    fn text(&self, args: &Lines) -> Result<Vec<u8>, Stop> {
        let what = &args.what;
        let which = match (what.never, what.all) {
            (true, _) => Which::Never,
            (_, true) => Which::All,
            _ => Which::Executed,
        };
        if what.tdk {
            if self.unit() == "ticks" {
                let what = "the log does not state the length of a tick, and --tdk prints µs; \
                            state --clock-rate, or pass --csv";
                return Err(self.reading.error(what));
            }
            return Ok(view::tdk(&self.found, which));
        }
        let table = match what.by {
            By::Statement => view::by_statement(&self.found, which, |facts| self.line(facts)),
            by => view::by_group(&self.found, by, which),
        };
        let none = match which {
            Which::Never => "each statement that the log knows ran",
            _ => "no statement ran",
        };
        self.answer(table, args, none)
    }

    fn against(&self, old: &Summed<'_>, args: &Lines) -> Result<Vec<u8>, Stop> {
        let table = view::against([&old.found, &self.found], |facts| self.line(facts));
        self.answer(table, args, "no statement ran in either log")
    }

    /// Returns the text of a statement.
    fn line(&self, facts: &Facts) -> Option<String> {
        self.sources.borrow_mut().text(facts)
    }

    fn answer(&self, table: Table<'_>, args: &Lines, none: &'static str) -> Result<Vec<u8>, Stop> {
        let method = method_name(self.found.method());
        let has_times = self.found.has_times() && !args.what.never;
        let before = match has_times {
            true => format!("{}\nmethod: {method}\n\n", clock(self.base)),
            false => String::new(),
        };
        let around = Around {
            before,
            none,
            facts: json!({ "method": method, "overwritten": self.reading.overwritten() }),
            ..Around::default()
        };
        let base = if self.found.has_times() { self.base } else { ClockBase::Monotonic };
        args.form.answer(table.of(base), around)
    }

    /// Prints the text, then faults and notes. Returns whether the log was read completely.
    fn end(&self, text: &[u8]) -> Result<bool, Stop> {
        let end = end_note(&self.reading.log).map(str::to_owned);
        let notes = all_notes(&self.found).into_iter().chain(end);
        let sources = self.sources.borrow();
        self.reading.answer(text, &self.faults, notes.chain(sources.notes()))
    }
}
