//! A log that is being read: opened, and at the end what was found wrong with it is told.
//!
//! ```text
//!  Input (arguments) ── input.rs ──▶ Log ──▶ Reading ── events ──▶ a command
//!                                              └─ end: faults ──▶ standard error, exit status
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

use crate::input::core;
use crate::input::{self, FILENAME_VARIABLE};
use crate::select;
use cli::{Stop, complain};
use eventlog::reader::{Faults, Increment, Log, Losses, OpenError, Options, Order};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};

pub(crate) mod parallel;
mod progress;

use progress::Progress;

/// What is said of seconds that the clock syncs of the MPS give.
const APPROXIMATE: &str = "seconds are approximate: the MPS relates its clock to processor time \
                           alone; --clock-rate states how fast it ticks";

/// Which log is read.
#[derive(Debug, clap::Args)]
pub(crate) struct Input {
    /// The log; "-" is standard input [default: $MPS_TELEMETRY_FILENAME, else mpsio.log]. Several
    /// are read as one: the volumes of a stream, in any order
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,

    /// The log, named as for MPS's own dumper
    #[arg(short = 'f', long = "file", value_name = "LOG", conflicts_with = "logs")]
    file: Option<PathBuf>,

    #[command(flatten)]
    known: Known,
}

/// What is known of a log that it does not say.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Known {
    /// The eventdef.h of the MPS that wrote the log, if it is not of telemetry version 2.0.0
    #[arg(long, value_name = "FILE")]
    eventdef: Option<PathBuf>,

    /// How fast the clock of the log ticks, whatever the log says: 2.1GHz, 1000000Hz
    #[arg(long, value_name = "RATE", value_parser = select::times::clock_rate)]
    clock_rate: Option<u64>,
}

/// Whether a command prints while it reads: then a bar would disturb a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stdout {
    Used,
    Free,
}

impl Stdout {
    /// Free, unless what is written goes there.
    pub(crate) fn unless(output: &Path) -> Stdout {
        if output.as_os_str() == "-" { Stdout::Used } else { Stdout::Free }
    }
}

impl Input {
    /// The logs that are named on the command line.
    pub(crate) fn logs(&self) -> &[PathBuf] {
        match &self.file {
            Some(file) => std::slice::from_ref(file),
            None => &self.logs,
        }
    }
}

/// A log that is being read.
pub(crate) struct Reading {
    /// What it is called in messages.
    pub(crate) name: String,
    pub(crate) log: Log,
    /// Where in it each file begins, and the name of that file.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "`file_of` asks"))]
    starts: Vec<(u64, String)>,
    progress: Progress,
    /// Whether the log is read stretch by stretch.
    by_increment: bool,
    /// Whether seconds were asked for.
    has_seconds: Cell<bool>,
    /// Lines that told of what its cores lack.
    core_loss_count: u64,
    finder: RefCell<select::Finder>,
}

impl Reading {
    /// Opens what is named; of cores, says what they are.
    pub(crate) fn open(input: &Input) -> Result<Reading, Stop> {
        Reading::open_with(input, Stdout::Free)
    }

    /// The same for a command that may print while it reads.
    pub(crate) fn open_with(input: &Input, stdout: Stdout) -> Result<Reading, Stop> {
        Reading::with(input.logs(), &input.known, stdout, None)
    }

    /// Opens a log that is read by increments, as far as its order and labels allow: see
    /// [`Reading::next_increment`].
    pub(crate) fn open_by_increment(
        input: &Input,
        order: Order,
        labels: bool,
    ) -> Result<Reading, Stop> {
        // Labels are looked for in all of a stream.
        let is_whole = order == Order::Time || labels;
        let increment = if is_whole { Increment::Stream } else { Increment::Stretch };
        Reading::with(input.logs(), &input.known, Stdout::Used, Some(increment))
    }

    /// Opens each of the logs that are named by itself.
    pub(crate) fn each(input: &Input) -> impl Iterator<Item = Result<Reading, Stop>> {
        let one = |log| Reading::of(std::slice::from_ref(log), &input.known);
        input.logs().iter().map(one)
    }

