//! The dump: prints the events of a log.
//!
//! ```text
//!  open/ ──▶ Log ── open/select ──▶ events ── view ──▶ pages of text ──▶ output
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

use crate::open::parallel::Emit;
use crate::open::select::{Select, Selected, Selection};
use crate::open::{Input, Reading, Stdout, parallel};
use crate::show::clock::Form;
use crate::show::line::Line;
use crate::show::look::{Look, Style, Take};
use crate::show::{View, line};
use crate::text::page::Page;
use clap::ValueEnum;
use cli::Stop;
use eventlog::reader::{self, Faults};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

pub(crate) const ABOUT: &str = "\
Prints the events of a log, one a line, in order of time.

A log is a file that a program with the telemetry library wrote, a core of such a program, or a \
raw telemetry stream of the Memory Pool System (its word width and byte order are inferred). The \
log declares its event types, so the tool does not need the program.

Several streams of the Memory Pool System in one file are printed one after the other, before the \
later ones are read; with --order file, so are the pieces of one stream.";

pub(crate) const FORMS: &str = "\
Forms, one event a line:
  --style text  for people; the default on a terminal, unless the log is one of the MPS:
             0.000404330 PoolAlloc  pool \"letters\"  addr 0x559F93B5FDF0  size 4096
          Seconds, the thread if there are several, labels in place of addresses, decimal numbers,
          and units that the log declares: 4.00 KiB, 1.25 us. Colours are for kinds: NO_COLOR=1
          turns them off, CLICOLOR_FORCE=1 keeps them in a pipe.
  --style mps  numeric, for other programs; the portable form of the MPS. The default elsewhere.
            000003DEDE6D2FFC   1F 7F1F123F2000 7F1F0E0631F0 2 2400000 0.45
          Clock (16 hexadecimal digits), code, values. Doubles are decimal, other numbers are
          hexadecimal, strings are in quotation marks with a backslash before each \" and \\.
          A code of a program's second registry has the prefix 2:, and so on.
  -v      columns: the name of the event type, and values right-justified in columns of 8.
            0000178EA03C2825 PoolInitMFS             9C0D8    9C000     1000        C
  -vv     names: each value after the name of its parameter; unsigned integers in decimal;
          pointers, addresses and words in hexadecimal, with their label at that time.
            000003DEDE6E4BC0 0022 Label      address:0000000000002000[\"Inst\"] stringId:3
  -vvv    the same, with the thread after the clock.
  Characters in strings that steer a terminal are printed as \\xHH, so an event stays on its line.
  In CSV, text that a spreadsheet would take for a formula has an apostrophe before it.
  --style json, csv, lisp: for other programs. Except in lisp, numbers are decimal; pointers and
          addresses are hexadecimal.

Conditions (--where), of parameters by name; of every event: @event, @kind, @registry, @code,
@thread, @ticks, @size, @buffer, @number:
  size >= 4096 and pool == \"symbols\"   a string compares with the label
  name ~ \"tmp\" or not (size < 4K)      ~: contains
  latency > 1.5ms or size >= 5MiB       ns, us, ms, s, h, d, y are ns; KiB to EiB are powers of
                                        1024, as K, M, G are: 5M is 5 * 1048576, 5e6 is 5 million
  PoolAlloc.size > 64                   the parameter of one event type
A condition selects no event that lacks one of its parameters; nor does its negation.

Examples:
  eventcnv                            the events in mpsio.log
  eventcnv --style text run.log | head   the first events, for people
  eventcnv -v run.log | head          the same in columns, as the MPS prints them
  eventcnv -vv --kinds Pool,Arena     events of two kinds, with parameter names and labels
  eventcnv -v --events PoolAlloc,32   events of two types, one by name, one by code
  eventcnv -vv --where 'size >= 16 and pool == \"letters\"' run.log   events by values and labels
  eventcnv -v --from +1ms --to -1ms run.log   all but the first and the last millisecond
  eventcnv -vvv --threads heap --last 20   the last events of a thread
  eventcnv --time seconds -v run.log  times in seconds from the start
  eventcnv --time seconds --clock-rate 2.1GHz -v run.log   state the rate of the clock
  eventcnv --style json run.log | head -n 3   an object for each event
  eventcnv --style csv --events PoolAlloc run.log > run.csv   a table
  eventcnv stats run.log              counts by kind and type, and losses
  eventcnv registry run.log           the event types that the log declares, with their docs
  eventcnv run.log.2 run.log.1 run.log   the volumes of one stream, each event once
  eventcnv -vvv core.4711             the last events of a program that died, from its core
  eventcnv -vvv core.4711 run.log     these, and the events in its log, each once
  gzip -dc run.log.gz | eventcnv -    a log from standard input
  eventcnv ./control                  a log with the name of a command
  eventcnv --eventdef eventdef.h older.log   a log of another version of the MPS
  eventcnv listen unix:/tmp/logs -o logs   receive logs; see eventcnv listen --help
  eventcnv man > eventcnv.1           the manual page: man ./eventcnv.1

Environment:
  MPS_TELEMETRY_FILENAME  the log to read if none is named (default: mpsio.log); the newest file
                          of a bounded log, the first file of several places
  MPS_TELEMETRY_SOCKET    the directory of the sockets of `eventcnv control`

Exit status:
  0  the log was read completely
  1  faults were found and reported on standard error; the readable events were printed
  2  the log could not be read, or the command line is wrong";

/// The arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Dump {
    #[command(flatten)]
    pub(crate) input: Input,

    #[command(flatten)]
    select: Select,

    #[command(flatten)]
    look: Look,

    /// Order of the events; events of equal time keep their order in the file
    #[arg(long, value_enum, default_value_t = Order::Time)]
    order: Order,
}

