//! Exports a log to other tools.
//!
//! ```text
//!  open/ ──▶ Log ── open/select ──▶ events ── export/ ──▶ FILE, named when complete, or "-"
//! ```
//!
//! Design: `.cnv.export` in `design/eventcnv.md`.

use crate::ask;
use crate::ask::lines;
use crate::ask::pairs::marks::MarkOptions;
use crate::export::timeline::Timeline;
use crate::export::{calls, chrome, ctf, folded, lcov, perfetto};
use crate::open::output::Output;
use crate::open::select::{Select, Selected};
use crate::open::{Input, Reading, Stdout, select};
use clap::ValueEnum;
use cli::Stop;
use cli::output::{self, PendingDirectory, unwritten};
use eventlog::reader::{Clock, ClockBase, Order, Registry};
use std::convert::Infallible;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

const ABOUT: &str = "\
Exports a log to other tools: the events of all threads on a timeline, with their parameters.

Event types that begin and end something become slices (activities of a thread: XBegin and XEnd, \
XEnter and XLeave) or spans (lifetimes: XCreate and XDestroy, XInit and XFinish, XStart and XEnd). \
The pointers and addresses that both have pair them, else a number. XAlloc and XFree of a size \
make a counter, XSend and XReceive a flow. An event without its other half is an instant. A \
registry can declare pairs by [slice XBegin=XEnd] in a doc string; so can the options below.";

const EXAMPLES: &str = "\
Examples:
  eventcnv export run.log -o run.pftrace   for ui.perfetto.dev and trace_processor
  eventcnv export run.log -o run.json      for chrome://tracing and speedscope
  eventcnv export run.log -o run.ctf       for babeltrace2 run.ctf, and Trace Compass
  eventcnv export run.log -o run.folded    for flamegraph.pl: time in slices
  eventcnv export run.log -o run.dot       for graphviz: the call graph, in clusters
  eventcnv export run.log -o run.callgrind   for callgrind_annotate and KCachegrind
  eventcnv export till.log -o till.lcov    for genhtml: how often each line with a statement ran
  eventcnv export run.log -o run.pb.gz     for pprof and speedscope: paths of calls
  eventcnv export run.log -o files.folded --stack name --weight size
  eventcnv export --format chrome run.log -o - | head
  eventcnv export run.log -o files.json --slice FileBegin=FileEnd --kinds User
  eventcnv export run.log -o words.json --counter FileEnd.words --flow PoolInit=PoolFinish:pool";

/// Export a log to other tools: Perfetto, Chrome, babeltrace2, flame graphs
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Export {
    #[command(flatten)]
    input: Input,

    /// The format [default: by the name of the output]
    #[arg(long, value_enum)]
    format: Option<Format>,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    marks: MarkOptions,

    #[command(flatten)]
    folded: folded::Options,

    #[command(flatten)]
    select: Select,
}

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Chrome's trace event format, JSON, about 250 bytes an event: NAME.json
    #[value(alias = "json")]
    Chrome,
    /// Perfetto's protocol buffers: NAME.pftrace
    #[value(alias = "proto")]
    Perfetto,
    /// The Common Trace Format 1.8, a directory: NAME.ctf
    Ctf,
    /// Folded stacks, for flamegraph.pl and inferno-flamegraph: NAME.folded
    #[value(alias = "flamegraph")]
    Folded,
    /// The call graph, for graphviz: NAME.dot
    #[value(alias = "graphviz")]
    Dot,
    /// The call graph and the statements, for callgrind_annotate and KCachegrind: NAME.callgrind
    Callgrind,
    /// Paths of calls, for pprof and speedscope: NAME.pb.gz
    Pprof,
    /// How often each line with a statement ran, for genhtml: NAME.lcov
    Lcov,
}

/// The size of an output of JSON from which on it is told before, in bytes.
const NOTED_SIZE: f64 = 16e6;

/// Formats by the ending of the output's name.
const ENDINGS: [(&str, Format); 10] = [
    (".json", Format::Chrome),
    (".pftrace", Format::Perfetto),
    (".perfetto-trace", Format::Perfetto),
    (".ctf", Format::Ctf),
    (".folded", Format::Folded),
    (".dot", Format::Dot),
    (".callgrind", Format::Callgrind),
    (".pb.gz", Format::Pprof),
    (".lcov", Format::Lcov),
    (".info", Format::Lcov),
];

impl Format {
    /// Returns the form of a call graph.
    fn of_calls(self) -> Option<calls::Form> {
        match self {
            Format::Dot => Some(calls::Form::Dot),
            Format::Callgrind => Some(calls::Form::Callgrind),
            Format::Pprof => Some(calls::Form::Pprof),
            _ => None,
        }
    }

    fn by_name(path: &Path) -> Result<Format, Stop> {
        let name = path.to_string_lossy();
        let found = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
        found.map(|(_, format)| *format).ok_or_else(|| {
            let endings: Vec<&str> = ENDINGS.iter().map(|(ending, _)| *ending).collect();
            Stop::Message(format!(
                "{name}: cannot tell the format from the name; pass --format, or end the name with \
                 one of {}",
                endings.join(", ")
            ))
        })
    }
}

