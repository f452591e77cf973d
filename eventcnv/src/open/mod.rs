//! From words of a command line to events: opens a log, reads it, reports its faults at the end.
//!
//! ```text
//!  Input (arguments) ── input/ ──▶ Log ──▶ Reading ── events ──▶ a command
//!                                              └─ end: faults ──▶ standard error, exit status
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

pub(crate) mod input;
pub(crate) mod output;
pub(crate) mod parallel;
pub(crate) mod progress;
pub(crate) mod select;

use crate::open::input::{FILENAME_VARIABLE, core};
use crate::open::progress::Progress;
use cli::units::bytes;
use cli::{Stop, complain};
use eventlog::reader::{
    Faults, Filter, Format, Increment, Log, Losses, OpenError, Options, Order, Picker,
};
use lens::calls::Family;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The note about seconds that come from the clock syncs of the MPS.
const APPROXIMATE: &str = "seconds are approximate: the MPS relates its clock only to processor \
                           time; state its rate with --clock-rate";

/// Why a program has written no log.
const UNWRITTEN: &str = "; a program writes one only if MPS_TELEMETRY_CONTROL names kinds of \
                         events, as in MPS_TELEMETRY_CONTROL=all";

/// The logs on the command line.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Input {
    /// The log; "-" is standard input [default: $MPS_TELEMETRY_FILENAME, else mpsio.log]. Several
    /// logs are read as one: the volumes of a stream, in any order
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,

    /// The log, as for MPS's own dumper
    #[arg(short = 'f', long = "file", value_name = "LOG", conflicts_with = "logs")]
    file: Option<PathBuf>,

    #[command(flatten)]
    known: Known,
}

impl Input {
    /// Returns one log.
    #[cfg(feature = "paths")]
    pub(crate) fn of(log: PathBuf) -> Input {
        Input { logs: vec![log], ..Input::default() }
    }
}

/// Facts about a log that the log does not state.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Known {
    /// The eventdef.h of the MPS that wrote the log, unless its telemetry version is 2.0.0
    #[arg(long, value_name = "FILE")]
    eventdef: Option<PathBuf>,

    /// The rate of the log's clock, which overrides the log: 2.1GHz, 1000000Hz
    #[arg(long, value_name = "RATE", value_parser = select::times::clock_rate)]
    clock_rate: Option<u64>,
}

/// Whether a command prints while it reads: a progress bar would then disturb a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stdout {
    Used,
    Free,
}

impl Stdout {
    /// Returns `Used` if the output is "-".
    pub(crate) fn unless(output: &Path) -> Stdout {
        if output.as_os_str() == "-" { Stdout::Used } else { Stdout::Free }
    }
}

impl Input {
    /// Returns the logs on the command line.
    pub(crate) fn logs(&self) -> &[PathBuf] {
        match &self.file {
            Some(file) => std::slice::from_ref(file),
            None => &self.logs,
        }
    }
}

/// A log that is being read.
pub(crate) struct Reading {
    pub(crate) name: String,
    pub(crate) log: Log,
    /// The offset of each file in the log, and its name.
    starts: Vec<(u64, String)>,
    progress: Progress,
    by_increment: bool,
    /// Whether the command uses seconds.
    has_seconds: Cell<bool>,
    /// Faults of cores and of compressed files that cost events.
    input_loss_count: u64,
    finder: RefCell<select::Finder>,
    /// Events of the selection that were overwritten, by kind.
    overwritten: RefCell<BTreeMap<String, u64>>,
}

impl Reading {
    /// Opens the logs of the command line, and reports what its cores are.
    pub(crate) fn open(input: &Input) -> Result<Reading, Stop> {
        Reading::open_with(input, Stdout::Free)
    }

    /// Opens the logs of the command line, and those of the ancestors of the first one.
    #[cfg(feature = "sql")]
    pub(crate) fn open_family(input: &Input) -> Result<Reading, Stop> {
        let logs = input::family::with_ancestors(input.logs());
        Reading::with(&logs, &input.known, Stdout::Free, None)
    }

    /// Opens the logs for a command that may print while it reads.
    pub(crate) fn open_with(input: &Input, stdout: Stdout) -> Result<Reading, Stop> {
        Reading::with(input.logs(), &input.known, stdout, None)
    }

