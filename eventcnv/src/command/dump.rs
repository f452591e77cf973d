//! The dump: from a log that was named to lines on standard output.
//!
//! ```text
//!  reading.rs ──▶ Log ── select/ ──▶ events ── view ──▶ pages of text ──▶ output
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

use super::man;
use crate::command::stats;
use crate::input::threads::{self, Threads};
use crate::reading::parallel::{self, Emit};
use crate::reading::{Input, Reading, Stdout};
use crate::select::{Select, Selected, Selection};
use crate::summary::overview;
use crate::text::page::Page;
use crate::view::clock::{Clock, Form};
use crate::view::columns::Columns;
use crate::view::csv::Csv;
use crate::view::json::Json;
use crate::view::line::{self, Line};
use crate::view::lisp::Lisp;
use crate::view::named::{Named, Threaded};
use crate::view::numeric::Numeric;
use crate::view::{self, View};
use clap::{ArgAction, ValueEnum};
use clap_complete::Shell;
use clap_complete::env::Shells;
use cli::Stop;
use eventlog::reader::{self, Faults, Filter, Log};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

pub(crate) const ABOUT: &str = "\
Prints the events of a log, one a line, in order of time.

A log is what a program annotated with the telemetry library wrote, a core of such a program, or \
a raw telemetry stream of the Memory Pool System (its word width and byte order are inferred). The \
log says what its events are called: the program that wrote it is not needed.

Streams of the Memory Pool System in one file are printed one after the other, while those that \
follow are unread; with --order file, so are the pieces of one stream.";

pub(crate) const FORMS: &str = "\
Forms, one event a line:
  (none)  numeric, for other programs; the portable form of the MPS.
            000003DEDE6D2FFC   1F 7F1F123F2000 7F1F0E0631F0 2 2400000 0.45
          Clock (16 hexadecimal digits), code, values. Doubles are in decimal, all else in
          hexadecimal, strings in quotation marks with a backslash before each \" and \\.
          A code of a program's second registry has 2: before it, and so on.
  -v      columns: the name of the event type, and values right-justified in columns of 8.
            0000178EA03C2825 PoolInitMFS             9C0D8    9C000     1000        C
  -vv     names: each value after the name of its parameter; unsigned integers in decimal,
          pointers, addresses and words in hexadecimal, with what they were called just then.
            000003DEDE6E4BC0 0022 Label      address:0000000000002000[\"Inst\"] stringId:3
  -vvv    the same, and after the clock the thread that recorded it.
  What steers a terminal in a string is printed as \\xHH, so that an event stays on its line.
  In CSV, text that a spreadsheet would take for a formula has an apostrophe before it.
  --style json, csv, lisp: for other programs; numbers but pointers and addresses in decimal.

Conditions (--where), of parameters by name; of every event: @event, @kind, @registry, @code,
@thread, @ticks, @size, @buffer, @number:
  size >= 4096 and pool == \"symbols\"   a label stands for what is called so
  name ~ \"tmp\" or not (size < 4K)      ~: the text has it in it; K, M, G are powers of 1024
  PoolAlloc.size > 64                   the parameter of one event type
An event that has not what a condition speaks of is not selected by it, nor by its opposite.

Examples:
  eventcnv                            what is in mpsio.log
  eventcnv -v run.log | head          the first events, with names
  eventcnv -vv --kinds Pool,Arena     events of two kinds, with parameter names and labels
  eventcnv -v --events PoolAlloc,32   events of two types, one by name, one by code
  eventcnv -vv --where 'size >= 16 and pool == \"letters\"' run.log   by values and labels
  eventcnv -v --from +1ms --to -1ms run.log   all but the first and the last millisecond
  eventcnv -vvv --threads heap --last 20   the last events of a thread
  eventcnv --time seconds -v run.log  times in seconds from the start
  eventcnv --time seconds --clock-rate 2.1GHz -v run.log   where the log does not say the rate
  eventcnv --style json run.log | head -n 3   an object for each event
  eventcnv --style csv --events PoolAlloc run.log > run.csv   a table
  eventcnv --stats run.log            how much there is of what, and what was lost
  eventcnv --registry run.log         what types of event the log declares; what they mean
  eventcnv --registry --style json run.log | head -n 1   the same for another program
  eventcnv run.log.2 run.log.1 run.log   the volumes of one stream, each event once
  eventcnv -vvv core.4711             the last events of a program that died: of its core
  eventcnv -vvv core.4711 run.log     and those that it had written, each event once
  gzip -dc run.log.gz | eventcnv -    a log from standard input
  eventcnv ./control                  a log that is called like a command
  eventcnv --eventdef eventdef.h older.log   a log of another version of the MPS
  eventcnv listen unix:/tmp/logs -o logs   receive logs; see eventcnv listen --help
  eventcnv --man > eventcnv.1         the manual page: man ./eventcnv.1
  eventcnv --completions bash > ~/.local/share/bash-completion/completions/eventcnv

Environment:
  MPS_TELEMETRY_FILENAME  the log to read where none is named (else mpsio.log): of a bounded one
                          the newest file, of several places the first file
  MPS_TELEMETRY_SOCKET    the directory of the sockets of `eventcnv control`

Exit status:
  0  the log was read whole
  1  faults were found and reported on standard error; what could be read was printed
  2  the log could not be read, or the command line is wrong";

/// The environment variable by which a shell asks how a word goes on.
pub(crate) const COMPLETE_VARIABLE: &str = "EVENTCNV_COMPLETE";

/// Which events of which log are printed, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Dump {
    #[command(flatten)]
    pub(crate) input: Input,

    #[command(flatten)]
    select: Select,

    /// Print names: -v in columns, -vv with parameter names and labels, -vvv with threads
    #[arg(short = 'v', long = "verbose", action = ArgAction::Count)]
    verbose: u8,

    /// Form of the output: text (see -v), or made for other programs
    #[arg(long, value_enum, default_value_t = Style::Text)]
    style: Style,

    /// How times are printed
    #[arg(long, value_enum, default_value_t = Form::Ticks)]
    time: Form,

    /// Order of the events; those of equal time keep their order in the file
    #[arg(long, value_enum, default_value_t = Order::Time)]
    order: Order,

    /// List the event types that the log declares
    #[arg(long, conflicts_with = "stats")]
    registry: bool,

    /// The same as the command stats
    #[arg(long)]
    stats: bool,

    /// Print the manual page
    #[arg(long)]
    man: bool,

    /// Print completions for a shell: of kinds and event types too, as the named log has them
    #[arg(long, value_name = "SHELL")]
    completions: Option<Shell>,
}

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Style {
    /// Text for people, and the portable form of the MPS
    Text,
    /// JSON lines: an object for each event
    Json,
    /// Comma-separated values: a column for each parameter
    Csv,
    /// Lists, as the dumper of the MPS had them once
    Lisp,
}

