//! A log for other tools.
//!
//! ```text
//!  reading.rs ──▶ Log ── select/ ──▶ events ── export/ ──▶ FILE, once it is whole, or "-"
//! ```
//!
//! Design: `.cnv.export` in `design/eventcnv.md`.

use crate::export::clock::Clock;
use crate::export::marks::{Given, Marks};
use crate::export::timeline::Timeline;
use crate::export::{chrome, perfetto};
use crate::output::Pending;
use crate::reading::{Input, Reading};
use crate::select::{Select, Selected};
use crate::stop::{Stop, complain};
use clap::ValueEnum;
use eventlog::reader::Order;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(crate) const ABOUT: &str = "\
Writes a log for other tools: events of all threads on a timeline, with their parameters.

Event types that begin and end something become slices (what a thread does: XBegin and XEnd, \
XEnter and XLeave) or spans (what exists: XCreate and XDestroy, XInit and XFinish, XStart and \
XEnd), paired by the pointers and addresses that both have, else by a number. XAlloc and XFree of \
a size make a counter, XSend and XReceive a flow. Whatever has no other half is an instant. A \
registry can say so itself, with [slice XBegin=XEnd] in a doc string; so can the options below.";

pub(crate) const EXAMPLES: &str = "\
Examples:
  eventcnv export run.log -o run.pftrace   for ui.perfetto.dev and trace_processor
  eventcnv export run.log -o run.json      for chrome://tracing and speedscope
  eventcnv export --format chrome run.log -o - | head
  eventcnv export run.log -o files.json --slice FileBegin=FileEnd --kinds User
  eventcnv export run.log -o words.json --counter FileEnd.words --flow PoolInit=PoolFinish:pool

Exit status:
  0  the log was read whole
  1  faults were found and reported on standard error; what could be read was exported
  2  the log could not be read, the output could not be written, or the command line is wrong";

/// Which events of which log are exported, as what.
#[derive(Debug, clap::Args)]
pub(crate) struct Export {
    #[command(flatten)]
    input: Input,

    /// What to write [default: as the output is called]
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Where to; "-" is standard output
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    output: PathBuf,

    /// Replace what is there
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    given: Given,

    #[command(flatten)]
    select: Select,
}

/// What can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Chrome's trace event format, JSON: NAME.json
    #[value(alias = "json")]
    Chrome,
    /// Perfetto's protocol buffers: NAME.pftrace
    #[value(alias = "proto")]
    Perfetto,
}

/// Endings of names, and what is written under them.
const ENDINGS: [(&str, Format); 3] = [
    (".json", Format::Chrome),
    (".pftrace", Format::Perfetto),
    (".perfetto-trace", Format::Perfetto),
];

impl Format {
    /// What an output is to be, by its name.
    fn of(path: &Path) -> Result<Format, Stop> {
        let name = path.to_string_lossy();
        let found = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
        found.map(|(_, format)| *format).ok_or_else(|| {
            let endings: Vec<&str> = ENDINGS.iter().map(|(ending, _)| *ending).collect();
            Stop::Message(format!(
                "{name}: of which format it is to be is not known: give --format, or a name that \
                 ends with {}",
                endings.join(", ")
            ))
        })
    }
}

/// Does what the arguments say. Whether the log was read whole.
pub(crate) fn run(args: &Export) -> Result<bool, Stop> {
    let format = args.format.map_or_else(|| Format::of(&args.output), Ok)?;
    let reading = Reading::open(&args.input)?;
    let wrong = |what| Stop::Message(format!("{}: {what}", reading.name));
    let marks = Marks::new(&args.given, reading.log.registries()).map_err(wrong)?;
    let selection = reading.select(&args.select, true)?;
    let mut events = selection.events(&reading.log, Order::Time);
    let mut timeline = Timeline::new(Clock::new(&reading.log), marks);
    if args.output.as_os_str() == "-" {
        let out = &mut io::stdout().lock();
        write(format, &reading, &mut timeline, &mut events, out)?;
    } else {
        let mut pending = Pending::file(&args.output, args.force)?;
        let unwritten = |error| Stop::Message(format!("{}: {error}", args.output.display()));
        let out = pending.as_file_mut();
        write(format, &reading, &mut timeline, &mut events, out).map_err(unwritten)?;
        pending.finish()?;
    }
    let is_whole = reading.end(events.faults());
    for note in timeline.notes() {
        complain(&format!("eventcnv: {}: note: {note}\n", reading.name));
    }
    reading.note_discarded();
    Ok(is_whole)
}

fn write(
    format: Format,
    reading: &Reading,
    timeline: &mut Timeline,
    events: &mut Selected<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Chrome => chrome::write(&reading.log, timeline, events, out),
        Format::Perfetto => perfetto::write(&reading.log, timeline, events, out),
    }
}
