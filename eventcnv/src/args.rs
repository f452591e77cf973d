//! The command line, and what it means.
//!
//! ```text
//!  arguments ──▶ Args ─┬─ Dump ─┬─▶ which log (input.rs)
//!                      │        ├─▶ which events (select.rs)
//!                      │        └─▶ which view (dump.rs)
//!                      ├─ Rescue ──▶ which core, and where its log is put (core.rs)
//!                      ├─ Listen ──▶ where, and what becomes of it (listen.rs)
//!                      └─ Control ─▶ which process, what it is asked (control.rs)
//! ```
//!
//! Design: `.dumper`, `.control.output`, `.control.tool` in `design/telemetry.md`.

use crate::dump::{self, Stop};
use crate::{control, core, input, listen};
use clap::{ArgAction, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The environment variable that names the log, as it does for the program that writes it.
pub(crate) const FILENAME_VARIABLE: &str = "MPS_TELEMETRY_FILENAME";
/// The environment variable that names the directory of sockets, as it does for the program.
pub(crate) const SOCKET_VARIABLE: &str = "MPS_TELEMETRY_SOCKET";
/// The log that is read where none is named.
pub(crate) const FILENAME_DEFAULT: &str = "mpsio.log";

const LONG_ABOUT: &str = "\
Prints the events of a log, one a line, in order of time.

A log is what a program annotated with the telemetry library wrote, a core of such a program, or \
a raw telemetry stream of the Memory Pool System (its word width and byte order are inferred). The \
log says what its events are called: the program that wrote it is not needed.";

const FORMS: &str = "\
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

const RECEIVING: &str = "\
A program that runs with MPS_TELEMETRY_FILENAME=tcp://HOST:PORT (or unix:PATH) sends its log \
there. Each becomes a file of its own, PROGRAM-PID-UUID.log; none is ever overwritten. Events are \
printed block by block as they come, not in order of time: for that, read the log. \
Interrupted (Ctrl-C), it leaves whole files behind. It asks nobody who he is: listen where only \
those who may can connect.

Examples:
  eventcnv listen tcp://localhost:4711 -o logs   receive logs in the directory logs
  eventcnv listen unix:/tmp/logs -vv             and print the events, with names, as they come

Exit status:
  0  interrupted, and all logs were written
  1  interrupted, and not all could be written
  2  cannot listen there";

const CORE_ABOUT: &str = "\
Writes the log that is in the memory of a process that died, or of which a core was taken: the \
last events of every thread and kind, output or not.

The program that recorded them is not needed, nor its symbols. What is in the core can also be \
read where it is: a core stands for a log wherever one is named, and may be read together with \
what the program wrote, each event once.";

const CORE_EXAMPLES: &str = "\
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

const CONTROL_ABOUT: &str = "\
Asks a running program for its masks and its status, switches kinds of events, has it flush.

The program listens if MPS_TELEMETRY_SOCKET names a directory when it starts: its socket is \
DIR/PID.sock, which only the same user can open. With no PID, the programs that listen there are \
listed; with a PID alone, the status is shown. With `all` for a PID, every one of them is asked.";

const CONTROL_EXAMPLES: &str = "\
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

Output: lines of key and value; a hyphen stands for nothing.

Exit status:
  0  it was done
  2  it was not, or not by all that were asked; standard error says why";

/// Prints the events of a log, one a line, in order of time.
#[derive(Debug, Parser)]
#[command(name = "eventcnv", version, long_about = LONG_ABOUT, after_long_help = FORMS)]
#[command(after_help = "More, with examples: eventcnv --help")]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) dump: Dump,
}

/// What is done, if it is not a dump.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the events of a log: what is done without a command
    #[command(long_about = LONG_ABOUT, after_long_help = FORMS)]
    #[command(after_help = "More, with examples: eventcnv dump --help")]
    Dump(Dump),
    /// Receive the logs of programs, one file each, until interrupted
    #[command(after_long_help = RECEIVING)]
    #[command(after_help = "More, with examples: eventcnv listen --help")]
    Listen(Listen),
    /// Write the log that is in the memory of a process that died: of its core
    #[command(long_about = CORE_ABOUT, after_long_help = CORE_EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv core --help")]
    Core(Rescue),
    /// Switch kinds of events of a running program, flush it, ask for its status
    #[command(long_about = CONTROL_ABOUT, after_long_help = CONTROL_EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv control --help")]
    #[command(disable_help_subcommand = true)]
    Control(Control),
}

