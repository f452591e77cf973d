//! Records the kernel's events, while a program runs or until a signal.
//!
//! ```text
//!  waits record ─▶ tracefs, a private instance ─▶ spill ─▶ LOG      PROGRAM keeps its streams,
//!               └▶ PROGRAM                                          signals and exit code
//! ```
//!
//! Design: `.waits.record`, `.waits.degrees` in `design/waits.md`.

use cli::units::bytes;
use cli::{Stop, complain, output, said};
use record_waits::{CollectError, Options, OwnRecording, Recorded, Recording};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::channel;
use std::time::Duration;

pub(crate) const ABOUT: &str = "\
Records what the kernel does with the threads of the whole system: switches, wakes, system calls, \
interrupts, timers, disks and sockets. The log has the registry \"kernel\"; the commands of \
eventcnv read it.

With a program it records while the program runs; without one, until Ctrl-C, SIGTERM, or for \
--seconds. The kernel's events go to a private instance of tracefs, and from there to a temporary \
file next to the log; the log is made at the end. Nothing stays switched on in the kernel.

It needs root, or CAP_SYS_ADMIN and the rights on tracefs. tracefs need not be mounted. Without \
these rights, and with a program, the log has what the kernel tells any user: the switches of that \
program and of all that it makes, but not the wakers; see /proc/sys/kernel/perf_event_paranoid.";

pub(crate) const EXAMPLES: &str = "\
The program keeps its standard streams, its signals and its exit code. A program that records its \
own events writes its own log at the same time: both have one clock.

Examples:
  sudo eventcnv waits record -- ./server --port 80     log: kernel.log
  sudo eventcnv waits record -o k.log --seconds 10     the system, for ten seconds
  sudo eventcnv waits record --stacks -- make          with the stacks of switches and wakes
  sudo eventcnv waits record --samples 1000 -- ./server   with samples of running threads
  eventcnv stats k.log                                 events by type
  eventcnv query k.log 'SELECT count(*) FROM Switch'   in SQL

Exit status: that of the program, or 128 plus the number of the signal that ended it; 0 without a
program. If the program was not run:
  2  the rights are missing, the program was not found, or the log cannot be written";

/// The exit code if the log cannot be written after the program ended.
const UNWRITTEN: i32 = 2;

/// Record the kernel's events while a program runs, or until Ctrl-C
#[derive(Debug, clap::Args)]
pub(crate) struct Record {
    /// The log; "-" is standard output
    #[arg(short, long, value_name = "LOG", default_value = "kernel.log")]
    output: PathBuf,

    /// Overwrite an existing log
    #[arg(long)]
    force: bool,

    /// End after this time
    #[arg(long, value_name = "N", value_parser = seconds, conflicts_with = "command")]
    seconds: Option<Duration>,

    /// Record the stacks of switches and wakes: of the kernel, and up to 8 frames of programs that
    /// keep frame pointers
    #[arg(long)]
    stacks: bool,

    /// Take samples of running threads with their stacks: this many a second, on each processor
    #[arg(long, value_name = "HZ")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=20_000))]
    samples: Option<u32>,

    /// The buffer of each processor in the kernel, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 8)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=4096))]
    buffer: u16,

    /// Run the program even if nothing can be recorded
    #[arg(long, requires = "command")]
    anyway: bool,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "a positive number of seconds is needed, such as 10 or 0.5".to_owned())
}

/// Records; with a program, ends this process with the program's exit code.
pub(crate) fn run(args: &Record) -> Result<bool, Stop> {
    if args.output.as_os_str() != "-" {
        output::check(&args.output, args.force)?;
    }
    // From here on a signal ends the recording, not this process alone.
    let signals = take_signals()?;
    let mut recording = match begin(args) {
        Ok(recording) => Some(recording),
        Err(error) if args.anyway => {
            complain(&format!("eventcnv: {error}; nothing is recorded\n"));
            None
        }
        Err(error) => {
            let hint = if args.command.is_empty() { "" } else { "; --anyway runs the program" };
            return Err(stop(format!("{error}{hint}")));
        }
    };
    let Some((program, arguments)) = args.command.split_first() else {
        wait_for_signal(signals, args.seconds);
        return finish(args, recording).map(|()| true);
    };
    let child = Command::new(program).args(arguments).spawn();
    let child = child.map_err(|error| not_run(program, &error))?;
    if let Some(recording) = &mut recording {
        recording.watch(child.id());
    }
    let status = wait(child, signals)?;
    let code = code(status);
    let is_written = match finish(args, recording) {
        Err(Stop::Message(message)) => {
            complain(&format!("eventcnv: {message}\n"));
            false
        }
        result => result.is_ok(),
    };
    std::process::exit(if code == 0 && !is_written { UNWRITTEN } else { code })
}

/// A recording that is under way.
#[derive(Debug)]
enum Begun {
    /// Of the whole system.
    System(Box<Recording>),
    /// Of the program alone, for users without rights.
    Own(Box<OwnRecording>),
}

