//! Prints the events of a log while a program writes it.
//!
//! ```text
//!  file ── changed? ──▶ Reading ── blocks with new events ──▶ new events ──▶ lines
//!   ▲────── 200 ms ◀───────────────────────────────────────────┘   closed ──▶ end
//! ```
//!
//! A program writes blocks in any order, and strings after the events that use them. So each look
//! reads the log like any other log; the numbers of events tell which are new. Design:
//! `.cnv.follow` in `design/eventcnv.md`.

#[cfg(feature = "sql")]
pub(crate) mod database;
#[cfg(feature = "sql")]
pub(crate) mod family;
#[cfg(feature = "sql")]
pub(crate) mod latest;
#[cfg(feature = "sql")]
pub(crate) mod missed;
#[cfg(feature = "sql")]
pub(crate) mod output;
#[cfg(feature = "sql")]
pub(crate) mod process;
#[cfg(feature = "sql")]
pub(crate) mod signals;

use crate::open::input::FILENAME_VARIABLE;
use crate::open::select::{Part, Select};
use crate::open::{Known, Reading, input};
use crate::show::clock::Clock;
use crate::show::line::Line;
use crate::show::look::{Look, Style, Take};
use crate::show::{View, line};
use crate::text::page::Page;
use cli::{Stop, complain, log};
use eventlog::reader::{Filter, Format, Log, Order};
use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const ABOUT: &str = "\
Prints the events of a log while a program writes it, until the log is closed or Ctrl-C.

The command waits for a log that does not exist yet. Events appear when the program writes them: \
when a block is full or flushed (eventcnv control flush). The command follows volumes from one to \
the next. It reads a mapped ring (ring:PATH) once a second, and misses events that are overwritten \
in between, unless the ring keeps all (ring:PATH?keep=all): a note tells how many.

With --sql it prints nothing, and keeps a database up to date instead, which other programs may \
query meanwhile. A call or slice that has begun has a row without an end until it ends. The \
command then also ends when the program was killed; started again, it goes on. With --family the \
database of a forked process begins with what its ancestors recorded before the forks.";

const EXAMPLES: &str = "\
Examples:
  eventcnv follow -vv run.log             all events so far, then new ones
  eventcnv follow -vv --last 0 run.log    new events only
  eventcnv follow -v --kinds Arena --last 10 run.log   the last ten of a kind, then new ones
  eventcnv follow --first 1 --where 'size > 4096' run.log   wait for an event
  eventcnv follow run.log --sql run.db --every 500   a database, twice a second

Exit status:
  0  the log was closed and read completely, or --first N events were printed;
     with --sql also if its program was killed, or after Ctrl-C
  1  faults were found and reported on standard error; the readable events were printed
  2  the log could not be read, or the command line is wrong";

/// Time between two looks at a file; and at a ring, which is copied each time.
pub(super) const INTERVAL: Duration = Duration::from_millis(200);
const RING_INTERVAL: Duration = Duration::from_secs(1);
/// Time in which a program that begins just now makes its log, before a line tells of the wait.
const PATIENCE: Duration = Duration::from_secs(1);
/// Size of a stream header, the beginning of a log.
const SIZE_MIN: u64 = 512;
/// Volumes between two looks, at most.
const VOLUME_COUNT_MAX: u64 = 16;

/// Print the events of a log while a program writes it
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Follow {
    /// The log [default: $MPS_TELEMETRY_FILENAME, else mpsio.log]. With --sql, several
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,

    #[command(flatten)]
    select: Select,

    #[command(flatten)]
    look: Look,

    /// Print nothing, and keep an SQLite database up to date (tables as in eventcnv sql)
    #[cfg(feature = "sql")]
    #[arg(long, value_name = "DB")]
    #[arg(conflicts_with_all = ["verbose", "style", "time", "first", "last"])]
    sql: Option<PathBuf>,

    /// With --sql: the time between two looks at the logs, in ms
    #[cfg(feature = "sql")]
    #[arg(long, value_name = "MS", requires = "sql", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    every: u64,

    /// With --sql: also add what ancestors recorded before they forked the process, as eventcnv sql
    /// --family does
    #[cfg(feature = "sql")]
    #[arg(long, requires = "sql")]
    family: bool,

    #[command(flatten)]
    known: Known,
}