    /// Opens the logs by increments, as far as order and labels allow: see
    /// [`Reading::next_increment`].
    pub(crate) fn open_by_increment(
        input: &Input,
        order: Order,
        labels: bool,
    ) -> Result<Reading, Stop> {
        // A label may be anywhere in a stream.
        let is_whole = order == Order::Time || labels;
        let increment = if is_whole { Increment::Stream } else { Increment::Stretch };
        Reading::with(input.logs(), &input.known, Stdout::Used, Some(increment))
    }

    /// Opens other logs than those of the command line as one, with the facts that it states.
    pub(crate) fn open_others(input: &Input, paths: &[PathBuf]) -> Result<Reading, Stop> {
        Reading::open_paths(paths, &input.known)
    }

    /// Opens each log of the command line by itself.
    pub(crate) fn each(input: &Input) -> impl Iterator<Item = Result<Reading, Stop>> {
        let open = |log| Reading::open_paths(std::slice::from_ref(log), &input.known);
        input.logs().iter().map(open)
    }

    /// Opens these logs as one; if none, the log of the environment.
    pub(crate) fn open_paths(named: &[PathBuf], known: &Known) -> Result<Reading, Stop> {
        Reading::with(named, known, Stdout::Used, None)
    }

    fn with(
        named: &[PathBuf],
        known: &Known,
        stdout: Stdout,
        increment: Option<Increment>,
    ) -> Result<Reading, Stop> {
        let paths = input::choose(named, std::env::var_os(FILENAME_VARIABLE));
        let paths = paths.map_err(Stop::Message)?;
        let mps_registry = known.eventdef.as_deref().map(cli::log::mps_registry).transpose();
        let options = Options {
            mps_registry: mps_registry.map_err(Stop::Message)?,
            clock_rate: known.clock_rate,
        };
        let opened = input::open(&paths, &options);
        let input::Opened { name, starts, source, cores, damaged_count } = opened;
        let unread = |error: OpenError| {
            let foreign = foreign_of(&error, &paths);
            Stop::Message(foreign.unwrap_or_else(|| format!("{name}: {error}")))
        };
        if source.is_err() {
            // What is known of a crash does not depend on the other logs.
            core::report_each(&cores);
        }
        let source = source.map_err(|error| match error {
            OpenError::Io(error) if named.is_empty() => Stop::Message(format!(
                "{name}: {error}; name a log on the command line, or in {FILENAME_VARIABLE}{}",
                if error.kind() == io::ErrorKind::NotFound { UNWRITTEN } else { "" }
            )),
            error => unread(error),
        })?;
        let progress = Progress::default();
        let source = progress.watch(source, stdout);
        let log = match increment.filter(|_| cores.is_empty()) {
            Some(increment) => Log::with_source_by_increment(source, &options, increment),
            None => Log::with_source(source, &options),
        };
        let mut log = log.map_err(unread)?;
        if increment.is_some() && log.format() == Format::Stream {
            // The index of our own logs reads headers alone.
            progress.expect(0);
        }
        if core::have_all(&cores, &log) {
            log.note_memory();
        }
        let input_loss_count = core::report_all(&cores, &log) + damaged_count;
        Ok(Reading {
            name,
            log,
            starts,
            progress,
            by_increment: increment.is_some(),
            has_seconds: Cell::new(false),
            input_loss_count,
            finder: RefCell::default(),
            overwritten: RefCell::default(),
        })
    }

    #[cfg(feature = "parquet")]
    pub(crate) fn file_of(&self, stream: &eventlog::reader::Stream) -> &str {
        let at = self.starts.partition_point(|(start, _)| *start <= stream.offset);
        self.starts.get(at.saturating_sub(1)).map_or(&self.name, |(_, name)| name)
    }

    /// Reads the next increment: [`Reading::log`] then has its events.
    pub(crate) fn next_increment(&mut self) -> bool {
        self.log.next_increment()
    }

