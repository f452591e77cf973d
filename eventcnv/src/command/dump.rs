//! The dump: from a log that was named to lines on standard output.
//!
//! ```text
//!  reading.rs ──▶ Log ── select/ ──▶ events ── view ──▶ text, 256 KiB at a time ──▶ standard output
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

use crate::args::Args;
use crate::reading::{Input, Reading};
use crate::select::{Select, Selected, Selection};
use crate::stop::Stop;
use crate::view::{self, View};
use clap::{ArgAction, CommandFactory, ValueEnum};
use clap_complete::Shell;
use eventlog::reader::{self, Account, Faults, Filter, Log};
use std::io::{self, Write};

pub(crate) const ABOUT: &str = "\
Prints the events of a log, one a line, in order of time.

A log is what a program annotated with the telemetry library wrote, a core of such a program, or \
a raw telemetry stream of the Memory Pool System (its word width and byte order are inferred). The \
log says what its events are called: the program that wrote it is not needed.";

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
  A control character in a string is printed as \\xHH, so that an event stays on its line.

Examples:
  eventcnv                            what is in mpsio.log
  eventcnv -v run.log | head          the first events, with names
  eventcnv -vv --kinds Pool,Arena     events of two kinds, with parameter names and labels
  eventcnv -v --events PoolAlloc,1F   events of two types, one by name, one by code
  eventcnv --stats run.log            how much there is of what, and what was lost
  eventcnv --registry run.log         what types of event the log declares; what they mean
  eventcnv run.log.2 run.log.1 run.log   the volumes of one stream, each event once
  eventcnv -vvv core.4711             the last events of a program that died: of its core
  eventcnv -vvv core.4711 run.log     and those that it had written, each event once
  xz -dc run.log.xz | eventcnv -      a log from standard input
  eventcnv ./control                  a log that is called like a command
  eventcnv --eventdef eventdef.h old.log   a log of another version of the MPS
  eventcnv listen unix:/tmp/logs -o logs   receive logs; see eventcnv listen --help
  eventcnv --completions bash > ~/.local/share/bash-completion/completions/eventcnv

Environment:
  MPS_TELEMETRY_FILENAME  the log to read where none is named (else mpsio.log): of a bounded one
                          the newest file, of several places the first file
  MPS_TELEMETRY_SOCKET    the directory of the sockets of `eventcnv control`

Exit status:
  0  the log was read whole
  1  faults were found and reported on standard error; what could be read was printed
  2  the log could not be read, or the command line is wrong";

/// Text is handed over in pieces of about this size.
const OUTPUT_SIZE: usize = 1 << 18;
/// What a line may need beyond it without the buffer growing.
const OUTPUT_ROOM: usize = 1 << 12;

/// Which events of which log are printed, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Dump {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    select: Select,

    /// Print names: -v in columns, -vv with parameter names and labels, -vvv with threads
    #[arg(short = 'v', long = "verbose", action = ArgAction::Count)]
    verbose: u8,

    /// Order of the events; those of equal time keep their order in the file
    #[arg(long, value_enum, default_value_t = Order::Time)]
    order: Order,

    /// List the event types that the log declares
    #[arg(long, conflicts_with = "stats")]
    registry: bool,

    /// Count events and bytes by kind, event type and thread, and what was lost
    #[arg(long)]
    stats: bool,

    /// Print completions for a shell
    #[arg(long, value_name = "SHELL")]
    completions: Option<Shell>,
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

/// Does what the arguments say. Whether the log was read whole.
pub(crate) fn run(args: &Dump) -> Result<bool, Stop> {
    let out = &mut io::stdout().lock();
    if let Some(shell) = args.completions {
        return write_completions(shell, out);
    }
    let reading = Reading::open(&args.input)?;
    let labels = args.verbose >= 2 && !args.stats;
    let selection = reading.select(&args.select, labels)?;
    if args.registry {
        write_registries(&reading.log, selection.filter(), out)?;
        return Ok(reading.end(&Faults::default()));
    }
    let mut events = selection.events(&reading.log, args.order.into());
    let written = write(args, &reading.log, &selection, &mut events, out);
    reading.finish();
    written?;
    let is_whole = reading.end(events.faults());
    reading.note_discarded();
    Ok(is_whole)
}

fn write(
    args: &Dump,
    log: &Log,
    selection: &Selection,
    events: &mut Selected<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if args.stats {
        return write_stats(log, selection.filter(), events, out);
    }
    let name_width = view::name_width(log.registries());
    match args.verbose {
        0 => lines(&view::numeric::Numeric, events, out),
        1 => lines(&view::columns::Columns { name_width }, events, out),
        2 => lines(&view::named::Named { name_width }, events, out),
        _ => {
            let (named, threads) = (view::named::Named { name_width }, view::threads::of(log));
            let threads = view::threads::Threads::new(&threads);
            lines(&view::named::Threaded { named, threads }, events, out)
        }
    }
}

fn write_stats(
    log: &Log,
    filter: &Filter,
    events: &mut Selected<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut stats = view::stats::Stats::default();
    while let Some(event) = events.next() {
        stats.add(&event);
    }
    // Of what was not asked for it is not known whether it is there.
    let is_asked = |account: &Account| {
        let registry = log.registries().get(account.registry as usize);
        filter.event_types.is_empty()
            && registry.is_some_and(|registry| is_of_kinds(filter, registry, account.kind))
    };
    let settle = |account| if is_asked(account) { stats.settled(account) } else { *account };
    let accounts: Vec<Account> = log.accounts().iter().map(settle).collect();
    let fault_count = log.faults().loss_count() + events.faults().loss_count();
    let mut text = Vec::new();
    stats.write(log.streams(), log.registries(), &accounts, fault_count, &mut text)?;
    out.write_all(&text)
}

fn is_of_kinds(filter: &Filter, registry: &reader::Registry, kind: u8) -> bool {
    let name = registry.kind(kind).map_or("", |kind| &kind.name);
    let is_it = |pick: &reader::Pick| pick.matches(registry.index, name, kind.into());
    filter.kinds.is_empty() || filter.kinds.iter().any(is_it)
}

/// Writes a line for each event.
fn lines<V: View>(view: &V, events: &mut Selected<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::with_capacity(OUTPUT_SIZE + OUTPUT_ROOM);
    while let Some(event) = events.next() {
        view.line(&event, &mut text);
        if text.len() >= OUTPUT_SIZE {
            out.write_all(&text)?;
            text.clear();
        }
    }
    out.write_all(&text)?;
    out.flush()
}

fn write_registries(log: &Log, filter: &Filter, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    let is_shown = |registry: &reader::Registry, row: &reader::EventType| {
        let is_it = |pick: &reader::Pick| pick.matches(registry.index, &row.name, row.code);
        is_of_kinds(filter, registry, row.kind)
            && (filter.event_types.is_empty() || filter.event_types.iter().any(is_it))
    };
    view::registry::write(log.registries(), is_shown, &mut text)?;
    out.write_all(&text)
}

fn write_completions(shell: clap_complete::Shell, out: &mut dyn Write) -> Result<bool, Stop> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "eventcnv", &mut text);
    out.write_all(&text)?;
    Ok(true)
}
