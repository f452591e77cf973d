//! A database of SQLite: a table for each event type, and what the log says of itself.
//!
//! ```text
//!  log ── logs.rs ──▶ logs, registries, kinds, types, parameters, threads, losses
//!   │  └─ tables.rs ─▶ a table for each event type, a view of it with labels
//!   ├─ events ─ rows.rs (this thread) ──▶ batches ──▶ insert.rs (another) ──▶ rows
//!   └─ labels.rs ─▶ labels
//! ```
//!
//! All of it is one transaction. Names are unique whatever their case, and quoted: `../names.rs`.
//! Design: `.cnv.sql` in `design/eventcnv.md`.

mod batch;
pub(crate) mod functions;
mod insert;
mod keys;
mod labels;
mod logs;
mod refusal;
mod rows;
mod tables;

use crate::select::Selected;
use eventlog::reader::{Faults, Log, Losses};
use refusal::ARRANGEMENT;
pub(crate) use refusal::{Counts, Refusal};
use rows::To;
use rusqlite::Connection;
use tables::Tables;

/// Says that a database is one of ours: `PRAGMA application_id`.
const APPLICATION_ID: i32 = 0x4556_4C31;
/// How long to wait for another program that writes to it.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// Makes ready a database that nobody else knows of yet: if it is given up, so is its file.
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
    /// The streams of the log, as they are numbered in the database.
    streams: Vec<i64>,
    tables: Tables,
    /// Whether events of the log may be there already.
    is_again: bool,
    /// Whether what was added had the labels.
    has_labels: bool,
}

impl<'l> Import<'l> {
    /// Begins a transaction: makes the tables that are missing, and says what the log is, which is
    /// called `name`. So much memory is for pages. Tables may have to be whole at once, to be asked
    /// about, or else when all is added. Without [`Import::finish`] nothing of it stays.
    pub(crate) fn begin(
        connection: &Connection,
        log: &'l Log,
        name: &str,
        cache_kib: i32,
        is_whole: bool,
    ) -> Result<Import<'l>, Refusal> {
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "cache_size", -cache_kib)?;
        connection.execute_batch("BEGIN IMMEDIATE")?;
        recognise(connection)?;
        connection.execute_batch(tables::FIXED_LATER)?;
        let (streams, is_again) = logs::add(connection, log, name)?;
        let tables = Tables::of(connection, log, &streams, is_whole)?;
        Ok(Import { log, streams, tables, is_again, has_labels: false })
    }

    /// Only events of the tables of which this is true are to be added. Whether there are any.
    pub(crate) fn choose(&mut self, is_chosen: impl Fn(&str) -> bool) -> bool {
        self.tables.choose(is_chosen)
    }

    /// What is to be said of the tables that are chosen.
    pub(crate) fn note(&self) -> Option<String> {
        self.tables.note()
    }

    /// Adds events; those that are there already stay as they are. Whether they are all that there
    /// are, and know what is called what: then their labels are added too, and need no reading of
    /// their own.
    pub(crate) fn add(
        &mut self,
        connection: Connection,
        events: &mut Selected<'_>,
        has_labels: bool,
    ) -> Result<(Connection, Counts), Refusal> {
        self.has_labels = has_labels;
        let known = self.is_again.then(|| self.tables.known(&connection, &self.streams));
        let to = To { log: self.log, streams: &self.streams, tables: &self.tables, has_labels };
        rows::add(connection, to, known.transpose()?, events)
    }

    /// Says what was requested and is not in the log. In all, that is what it gives.
    /// `faults`: those that were met as its events were read.
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
        self.tables.complete(connection)?;
        connection.execute_batch("COMMIT")?;
        Ok(())
    }
}

/// Sees to it that the database is one of ours.
fn recognise(connection: &Connection) -> Result<(), Refusal> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let table_count: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (number("application_id")?, number("user_version")?) {
        (APPLICATION_ID, ..=ARRANGEMENT) => return Ok(()),
        (APPLICATION_ID, later) => return Err(Refusal::Later(later)),
        _ if table_count > 0 => return Err(Refusal::Foreign),
        _ => {}
    }
    connection.execute_batch(tables::FIXED)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", ARRANGEMENT)?;
    Ok(())
}