/// Device, inode, size and time in ns of a log: one changes with the file.
type Stamp = (u64, u64, u64, i128);

/// The state between two looks.
#[derive(Default)]
pub(super) struct Seen {
    stamp: Option<Stamp>,
    is_ring: bool,
    /// The file at the last look, to tell later that it was deleted.
    file: Option<File>,
    /// The UUID of the first stream.
    stream: Option<[u8; 16]>,
    volume: u64,
    /// The events that were printed, by stream and buffer.
    pub(super) known: BTreeMap<(u16, u32), Printed>,
    /// Events that were printed.
    count: u64,
}

/// The events of a buffer that were printed. An event may be found after newer ones, in another
/// block or file; but all that precede an event were in the log before the next look.
#[derive(Default)]
pub(super) struct Printed {
    /// All events below this number were printed, or are not in the log.
    settled: u64,
    /// Beyond that, the numbers that were printed, ascending.
    beyond: Vec<Range<u64>>,
}

impl Printed {
    /// Notes an event; returns whether it is new. In one look, numbers ascend.
    fn add(&mut self, number: u64, new: &mut Vec<Range<u64>>) -> bool {
        let at = self.beyond.partition_point(|range| range.end <= number);
        if number < self.settled || self.beyond.get(at).is_some_and(|range| range.contains(&number))
        {
            return false;
        }
        match new.last_mut().filter(|last| last.end == number) {
            Some(last) => last.end += 1,
            None => new.push(number..number.saturating_add(1)),
        }
        true
    }

    /// Ends a look that found these numbers.
    fn settle(&mut self, mut new: Vec<Range<u64>>) {
        self.settled = self.beyond.last().map_or(self.settled, |last| last.end);
        new.retain(|range| range.end > self.settled);
        self.beyond = new;
    }
}

impl Follow {
    /// Returns whether a log that grows does not yet declare the selected names, or have the times
    /// that are asked for.
    pub(super) fn lacks_facts(&self, log: &Log) -> bool {
        let is_bare = log.registries().iter().all(|registry| registry.index == 0);
        let time = self.look.time(log);
        let has_clock = || Clock::new(time, log).is_ok() && self.select.finds_times(log);
        is_bare || log.format() == Format::Stream && !has_clock()
    }

    /// Returns the arguments that print all events.
    pub(super) fn plain(verbose: u8) -> Follow {
        Follow {
            logs: Vec::new(),
            select: Select::default(),
            look: Look { verbose, ..Look::default() },
            #[cfg(feature = "sql")]
            sql: None,
            #[cfg(feature = "sql")]
            every: 0,
            #[cfg(feature = "sql")]
            family: false,
            known: Known::default(),
        }
    }
}

/// Prints the events of the log, and new ones as they arrive. Returns whether the log was read
/// completely.
pub(crate) fn run(args: &Follow) -> Result<bool, Stop> {
    let paths = input::choose(&args.logs, std::env::var_os(FILENAME_VARIABLE));
    let paths = paths.map_err(Stop::Message)?;
    let begin = Instant::now();
    while paths.iter().any(|path| stamp(path).is_none()) && begin.elapsed() < PATIENCE {
        thread::sleep(PATIENCE / 100);
    }
    for path in paths.iter().filter(|path| stamp(path).is_none()) {
        complain(&format!("eventcnv: {}: waiting for the log\n", path.display()));
    }
    #[cfg(feature = "sql")]
    if let Some(database) = &args.sql {
        return database::run(args, &paths, database);
    }
    let [path] = &*paths else {
        let what = "follow prints one log; name one, or follow several into a database with --sql";
        return Err(Stop::Message(what.to_owned()));
    };
    args.look.check()?;
    if args.look.style == Some(Style::Csv) {
        let what = "follow: columns of CSV need all event types in advance; use --style json";
        return Err(Stop::Message(what.to_owned()));
    }
    let mut seen = Seen::default();
    loop {
        if let Some(is_whole) = seen.look(path, args, None)? {
            return Ok(is_whole);
        }
        thread::sleep(if seen.is_ring { RING_INTERVAL } else { INTERVAL });
    }
}

