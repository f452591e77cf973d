//! The arguments of `eventcnv control`.
//!
//! ```text
//!  eventcnv control PID get│set│reset│flush│status [KINDS] ──▶ Control
//! ```
//!
//! Design: `.control.tool` in `design/telemetry.md`.

use clap::Subcommand;
use std::path::PathBuf;

/// The environment variable that names the directory of sockets, for the program and for this tool.
pub(crate) const SOCKET_VARIABLE: &str = "MPS_TELEMETRY_SOCKET";

const ABOUT: &str = "\
Shows the masks and the status of a running program, switches kinds of events, flushes its buffers.

A program listens if MPS_TELEMETRY_SOCKET names a directory when it starts. Its socket is \
DIR/PID.sock, which only the same user can open. Without PID the command lists the programs that \
listen; with a PID alone it shows the status. `all` as PID stands for every program that \
listens.";

const EXAMPLES: &str = "\
Kinds are names in any case, numbers in C notation, or `all`, as in MPS_TELEMETRY_CONTROL. The
command switches them in every registry that has them, also in later ones, unless --registry names
one. Events of the kind that are still in memory are written too, with its next block or flush.

Examples, with MPS_TELEMETRY_SOCKET=run in the environment of both:
  eventcnv control                             the programs that listen
  eventcnv control 4711 status                 log, losses, last error, rings, masks
  eventcnv control 4711 set \"Pool Arena\"       the log gets events of two kinds from now on
  eventcnv control 4711 flush                  write all recorded events to the log
  eventcnv control 4711 reset all              no more events go to the log
  eventcnv control 4711 get --registry heap    the masks of one registry
  eventcnv control 4711 set Trace --recorded   the kind is recorded in memory again
  eventcnv control all flush                   flush every program that listens
  eventcnv control --json                      the programs that listen, for another program

Output: lines of key and value; a hyphen stands for an empty value.

Exit status:
  0  success
  2  a process failed, or could not be asked; standard error has the reason";

/// Control a running program: switch kinds of events, flush, show its status
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Control {
    /// The process, or `all` for each that listens. Without it, the processes are listed
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

    // A separate identifier: a global argument shares its identifier with that of the dump.
    /// Only the registry of this name or index
    #[arg(id = "of-registry", long = "registry", value_name = "NAME", global = true)]
    pub(crate) registry: Option<String>,
}

/// A request to a process.
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
    /// Switch the output of kinds off; events recorded so far are written before
    Reset(Change),
    /// Write the events recorded so far of the kinds that are output
    Flush,
    /// Show log, losses, last error, rings, threads, clock and masks
    Status,
}

/// The kinds to switch.
#[derive(Debug, clap::Args)]
pub(crate) struct Change {
    /// Names in any case, numbers in C notation, or `all`
    #[arg(value_name = "KINDS", required = true)]
    pub(crate) kinds: Vec<String>,

    /// Switch their recording in memory instead of their output
    #[arg(long)]
    pub(crate) recorded: bool,
}

/// The processes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Process {
    All,
    One(u64),
}

fn parse_process(text: &str) -> Result<Process, String> {
    match text.parse() {
        _ if text == "all" => Ok(Process::All),
        Ok(process) if process != 0 => Ok(Process::One(process)),
        _ => Err("neither the number of a process nor `all`".to_owned()),
    }
}