impl Begun {
    fn watch(&mut self, process: u32) {
        match self {
            Begun::System(recording) => recording.watch(process),
            Begun::Own(recording) => recording.watch(process),
        }
    }

    fn finish(self, out: &mut dyn io::Write) -> Result<Recorded, CollectError> {
        match self {
            Begun::System(recording) => recording.finish(out),
            Begun::Own(recording) => recording.finish(out),
        }
    }
}

/// Begins a recording: of the system, else of the program. Fails with the reasons of both.
fn begin(args: &Record) -> Result<Begun, String> {
    let mut options = Options::default();
    options.has_stacks = args.stacks;
    options.buffer_size = usize::from(args.buffer) << 20;
    let text = |error: CollectError| error.to_string();
    let spill = || spill(&args.output).map_err(|error| text(CollectError::Spill(error)));
    let rate = args.samples.unwrap_or(0);
    let refused = match Recording::begin(&options, spill()?) {
        Ok(mut recording) => {
            if rate > 0 {
                recording.sample(rate, spill()?).map_err(text)?;
            }
            return Ok(Begun::System(Box::new(recording)));
        }
        Err(error @ (CollectError::Rights { .. } | CollectError::Absent)) => error,
        Err(error) => return Err(text(error)),
    };
    if args.command.is_empty() {
        return Err(text(refused));
    }
    // The kernel may still tell of own threads.
    match OwnRecording::begin(rate, spill()?) {
        Ok(recording) => Ok(Begun::Own(Box::new(recording))),
        Err(error) => Err(format!("{refused}; and {error}")),
    }
}

/// Returns a file without a name, on the disk of the log.
fn spill(output: &Path) -> io::Result<File> {
    match output.parent() {
        _ if output.as_os_str() == "-" => tempfile::tempfile(),
        Some(folder) if !folder.as_os_str().is_empty() => tempfile::tempfile_in(folder),
        _ => tempfile::tempfile_in("."),
    }
}

/// Ends the recording, writes the log, and reports both on standard error.
fn finish(args: &Record, recording: Option<Begun>) -> Result<(), Stop> {
    let Some(recording) = recording else { return Ok(()) };
    let recorded = output::write(&args.output, args.force, |out| {
        recording.finish(out).map_err(io::Error::other)
    })?;
    report(&args.output, &recorded);
    Ok(())
}

fn report(path: &Path, recorded: &Recorded) {
    let name = said(path);
    complain(&format!(
        "eventcnv: {name}: {} events in {:.3} s, {}\n",
        recorded.event_count,
        recorded.duration as f64 / 1e9,
        bytes(recorded.size as f64),
    ));
    if recorded.counts.gaps > 0 {
        complain(&format!(
            "eventcnv: {name}: the kernel lost {} events in {} gaps, which the log states; \
             --buffer makes its buffers larger\n",
            recorded.lost_count, recorded.counts.gaps,
        ));
    }
    for note in &recorded.notes {
        complain(&format!("eventcnv: {name}: note: {note}\n"));
    }
}

fn stop(message: impl Into<String>) -> Stop {
    Stop::Message(message.into())
}

fn not_run(program: &OsStr, error: &io::Error) -> Stop {
    let name = said(Path::new(program));
    match error.kind() {
        io::ErrorKind::NotFound => stop(format!("{name}: program not found")),
        _ => stop(format!("{name}: cannot be run ({error})")),
    }
}

fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(2)
}

/// Begins to take signals. Ignored signals stay ignored.
fn take_signals() -> Result<Signals, Stop> {
    Signals::new(cli::heeded(&[SIGHUP, SIGINT, SIGQUIT, SIGTERM]))
        .map_err(|error| stop(format!("cannot take signals: {error}")))
}

fn wait_for_signal(mut signals: Signals, time: Option<Duration>) {
    let (sender, receiver) = channel();
    let handle = signals.handle();
    let waiter = std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            let _ = sender.send(());
        }
    });
    // Both a signal and the end of the time end the recording.
    let _ = match time {
        Some(time) => receiver.recv_timeout(time).is_ok(),
        None => receiver.recv().is_ok(),
    };
    handle.close();
    let _ = waiter.join();
}

/// Waits for the program, and passes signals on to it. (It gets those of a terminal's keys itself.)
fn wait(mut child: Child, mut signals: Signals) -> Result<ExitStatus, Stop> {
    let process = Pid::from_child(&child);
    let handle = signals.handle();
    let passer = std::thread::spawn(move || {
        for signal in signals.forever().filter(|signal| ![SIGINT, SIGQUIT].contains(signal)) {
            if let Some(signal) = Signal::from_named_raw(signal) {
                // The program may have ended.
                let _ = kill_process(process, signal);
            }
        }
    });
    let status = child.wait();
    handle.close();
    let _ = passer.join();
    status.map_err(|error| stop(format!("cannot wait for the program: {error}")))
}