/// Which events of which log are printed, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Dump {
    /// The log; "-" is standard input [default: $MPS_TELEMETRY_FILENAME, else mpsio.log]. Several
    /// are read as one: the volumes of a stream, in any order
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,

    /// The log, named as for MPS's own dumper
    #[arg(short = 'f', long = "file", value_name = "LOG", conflicts_with = "logs")]
    file: Option<PathBuf>,

    /// Print names: -v in columns, -vv with parameter names and labels, -vvv with threads
    #[arg(short = 'v', long = "verbose", action = ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Order of the events; those of equal time keep their order in the file
    #[arg(long, value_enum, default_value_t = Order::Time)]
    pub(crate) order: Order,

    /// Only events of these kinds (names in any case)
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub(crate) kinds: Vec<String>,

    /// Only events of these types (names in any case, or codes in hexadecimal)
    #[arg(long, value_name = "EVENT", value_delimiter = ',')]
    pub(crate) events: Vec<String>,

    /// List the event types that the log declares
    #[arg(long, conflicts_with = "stats")]
    pub(crate) registry: bool,

    /// Count events and bytes by kind, event type and thread, and what was lost
    #[arg(long)]
    pub(crate) stats: bool,

    /// The eventdef.h of the MPS that wrote the log, if it is not of telemetry version 2.0.0
    #[arg(long, value_name = "FILE")]
    pub(crate) eventdef: Option<PathBuf>,

    /// Print completions for a shell
    #[arg(long, value_name = "SHELL")]
    pub(crate) completions: Option<Shell>,
}

/// Where to listen, and what to do with what comes.
#[derive(Debug, clap::Args)]
pub(crate) struct Listen {
    /// tcp://HOST:PORT (port 0: any; it is said which) or unix:PATH
    pub(crate) address: String,

    /// Where the logs are put; it is made if it is not there
    #[arg(short = 'o', long = "output", value_name = "DIR", default_value = ".")]
    pub(crate) directory: PathBuf,

    /// Print the events too, as they come
    #[arg(long)]
    pub(crate) dump: bool,

    /// Print them with names: -v in columns, -vv with parameter names and labels
    #[arg(short = 'v', long = "verbose", action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// Which core, and where its log is put.
#[derive(Debug, clap::Args)]
pub(crate) struct Rescue {
    /// The core, from the system (ulimit -c) or from gcore; "-" is standard input
    #[arg(value_name = "CORE")]
    pub(crate) core: PathBuf,

    /// The log to write; "-" is standard output. It must not be there [default:
    /// rescued-PID.log]
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// The order in which events are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// By time
    Time,
    /// As they stand in the file
    File,
}

/// The words of the command line. Cores are called `core` by default: where the first word is that
/// file, and what follows is not what the command `core` takes, it stands for the file.
pub(crate) fn words(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    let is_command = match words.get(2) {
        Some(next) if next == "-" => true,
        Some(next) if next.as_encoded_bytes().starts_with(b"-") => words[2..].iter().any(|word| {
            let word = word.as_encoded_bytes();
            [&b"-h"[..], b"-o", b"--h", b"--o="].iter().any(|option| word.starts_with(option))
                || word == b"--output"
        }),
        Some(next) => input::is_core(next.as_ref()) || !Path::new(next).exists(),
        None => false,
    };
    if let Some(first) = words.get_mut(1).filter(|first| *first == "core")
        && !is_command
        && input::is_core(first.as_ref())
    {
        *first = "./core".into();
    }
    words
}

impl Args {
    /// Does what the command line says. Whether that was done without a fault.
    pub(crate) fn run(&self) -> Result<bool, Stop> {
        match &self.command {
            None => dump::run(&self.dump),
            Some(Command::Dump(args)) => dump::run(args),
            Some(Command::Core(args)) => core::run(args),
            Some(Command::Listen(args)) => listen::run(args),
            Some(Command::Control(args)) => control::run(args),
        }
    }
}

impl Dump {
    /// The logs that are named on the command line.
    pub(crate) fn logs(&self) -> &[PathBuf] {
        match &self.file {
            Some(file) => std::slice::from_ref(file),
            None => &self.logs,
        }
    }
}

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
