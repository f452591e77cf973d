//! Adds a log to an SQLite database: a table for each event type, and tables of facts.
//!
//! ```text
//!  log ── logs.rs ──▶ logs, registries, kinds, types, parameters, threads, losses
//!   │  └─ tables.rs ─▶ a table for each event type, a view of it with labels
//!   ├─ events ─ rows.rs (this thread) ──▶ batches ──▶ insert.rs (another) ──▶ rows
//!   ├─ slices.rs ──▶ slices
//!   ├─ calls.rs ───▶ functions, calls, views of these
//!   └─ labels.rs ─▶ labels
//! ```
//!
//! All of it is one transaction. Names are unique whatever their case, and quoted: `../names.rs`.
//! Design: `.cnv.sql` in `design/eventcnv.md`.

mod batch;
mod calls;
pub(crate) mod functions;
mod insert;
mod keys;
mod labels;
mod logs;
mod refusal;
mod rows;
mod slices;
mod tables;

use crate::reading::pairs::Found;
use crate::select::{Selected, Selection};
use eventlog::reader::{Faults, Log, Losses};
use refusal::TABLES_VERSION;
pub(crate) use refusal::{Counts, Refusal};
use rows::Destination;
use rusqlite::{Connection, OptionalExtension};
use tables::Tables;

/// Marks our databases: `PRAGMA application_id`.
const APPLICATION_ID: i32 = 0x4556_4C31;
/// Time to wait for another program that writes to the database.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// Prepares a new database without a journal: after an error its file is removed.
pub(crate) fn begin_new(connection: &Connection) -> Result<(), Refusal> {
    connection.pragma_update(None, "page_size", 8192)?;
    connection.pragma_update(None, "journal_mode", "OFF")?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    Ok(())
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
    /// Begins a transaction: makes missing tables, and adds the facts of the log with its name.
    /// `cache_kib` limits the memory for pages. Without [`Import::finish`] the database stays
    /// unchanged.
    pub(crate) fn begin(
        connection: &Connection,
        log: &'l Log,
        name: &str,
        cache_kib: i32,
    ) -> Result<Import<'l>, Refusal> {
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "cache_size", -cache_kib)?;
        connection.execute_batch("BEGIN IMMEDIATE")?;
        recognise(connection)?;
        connection.execute_batch(tables::FIXED_LATER)?;
        connection.execute_batch(calls::TABLES)?;
        let (streams, is_again) = logs::add(connection, log, name)?;
        let tables = Tables::new(connection, log, &streams)?;
        Ok(Import { log, streams, tables, is_again, has_labels: false })
    }

    /// Restricts the import to tables for which a function is true. Returns whether any is.
    pub(crate) fn choose(&mut self, is_chosen: impl Fn(&str) -> bool) -> bool {
        self.tables.choose(is_chosen)
    }

    /// Returns a note about tables that lack columns for some parameters.
    pub(crate) fn note(&self) -> Option<String> {
        self.tables.note()
    }

    /// Adds events; existing events stay as they are. `has_labels` states that these are all
    /// events, with labels: then their labels are added too, without another pass.
    pub(crate) fn add(
        &mut self,
        connection: Connection,
        events: &mut Selected<'_>,
        has_labels: bool,
    ) -> Result<(Connection, Counts), Refusal> {
        self.has_labels = has_labels;
        let known = self.is_again.then(|| self.tables.known(&connection, &self.streams));
        let to =
            Destination { log: self.log, streams: &self.streams, tables: &self.tables, has_labels };
        rows::add(connection, to, known.transpose()?, events)
    }

    /// Adds the slices of the log that begin in a selection. Returns what the reading found.
    pub(crate) fn add_slices(
        &self,
        connection: &Connection,
        selection: &Selection,
    ) -> Result<Found, Refusal> {
        slices::add(connection, self.log, &self.streams, selection)
    }

    /// Adds the calls of the log that begin in a selection. Returns the faults of the events.
    pub(crate) fn add_calls(
        &self,
        connection: &Connection,
        selection: &Selection,
    ) -> Result<Faults, Refusal> {
        calls::add(connection, self.log, &self.streams, selection)
    }

    /// Adds the losses of the log, by the faults of its events too. Returns their sum.
    pub(crate) fn add_losses(
        &self,
        connection: &Connection,
        faults: &Faults,
    ) -> Result<Losses, Refusal> {
        logs::add_losses(connection, self.log, &self.streams, faults)
    }

    /// Adds labels, and ends the transaction.
    pub(crate) fn finish(self, connection: &Connection) -> Result<(), Refusal> {
        if !self.has_labels {
            labels::add(connection, self.log, &self.streams)?;
        }
        labels::end_each(connection, &self.streams)?;
        connection.execute_batch("COMMIT")?;
        Ok(())
    }
}

/// Checks that the database is one of ours; marks an empty one.
fn recognise(connection: &Connection) -> Result<(), Refusal> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let table_count: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (number("application_id")?, number("user_version")?) {
        (APPLICATION_ID, ..=TABLES_VERSION) => {
            // Earlier versions left these names to event types.
            let sql = "SELECT name FROM event_tables WHERE lower(name) IN ('losses', 'slices')";
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