    /// Returns the selection. The command is about to read all of the log once.
    pub(crate) fn select(
        &self,
        select: &select::Select,
        labels: bool,
    ) -> Result<select::Selection, Stop> {
        let selection = select.resolve(&self.log, labels).map_err(|what| self.error(what))?;
        if select.is_relative() {
            self.use_seconds();
        }
        self.begin_pass();
        self.finder.replace(selection.finder());
        self.overwritten.replace(overwritten(&self.log, selection.filter()));
        Ok(selection)
    }

    /// States how many times the command reads the log from now on: [`Reading::select`] and
    /// [`Reading::begin_pass`] begin one.
    pub(crate) fn expect_passes(&self, count: u64) {
        self.progress.expect(count);
    }

    /// Begins to read the log once more.
    pub(crate) fn begin_pass(&self) {
        // An increment is read after its index, and before that of the next one.
        if !self.by_increment {
            self.progress.begin_pass();
        }
    }

    /// States what the command does from now on, when it has read the log.
    pub(crate) fn step(&self, what: &'static str) {
        self.progress.step(what);
    }

    /// Returns the progress, for a thread that reads.
    #[cfg(feature = "parquet")]
    pub(crate) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Restricts a selection to the process that wrote the first stream, and to its ancestors up to
    /// the forks. Notes what the log lacks for that.
    pub(crate) fn restrict_to_family(&self, selection: &mut select::Selection) {
        let family = Family::of(&self.log, 0);
        let missing = family.missing.map(|uuid| {
            let uuid: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("the stream {uuid} of a parent is missing; name its log too")
        });
        let circle =
            family.is_circular.then(|| "the parents of the streams form a circle".to_owned());
        self.note(missing.into_iter().chain(circle));
        selection.restrict(&select::Part::of_family(family));
    }

    /// Returns the error message of this log.
    pub(crate) fn error(&self, what: impl std::fmt::Display) -> Stop {
        Stop::Message(format!("{}: {what}", self.name))
    }

    /// Notes that the command uses seconds: [`Reading::end`] reports approximate ones.
    pub(crate) fn use_seconds(&self) {
        self.has_seconds.set(true);
    }

    /// Removes the progress bar, before output to the terminal.
    pub(crate) fn finish(&self) {
        self.progress.finish();
    }

    /// Reports the faults of the log and of its events, a selection that selected nothing, and how
    /// many events of the selection were overwritten. Returns whether no fault cost events.
    pub(crate) fn end(&self, faults: &Faults) -> bool {
        self.progress.finish();
        if self.finder.borrow().is_empty_handed() {
            let hint = self.finder.borrow().hint(&self.log);
            complain(&format!("eventcnv: {}: no event is selected{hint}\n", self.name));
        }
        let is_approximate = self.log.streams().iter().any(|stream| stream.is_rate_approximate);
        if self.has_seconds.get() && is_approximate {
            self.note([APPROXIMATE.to_owned()]);
        }
        report(&self.name, &self.starts, &[self.log.faults(), faults]);
        self.note(overwritten_note(&self.overwritten.borrow()));
        self.log.faults().loss_count() + faults.loss_count() + self.input_loss_count == 0
    }

    /// Returns how many events of the selection were overwritten.
    pub(crate) fn overwritten(&self) -> u64 {
        self.overwritten.borrow().values().copied().fold(0, u64::saturating_add)
    }

    /// Leaves them out of the notes: the command has no number that lacks some, or counts them.
    pub(crate) fn forget_overwritten(&self) {
        self.overwritten.take();
    }

    /// Ends a command that reads no event.
    pub(crate) fn end_unread(&self) -> bool {
        self.finder.take();
        self.overwritten.take();
        self.end(&Faults::default())
    }

    /// Reports the same, then notes, and how many requested events are not in the log. Returns
    /// whether no fault cost events.
    pub(crate) fn end_noting(&self, faults: &Faults, notes: impl Iterator<Item = String>) -> bool {
        let is_whole = self.end(faults);
        self.note(notes);
        self.note_losses(&self.log.losses(faults));
        is_whole
    }

    /// Prints an answer, then the same. Returns whether no fault cost events.
    pub(crate) fn answer(
        &self,
        text: &[u8],
        faults: &Faults,
        notes: impl Iterator<Item = String>,
    ) -> Result<bool, Stop> {
        self.finish();
        cli::unless_closed(io::stdout().lock().write_all(text))?;
        Ok(self.end_noting(faults, notes))
    }

