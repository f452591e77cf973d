//! The command line, and what it means.
//!
//! ```text
//!  arguments ──▶ Args ─┬─▶ which log (input.rs)
//!                      ├─▶ which events (select.rs)
//!                      └─▶ which view (dump.rs)
//! ```
//!
//! Design: `.dumper`, `.control.output` in `design/telemetry.md`.

use clap::{ArgAction, Parser, ValueEnum};
use clap_complete::Shell;
use std::path::PathBuf;

/// The environment variable that names the log, as it does for the program that writes it.
pub(crate) const FILENAME_VARIABLE: &str = "MPS_TELEMETRY_FILENAME";
/// The log that is read where none is named.
pub(crate) const FILENAME_DEFAULT: &str = "mpsio.log";

const LONG_ABOUT: &str = "\
Prints the events of a log, one a line, in order of time.

A log is what a program annotated with the telemetry library wrote, or a raw telemetry stream of \
the Memory Pool System (its word width and byte order are inferred). The log says what its events \
are called: the program that wrote it is not needed.";

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
  A control character in a string is printed as \\xHH, so that an event stays on its line.

Examples:
  eventcnv                            what is in mpsio.log
  eventcnv -v run.log | head          the first events, with names
  eventcnv -vv --kinds Pool,Arena     events of two kinds, with parameter names and labels
  eventcnv -v --events PoolAlloc,1F   events of two types, one by name, one by code
  eventcnv --stats run.log            how much there is of what, and what was lost
  eventcnv --registry run.log         what types of event the log declares; what they mean
  xz -dc run.log.xz | eventcnv -      a log from standard input
  eventcnv --eventdef eventdef.h old.log   a log of another version of the MPS
  eventcnv --completions bash > ~/.local/share/bash-completion/completions/eventcnv

Environment:
  MPS_TELEMETRY_FILENAME  the log to read where none is named (else mpsio.log)

Exit status:
  0  the log was read whole
  1  faults were found and reported on standard error; what could be read was printed
  2  the log could not be read, or the command line is wrong";

/// Prints the events of a log, one a line, in order of time.
#[derive(Debug, Parser)]
#[command(name = "eventcnv", version, long_about = LONG_ABOUT, after_long_help = FORMS)]
#[command(after_help = "More, with examples: eventcnv --help")]
pub(crate) struct Args {
    /// The log; "-" is standard input [default: $MPS_TELEMETRY_FILENAME, else mpsio.log]
    #[arg(value_name = "LOG")]
    log: Option<PathBuf>,

    /// The log, named as for MPS's own dumper
    #[arg(short = 'f', long = "file", value_name = "LOG", conflicts_with = "log")]
    file: Option<PathBuf>,

    /// Print names: -v in columns, -vv with parameter names and labels
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

/// The order in which events are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// By time
    Time,
    /// As they stand in the file
    File,
}

impl Args {
    /// The log that is named on the command line.
    pub(crate) fn log(&self) -> Option<&PathBuf> {
        self.log.as_ref().or(self.file.as_ref())
    }
}
