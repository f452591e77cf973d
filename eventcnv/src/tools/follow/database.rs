//! Keeps a database up to date with logs that programs write.
//!
//! ```text
//!  each MS:  log ── Reading ── new events ──▶ rows ──────────────┐
//!                                  └─ Lenses: open slices, calls ┴──▶ one transaction ──▶ DB (WAL)
//!  at the end, where the increments may differ: the whole log once more
//! ```
//!
//! Design: `.cnv.follow.sql` in `design/eventcnv.md`.

use crate::export::sql::{Import, Lenses, Place, Refusal, Wanted};
use crate::open::Reading;
use crate::open::input::family::head;
use crate::open::select::{BufferCounts, Part, Selection};
use crate::tools::follow::latest::{Latest, is_whole};
use crate::tools::follow::missed::Missed;
use crate::tools::follow::output::Database;
use crate::tools::follow::signals::{signals, wait};
use crate::tools::follow::{Follow, Seen, Stamp, family, first, is_ring, open, process, stamp};
use cli::{Stop, complain, log};
use eventlog::format::text::OneLine;
use eventlog::reader::marks::Marks;
use eventlog::reader::{Faults, Format, Log, Order, Stream};
use rusqlite::Connection;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Memory for pages of the database, in KiB.
pub(super) const CACHE_KIB: i32 = 64 << 10;
/// While the program runs, the whole log is read again in at most one part of the time in this.
const PASS_SHARE: u32 = 20;
/// Volumes of a stream, at most.
const VOLUME_COUNT_MAX: u64 = 1 << 16;

/// A log, and what the database has of it.
#[derive(Default)]
struct Feed {
    path: PathBuf,
    seen: Seen,
    /// The streams at the last look.
    streams: Vec<Stream>,
    registry_count: usize,
    /// How many first events of each buffer, and how many events, the database has.
    known: BufferCounts,
    taken: BufferCounts,
    place: Option<Place>,
    lenses: Lenses,
    order: Latest,
    /// Whether the whole log gives other rows than its parts in turn.
    is_behind: bool,
    /// The end of the last reading of the whole log, and its duration.
    pass: Option<(Instant, Duration)>,
    faults: Faults,
    added: u64,
    /// Whether a note told of words that SQLite's integers lack.
    is_great_told: bool,
    missed: Missed,
    /// Whether the log was read completely, at its end.
    end: Option<bool>,
}

/// What a look finds, before it reads the events.
struct Found {
    known: BufferCounts,
    taken: BufferCounts,
    order: Latest,
    is_late: bool,
}

/// Follows logs until their programs have ended, or a signal. Returns whether they were read
/// completely.
pub(super) fn run(args: &Follow, logs: &[PathBuf], path: &Path) -> Result<bool, Stop> {
    let (mut signals, has_signal) = signals()?;
    let mut database = Database::open(path, has_signal)?;
    let feed = |path: &PathBuf| Feed { path: path.clone(), ..Feed::default() };
    let mut feeds: Vec<Feed> = logs.iter().map(feed).collect();
    let every = Duration::from_millis(args.every);
    let mut is_signalled = false;
    loop {
        let begin = Instant::now();
        database.check()?;
        let is_free = is_signalled || database.is_free()?;
        for feed in feeds.iter_mut().filter(|feed| is_free && feed.end.is_none()) {
            // What a program recorded before it ended is in the log by now.
            let is_over = is_signalled || feed.has_ended();
            feed.look(args, &mut database, is_over)?;
        }
        if is_signalled || feeds.iter().all(|feed| feed.end.is_some()) {
            break;
        }
        is_signalled = wait(&mut signals, every.saturating_sub(begin.elapsed()))?;
    }
    database.close()?;
    let added: u64 = feeds.iter().map(|feed| feed.added).sum();
    let path = OneLine(path.as_os_str().as_encoded_bytes());
    writeln!(io::stdout(), "{path}: {added} events added")?;
    Ok(feeds.iter().all(|feed| feed.end == Some(true)))
}