    /// Opens these logs, to be read as one; none: what the environment names.
    pub(crate) fn of(named: &[PathBuf], known: &Known) -> Result<Reading, Stop> {
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
        let input::Opened { name, starts, source, cores } = input::open(&paths, &options);
        let unread = |error| Stop::Message(format!("{name}: {error}"));
        let source = source.map_err(|error| match error {
            OpenError::Io(error) if named.is_empty() => Stop::Message(format!(
                "{name}: {error}; name a log on the command line, or in {FILENAME_VARIABLE}"
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
        if core::have_all(&cores, &log) {
            log.drop_hole_faults();
        }
        let core_loss_count = core::report_all(&cores, &log);
        let (finder, by_increment) = (RefCell::default(), increment.is_some());
        let has_seconds = Cell::new(false);
        Ok(Reading {
            name,
            log,
            starts,
            progress,
            by_increment,
            has_seconds,
            core_loss_count,
            finder,
        })
    }

    /// The name of the file that a stream is in.
    #[cfg(feature = "parquet")]
    pub(crate) fn file_of(&self, stream: &eventlog::reader::Stream) -> &str {
        let at = self.starts.partition_point(|(start, _)| *start <= stream.offset);
        self.starts.get(at.saturating_sub(1)).map_or(&self.name, |(_, name)| name)
    }

    /// Goes on to the next increment of the log, whose events are then those of [`Reading::log`].
    pub(crate) fn next_increment(&mut self) -> bool {
        self.log.next_increment()
    }

    /// What is selected of it. All of it is about to be read once.
    pub(crate) fn select(
        &self,
        select: &select::Select,
        labels: bool,
    ) -> Result<select::Selection, Stop> {
        let selection = select.resolve(&self.log, labels);
        let selection =
            selection.map_err(|what| Stop::Message(format!("{}: {what}", self.name)))?;
        if select.is_relative() {
            self.use_seconds();
        }
        if !self.by_increment {
            self.progress.begin_events(self.log.size());
        }
        self.finder.replace(selection.finder());
        Ok(selection)
    }

    /// Seconds are asked for: if they are approximate, that is told at the end.
    pub(crate) fn use_seconds(&self) {
        self.has_seconds.set(true);
    }

    /// Takes the progress bar away: what follows goes to the terminal.
    pub(crate) fn finish(&self) {
        self.progress.finish();
    }

    /// Tells of what was found wrong: by the headers, and in `faults` while events were read; and
    /// whether nothing was found that was selected. Whether the log was read whole.
    pub(crate) fn end(&self, faults: &Faults) -> bool {
        self.progress.finish();
        if self.finder.borrow().is_empty_handed() {
            let hint = self.finder.borrow().hint(&self.log);
            complain(&format!("eventcnv: {}: no event is selected{hint}\n", self.name));
        }
        let is_approximate = self.log.streams().iter().any(|stream| stream.is_rate_approximate);
        if self.has_seconds.get() && is_approximate {
            complain(&format!("eventcnv: {}: note: {APPROXIMATE}\n", self.name));
        }
        report(&self.name, &[self.log.faults(), faults]);
        self.log.faults().loss_count() + faults.loss_count() + self.core_loss_count == 0
    }

    /// The same, where no event was to be read.
    pub(crate) fn end_unread(&self) -> bool {
        self.finder.take();
        self.end(&Faults::default())
    }

    /// Says what is to be noted, if anything is.
    pub(crate) fn note(&self, note: Option<String>) {
        note.iter().for_each(|note| complain(&format!("eventcnv: {}: {note}\n", self.name)));
    }

    /// Says how many events were requested and are not in the log.
    pub(crate) fn note_losses(&self, losses: &Losses) {
        self.note((losses.total() > 0).then(|| format!("note: {}", told(losses))));
    }
}

/// How many events were requested and are not in a log, and why: in words.
pub(crate) fn told(losses: &Losses) -> String {
    let Losses { full, nested, large, io, lost, .. } = losses;
    let total = losses.total();
    format!(
        "{total} events were requested and are not in the log: {full} for lack of room, {nested} \
         nested, {large} too large, {io} refused by the host, {lost} missing"
    )
}

/// Tells what was found wrong, a line each.
pub(crate) fn report(name: &str, faults: &[&Faults]) {
    faults.iter().for_each(|faults| complain(&cli::log::faults("eventcnv", name, faults)));
}