/// The order in which events are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// By time
    Time,
    /// As in the file
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

/// Runs the command. Returns whether the log was read completely.
pub(crate) fn run(args: &Dump) -> Result<bool, Stop> {
    args.look.check()?;
    let out = &mut io::stdout().lock();
    let mut reading = if args.is_by_increment() {
        let labels = args.look.has_labels(None);
        Reading::open_by_increment(&args.input, args.order.into(), labels)?
    } else {
        Reading::open_with(&args.input, Stdout::Used)?
    };
    if args.look.time(&reading.log) == Form::Seconds {
        reading.use_seconds();
    }
    let written = write_stretches(args, &mut reading, out);
    reading.finish();
    let faults = written?;
    reading.forget_overwritten();
    let is_whole = reading.end(&faults);
    reading.note_losses(&reading.log.losses(&faults));
    Ok(is_whole)
}

impl Dump {
    /// Returns whether the output of a stretch does not depend on later stretches. Only a log of
    /// the MPS has several, which is printed as text only with `--style text`.
    fn is_by_increment(&self) -> bool {
        let Look { verbose, style, time } = &self.look;
        let is_plain = !matches!(style, Some(Style::Csv | Style::Text)) && *verbose <= 2;
        is_plain && time.is_none_or(|time| time == Form::Ticks) && !self.select.is_given()
    }
}

/// Writes the events stretch by stretch (`.cnv.speed`). Returns the faults of the events.
fn write_stretches(
    args: &Dump,
    reading: &mut Reading,
    out: &mut dyn Write,
) -> Result<Faults, Stop> {
    let mut faults = Faults::default();
    loop {
        let labels = args.look.has_labels(Some(&reading.log));
        let selection = reading.select(&args.select, labels)?;
        faults.append(&write(args, reading, &selection, out)?);
        if !reading.next_increment() {
            return Ok(faults);
        }
    }
}

/// Writes the events of a stretch. Returns their faults.
fn write(
    args: &Dump,
    reading: &Reading,
    selection: &Selection,
    out: &mut dyn Write,
) -> Result<Faults, Stop> {
    let lines = Lines { reading, selection, order: args.order.into(), out };
    args.look.with(&reading.log, selection.filter(), |what| reading.error(what), lines)
}

/// Writes lines of the selected events.
struct Lines<'a> {
    reading: &'a Reading,
    selection: &'a Selection,
    order: reader::Order,
    out: &'a mut dyn Write,
}

impl<'l> Take<'l> for Lines<'_> {
    type Taken = Faults;

    /// Writes a line for each event, on all processors.
    fn line(self, line: impl Line + Sync + 'l) -> Result<Faults, Stop> {
        self.out.write_all(&line.heading())?;
        let lines = line::Lines::new(line, self.reading.log.registries());
        // Written pages, for reuse.
        let spare: Mutex<Vec<Page>> = Mutex::default();
        let spares = || spare.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let mut page = spares().pop().unwrap_or_else(Page::new);
            page.clear();
            page
        };
        let work = |events: &mut Selected<'_>, emit: Emit<'_, Page>| {
            let mut page = new();
            events.each_while(|event| {
                lines.write(event, &mut page);
                !page.is_full() || emit(std::mem::replace(&mut page, new()))
            });
            emit(page);
        };
        let (log, selection, order) = (&self.reading.log, self.selection, self.order);
        let faults = parallel::run(log, selection, order, work, |page| {
            self.out.write_all(page.text())?;
            spares().push(page);
            Ok(())
        })?;
        self.out.flush()?;
        Ok(faults)
    }
}