impl Feed {
    /// Returns whether the programs that write the log have ended without closing it.
    fn has_ended(&self) -> bool {
        !self.streams.is_empty() && process::have_ended(&self.streams, &self.path)
    }

    /// Adds what is new in the log to the database. `is_over`: nothing will follow.
    fn look(
        &mut self,
        args: &Follow,
        database: &mut Database<'_>,
        is_over: bool,
    ) -> Result<(), Stop> {
        let stamp = stamp(&self.path);
        self.seen.note_deleted(&self.path, stamp.is_some());
        if is_over && stamp.is_none() {
            self.end = Some(self.seen.stream.is_none());
        }
        if stamp.is_none() || (self.seen.stamp == stamp && !is_over) {
            return Ok(());
        }
        let (reading, until) = match self.open(args, is_over) {
            Ok(opened) => opened,
            // Another log replaces the file just now.
            Err(_) if self.seen.stream.is_some() => {
                self.end = self.end.or(is_over.then_some(false));
                return Ok(());
            }
            // A mapped file has its size before its header.
            Err(_) if is_blank(&self.path) && !is_over => return Ok(()),
            Err(stop) => return Err(stop),
        };
        let is_ring = is_ring(&reading.log);
        let is_closed = reading.log.is_closed() && reading.log.format() == Format::Stream;
        let is_end = is_over || is_closed;
        if !is_end && args.lacks_facts(&reading.log) {
            return Ok(());
        }
        self.seen.is_ring = is_ring;
        self.note_stream(&reading, stamp.filter(|_| !is_ring));
        self.lenses.is_growing = !is_end;
        let part = Part { known: Arc::new(self.known.clone()), until, family: None };
        let found = self.find(&reading.log, &part);
        self.is_behind |= found.is_late || self.has_later_syncs(reading.log.streams());
        self.is_behind |= is_end && lacks_end(&reading.log);
        self.streams = reading.log.streams().to_vec();
        if found.known != self.known || self.place.is_none() || is_end {
            let is_first = self.place.is_none();
            if is_first && self.pass.is_none() {
                self.join(args, database)?;
            }
            let is_whole = is_first && is_whole(&reading.log);
            let faults = self.take(args, database, &reading, &part, found, is_whole)?;
            self.faults.append(&faults);
            if is_first && is_end {
                // This was the whole log.
                self.is_behind = false;
                self.end = Some(self.missed.end(&reading, &self.faults));
                return Ok(());
            }
        }
        let has_gaps = !is_ring && self.known != self.taken;
        let has_no_clock = self.streams.iter().any(|stream| stream.syncs.len() < 2);
        let is_due = if is_end {
            self.is_behind || has_gaps || has_no_clock
        } else {
            self.is_behind && self.has_time_to_pass()
        };
        if is_due {
            self.pass(args, database, &reading, &part.until, is_end)?;
        }
        if is_end {
            self.join(args, database)?;
            self.end = Some(self.missed.end(&reading, &self.faults));
        }
        Ok(())
    }

    /// Adds what the process shares with its ancestors, if that is wanted: at first, and at the end
    /// once more, when calls that cross a fork have their ends.
    fn join(&mut self, args: &Follow, database: &mut Database<'_>) -> Result<(), Stop> {
        if args.family {
            self.added += family::join(&self.path, &args.select, &args.known, database)?;
        }
        Ok(())
    }

    /// Opens the log with the volumes that are not known, up to what it had a moment ago: what a
    /// copy of a ring has beyond may lack earlier events of other buffers.
    fn open(&self, args: &Follow, is_over: bool) -> Result<(Reading, Vec<u64>), Stop> {
        let reading = open(&self.path, &self.seen, args)?;
        if self.seen.stream.is_none() {
            let (stream, volume) = first(&reading.log);
            if volume > 0 {
                let paths = volumes(&self.path, stream);
                return Ok((Reading::open_paths(&paths, &args.known)?, Vec::new()));
            }
        }
        if is_over || reading.log.is_closed() || !is_ring(&reading.log) {
            return Ok((reading, Vec::new()));
        }
        let last = |span: Option<(u64, u64)>| span.map_or(0, |(_, last)| last);
        let until = reading.log.spans().into_iter().map(last).collect();
        let reading = open(&self.path, &self.seen, args)?;
        // If the program closed the log meanwhile, this is the last look.
        let until = if reading.log.is_closed() { Vec::new() } else { until };
        Ok((reading, until))
    }