/// Runs the command. Returns whether the log was read completely.
pub(crate) fn run(args: &Export) -> Result<bool, Stop> {
    let format = args.format.map_or_else(|| Format::by_name(&args.output.path), Ok)?;
    output::refuse_inputs(&args.output.path, args.input.logs())?;
    let reading = Reading::open_with(&args.input, Stdout::unless(&args.output.path))?;
    let wrong = |what| reading.error(what);
    check_folded(args, format, reading.log.registries()).map_err(wrong)?;
    let marks = args.marks.marks(reading.log.registries()).map_err(wrong)?;
    let selection = reading.select(&args.select, true)?;
    let clock = Clock::new(&reading.log);
    if clock.base == ClockBase::Start {
        reading.use_seconds();
    }
    let ticks = (clock.base == ClockBase::Ticks).then(|| {
        "the log does not state the length of a tick; each is exported as a nanosecond".to_owned()
    });
    if format == Format::Lcov {
        let (found, faults) = lines::reading::read(&reading.log, &clock, &selection, None);
        if found.all().is_empty() {
            return Err(reading.error(lines::NO_STATEMENTS));
        }
        let mut notes = lines::reading::all_notes(&found);
        let write = |out: &mut dyn Write| {
            notes.extend(lcov::write(&found, out)?);
            Ok(())
        };
        output::write(&args.output.path, args.output.force, write)?;
        return Ok(reading.end_noting(&faults, notes.into_iter()));
    }
    if let Some(form) = format.of_calls() {
        // Slices stand for calls in a log without calls.
        let has_calls = lens::calls::has_calls(&reading.log);
        let marks = if has_calls { lens::calls::marks(&reading.log, false) } else { marks };
        let Ok(found) =
            ask::calls::reading::each(&reading.log, &clock, &marks, &selection, |_, _| {
                Ok::<(), Infallible>(())
            });
        let has_lines = has_calls && form == calls::Form::Callgrind;
        let read = || lines::reading::read(&reading.log, &clock, &selection, None).0;
        let statements = has_lines.then(read);
        let mut notes = statements.as_ref().map_or_else(Vec::new, lines::reading::notes);
        let write = |out: &mut dyn Write| {
            notes.extend(calls::write(form, &found.calls, statements.as_ref(), out)?);
            Ok(())
        };
        output::write(&args.output.path, args.output.force, write)?;
        let notes = found.notes(form == calls::Form::Pprof).chain(notes);
        return Ok(reading.end_noting(&found.faults, ticks.into_iter().chain(notes)));
    }
    let mut events = selection.events(&reading.log, Order::Time);
    let notes: Vec<String> = match format {
        Format::Ctf => Vec::from_iter(write_directory(args, &reading, &clock, &mut events)?),
        _ => {
            let mut timeline = Timeline::new(&reading.log, &selection, clock, marks);
            let notes = write_file(args, format, &reading, &mut timeline, &mut events)?;
            timeline.notes(&reading.log).into_iter().chain(notes).collect()
        }
    };
    Ok(reading.end_noting(events.faults(), ticks.into_iter().chain(notes)))
}

/// Checks the options for folded stacks.
fn check_folded(args: &Export, format: Format, registries: &[Registry]) -> Result<(), String> {
    if args.folded.is_given() && format != Format::Folded {
        return Err("--stack and --weight need folded stacks; pass --format folded".to_owned());
    }
    let rows = || registries.iter().flat_map(|registry| &registry.event_types);
    for name in args.folded.params() {
        if !rows().any(|row| row.param(name).is_some()) {
            let names = rows().flat_map(|row| &row.params).map(|param| &*param.name);
            return Err(select::unknown("parameter", name, names));
        }
    }
    Ok(())
}

/// Writes one file, or to standard output. Returns notes for the user.
fn write_file(
    args: &Export,
    format: Format,
    reading: &Reading,
    timeline: &mut Timeline,
    events: &mut Selected<'_>,
) -> Result<Vec<String>, Stop> {
    let log = &reading.log;
    let mut notes = Vec::new();
    let tell = |event_size: f64| {
        let count: u64 = log.accounts().iter().map(|account| account.found).sum();
        let size = event_size * count as f64;
        reading.note((size >= NOTED_SIZE).then(|| {
            format!(
                "the output takes up to {}: {event_size:.0} bytes an event, of {count} \
                 events; .pftrace takes less",
                cli::units::bytes(size)
            )
        }));
    };
    let write = |out: &mut dyn Write| {
        match format {
            Format::Perfetto => perfetto::write(log, timeline, events, out)?,
            Format::Folded => notes = folded::write(log, timeline, &args.folded, events, out)?,
            _ => chrome::write(log, timeline, events, &tell, out)?,
        }
        Ok(())
    };
    output::write(&args.output.path, args.output.force, write)?;
    Ok(notes)
}

fn write_directory(
    args: &Export,
    reading: &Reading,
    clock: &Clock,
    events: &mut Selected<'_>,
) -> Result<Option<String>, Stop> {
    if args.output.path.as_os_str() == "-" {
        return Err(Stop::Message("CTF output is a directory; pass -o DIR".to_owned()));
    }
    let pending = PendingDirectory::new(&args.output.path, args.output.force)?;
    // A file is open only while it is written to, as there may be more files than a process may
    // open.
    let append = &mut |name: &str, bytes: &[u8]| {
        let mut options = OpenOptions::new();
        options.create(true).append(true).open(pending.path().join(name))?.write_all(bytes)
    };
    let note = ctf::write(&reading.log, clock, events, append);
    let note = note.map_err(|error| unwritten(&args.output.path, &error))?;
    pending.finish()?;
    Ok(note)
}