/// Returns the stamp of a log; `None` if its file is too small for one, or its directory is empty.
fn stamp(path: &Path) -> Option<Stamp> {
    let at = fs::metadata(path).ok()?;
    let first = fs::metadata(log::first_file(path)).ok()?;
    let has_begun = match first.is_dir() {
        true => fs::read_dir(path).map_or(true, |mut files| files.next().is_some()),
        false => first.len() >= SIZE_MIN,
    };
    if !has_begun {
        return None;
    }
    let time = |at: &Metadata| i128::from(at.mtime()) * 1_000_000_000 + i128::from(at.mtime_nsec());
    let files = log::files(path).files.into_iter().filter_map(|file| fs::metadata(file).ok());
    let (size, time) = files.fold((0u64, 0), |(size, latest), file| {
        (size.saturating_add(file.len()), time(&file).max(latest))
    });
    Some((at.dev(), at.ino(), size, time))
}

/// Opens a log, with the volumes between it and the last one seen.
fn open(path: &Path, seen: &Seen, args: &Follow) -> Result<Reading, Stop> {
    let reading = open_once(path, seen, args)?;
    // What was read may have the end of the log before all events that precede it, if the program
    // closed the log meanwhile. A closed log changes no more.
    if reading.log.is_closed() { open_once(path, seen, args) } else { Ok(reading) }
}

fn is_ring(log: &Log) -> bool {
    log.streams().iter().any(|stream| stream.is_ring)
}

fn open_once(path: &Path, seen: &Seen, args: &Follow) -> Result<Reading, Stop> {
    let reading = Reading::open_paths(&[path.to_owned()], &args.known)?;
    let (stream, volume) = first(&reading.log);
    // In a directory are all volumes.
    if seen.stream != Some(stream) || volume <= seen.volume || path.is_dir() {
        return Ok(reading);
    }
    // The last volume seen may have new events, and another volume may have begun just now.
    let count = (volume - seen.volume + 1).min(VOLUME_COUNT_MAX);
    let older = |number: u64| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    let older = (1..=count).rev().map(older).filter(|path| path.is_file());
    let paths: Vec<PathBuf> = older.chain([path.to_owned()]).collect();
    Reading::open_paths(&paths, &args.known)
}

/// Returns the UUID of the first stream, and the highest number of its volumes.
fn first(log: &Log) -> ([u8; 16], u64) {
    log.streams().first().map_or(([0; 16], 0), |stream| (stream.uuid, stream.volumes.1))
}

impl Seen {
    /// Prints the new events of a log that changed. Returns, at the end of the log, whether it was
    /// read completely: `is_over` tells the end, else the log does.
    pub(super) fn look(
        &mut self,
        path: &Path,
        args: &Follow,
        is_over: Option<bool>,
    ) -> Result<Option<bool>, Stop> {
        let stamp = stamp(path);
        self.note_deleted(path, stamp.is_some());
        if stamp.is_none() || (self.stamp == stamp && is_over != Some(true)) {
            return Ok(None);
        }
        let reading = match open(path, self, args) {
            Ok(reading) => reading,
            // Another log replaces the file just now.
            Err(_) if self.stream.is_some() => return Ok(None),
            Err(stop) => return Err(stop),
        };
        self.is_ring = is_ring(&reading.log);
        // The metadata of a mapped file do not show its changes.
        self.note_look(path, stamp.filter(|_| !self.is_ring));
        self.print_new(&reading, args, is_over)
    }

    /// Notes the state of the file at a look.
    fn note_look(&mut self, path: &Path, stamp: Option<Stamp>) {
        // The look may have met the next file already.
        self.note_deleted(path, true);
        self.stamp = stamp;
        self.file = File::open(log::first_file(path)).ok();
    }

