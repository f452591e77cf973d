//! Records the calls of malloc of any program, or those of its functions.
//!
//! ```text
//!  replay record ─▶ LD_PRELOAD=libinterpose.so PROGRAM ─▶ LOG-PID, of each process ─▶ LOG
//!                   the program keeps its streams, signals and exit code
//! ```
//!
//! Design: `.rep.record`, `.rep.record.logs` in `design/replay.md`.

mod content;
mod logs;
mod roster;
mod target;

use crate::mark;
use cli::{Stop, complain};
use content::Death;
use logs::{Logs, Recorded};
use roster::Roster;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use target::What;

pub(crate) const ABOUT: &str = "\
Records a program's calls of malloc, calloc, realloc, free and the functions like them: every call
with its thread, size and address, from the first call before main to the last one after it. All
commands of replay and eventcnv read the log.

Any dynamically linked program can be recorded, in any language, with its threads, the processes
that it forks and the programs that it executes. Each process has its own log, LOG-PID. LOG is the
log of the program itself (of the last program that it executed, if any).

With --calls it records the calls of functions that a C or C++ compiler built with
-finstrument-functions, and not those of malloc: `eventcnv calls LOG` prints callers, counts and
times; with --unused, on x86-64, the functions that were never called. An environment variable
selects functions: MPS_TELEMETRY_CALLS=\"parse* -parse_char read>=10us\".";

pub(crate) const EXAMPLES: &str = "\
The program keeps its standard streams, its signals and its exit code. At the end a line on standard
error reports how much was recorded.

A program that a signal ends loses the events that were not yet in a full block: at most 64 KiB for
each thread; the line at the end reports this. So does a child; one that is killed early may have no
log. With MPS_TELEMETRY_CRASH=1 in the environment, which adds signal handlers to the program, only
SIGKILL loses events. `-o ring:FILE?size=1G` keeps the newest events through any end.

Examples:
  replay record sort -o sorted.txt words.txt        log: sort.log
  replay record -o a.log -- python3 script.py       log: a.log; its children's: a.log-PID
  replay record -o ring:a.log?size=1G -- ./server    the newest events, however it ends
  replay record --stacks -- ./server                with call stacks: replay show server.log
  replay record --calls -- ./parser                 calls of functions: eventcnv calls parser.log

Exit status: that of the program, or 128 plus the number of the signal that ended it. If that is 0,
or the program was not run:
  1  parts are missing from the logs; standard error names them and the causes
  2  the program was not run, or nothing was recorded";

/// The environment variable that has the library record functions, and not malloc.
const VARIABLE: &str = "TELEMETRY_CALLS";

/// The arguments of `replay record`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The log [default: PROGRAM.log in the current directory]
    #[arg(short, long, value_name = "LOG")]
    output: Option<PathBuf>,

    /// Record call stacks
    #[arg(long)]
    stacks: bool,

    /// Record calls of functions built with -finstrument-functions, instead of malloc
    #[arg(long, conflicts_with = "stacks")]
    calls: bool,

    /// Minimum number of frames of a stack: a deeper one has up to twice as many
    #[arg(long, value_name = "COUNT", default_value_t = 32)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=64))]
    depth: u8,

    /// The library to preload [default: libinterpose.so or replay-interpose, next to this program
    /// or in ../lib]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,

    /// Overwrite existing logs
    #[arg(long)]
    force: bool,

    /// Run the program even if it cannot be recorded, or only in part
    #[arg(long)]
    anyway: bool,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true)]
    #[arg(allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Records a program; ends this process with the program's exit code.
