//! Adds a log to an SQLite database: a table for each event type, and tables of facts.
//!
//! ```text
//!  log ── logs.rs ──▶ logs, registries, kinds, types, parameters, threads, losses
//!   │  └─ tables.rs ─▶ a table for each event type, a view of it with labels
//!   ├─ events ─ rows.rs, stage.rs (all processors) ──▶ insert.rs (this thread) ──▶ rows
//!   ├─ slices.rs ──▶ slices; counters.rs ─▶ counters ┐ Lenses: open ones, for
//!   ├─ calls.rs ───▶ functions, calls, views of these ┘ a log that grows
//!   └─ labels.rs ─▶ labels
//! ```
//!
//! All of it is one transaction. Names are unique whatever their case, and quoted: `../names.rs`.
//! Design: `.cnv.sql` in `design/eventcnv.md`.

pub(crate) mod batch;
pub(crate) mod calls;
pub(crate) mod counters;
pub(crate) mod functions;
pub(crate) mod insert;
pub(crate) mod keys;
pub(crate) mod labels;
pub(crate) mod logs;
pub(crate) mod refusal;
pub(crate) mod rows;
pub(crate) mod slices;
pub(crate) mod stage;
pub(crate) mod tables;
pub(crate) mod walls;

use crate::ask::pairs::reading::{Found, Open};
use crate::export::sql::refusal::TABLES_VERSION;
pub(crate) use crate::export::sql::refusal::{Counts, Refusal};
use crate::export::sql::rows::Destination;
pub(crate) use crate::export::sql::slices::Wanted;
use crate::export::sql::tables::Tables;
use crate::open::parallel;
use crate::open::select::{BufferCounts, Selection};
use eventlog::reader::{Clock, ClockBase, Faults, Log, Losses};
use lens::counters::Counters;
use rusqlite::{Connection, OptionalExtension};

/// Marks our databases: `PRAGMA application_id`.
const APPLICATION_ID: i32 = 0x4556_4C31;
/// Processors, at least, that insert rows by stages: a row is inserted and then copied, so two
/// processors gain little.
const STAGING_COUNT_MIN: usize = 4;
/// Time to wait for another program that writes to the database.
pub(crate) const PATIENCE: std::time::Duration = if cfg!(test) {
    std::time::Duration::from_millis(50)
} else {
    std::time::Duration::from_secs(10)
};

/// Prepares a new database without a journal: after an error its file is removed.
pub(crate) fn begin_new(connection: &Connection) -> Result<(), Refusal> {
    connection.pragma_update(None, "page_size", 8192)?;
    connection.pragma_update(None, "journal_mode", "OFF")?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    Ok(())
}

/// Prepares a database that others query while a log is added to it again and again.
pub(crate) fn begin_shared(connection: &Connection) -> Result<(), Refusal> {
    connection.pragma_update(None, "page_size", 8192)?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    recognise(connection)?;
    connection.execute_batch("COMMIT")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(())
}

/// Ends the work at a shared database: it becomes one file, unless others use it.
pub(crate) fn end_shared(connection: Connection) -> Result<(), Refusal> {
    connection.busy_timeout(std::time::Duration::ZERO)?;
    let _ = connection.pragma_update(None, "journal_mode", "DELETE");
    connection.close().map_err(|(_, error)| error.into())
}

/// The place of a log in a database.
pub(crate) struct Place {
    /// The numbers of the log's streams.
    streams: Vec<i64>,
    tables: Tables,
    /// Changes when another connection changes the database.
    version: i64,
}

/// What slices and calls of a log left open so far, as the database has them.
#[derive(Default)]
pub(crate) struct Lenses {
    slices: Option<Open>,
    counters: Option<Counters>,
    calls: Option<calls::Lens>,
    /// Whether they read the whole log: their durations are better than those of the database.
    is_exact: bool,
    /// Whether the log will have more clock syncs.
    pub(crate) is_growing: bool,
}

impl Lenses {
    /// Returns whether durations are known by a clock.
    fn has_times(&self, clock: &Clock) -> bool {
        clock.base != ClockBase::Ticks || !self.is_growing
    }
}

/// A log that is being added to a database.
pub(crate) struct Import<'l> {
    log: &'l Log,
    /// The numbers of the log's streams in the database.
    streams: Vec<i64>,
    tables: Tables,
    /// Whether the database may have events of the log.
    is_again: bool,
    /// Whether labels were added with the events.
    has_labels: bool,
}

