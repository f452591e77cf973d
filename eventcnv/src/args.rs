//! The command line, and which command it is.
//!
//! ```text
//!  words ──▶ Args ── command ──▶ command/NAME.rs, with its arguments, help and examples
//!               └─── none ─────▶ command/dump.rs
//! ```
//!
//! Design: `.dumper`, `.control.output`, `.control.tool` in `design/telemetry.md`.

#[cfg(feature = "parquet")]
use crate::command::parquet;
use crate::command::{
    check, control, core, cut, diff, dump, export, follow, index, listen, merge, py, recover,
    report, stats, verify,
};
#[cfg(feature = "sql")]
use crate::command::{query, sql};
use crate::input;
use crate::select::near;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::CompleteEnv;
use cli::Stop;
use std::ffi::OsString;
use std::path::Path;

/// Prints the events of a log, one a line, in order of time.
#[derive(Debug, Parser)]
#[command(name = "eventcnv", version, long_about = dump::ABOUT, after_long_help = dump::FORMS)]
#[command(after_help = "More, with examples: eventcnv --help")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    dump: dump::Dump,
}

/// What is done, if it is not a dump.
#[derive(Debug, Subcommand)]
enum Command {
    /// Print the events of a log: what is done without a command
    #[command(long_about = dump::ABOUT, after_long_help = dump::FORMS)]
    #[command(after_help = "More, with examples: eventcnv dump --help")]
    Dump(dump::Dump),
    /// Count events and bytes: of what, when, with which values, and what was lost
    #[command(long_about = stats::ABOUT, after_long_help = stats::EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv stats --help")]
    Stats(stats::Stats),
    /// Tell what is otherwise in another log: counts, values, labels, losses
    #[command(long_about = diff::ABOUT, after_long_help = diff::EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv diff --help")]
    Diff(diff::Diff),
    /// Print the events of a log that is being written, as they come
    #[command(long_about = follow::ABOUT, after_long_help = follow::EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv follow --help")]
    Follow(follow::Follow),
    /// Write a page to look at a log with: events over time, types, values, labels, losses
    #[command(long_about = report::ABOUT, after_long_help = report::EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv report --help")]
    Report(report::Report),
    /// Receive the logs of programs, one file each, until interrupted
    #[command(after_long_help = listen::ABOUT)]
    #[command(after_help = "More, with examples: eventcnv listen --help")]
    Listen(listen::Listen),
    /// Write the log that is in the memory of a process that died: of its core
    #[command(long_about = core::ABOUT, after_long_help = core::EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv core --help")]
    Core(core::Rescue),
    /// Compare the event types of two logs or MPS versions: may B claim its version?
    #[command(long_about = check::ABOUT, after_long_help = check::EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv check --help")]
    Check(check::Check),
    /// Add the events of a log to a database of SQLite
    #[cfg(feature = "sql")]
    #[command(long_about = sql::ABOUT, after_long_help = sql::EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv sql --help")]
    Sql(sql::Sql),
    /// Answer a question to a log, in SQL, without a database
    #[cfg(feature = "sql")]
    #[command(long_about = query::ABOUT, after_long_help = query::EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv query --help")]
    #[command(override_usage = "eventcnv query [OPTIONS] [LOG]... <SQL>")]
    Query(query::Query),
    /// Write the events of a log as data sets of Parquet
    #[cfg(feature = "parquet")]
    #[command(long_about = parquet::ABOUT, after_long_help = parquet::EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv parquet --help")]
    Parquet(parquet::Parquet),
    /// Write a module of Python that reads the log
    #[command(long_about = py::ABOUT, after_long_help = py::EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv py --help")]
    Py(py::Py),
    /// Write a log for other tools: Perfetto, Chrome, babeltrace2, flame graphs
    #[command(long_about = export::ABOUT, after_long_help = export::EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv export --help")]
    Export(export::Export),
    /// Check a log: every checksum, count, number and clock
    #[command(long_about = verify::ABOUT, after_long_help = verify::EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv verify --help")]
    Verify(verify::Verify),
    /// Write a log that is sound, of what is left of one that is not
    #[command(long_about = recover::ABOUT, after_long_help = recover::EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv recover --help")]
    Recover(recover::Recover),
    /// Write a log of selected events
    #[command(long_about = cut::ABOUT, after_long_help = cut::EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv cut --help")]
    Cut(cut::Cut),
    /// Write several logs as one: pieces, volumes, other processes and hosts
    #[command(long_about = merge::ABOUT, after_long_help = merge::EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv merge --help")]
    Merge(merge::Merge),
    /// Print what is where in a log: each block and part
    #[command(long_about = index::ABOUT, after_long_help = index::EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv index --help")]
    Index(index::Index),
    /// Switch kinds of events of a running program, flush it, ask for its status
    #[command(long_about = control::ABOUT, after_long_help = control::EXAMPLES)]
    #[command(after_help = "More, with examples: eventcnv control --help")]
    #[command(disable_help_subcommand = true)]
    Control(control::Control),
}

impl Args {
    /// Does what the command line says. Whether that was done without a fault.
    pub(crate) fn run(&self) -> Result<bool, Stop> {
        match &self.command {
            None => dump::run(&self.dump, Args::command).map_err(|stop| self.or_command(stop)),
            Some(Command::Dump(args)) => dump::run(args, Args::command),
            Some(Command::Stats(args)) => stats::run(args),
            Some(Command::Diff(args)) => diff::run(args),
            Some(Command::Follow(args)) => follow::run(args),
            Some(Command::Report(args)) => report::run(args),
            Some(Command::Core(args)) => core::run(args),
            #[cfg(feature = "sql")]
            Some(Command::Sql(args)) => sql::run(args),
            #[cfg(feature = "sql")]
            Some(Command::Query(args)) => query::run(args),
            #[cfg(feature = "parquet")]
            Some(Command::Parquet(args)) => parquet::run(args),
            Some(Command::Py(args)) => py::run(args),
            Some(Command::Export(args)) => export::run(args),
            Some(Command::Listen(args)) => listen::run(args),
            Some(Command::Check(args)) => check::run(args),
            Some(Command::Verify(args)) => verify::run(args),
            Some(Command::Recover(args)) => recover::run(args),
            Some(Command::Cut(args)) => cut::run(args),
            Some(Command::Merge(args)) => merge::run(args),
            Some(Command::Index(args)) => index::run(args),
            Some(Command::Control(args)) => control::run(args),
        }
    }
}

impl Args {
    /// Why there is no dump; and which command was meant, where what is named as a log is nearly
    /// one and no file.
    fn or_command(&self, stop: Stop) -> Stop {
        let (Stop::Message(what), Some(first)) = (&stop, self.dump.input.logs().first()) else {
            return stop;
        };
        let mut names: Vec<String> =
            Args::command().get_subcommands().map(|it| it.get_name().to_owned()).collect();
        names.push("help".to_owned());
        let near = near(&first.to_string_lossy(), names.iter().map(String::as_str));
        if near.is_empty() || first.exists() {
            return stop;
        }
        Stop::Message(format!("{what}; is it the command {}?", near.join(" or ")))
    }
}

/// What the words of the command line say; or, if a shell asks how they go on, the answer.
pub(crate) fn parse(all: impl Iterator<Item = OsString>) -> Args {
    CompleteEnv::with_factory(Args::command).var(dump::COMPLETE_VARIABLE).complete();
    Args::parse_from(words(all))
}

/// The words of the command line. Cores are called `core` by default: where the first word is that
/// file, and what follows is not what the command `core` takes, it stands for the file.
fn words(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
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
