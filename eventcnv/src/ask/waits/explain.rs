//! Explains what a process or a thread waited for.
//!
//! ```text
//!  logs ── reading ──▶ Explained ─┬─ view ──▶ tables
//!                                          └─ lens::waits::answer ──▶ WAITS.log
//! ```
//!
//! Design: `.waits.answer` in `design/waits.md`.

use crate::ask::waits::reading::{Explained, Kernel, Question};
use crate::ask::waits::view::Shown;
use crate::open::{Known, Reading};
use cli::table::Form;
use cli::{Stop, output, said};
use eventlog::writer::MakeError;
use lens::waits::answer::Answer;
use lens::waits::critical::Walker;
use lens::waits::stack::stacks;
use std::io::{self, Write};
use std::path::PathBuf;

pub(super) const ABOUT: &str = "\
Explains what a process or a thread waited for, and where its time went.

The logs are one of a kernel, and any number of logs that programs recorded on the same boot. The \
answer names the system call, the file, the lock, the disk or the peer of each wait; the thread \
that ended the wait; and, if the program recorded events, what both were doing.";

pub(super) const EXAMPLES: &str = "\
The shares of time, from the best understood to the least; their sum is the whole time:
  understood                a thread ran, and samples tell where
  running without a sample  a thread ran
  disk, disk queue          a device worked; an operation waited for the device
  deliberate sleep          the thread slept in a call whose purpose is to sleep
  waiting for another path  the waking thread did work that it had begun long before
  scheduler                 a woken thread waited for a processor
  involuntary               a thread was switched out while it could run
  timed out                 a thread waited for something that did not come in time
  hardware                  an interrupt, or data from another host
  unknown, lost             the log does not tell; the kernel lost events

A wait for a thread is the time of that thread, as far as its work fits the wait: the work begins no
earlier than the wait, and ends no later than the waiting thread runs again. --grace is the
tolerance for both.

Text has the ten longest groups of waits, CSV and JSON have all; --top N chooses how many, and
--sort orders them by a column of --csv.

Examples:
  eventcnv waits explain kernel.log --of store           the process, or all threads, of this name
  eventcnv waits explain store.log kernel.log            the process that recorded store.log
  eventcnv waits explain store.log kernel.log --from GetBegin --to GetEnd --path
  eventcnv waits explain kernel.log --of tid:101 --json
  eventcnv waits explain kernel.log --of store -o waits.log
  eventcnv export waits.log -o waits.pftrace             runs, waits, wakes for ui.perfetto.dev
  eventcnv report waits.log -o waits.html                threads and flames in a browser
  eventcnv export waits.log -o waits.folded --weight ns  the flame graph of waits, with wakers
  eventcnv export waits.log -o all.folded --stack frames --weight ns   that of all time
  eventcnv query waits.log \"SELECT sum(ns), stack FROM WaitEnd GROUP BY stack ORDER BY 1 DESC\"";

/// Groups of waits in text without `--top`.
const GROUP_COUNT: usize = 10;

/// Explain what a process or a thread waited for, and where its time went
#[derive(Debug, clap::Args)]
pub(super) struct Explain {
    /// The log of the kernel, and the logs of programs; "-" is standard input
    #[arg(value_name = "LOG", required = true)]
    logs: Vec<PathBuf>,

    /// The process or thread: a name, or a number; tid:N and pid:N say which [default: the process
    /// of the program's log]
    #[arg(long, value_name = "NAME|PID|THREAD")]
    of: Option<String>,

    /// Only the time from an event of this type on, on each thread of the target
    #[arg(long, value_name = "EVENT", requires = "to")]
    from: Option<String>,

    /// Only the time up to the next event of this type on the same thread
    #[arg(long, value_name = "EVENT", requires = "from")]
    to: Option<String>,

    /// All logs are of one boot, though the imported log of the kernel does not state its boot
    #[arg(long)]
    same_boot: bool,

    /// Also print the critical path piece by piece: of the first thread, or of the longest interval
    #[arg(long)]
    path: bool,

    /// How far the work for a wait may lie outside of the wait, in µs
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 100)]
    grace: u32,

    #[command(flatten)]
    form: Form,

    /// Write runs, waits, wakes, the critical path and the shares as a log
    #[arg(short = 'o', long = "output", value_name = "WAITS.log")]
    output: Option<PathBuf>,

    /// Replace an existing output
    #[arg(long, requires = "output")]
    force: bool,

    #[command(flatten)]
    known: Known,
}

/// Runs the command. Returns whether the logs were read completely.
pub(super) fn run(args: &Explain) -> Result<bool, Stop> {
    let reading = Reading::open_paths(&args.logs, &args.known)?;
    let log = &reading.log;
    let read = Kernel::read(log, args.same_boot).map_err(|what| reading.error(what))?;
    let (kernel, clock) = read;
    let all = if args.form.is_text() { GROUP_COUNT } else { usize::MAX };
    let top = args.form.top.unwrap_or(all);
    let form = Form { top: Some(top), ..args.form.clone() };
    let question = Question {
        of: args.of.as_deref(),
        between: args.from.as_deref().zip(args.to.as_deref()).map(|(from, to)| [from, to]),
        grace: u64::from(args.grace) * 1000,
        top: if form.sort.is_some() { usize::MAX } else { top },
    };
    let explained = Explained::new(log, &clock, &kernel, &question);
    let explained = explained.map_err(|what| reading.error(what))?;
    let shown = Shown { explained: &explained, top: question.top, has_path: args.path };
    let is_to_stdout = args.output.as_ref().is_some_and(|path| path.as_os_str() == "-");
    let mut is_flame_whole = true;
    if let Some(path) = &args.output {
        output::refuse_inputs(path, &args.logs)?;
        let mut walker = Walker::new(&kernel.model, question.grace).with_links();
        let stacks = stacks(&kernel.model, &explained.windows, &mut walker);
        is_flame_whole = stacks.is_complete;
        let answer = Answer {
            log,
            kernel: kernel.stream,
            clock: &clock,
            model: &kernel.model,
            tracks: &kernel.tracks,
            names: &explained.names,
            windows: &explained.windows,
            account: &explained.account,
            path: &explained.path.pieces,
            path_of: explained.path_of,
            stacks: &stacks,
            locks: &explained.locks(),
            sentences: &shown.told(),
            open: &explained.open,
        };
        let made = output::write(path, args.force, |out| {
            answer.write(out).map_err(|error| match error {
                MakeError::Io(error) => error,
                error => io::Error::other(error.to_string()),
            })
        })?;
        if !is_to_stdout && form.is_text() {
            let name = said(path);
            writeln!(io::stdout(), "{name}: {} events\n", made.event_count)?;
        }
    }
    let text = shown.answer(&form)?;
    reading.finish();
    if !is_to_stdout {
        io::stdout().lock().write_all(&text)?;
    }
    let is_whole = reading.end(&kernel.faults);
    reading.note(explained.notes.iter().cloned());
    if !is_flame_whole {
        reading.note(["the log has too many pseudo-stacks: some are left out".to_owned()]);
    }
    Ok(is_whole)
}