    /// Notes which log a look met. Begins again with another one.
    fn note_stream(&mut self, reading: &Reading, stamp: Option<Stamp>) {
        let (stream, volume) = first(&reading.log);
        let is_other = self.seen.stream.is_some_and(|before| before != stream);
        let registry_count = reading.log.registries().len();
        if is_other {
            complain(&format!("eventcnv: {}: another log begins\n", reading.name));
        }
        // Other registries may number the pairs of event types in another way.
        if is_other || registry_count != self.registry_count {
            let Feed { path, seen, added, pass, .. } = std::mem::take(self);
            *self = Feed { path, seen, added, pass, ..Feed::default() };
        }
        self.registry_count = registry_count;
        self.seen.stream = Some(stream);
        self.seen.volume = volume;
        self.seen.note_look(&self.path, stamp);
    }

    /// Finds the new events of a part of the log.
    fn find(&self, log: &Log, part: &Part) -> Found {
        let Feed { known, taken, order, .. } = self;
        let mut found = Found {
            known: known.clone(),
            taken: taken.clone(),
            order: order.clone(),
            is_late: false,
        };
        let marks = Marks::of(log.registries());
        let mut all = Selection::all(false, false);
        all.restrict(part);
        all.events(log, Order::File).each(|event| {
            let buffer = (event.stream, event.buffer);
            let known = found.known.entry(buffer).or_default();
            *known = (*known).max(event.number.saturating_add(1));
            *found.taken.entry(buffer).or_default() += 1;
            found.is_late |= order.is_late(event, &marks, &mut found.order);
        });
        found
    }

    /// Returns whether the clock syncs of these streams change times of earlier events.
    fn has_later_syncs(&self, streams: &[Stream]) -> bool {
        let changes = |((before, now), latest): ((&Stream, &Stream), u64)| {
            let count = |stream: &Stream| stream.syncs.partition_point(|sync| sync.ticks <= latest);
            let is_beyond = before.syncs.last().is_none_or(|last| last.ticks < latest);
            count(before) != count(now) || is_beyond && now.syncs.len() != before.syncs.len()
        };
        let latest = (0..).map(|stream| self.order.all.get(&stream).copied().unwrap_or(0));
        self.streams.iter().zip(streams).zip(latest).any(changes)
    }

