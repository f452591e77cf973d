//! Writes a Python module for a log.
//!
//! ```text
//!  eventcnv py LOG -o telemetry_log.py ──▶ names, parameters, layout, and a reader of such logs
//! ```
//!
//! Design: `.cnv.py` in `design/eventcnv.md`.

use crate::export::python;
use crate::open::{Input, Reading};
use cli::{Stop, complain, output};
use std::path::PathBuf;

const ABOUT: &str = "\
Writes a Python module that knows the event types of a log, their parameters and their layout. It \
reads this log and others of the same program and platform. It needs only Python 3.8.";

const EXAMPLES: &str = "\
In the module:
  EVENT, Event       event types of the program's first registry, by code and by name: name, code,
                     used, kind, params, maxsize, format (for struct.unpack), doc, record
  KIND, Kind         its kinds
  REGISTRY           all registries by their index, each with .kinds and .events
  HEADER_FORMAT, HEADER_SIZE    of the header of an event
  Log(path)          a log: an iterator of its events as named tuples: time, thread, and each
                     parameter by its name; type(event).desc is the event type
    .label(address)         the label of a pointer or address at the time of the last event, or at
                            another time: .label(address, time)
    .thread_name(event)     the name of the event's thread
    .string(id)             an interned string
  events(path)       an iterator of the events
A string is str; bytes that are not UTF-8 are surrogates, as in os.fsdecode. One block of the file
is in memory at a time.

Examples:
  eventcnv py mpsio.log -o telemetry_log.py
  eventcnv py old.log -o - | head -20
  python3 -c 'import telemetry_log as t; print(sum(1 for e in t.events(\"mpsio.log\")))'
  python3 -c 'import telemetry_log as t; print(t.Log(\"mpsio.log\").thread_name(1))'
  python3 -c 'import telemetry_log as t; print(t.Event.PoolInit.params[0].doc)'";

/// Write a Python module that reads the log
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Py {
    #[command(flatten)]
    input: Input,

    /// The module to write; "-" is standard output
    #[arg(short = 'o', long = "output", value_name = "FILE", default_value = "telemetry_log.py")]
    output: PathBuf,

    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

/// Writes the module. Returns whether the log was read completely.
pub(crate) fn run(args: &Py) -> Result<bool, Stop> {
    let reading = Reading::open(&args.input)?;
    output::write(&args.output, args.force, |out| python::write(&reading.log, &reading.name, out))?;
    let other_count = python::other_count(&reading.log);
    if other_count > 0 {
        complain(&format!(
            "eventcnv: {}: note: the module reads the first stream; {other_count} more have \
             another platform or other registries, and need their own modules\n",
            reading.name
        ));
    }
    Ok(reading.end_unread())
}