impl<'l> Import<'l> {
    /// Begins a transaction, if none is open: makes missing tables, and adds the facts of the log
    /// with its name. `cache_kib` limits the memory for pages. Without [`Import::finish`] the
    /// database stays unchanged.
    pub(crate) fn begin(
        connection: &Connection,
        log: &'l Log,
        name: &str,
        cache_kib: i32,
    ) -> Result<Import<'l>, Refusal> {
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "cache_size", -cache_kib)?;
        if connection.is_autocommit() {
            connection.execute_batch("BEGIN IMMEDIATE")?;
        }
        recognise(connection)?;
        connection.execute_batch(tables::FIXED_LATER)?;
        tables::add_columns(connection)?;
        connection.execute_batch(calls::TABLES)?;
        let (streams, is_again) = logs::add(connection, log, name)?;
        let tables = Tables::new(connection, log, &streams)?;
        Ok(Import { log, streams, tables, is_again, has_labels: false })
    }

    /// Goes on with a log that has grown, in an open transaction, with the result of
    /// [`Import::finish`]. Returns `None` if another program changed the database: begin as for
    /// another log.
    pub(crate) fn go_on(
        connection: &Connection,
        log: &'l Log,
        place: Place,
    ) -> Result<Option<Import<'l>>, Refusal> {
        let Place { streams, tables, version } = place;
        if data_version(connection)? != version {
            return Ok(None);
        }
        logs::update(connection, log, &streams)?;
        Ok(Some(Import { log, streams, tables, is_again: false, has_labels: false }))
    }

    /// Restricts the import to tables for which a function is true. Returns whether any is.
    pub(crate) fn choose(&mut self, is_chosen: impl Fn(&str) -> bool) -> bool {
        self.tables.choose(is_chosen)
    }

    /// Returns a note about tables that lack columns for some parameters.
    pub(crate) fn note(&self) -> Option<String> {
        self.tables.note()
    }

    /// Adds the events of a selection; existing events stay as they are. `has_labels` states that
    /// these are all events, with labels: then their labels are added too, without another pass.
    /// Returns the faults of the events.
    pub(crate) fn add(
        &mut self,
        connection: &Connection,
        selection: &Selection,
        has_labels: bool,
    ) -> Result<(Counts, Faults), Refusal> {
        self.has_labels = has_labels;
        let known = self.is_again.then(|| self.tables.known(connection, &self.streams));
        let to =
            Destination { log: self.log, streams: &self.streams, tables: &self.tables, has_labels };
        let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
        let is_staged = mode == "off" && parallel::worker_count() >= STAGING_COUNT_MIN;
        rows::add(connection, to, known.transpose()?, selection, is_staged)
    }

    /// Adds the slices of the log that begin in a selection, and ends those that were open; and the
    /// changes of counters in it. Returns what the reading found.
    pub(crate) fn add_slices(
        &self,
        connection: &Connection,
        selection: &Selection,
        lenses: &mut Lenses,
        wanted: Wanted,
    ) -> Result<Found, Refusal> {
        slices::add(connection, self.log, &self.streams, selection, lenses, wanted)
    }

    /// Adds the calls of the log that begin in a selection, and ends those that were open. Returns
    /// the faults of the events.
    pub(crate) fn add_calls(
        &self,
        connection: &Connection,
        selection: &Selection,
        lenses: &mut Lenses,
    ) -> Result<Faults, Refusal> {
        calls::add(connection, self.log, &self.streams, selection, lenses)
    }

    /// Adds the losses of the log, by the faults of its events too. Overwritten events are none if
    /// the database has them, as `taken` states. Returns their sum.
    pub(crate) fn add_losses(
        &self,
        connection: &Connection,
        faults: &Faults,
        taken: &BufferCounts,
    ) -> Result<Losses, Refusal> {
        logs::add_losses(connection, self.log, &self.streams, faults, taken)
    }

    /// Corrects what the database may have of earlier parts of the log: the log has later clock
    /// syncs, and late events. If it `is_whole`, its slices, counters and calls are removed, to be
    /// added again.
    pub(crate) fn correct(
        &self,
        connection: &Connection,
        lenses: &mut Lenses,
        is_whole: bool,
    ) -> Result<(), Refusal> {
        lenses.is_exact = self.is_again;
        if !self.is_again {
            return Ok(());
        }
        for log in self.streams.iter().filter(|_| is_whole) {
            connection.execute("DELETE FROM slices WHERE log = ?", [log])?;
            connection.execute("DELETE FROM counters WHERE log = ?", [log])?;
            connection.execute("DELETE FROM calls WHERE log = ?", [log])?;
        }
        walls::set(connection, self.log, &self.streams, &self.tables)
    }

    /// Counts the events of each buffer that the database has; `None` if this import added all of
    /// them.
    pub(crate) fn count(&self, connection: &Connection) -> Result<Option<BufferCounts>, Refusal> {
        if !self.is_again {
            return Ok(None);
        }
        let known = self.tables.known(connection, &self.streams)?;
        keys::counts(connection, &self.streams, &known).map(Some)
    }

    /// Adds labels of the part of the log that follows the `known` events, and ends the
    /// transaction. Returns the place of the log.
    pub(crate) fn finish(
        self,
        connection: &Connection,
        known: &BufferCounts,
    ) -> Result<Place, Refusal> {
        let Import { log, streams, tables, has_labels, .. } = self;
        if !has_labels {
            labels::add(connection, log, &streams)?;
        }
        labels::end_each(connection, &streams, if has_labels { known } else { &NONE })?;
        connection.execute_batch("COMMIT")?;
        let version = data_version(connection)?;
        Ok(Place { streams, tables, version })
    }
}

static NONE: BufferCounts = BufferCounts::new();

fn data_version(connection: &Connection) -> Result<i64, Refusal> {
    Ok(connection.pragma_query_value(None, "data_version", |row| row.get(0))?)
}

/// Checks that the database is one of ours; marks an empty one.
fn recognise(connection: &Connection) -> Result<(), Refusal> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let table_count: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (number("application_id")?, number("user_version")?) {
        (APPLICATION_ID, ..=TABLES_VERSION) => {
            // Earlier versions left these names to event types.
            let sql = "SELECT name FROM event_tables WHERE lower(name) IN
                ('losses', 'slices', 'counters')";
            let taken = connection.query_row(sql, [], |row| row.get::<_, String>(0)).optional()?;
            return taken.map_or(Ok(()), |name| Err(Refusal::taken(&name)));
        }
        (APPLICATION_ID, later) => return Err(Refusal::later(later)),
        _ if table_count > 0 => return Err(Refusal::foreign()),
        _ => {}
    }
    connection.execute_batch(tables::FIXED)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", TABLES_VERSION)?;
    Ok(())
}
