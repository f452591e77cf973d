//! What is asked of which process, on the command line.
//!
//! ```text
//!  eventcnv control PID get│set│reset│flush│status [KINDS] ──▶ Control
//! ```
//!
//! Design: `.control.tool` in `design/telemetry.md`.

use clap::Subcommand;
use std::path::PathBuf;

/// The environment variable that names the directory of sockets, as it does for the program.
pub(crate) const SOCKET_VARIABLE: &str = "MPS_TELEMETRY_SOCKET";

pub(crate) const ABOUT: &str = "\
Asks a running program for its masks and its status, switches kinds of events, has it flush.

The program listens if MPS_TELEMETRY_SOCKET names a directory when it starts: its socket is \
DIR/PID.sock, which only the same user can open. With no PID, the programs that listen there are \
listed; with a PID alone, the status is shown. With `all` for a PID, every one of them is asked.";

pub(crate) const EXAMPLES: &str = "\
Kinds are names in any case, numbers in C notation, or `all`, as in MPS_TELEMETRY_CONTROL. They
are switched in every registry that has them, those to come included, unless --registry names one.
What the program still holds of a kind comes out too, with its next block or flush.

Examples, with MPS_TELEMETRY_SOCKET=run in the environment of both:
  eventcnv control                             the programs that listen
  eventcnv control 4711 status                 log, losses, last error, rings, masks
  eventcnv control 4711 set \"Pool Arena\"       the log gets events of two kinds from now on
  eventcnv control 4711 flush                  what was recorded so far is in the log
  eventcnv control 4711 reset all              nothing more goes into the log
  eventcnv control 4711 get --registry heap    the masks of one registry
  eventcnv control 4711 set Trace --recorded   the kind is recorded in memory again
  eventcnv control all flush                   the same of every program that listens
  eventcnv control --json                      the programs that listen, for another program

Output: lines of key and value; a hyphen stands for nothing.

Exit status:
  0  it was done
  2  it was not, or not by all that were asked; standard error says why";

/// Which process is asked, and what.
#[derive(Debug, clap::Args)]
pub(crate) struct Control {
    /// The process; `all` for each that listens. None: they are listed
    #[arg(value_name = "PID", value_parser = parse_process)]
    pub(crate) process: Option<Process>,

    #[command(subcommand)]
    pub(crate) request: Option<ControlRequest>,

    /// The directory of the sockets [default: $MPS_TELEMETRY_SOCKET]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) socket: Option<PathBuf>,

    /// Print JSON, an object a line for each process
    #[arg(long, global = true)]
    pub(crate) json: bool,

    // An identifier of its own: that of an argument which is global is shared with the dump's.
    /// Only the registry of this name or index
    #[arg(id = "of-registry", long = "registry", value_name = "NAME", global = true)]
    pub(crate) registry: Option<String>,
}

/// What is asked of a process.
#[derive(Debug, Subcommand)]
pub(crate) enum ControlRequest {
    /// Show the masks: which kinds are recorded in memory, and which are output
    Get {
        /// Only these kinds
        #[arg(value_name = "KINDS")]
        kinds: Vec<String>,
    },
    /// Switch the output of kinds on
    Set(Change),
    /// Switch the output of kinds off; what was recorded so far goes out before
    Reset(Change),
    /// Bring out what was recorded so far of the kinds that are output
    Flush,
    /// Show log, losses, last error, rings, threads, clock and masks
    Status,
}

/// Which kinds are switched.
#[derive(Debug, clap::Args)]
pub(crate) struct Change {
    /// Names in any case, numbers in C notation, or `all`
    #[arg(value_name = "KINDS", required = true)]
    pub(crate) kinds: Vec<String>,

    /// Switch whether they are recorded in memory, rather than their output
    #[arg(long)]
    pub(crate) recorded: bool,
}

/// A process, or all that listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Process {
    /// All.
    All,
    /// The one of this number.
    One(u64),
}

fn parse_process(text: &str) -> Result<Process, String> {
    match text.parse() {
        _ if text == "all" => Ok(Process::All),
        Ok(process) if process != 0 => Ok(Process::One(process)),
        _ => Err("it is neither the number of a process nor `all`".to_owned()),
    }
}