/// The order in which events are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// By time
    Time,
    /// As they stand in the file
    File,
}

impl From<Order> for reader::Order {
    fn from(order: Order) -> reader::Order {
        match order {
            Order::Time => reader::Order::Time,
            Order::File => reader::Order::File,
        }
    }
}

/// Does what the arguments say, of a tool with these commands. Whether the log was read whole.
pub(crate) fn run(args: &Dump, tool: fn() -> clap::Command) -> Result<bool, Stop> {
    let out = &mut io::stdout().lock();
    if let Some(shell) = args.completions {
        return write_completions(shell, out);
    }
    if args.man {
        let mut text = Vec::new();
        man::write(tool(), &mut text)?;
        out.write_all(&text)?;
        return Ok(true);
    }
    let labels = args.verbose >= 2 || args.style == Style::Json;
    let mut reading = if args.is_by_increment() {
        Reading::open_by_increment(&args.input, args.order.into(), labels)?
    } else {
        Reading::open_with(&args.input, Stdout::Used)?
    };
    if args.stats {
        return stats::write(&reading, &args.select, stats::Form::default(), out);
    }
    if args.registry {
        let selection = reading.select(&args.select, labels)?;
        write_registries(&reading.log, selection.filter(), args.style, out)?;
        return Ok(reading.end(&Faults::default()));
    }
    if args.time == Form::Seconds {
        reading.use_seconds();
    }
    let written = write_stretches(args, labels, &mut reading, out);
    reading.finish();
    let faults = written?;
    let is_whole = reading.end(&faults);
    reading.note_losses(&reading.log.losses(&faults));
    Ok(is_whole)
}

impl Dump {
    /// Whether what is printed of a stretch of the log depends on nothing that follows it.
    fn is_by_increment(&self) -> bool {
        let is_plain = self.style != Style::Csv && self.time == Form::Ticks && self.verbose <= 2;
        is_plain && !self.select.is_given() && !self.stats && !self.registry
    }
}

