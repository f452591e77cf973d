//! The command line: what to record, the program, the logs; and its help.
//!
//! ```text
//!  --malloc │ --calls ─┐
//!            --kernel ─┴─ -o LOG -- PROGRAM ARGS…      the same words in eventcnv and in replay
//! ```
//!
//! Design: `.rep.record` in `design/replay.md`, `.waits.record` in `design/waits.md`.

use crate::what::What;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The help of the command.
pub const ABOUT: &str = "\
Records a program, and what the kernel does meanwhile:

--malloc, the default, records each call of malloc, calloc, realloc, free and the functions like \
them, with its thread, size and address, from the first call before main to the last one after it. \
All commands of replay and eventcnv read the log.

--calls records the calls of functions that a C or C++ compiler built with \
-finstrument-functions, and not those of malloc: `eventcnv calls LOG` prints callers, counts and \
times; with --unused, on x86-64, the functions that were never called. An environment variable \
selects functions: MPS_TELEMETRY_CALLS=\"parse* -parse_char read>=10us\".

--kernel records what the kernel does with the threads of the whole system: switches, wakes, \
system calls, interrupts, timers, disks and sockets. Next to --malloc or --calls the program runs \
once, and the logs have one clock: `eventcnv waits explain LOG KERNEL-LOG`. Without a program the \
recording ends by Ctrl-C, SIGTERM, or after --seconds.

--malloc and --calls record any dynamically linked program, in any language, with its threads, the \
processes that it forks and the programs that it executes. Each process has its own log, LOG-PID. \
LOG is the log of the program itself (of the last program that it executed, if any). The kernel's \
log has the name of LOG with the ending .kernel.log in place of .log; of --kernel alone it is LOG.

--kernel needs root, or CAP_SYS_ADMIN and the rights on tracefs, which need not be mounted. \
Without these rights, and with a program, the log has what the kernel tells any user: the switches \
of that program and of all that it makes, but not the wakers; see \
/proc/sys/kernel/perf_event_paranoid. The events go to a private instance of tracefs, and from \
there to a temporary file next to the log; the log is made at the end. Nothing stays switched on \
in the kernel.";

const EXAMPLES: &str = "\
The program keeps its standard streams, its signals and its exit code. At the end a line on standard
error reports how much was recorded.

A program that a signal ends loses the events that were not yet in a full block: at most 64 KiB for
each thread; the line at the end reports this. So does a child; one that is killed early may have no
log. With MPS_TELEMETRY_CRASH=1 in the environment, which adds signal handlers to the program, only
SIGKILL loses events. `-o ring:FILE?size=1G` keeps the newest events through any end. If the kernel
drops events, its log and standard error state how many, and the exit status stays as it is.

Examples:
  TOOL record sort -o sorted.txt words.txt          log: sort.log
  TOOL record -o a.log -- python3 script.py         log: a.log; its children's: a.log-PID
  TOOL record -o ring:a.log?size=1G -- ./server     the newest events, however it ends
  TOOL record --stacks -- ./server                  with call stacks: replay show server.log
  TOOL record --calls -- ./parser                   functions: eventcnv calls parser.log
  TOOL record --kernel -- ./server                  what the kernel did meanwhile: kernel.log
  TOOL record --kernel --samples 1000 -- ./server   with samples of running threads
  TOOL record --malloc --kernel -- ./server         both: server.log, server.kernel.log
  TOOL record --kernel -o k.log --seconds 10        the system, for ten seconds

Exit status: that of the program, or 128 plus the number of the signal that ended it; 0 without a
program. If that is 0, or the program was not run:
  1  parts are missing from the logs of --malloc or --calls; standard error names the causes
  2  the program was not run, nothing was recorded, or the kernel's log cannot be written";

/// Returns the help after the options, with examples of the tool that has the command.
pub fn examples(tool: &str) -> String {
    EXAMPLES.replace("TOOL", tool)
}

/// What is recorded.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Record calls of malloc, free and the functions like them [default]
    #[arg(long, requires = "command")]
    malloc: bool,

    /// Record calls of functions built with -finstrument-functions
    #[arg(long, requires = "command", conflicts_with_all = ["malloc", "stacks"])]
    calls: bool,

    /// Record the kernel's events of the whole system, alone or next to one of these
    #[arg(long, overrides_with = "kernel")]
    pub(crate) kernel: bool,

    /// The log [default: PROGRAM.log in the current directory; of --kernel alone kernel.log, and
    /// "-" is standard output]
    #[arg(short, long, value_name = "LOG")]
    pub(crate) output: Option<PathBuf>,

    /// Record call stacks of malloc; with --kernel the stacks of switches and wakes: of the kernel,
    /// and up to 8 frames of programs that keep frame pointers
    #[arg(long)]
    pub(crate) stacks: bool,

    /// Minimum number of frames of a call stack: a deeper one has up to twice as many
    #[arg(long, value_name = "COUNT", default_value_t = 32)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) depth: u8,

    /// The library to preload [default: libinterpose.so or replay-interpose, next to this program
    /// or in ../lib]
    #[arg(long, value_name = "FILE")]
    pub(crate) library: Option<PathBuf>,

    /// End the recording of the kernel after this time
    #[arg(long, value_name = "N", value_parser = seconds)]
    #[arg(requires = "kernel", conflicts_with = "command")]
    pub(crate) seconds: Option<Duration>,

    /// Take samples of running threads with their stacks: this many a second, on each processor
    #[arg(long, value_name = "HZ", requires = "kernel")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub(crate) samples: Option<u32>,

    /// The buffer of each processor in the kernel, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 8, requires = "kernel")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) buffer: u16,

    /// Overwrite existing logs
    #[arg(long)]
    pub(crate) force: bool,

    /// Run the program even if it cannot be recorded, or only in part
    #[arg(long, requires = "command")]
    pub(crate) anyway: bool,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required_unless_present = "kernel")]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

impl Args {
    /// Returns what the preloaded library records, if it records.
    pub(crate) fn what(&self) -> Option<What> {
        match (self.calls, self.malloc || !self.kernel) {
            (true, _) => Some(What::Functions),
            (false, true) => Some(What::Malloc),
            (false, false) => None,
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "a positive number of seconds is needed, such as 10 or 0.5".to_owned())
}
