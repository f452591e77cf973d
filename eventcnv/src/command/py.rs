//! A module of Python for a log.
//!
//! ```text
//!  eventcnv py LOG -o telemetry_log.py ──▶ names, parameters, layout, and what reads such logs
//! ```
//!
//! Design: `.cnv.py` in `design/eventcnv.md`.

use crate::export::python;
use crate::reading::{Input, Reading};
use cli::{Stop, complain, output};
use std::path::PathBuf;

pub(crate) const ABOUT: &str = "\
Writes a module of Python that knows the event types of a log, their parameters and their layout, \
and reads this log and others of the same program and platform. It needs nothing but Python 3.8.";

pub(crate) const EXAMPLES: &str = "\
In the module:
  EVENT, Event       event types of the program's first registry, by code and by name: name, code,
                     used, kind, params, maxsize, format (for struct.unpack), doc, record
  KIND, Kind         its kinds
  REGISTRY           all registries by their index, each with .kinds and .events
  HEADER_FORMAT, HEADER_SIZE    of the header of an event
  Log(path)          a log: it gives its events one after the other, as named tuples: time, thread,
                     and each parameter by its name; type(event).desc is the event type
    .label(address)         what a pointer or address was called at the time of the event that was
                            given last, or at a time: .label(address, time)
    .thread_name(event)     what its thread is called
    .string(id)             an interned string
  events(path)       the events alone
A string is str; bytes that are not UTF-8 are surrogates, as in os.fsdecode. A block of the file
is in memory at a time.

Examples:
  eventcnv py mpsio.log -o telemetry_log.py
  eventcnv py old.log -o - | head -20
  python3 -c 'import telemetry_log as t; print(sum(1 for e in t.events(\"mpsio.log\")))'
  python3 -c 'import telemetry_log as t; print(t.Log(\"mpsio.log\").thread_name(1))'
  python3 -c 'import telemetry_log as t; print(t.Event.PoolInit.params[0].doc)'

Exit status:
  0  the log was read whole
  1  faults were found and reported on standard error; what is declared was written
  2  the log could not be read, or the module not be written";

/// Of which log, and where it is put.
#[derive(Debug, clap::Args)]
pub(crate) struct Py {
    #[command(flatten)]
    input: Input,

    /// The module to write; "-" is standard output
    #[arg(short = 'o', long = "output", value_name = "FILE", default_value = "telemetry_log.py")]
    output: PathBuf,

    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

/// Writes the module. Whether the log was read whole.
pub(crate) fn run(args: &Py) -> Result<bool, Stop> {
    let reading = Reading::open(&args.input)?;
    output::write(&args.output, args.force, |out| python::write(&reading.log, &reading.name, out))?;
    let stranger_count = python::stranger_count(&reading.log);
    if stranger_count > 0 {
        complain(&format!(
            "eventcnv: {}: note: the module is for the first stream: {stranger_count} more have \
             another platform or other registries, and need the module of a log of theirs\n",
            reading.name
        ));
    }
    Ok(reading.end_unread())
}
