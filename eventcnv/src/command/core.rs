//! The log that is in a core, as a file.
//!
//! ```text
//!  eventcnv core CORE -o FILE ──▶ its blocks ── a temporary name ──▶ FILE
//! ```
//!
//! Design: `.debug.core` in `design/telemetry.md`.

use crate::input;
use crate::input::core::report_all;
use crate::reading::report;
use cli::{Stop, complain, output};
use eventlog::reader::{Log, OpenError, Options};
use std::path::PathBuf;

pub(crate) const ABOUT: &str = "\
Writes the log that is in the memory of a process that died, or of which a core was taken: the \
last events of every thread and kind, output or not.

The program that recorded them is not needed, nor its symbols. What is in the core can also be \
read where it is: a core stands for a log wherever one is named, and may be read together with \
what the program wrote, each event once.";

pub(crate) const EXAMPLES: &str = "\
A core comes from the system when a program dies, after `ulimit -c unlimited`, or from a program
that runs on, with `gcore PID`. It may have been cut: what is there is read, and what is missing
is told. Events in a mapped ring (MPS_TELEMETRY_FILENAME=ring:PATH) are in its file, not in a core.

Examples:
  eventcnv core core.4711                 what is in the core is in rescued-4711.log from now on
  eventcnv core core.4711 -o crash.log    in crash.log
  eventcnv core core.4711 -o - | xz > crash.log.xz
  eventcnv -vv core.4711                  the events in the core, with names and labels
  eventcnv -vv core.4711 mpsio.log        and those that were written before, each once

Exit status:
  0  all of it was there
  1  blocks were not in the core, or were damaged; what is there was written
  2  there is no telemetry in the core, or the log could not be written";

/// Which core, and where its log is put.
#[derive(Debug, clap::Args)]
pub(crate) struct Rescue {
    /// The core, from the system (ulimit -c) or from gcore; "-" is standard input
    #[arg(value_name = "CORE")]
    core: PathBuf,

    /// The log to write; "-" is standard output. [default: rescued-PID.log]
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

/// Writes the log that is in a core. Whether it was whole.
pub(crate) fn run(args: &Rescue) -> Result<bool, Stop> {
    let options = Options::default();
    let opened = input::open(std::slice::from_ref(&args.core), &options);
    let name = opened.name;
    let unread = |error: OpenError| Stop::Message(format!("{name}: {error}"));
    let source = opened.source.map_err(unread)?;
    let Some(core) = opened.cores.first() else {
        return Err(Stop::Message(format!("{name}: is not a core")));
    };
    let log = Log::with_source(source, &options).map_err(unread)?;
    let path = match &args.output {
        Some(path) => path.clone(),
        None => PathBuf::from(format!("rescued-{}.log", core.core.pid())),
    };
    output::write(&path, args.force, |out| core.core.write_log(out))?;
    let loss_count = report_all(&opened.cores, &log);
    report(&name, &[log.faults()]);
    complain(&format!("eventcnv: {}: {} bytes\n", path.display(), log.size()));
    Ok(loss_count + log.faults().loss_count() == 0)
}
