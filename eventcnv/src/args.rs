//! The command line.
//!
//! ```text
//!  words ──▶ Args ── command ──▶ ask/NAME │ tools/NAME.rs, with its arguments, help and examples
//!               └─── none ─────▶ tools/dump.rs
//! ```
//!
//! Design: `.dumper`, `.control.output`, `.control.tool` in `design/telemetry.md`.

#[cfg(feature = "waits")]
use crate::ask::waits;
use crate::ask::{calls, diff, lines, pairs, stats};
use crate::open::input;
use crate::open::select::near;
use crate::page;
#[cfg(feature = "parquet")]
use crate::tools::parquet;
#[cfg(feature = "paths")]
use crate::tools::paths;
use crate::tools::{
    check, completions, control, core, cut, dump, export, follow, index, listen, man, merge,
    recover, registry, verify,
};
#[cfg(feature = "sql")]
use crate::tools::{query, sql};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::CompleteEnv;
use cli::Stop;
use std::ffi::OsString;
use std::path::Path;

/// Prints the events of a log, one a line, in order of time.
#[derive(Debug, Parser)]
#[command(name = "eventcnv", version, long_about = dump::ABOUT, after_long_help = dump::FORMS)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    dump: dump::Dump,
}

/// The commands.
#[derive(Debug, Subcommand)]
enum Command {
    /// Print the events of a log (the default command)
    #[command(long_about = dump::ABOUT, after_long_help = dump::FORMS)]
    Dump(dump::Dump),
    Stats(stats::Stats),
    Pairs(pairs::Pairs),
    Calls(calls::Calls),
    Lines(lines::Lines),
    #[cfg(feature = "waits")]
    Waits(waits::Waits),
    #[cfg(feature = "paths")]
    Paths(paths::Paths),
    Diff(diff::Diff),
    /// Record a program: its calls of malloc or of its functions, and the kernel's events
    #[cfg(all(feature = "record", target_os = "linux"))]
    #[command(long_about = record_command::ABOUT)]
    #[command(after_long_help = record_command::examples("eventcnv"))]
    Record(record_command::Args),
    Follow(follow::Follow),
    Report(page::Report),
    Listen(listen::Listen),
    Core(core::Rescue),
    Check(check::Check),
    #[cfg(feature = "sql")]
    Sql(sql::Sql),
    #[cfg(feature = "sql")]
    Query(query::Query),
    #[cfg(feature = "parquet")]
    Parquet(parquet::Parquet),
    Export(export::Export),
    Verify(verify::Verify),
    Recover(recover::Recover),
    Cut(cut::Cut),
    Merge(merge::Merge),
    Index(index::Index),
    Control(control::Control),
    Registry(registry::Registry),
    Man(man::Page),
    Completions(completions::Completions),
}

impl Args {
    /// Runs the command. Returns whether it found no fault.
    pub(crate) fn run(&self) -> Result<bool, Stop> {
        match &self.command {
            None => dump::run(&self.dump).map_err(|stop| self.suggest_command(stop)),
            Some(Command::Dump(args)) => dump::run(args),
            Some(Command::Stats(args)) => stats::run(args),
            Some(Command::Pairs(args)) => pairs::run(args),
            Some(Command::Calls(args)) => calls::run(args),
            Some(Command::Lines(args)) => lines::run(args),
            #[cfg(feature = "waits")]
            Some(Command::Waits(args)) => waits::run(args),
            #[cfg(feature = "paths")]
            Some(Command::Paths(args)) => paths::run(args),
            Some(Command::Diff(args)) => diff::run(args),
            #[cfg(all(feature = "record", target_os = "linux"))]
            Some(Command::Record(args)) => record_command::run(args, "eventcnv"),
            Some(Command::Follow(args)) => follow::run(args),
            Some(Command::Report(args)) => page::run(args),
            Some(Command::Core(args)) => core::run(args),
            #[cfg(feature = "sql")]
            Some(Command::Sql(args)) => sql::run(args),
            #[cfg(feature = "sql")]
            Some(Command::Query(args)) => query::run(args),
            #[cfg(feature = "parquet")]
            Some(Command::Parquet(args)) => parquet::run(args),
            Some(Command::Export(args)) => export::run(args),
            Some(Command::Listen(args)) => listen::run(args),
            Some(Command::Check(args)) => check::run(args),
            Some(Command::Verify(args)) => verify::run(args),
            Some(Command::Recover(args)) => recover::run(args),
            Some(Command::Cut(args)) => cut::run(args),
            Some(Command::Merge(args)) => merge::run(args),
            Some(Command::Index(args)) => index::run(args),
            Some(Command::Control(args)) => control::run(args),
            Some(Command::Registry(args)) => registry::run(args),
            Some(Command::Man(_)) => cli::man::print(command()),
            Some(Command::Completions(args)) => completions::run(args),
        }
    }
}