pub(crate) fn run(args: &Args) -> Result<bool, Stop> {
    let (program, arguments) = args.command.split_first().ok_or_else(|| stop("no program"))?;
    let path = find(program)?;
    let what = if args.calls { What::Functions } else { What::Malloc };
    let (why, is_hidden, is_loadable) = match target::check(&path, what) {
        Ok(hidden) => (hidden.clone(), hidden.is_some(), true),
        Err(refusal) if args.anyway => (Some(refusal.why), false, refusal.is_loadable),
        Err(target::Refusal { why, .. }) => {
            return Err(stop(format!("{}: {why}; --anyway runs it", path.display())));
        }
    };
    if let Some(why) = why {
        complain(&format!("replay: {}: {why}\n", path.display()));
    }
    let roster = Roster::new()?;
    let library = library(args.library.as_deref())?;
    let logs = Logs::new(args.output.as_deref(), program, args.force)?;
    let mut command = Command::new(program);
    command.args(arguments);
    if is_loadable {
        command.env("LD_PRELOAD", preload(&library)?);
    }
    command.env("TELEMETRY_CONTROL", what.kind()).env("TELEMETRY_FILENAME", logs.pattern());
    command.env(VARIABLE, if args.calls { "1" } else { "0" });
    command.env(mark::VARIABLE, "1").env(roster::VARIABLE, roster.path());
    if args.stacks {
        command.env("TELEMETRY_STACKS", args.depth.to_string());
    }
    let signals = take_signals()?;
    let child = command.spawn().map_err(|error| stop(format!("{}: {error}", path.display())))?;
    let process = child.id();
    let status = wait(child, signals)?;
    let missing = roster.missing(&logs.processes(), what);
    // A program that still runs keeps its mapping of the file, and needs no name of it.
    drop(roster);
    let recorded = logs.finish(process, &program.to_string_lossy(), Death::of(status), &missing);
    for line in missing.words() {
        complain(&format!("replay: {}: {line}\n", program.display()));
    }
    let is_whole = recorded == Recorded::Whole && missing.is_none() && (!is_hidden || args.anyway);
    let code = match code(status) {
        0 if recorded == Recorded::Nothing => NOTHING,
        0 if !is_whole => NOT_ALL,
        code => code,
    };
    std::process::exit(code)
}

/// Exit codes that replace 0.
const NOT_ALL: i32 = 1;
const NOTHING: i32 = 2;

fn stop(message: impl Into<String>) -> Stop {
    Stop::Message(message.into())
}

fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(2)
}

/// Returns the path of a program: as given, or in a folder of PATH.
fn find(program: &OsStr) -> Result<PathBuf, Stop> {
    let missing = || stop(format!("{}: program not found", program.display()));
    if program.as_bytes().contains(&b'/') {
        let path = PathBuf::from(program);
        return if path.is_file() { Ok(path) } else { Err(missing()) };
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let places = env::split_paths(&folders).map(|folder| folder.join(program));
    places.into_iter().find(|path| target::is_executable(path)).ok_or_else(missing)
}

fn library(named: Option<&Path>) -> Result<PathBuf, Stop> {
    // Of a build, and as `cargo install` names it.
    const NAMES: [&str; 2] = ["libinterpose.so", "replay-interpose"];
    if let Some(path) = named {
        let unread = |error| stop(format!("{}: {error}", path.display()));
        return path.canonicalize().map_err(unread);
    }
    let this = env::current_exe().map_err(|error| stop(format!("where is replay? {error}")))?;
    let folder = this.parent().unwrap_or(Path::new("/"));
    // Cargo builds into `deps`, and links from there what it was asked for.
    let folders = [folder.join("deps"), folder.to_owned(), folder.join("../lib")];
    let mut places = folders.iter().flat_map(|folder| NAMES.map(|name| folder.join(name)));
    places.find_map(|place| place.canonicalize().ok()).ok_or_else(|| {
        stop(format!(
            "{}: the library that records not found (neither {} nor {} here or in ../lib); run \
             `cargo install mps-interpose`, or name the library by --library",
            folder.display(),
            NAMES[0],
            NAMES[1]
        ))
    })
}

/// Returns the libraries to preload: this one, and those in the environment.
fn preload(library: &Path) -> Result<OsString, Stop> {
    if library.as_os_str().as_bytes().iter().any(|byte| b" :".contains(byte)) {
        return Err(stop(format!(
            "{}: cannot be preloaded (its path has a space or a colon); copy it elsewhere, and \
             name it by --library",
            library.display()
        )));
    }
    let mut list = library.as_os_str().to_owned();
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    Ok(list)
}

/// Begins to take signals for the program before it starts, so that none ends this process alone.
/// Ignored signals stay ignored, for the program too.
fn take_signals() -> Result<Signals, Stop> {
    let taken = cli::heeded(&[SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2]);
    Signals::new(taken).map_err(|error| stop(format!("cannot take signals: {error}")))
}

/// Waits for the program, and passes signals on to it. (It gets those of a terminal's keys itself.)
fn wait(mut child: Child, mut signals: Signals) -> Result<ExitStatus, Stop> {
    let process = Pid::from_child(&child);
    std::thread::spawn(move || {
        for signal in signals.forever().filter(|signal| ![SIGINT, SIGQUIT].contains(signal)) {
            if let Some(signal) = Signal::from_named_raw(signal) {
                // The program may have ended.
                let _ = kill_process(process, signal);
            }
        }
    });
    child.wait().map_err(|error| stop(format!("cannot wait for the program: {error}")))
}