    /// Adds a part of the log to the database, in one transaction: of a log that is new here, all.
    /// `is_whole` states that the part has all events of the log. Returns the faults of the events.
    fn take(
        &mut self,
        args: &Follow,
        database: &mut Database<'_>,
        reading: &Reading,
        part: &Part,
        found: Found,
        is_whole: bool,
    ) -> Result<Faults, Stop> {
        let begin = Instant::now();
        let has_labels = !args.select.is_given();
        let mut selection = reading.select(&args.select, has_labels)?;
        selection.restrict(part);
        if self.added > 0 {
            selection.note_found();
        }
        let place = self.place.take();
        let is_first = place.is_none();
        let (log, name) = (&reading.log, &*reading.name);
        let work = |connection: Connection| -> Result<_, Refusal> {
            let import = place.map(|place| Import::go_on(&connection, log, place)).transpose()?;
            let mut import = match import.flatten() {
                Some(import) => import,
                None => Import::begin(&connection, log, name, CACHE_KIB)?,
            };
            let (counts, faults) = import.add(&connection, &selection, has_labels)?;
            self.taken = found.taken;
            if is_first {
                let here = import.count(&connection)?;
                // A log that was cut off has fewer events than the database.
                let has_all = |(buffer, count)| self.taken.get(buffer).is_some_and(|n| n >= count);
                let is_whole = is_whole && has_labels && here.iter().flatten().all(has_all);
                import.correct(&connection, &mut self.lenses, is_whole)?;
                if let Some(here) = here.filter(|_| self.seen.is_ring && has_labels) {
                    self.taken = here;
                }
            }
            import.add_slices(&connection, &selection, &mut self.lenses, Wanted::ALL)?;
            import.add_calls(&connection, &selection, &mut self.lenses)?;
            let losses = import.add_losses(&connection, &faults, &self.taken)?;
            let place = import.finish(&connection, &part.known)?;
            self.added += counts.added;
            let is_told = self.is_great_told;
            self.is_great_told |= counts.great > 0;
            if !is_told {
                reading.note(counts.note());
            }
            Ok((connection, (place, faults, losses.overwritten)))
        };
        let (place, faults, missed) = database.change(work)?;
        self.missed.note(reading, missed);
        self.place = Some(place);
        (self.known, self.order) = (found.known, found.order);
        if is_first {
            self.pass = Some((Instant::now(), begin.elapsed()));
        }
        Ok(faults)
    }

    /// Reads the whole log once more, up to the times `until`, and corrects what the database has
    /// of its parts. Slices and calls of a log that has all its events replace those of its parts.
    fn pass(
        &mut self,
        args: &Follow,
        database: &mut Database<'_>,
        reading: &Reading,
        until: &[u64],
        is_end: bool,
    ) -> Result<(), Stop> {
        let stream = self.seen.stream.unwrap_or_default();
        let paths = volumes(&self.path, stream);
        let volumes = (paths.len() > 1).then(|| Reading::open_paths(&paths, &args.known));
        let reading = match &volumes {
            Some(Ok(all)) if first(&all.log).0 == stream => all,
            // Another volume begins just now.
            Some(_) => return Ok(()),
            None => reading,
        };
        let is_whole = is_whole(&reading.log);
        if !is_whole && !is_end {
            return Ok(());
        }
        self.is_behind = false;
        self.place = None;
        self.streams = reading.log.streams().to_vec();
        let is_growing = self.lenses.is_growing;
        let open = std::mem::take(&mut self.lenses);
        self.lenses.is_growing = is_growing;
        let part = Part { until: until.to_vec(), ..Part::default() };
        let found = Feed::default().find(&reading.log, &part);
        self.faults = self.take(args, database, reading, &part, found, is_whole)?;
        if !is_whole {
            self.lenses = open;
        }
        Ok(())
    }

    fn has_time_to_pass(&self) -> bool {
        self.pass.is_none_or(|(end, duration)| end.elapsed() > duration * PASS_SHARE)
    }
}

/// Returns whether a log that grows no more may lack its end: rows may pair across what is missing
/// there (`.slice.gap`).
fn lacks_end(log: &Log) -> bool {
    (0..).zip(log.streams()).any(|(stream, _)| log.is_open_ended(stream))
}

/// Returns whether a file begins with zeros, in place of a header.
fn is_blank(path: &Path) -> bool {
    let mut head = [1; 16];
    let is_read =
        File::open(log::first_file(path)).and_then(|mut file| file.read_exact(&mut head)).is_ok();
    is_read && head == [0; 16]
}

/// Returns the volumes of a stream that exist, the oldest first.
fn volumes(path: &Path, stream: [u8; 16]) -> Vec<PathBuf> {
    if path.is_dir() {
        return vec![path.to_owned()];
    }
    let older = |number: u64| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    let is_of_stream = |path: &PathBuf| head(path).is_some_and(|head| head.uuid == stream);
    let older = (1..VOLUME_COUNT_MAX).map(older).take_while(is_of_stream);
    let mut paths: Vec<PathBuf> = std::iter::once(path.to_owned()).chain(older).collect();
    paths.reverse();
    paths
}