impl Args {
    /// Adds a similar command to the error about a log that does not exist.
    fn suggest_command(&self, stop: Stop) -> Stop {
        let (Stop::Message(what), Some(first)) = (&stop, self.dump.input.logs().first()) else {
            return stop;
        };
        let command = command();
        let mut names: Vec<&str> =
            command.get_subcommands().map(|command| command.get_name()).collect();
        names.push("help");
        let near = near(&first.to_string_lossy(), names.into_iter());
        if near.is_empty() || first.exists() {
            return stop;
        }
        Stop::Message(format!("{what}; did you mean the command {}?", near.join(" or ")))
    }
}

/// The exit status of commands that do not describe theirs.
const EXIT_STATUS: &str = "

Exit status:
  0  the log was read completely
  1  faults were found and reported on standard error; the output has the readable events
  2  the log could not be read, the output could not be written, or the command line is wrong";

fn command() -> clap::Command {
    let hint = |command: &str| format!("More, with examples: eventcnv{command} --help");
    let command = Args::command().after_help(hint(""));
    command.mut_subcommands(|command| {
        let hint = hint(&format!(" {}", command.get_name()));
        let text = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        let status = if text.contains("Exit status:") { "" } else { EXIT_STATUS };
        command.after_help(hint).after_long_help(text + status)
    })
}

/// The commands that a feature brings, and whether this build has it.
const OF_FEATURES: [(&str, bool); 6] = [
    ("parquet", cfg!(feature = "parquet")),
    ("paths", cfg!(feature = "paths")),
    ("query", cfg!(feature = "sql")),
    ("record", cfg!(feature = "record")),
    ("sql", cfg!(feature = "sql")),
    ("waits", cfg!(feature = "waits")),
];

/// Refuses a command that this build lacks: its name would be taken for that of a log.
fn refuse_unbuilt(words: &[OsString]) -> Result<(), Stop> {
    let mut words = words.iter().skip(1).skip_while(|word| *word == "help");
    let Some(first) = words.next() else { return Ok(()) };
    match OF_FEATURES.iter().find(|(name, is_built)| !is_built && first == name) {
        Some((name, _)) => Err(Stop::Message(format!(
            "this eventcnv was built without the command {name}; cargo install --locked --path \
             eventcnv builds it with all"
        ))),
        None => Ok(()),
    }
}

/// Parses the command line; answers a shell that asks for completions instead.
pub(crate) fn parse(all: impl Iterator<Item = OsString>) -> Result<Args, Stop> {
    CompleteEnv::with_factory(command).var(completions::VARIABLE).complete();
    let words = words(all);
    refuse_unbuilt(&words)?;
    let mut matches = command().get_matches_from(words);
    Ok(Args::from_arg_matches_mut(&mut matches).unwrap_or_else(|error| error.exit()))
}

/// Returns the words of the command line. The default name of a core is `core`: the first word
/// stands for that file, unless arguments of the command `core` follow. `waits record` is another
/// name for `record --kernel`.
fn words(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    if words.get(1..3).is_some_and(|name| name == ["waits", "record"]) {
        words.splice(1..3, ["record", "--kernel"].map(OsString::from));
    } else if words.get(1..4).is_some_and(|name| name == ["help", "waits", "record"]) {
        words.remove(2);
    }
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
