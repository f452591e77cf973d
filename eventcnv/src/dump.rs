//! The dump: from a log that was named to lines on standard output.
//!
//! ```text
//!  input.rs ──▶ Log ──▶ Events ── view ──▶ text, 256 KiB at a time ──▶ standard output
//!                 └───────┴── faults ──▶ standard error, exit status
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

use crate::args::{Args, Dump, FILENAME_VARIABLE, Order};
use crate::progress::Progress;
use crate::view::{self, View};
use crate::{core, input, select};
use clap::CommandFactory;
use eventlog::reader::{self, Account, Events, FaultKind, Faults, Filter, Log, OpenError, Options};
use std::io::{self, Write};

/// Text is handed over in pieces of about this size.
const OUTPUT_SIZE: usize = 1 << 18;
/// What a line may need beyond it without the buffer growing.
const OUTPUT_ROOM: usize = 1 << 12;

/// Why nothing more can be printed.
pub(crate) enum Stop {
    /// Whoever read the output has had enough.
    Closed,
    /// What to say about it.
    Message(String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Stop::Closed,
            _ => Stop::Message(format!("cannot write the output: {error}")),
        }
    }
}

/// Does what the arguments say. Whether the log was read whole.
pub(crate) fn run(args: &Dump) -> Result<bool, Stop> {
    let out = &mut io::stdout().lock();
    if let Some(shell) = args.completions {
        return write_completions(shell, out);
    }
    let paths = input::choose(args.logs(), std::env::var_os(FILENAME_VARIABLE));
    let paths = paths.map_err(Stop::Message)?;
    let mps_registry = args.eventdef.as_deref().map(input::mps_registry).transpose();
    let options = Options { mps_registry: mps_registry.map_err(Stop::Message)? };
    let input::Opened { name, source, cores } = input::open(&paths, &options);
    let unread = |error| Stop::Message(format!("{name}: {error}"));
    let source = source.map_err(|error| match error {
        OpenError::Io(error) if args.logs().is_empty() => Stop::Message(format!(
            "{name}: {error}; name a log on the command line, or in {FILENAME_VARIABLE}"
        )),
        error => unread(error),
    })?;
    let progress = Progress::default();
    let mut log = Log::with_source(progress.watch(source), &options).map_err(unread)?;
    if core::have_all(&cores, &log) {
        log.excuse_holes();
    }
    let core_loss_count = core::report_all(&cores, &log);
    let labels = args.verbose >= 2 && !args.stats;
    let filter = select::filter(&args.kinds, &args.events, log.registries(), labels);
    let filter = filter.map_err(|what| Stop::Message(format!("{name}: {what}")))?;
    if args.registry {
        write_registries(&log, &filter, out)?;
        report(&name, &[log.faults()]);
        return Ok(log.faults().loss_count() + core_loss_count == 0);
    }
    progress.begin_events(log.size());
    let order = match args.order {
        Order::Time => reader::Order::Time,
        Order::File => reader::Order::File,
    };
    let mut events = log.events(order, &filter);
    let written = write(args, &log, &filter, &mut events, out);
    progress.finish();
    written?;
    report(&name, &[log.faults(), events.faults()]);
    note_discarded(&name, &log);
    Ok(log.faults().loss_count() + events.faults().loss_count() + core_loss_count == 0)
}

fn write(
    args: &Dump,
    log: &Log,
    filter: &Filter,
    events: &mut Events<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if args.stats {
        return write_stats(log, filter, events, out);
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
    events: &mut Events<'_>,
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
fn lines<V: View>(view: &V, events: &mut Events<'_>, out: &mut dyn Write) -> io::Result<()> {
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

/// Tells what was found wrong, a line each.
pub(crate) fn report(name: &str, faults: &[&Faults]) {
    let mut text = String::new();
    for &faults in faults {
        for fault in faults {
            let weight = if fault.is_warning() { "warning: " } else { "" };
            let remedy = match fault.kind {
                FaultKind::MpsVersion { .. } => " with --eventdef",
                _ => "",
            };
            text += &format!("eventcnv: {name}: {weight}{fault}{remedy}\n");
        }
        let untold = faults.count() - faults.iter().count() as u64;
        if untold > 0 {
            text += &format!("eventcnv: {name}: and {untold} faults more\n");
        }
    }
    complain(&text);
}

/// Says how many events were requested and are not in the log, by the program's own account: that
/// is no fault of the log.
fn note_discarded(name: &str, log: &Log) {
    let sum = |count: fn(&Account) -> u32| log.accounts().iter().map(|a| u64::from(count(a))).sum();
    let counts: [u64; 4] = [
        sum(|account| account.discarded_full),
        sum(|account| account.discarded_nested),
        sum(|account| account.discarded_large),
        sum(|account| account.discarded_io),
    ];
    let [full, nested, large, io] = counts;
    let total = full + nested + large + io;
    if total > 0 {
        complain(&format!(
            "eventcnv: {name}: note: {total} events were requested and not written: \
             {full} for lack of room, {nested} nested, {large} too large, {io} refused by \
             the host\n"
        ));
    }
}

/// Writes to standard error, if anybody listens.
pub(crate) fn complain(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