/// Writes what is asked for, of one stretch of the log after the other (`.cnv.speed`).
fn write_stretches(
    args: &Dump,
    labels: bool,
    reading: &mut Reading,
    out: &mut dyn Write,
) -> Result<Faults, Stop> {
    let mut faults = Faults::default();
    loop {
        let selection = reading.select(&args.select, labels)?;
        faults.append(&write(args, reading, &selection, out)?);
        if !reading.next_increment() {
            return Ok(faults);
        }
    }
}

/// Writes what is asked for. What was found wrong while events were read.
fn write(
    args: &Dump,
    reading: &Reading,
    selection: &Selection,
    out: &mut dyn Write,
) -> Result<Faults, Stop> {
    let (log, order) = (&reading.log, args.order.into());
    let clock = Clock::new(args.time, log);
    let clock = clock.map_err(|what| Stop::Message(format!("{}: {what}", reading.name)))?;
    let registries = log.registries();
    let name_width = view::name_width(registries);
    let out = &mut Lines { reading, selection, order, out };
    match (args.style, args.verbose) {
        (Style::Text, 0) => out.write(Numeric { clock }),
        (Style::Text, 1) => out.write(Columns { clock, name_width }),
        (Style::Text, 2) => out.write(Named { clock, name_width }),
        (Style::Text, _) => {
            let threads = Threads::new(&threads::of(log));
            out.write(Threaded { named: Named { clock, name_width }, threads })
        }
        (Style::Json, _) => out.write(Json { clock, time: args.time }),
        (Style::Csv, _) => {
            let csv = Csv::new(clock, registries, selection.filter());
            let csv = csv.map_err(|what| Stop::Message(format!("{}: {what}", reading.name)))?;
            out.out.write_all(&csv.head())?;
            out.write(csv)
        }
        (Style::Lisp, _) => out.write(Lisp { clock, name_width }),
    }
}

/// Where lines go, and of which events they are.
struct Lines<'a> {
    reading: &'a Reading,
    selection: &'a Selection,
    order: reader::Order,
    out: &'a mut dyn Write,
}

impl Lines<'_> {
    /// Writes a line for each event, made by all processors.
    fn write(&mut self, line: impl Line + Sync) -> Result<Faults, Stop> {
        let lines = line::Lines::new(line, self.reading.log.registries());
        // Pages that were written, to be used again.
        let spare: Mutex<Vec<Page>> = Mutex::default();
        let take_spare = || spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let new = || take_spare().unwrap_or_else(Page::new);
        let work = |events: &mut Selected<'_>, emit: Emit<'_, Page>| {
            let mut page = new();
            events.each_while(|event| {
                lines.write(event, &mut page);
                !page.is_full() || emit(std::mem::replace(&mut page, new()))
            });
            emit(page);
        };
        let (log, selection, order) = (&self.reading.log, self.selection, self.order);
        let faults = parallel::run(log, selection, order, work, |mut page| {
            self.out.write_all(page.text())?;
            page.clear();
            spare.lock().unwrap_or_else(PoisonError::into_inner).push(page);
            Ok(())
        })?;
        self.out.flush()?;
        Ok(faults)
    }
}

fn write_registries(
    log: &Log,
    filter: &Filter,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut text = Vec::new();
    let is_shown = |registry: &reader::Registry, row: &reader::EventType| {
        let is_it = |pick: &reader::Pick| pick.matches(registry.index, &row.name, row.code);
        overview::is_of_kinds(filter, registry, row.kind)
            && (filter.event_types.is_empty() || filter.event_types.iter().any(is_it))
    };
    match style {
        Style::Json => view::registry::write_json(log.registries(), is_shown, &mut text)?,
        _ => view::registry::write(log.registries(), is_shown, &mut text)?,
    }
    out.write_all(&text)
}

/// Writes what has a shell ask this tool how a word goes on: it knows the names in the log.
fn write_completions(shell: Shell, out: &mut dyn Write) -> Result<bool, Stop> {
    let mut text = Vec::new();
    let shells = Shells::builtins();
    let name = "eventcnv";
    if let Some(completer) = shells.completer(&shell.to_string()) {
        completer.write_registration(COMPLETE_VARIABLE, name, name, name, &mut text)?;
    }
    out.write_all(&text)?;
    Ok(true)
}
