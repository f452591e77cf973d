//! Writes the log in a core to a file.
//!
//! ```text
//!  eventcnv core CORE -o FILE ──▶ the blocks in memory ──▶ FILE
//! ```
//!
//! Design: `.debug.core` in `design/telemetry.md`.

use crate::open::input::core::report_all;
use crate::open::{input, report};
use cli::{Stop, complain, output};
use eventlog::reader::{Log, OpenError, Options};
use std::path::PathBuf;

const ABOUT: &str = "\
Writes the log in the core of a process: the last events of every thread and kind, output or not.

It needs neither the program nor its symbols. Every command also accepts a core in place of a log, \
alone or together with the log that the program wrote; each event then appears once.";

const EXAMPLES: &str = "\
The system writes a core when a program dies, after `ulimit -c unlimited`; `gcore PID` takes one of
a running program. If the core is truncated, the command reads the rest and reports what is missing.
Events in a mapped ring (MPS_TELEMETRY_FILENAME=ring:PATH) are in its file, not in a core.

Examples:
  eventcnv core core.4711                 write the log in the core to rescued-4711.log
  eventcnv core core.4711 -o crash.log    write it to crash.log
  eventcnv core core.4711 -o - | xz > crash.log.xz
  eventcnv -vv core.4711                  the events in the core, with names and labels
  eventcnv -vv core.4711 mpsio.log        these, and the events in the log, each once

Exit status:
  0  the log is complete
  1  blocks were missing or damaged; the others were written
  2  the core has no telemetry, or the log could not be written";

/// Write the log in the core of a process
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Rescue {
    /// The core, from the system (ulimit -c) or from gcore; "-" is standard input
    #[arg(value_name = "CORE")]
    core: PathBuf,

    /// The log to write; "-" is standard output. [default: rescued-PID.log]
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

/// Writes the log in a core. Returns whether it was complete.
pub(crate) fn run(args: &Rescue) -> Result<bool, Stop> {
    let options = Options::default();
    let opened = input::open(std::slice::from_ref(&args.core), &options);
    let name = opened.name;
    let unread = |error: OpenError| Stop::Message(format!("{name}: {error}"));
    let source = opened.source.map_err(unread)?;
    let Some(core) = opened.cores.first() else {
        return Err(Stop::Message(format!("{name}: not a core")));
    };
    let log = Log::with_source(source, &options).map_err(unread)?;
    let path = match &args.output {
        Some(path) => path.clone(),
        None => PathBuf::from(format!("rescued-{}.log", core.core.pid())),
    };
    output::write(&path, args.force, |out| core.core.write_log(out))?;
    let loss_count = report_all(&opened.cores, &log) + opened.damaged_count;
    report(&name, &[], &[log.faults()]);
    complain(&format!("eventcnv: {}: {} bytes\n", path.display(), log.size()));
    Ok(loss_count + log.faults().loss_count() == 0)
}