    /// Prints notes to standard error.
    pub(crate) fn note(&self, notes: impl IntoIterator<Item = String>) {
        let print = |note| complain(&format!("eventcnv: {}: note: {note}\n", self.name));
        notes.into_iter().for_each(print);
    }

    /// Notes how many requested events are not in the log.
    pub(crate) fn note_losses(&self, losses: &Losses) {
        self.note((losses.total() > 0).then(|| loss_summary(losses)));
    }
}

/// Returns the error about a file that another tool recorded.
#[cfg(feature = "waits")]
fn foreign_of(error: &OpenError, paths: &[PathBuf]) -> Option<String> {
    let is_read = matches!(error, OpenError::NotALog | OpenError::Directory);
    let path = paths.iter().find(|path| is_read && input::is_foreign(path))?;
    let name = cli::log::name(path);
    Some(format!(
        "{name}: is not a log: perf record, perf script or trace-cmd wrote it; make a log of it: \
         eventcnv waits import {name} -o NEW.log"
    ))
}

#[cfg(not(feature = "waits"))]
fn foreign_of(_: &OpenError, _: &[PathBuf]) -> Option<String> {
    None
}

/// Returns how many events that a filter lets through were overwritten in a log, by kind.
fn overwritten(log: &Log, filter: &Filter) -> BTreeMap<String, u64> {
    let picker = Picker::new(filter, log.registries());
    let mut kinds = BTreeMap::new();
    for account in log.accounts().iter().filter(|account| account.overwritten > 0) {
        let index = account.registry as usize;
        let Some(registry) = log.registries().get(index) else { continue };
        let mut rows = registry.event_types.iter().enumerate();
        let is_of_thread =
            |&(stream, thread): &(u16, u32)| (stream, thread) == (account.stream, account.thread);
        if rows.any(|(at, row)| row.kind == account.kind && picker.has_type(index, at))
            && (filter.threads.is_empty() || filter.threads.iter().any(is_of_thread))
        {
            let kind = registry.kind(account.kind).map(|kind| kind.name.to_string());
            let sum = kinds.entry(kind.unwrap_or_default()).or_insert(0_u64);
            *sum = sum.saturating_add(account.overwritten);
        }
    }
    kinds
}

/// Returns how many older events were overwritten, in words.
fn overwritten_note(kinds: &BTreeMap<String, u64>) -> Option<String> {
    let total = kinds.values().copied().fold(0, u64::saturating_add);
    let each: Vec<String> = kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    (total > 0).then(|| {
        let were = if total == 1 { "event was" } else { "events were" };
        format!("{total} older {were} overwritten in memory: {}", each.join(", "))
    })
}

/// Returns how many requested events are not in a log, by cause, in words.
pub(crate) fn loss_summary(losses: &Losses) -> String {
    let Losses { full, nested, large, io, lost, .. } = losses;
    let total = losses.total();
    let (were, are) = if total == 1 { ("event was", "is") } else { ("events were", "are") };
    format!(
        "{total} {were} requested and {are} not in the log: {full} for lack of room, {nested} \
         nested, {large} too large, {io} refused by the host, {lost} missing"
    )
}

/// Returns what a log that was not closed may lack, and what keeps it, in words.
pub(crate) fn open_end(log: &Log) -> Option<String> {
    let open = (0..).zip(log.streams()).filter(|(stream, _)| log.is_open_ended(*stream));
    let size = open.map(|(_, stream)| stream.block_size).max()?;
    Some(format!(
        "the log was not closed: the last block of each thread and kind may be missing, up to {} \
         each; MPS_TELEMETRY_FILENAME=ring:PATH and a core keep it, and MPS_TELEMETRY_CRASH=1 does \
         except after SIGKILL",
        bytes(size.into())
    ))
}

pub(crate) fn report(name: &str, starts: &[(u64, String)], faults: &[&Faults]) {
    let say = |faults| complain(&cli::log::faults("eventcnv", name, starts, faults));
    faults.iter().copied().for_each(say);
}