    /// Reports that the file of the last look was deleted before all of it was read. Its program
    /// may go on in another file of the name.
    fn note_deleted(&mut self, path: &Path, has_next: bool) {
        let Some(at) = self.file.as_ref().and_then(|file| file.metadata().ok()) else { return };
        if at.nlink() > 0 {
            return;
        }
        self.file = None;
        // Of a mapped ring, the size tells nothing.
        let size = self.stamp.map(|(.., size, _)| at.len().saturating_sub(size));
        if size > Some(0) || !has_next {
            let what = "was deleted; what it had after the last look is missing";
            let size = size.map_or(String::new(), |size| format!(" ({size} bytes)"));
            complain(&format!("eventcnv: {}: {what}{size}\n", path.display()));
        }
    }

    fn print_new(
        &mut self,
        reading: &Reading,
        args: &Follow,
        is_over: Option<bool>,
    ) -> Result<Option<bool>, Stop> {
        let log = &reading.log;
        let (stream, volume) = first(log);
        let is_first_look = self.stream.is_none();
        if self.stream.replace(stream).is_some_and(|before| before != stream) {
            complain(&format!("eventcnv: {}: another log begins\n", reading.name));
            self.known.clear();
        }
        self.volume = volume;
        let is_closed = log.is_closed() && log.format() == Format::Stream;
        let is_end = is_over.unwrap_or(is_closed);
        let selection = reading.select(&args.select, args.look.has_labels(Some(log)));
        let error = |what| reading.error(what);
        let view = args.look.with(log, &Filter::default(), error, Viewed(log));
        let both = selection.and_then(|all| Ok((all, view?)));
        // Text would begin with ticks, and go on with seconds.
        let may_lack = both.is_err() || args.look.style(log) == Style::Text;
        if may_lack && !is_end && args.lacks_facts(log) {
            self.stream = None;
            return Ok(None);
        }
        let (mut selection, view) = both?;
        let (first, last) = selection.take_ends();
        let settled = |(buffer, printed): (&(u16, u32), &Printed)| (*buffer, printed.settled);
        let known = Arc::new(self.known.iter().map(settled).collect());
        selection.restrict(&Part { known, ..Part::default() });
        let last = last.filter(|_| is_first_look);
        let mut skip =
            last.map_or(0, |last| selection.count(log, Order::Time).saturating_sub(last));
        let mut page = Page::new();
        let mut events = selection.events(log, Order::Time);
        let mut new: BTreeMap<(u16, u32), Vec<Range<u64>>> = BTreeMap::new();
        while let Some(event) = events.next() {
            let buffer = (event.stream, event.buffer);
            let new = new.entry(buffer).or_default();
            if !self.known.entry(buffer).or_default().add(event.number, new) {
                continue;
            }
            self.count += 1;
            if skip > 0 {
                skip -= 1;
                continue;
            }
            view.write(&event, &mut page);
            if page.is_full() {
                write(&mut page)?;
            }
            if first.is_some_and(|first| self.count >= first) {
                break;
            }
        }
        write(&mut page)?;
        for (buffer, printed) in &mut self.known {
            printed.settle(new.remove(buffer).unwrap_or_default());
        }
        let is_enough = first.is_some_and(|first| self.count >= first);
        if is_enough && !is_end {
            return Ok(Some(true));
        }
        if self.count > 0 {
            selection.note_found();
        }
        Ok(is_end.then(|| reading.end(events.faults())))
    }
}

/// Makes a view of the form of lines.
struct Viewed<'l>(&'l Log);

impl<'l> Take<'l> for Viewed<'l> {
    type Taken = Box<dyn View + 'l>;

    fn line(self, line: impl Line + Sync + 'l) -> Result<Box<dyn View + 'l>, Stop> {
        Ok(Box::new(line::Lines::new(line, self.0.registries())))
    }
}

/// Writes the lines of a page to standard output.
fn write(page: &mut Page) -> Result<(), Stop> {
    let out = &mut io::stdout().lock();
    out.write_all(page.text())?;
    out.flush()?;
    page.clear();
    Ok(())
}
