//! Rows that another processor has made into tables already, in a database in memory.
//!
//! ```text
//!  Job: batches ── stage ──▶ tables with many rows ── INSERT … SELECT * ──▶ the database
//!               └─ rows of the others ── insert.rs ─────────────────────────┘
//! ```
//!
//! SQLite copies rows between tables with the same columns as they are. It attaches a database
//! between transactions only, so there are stages for a database without a journal alone. Design:
//! `.cnv.sql.speed` in `design/eventcnv.md`.

use crate::export::sql::batch::Batch;
use crate::export::sql::insert::Inserter;
use crate::export::sql::refusal::Refusal;
use crate::export::sql::tables::Tables;
use crate::text::names::quoted;
use rusqlite::{Connection, OpenFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows of a full job.
const JOB_ROW_COUNT: usize = if cfg!(test) { 500 } else { 1 << 15 };
/// Batches of a full job: each has its text, also that of rows that are known already.
const JOB_BATCH_COUNT: usize = 16;
/// Rows of a table in a job, at least, for which a table in memory pays.
const STAGED_ROW_COUNT: usize = if cfg!(test) { 20 } else { 1 << 10 };

/// Numbers the databases in memory of this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Batches to insert.
#[derive(Default)]
pub(super) struct Job {
    batches: Vec<Batch>,
    row_count: usize,
    stage: Option<Stage>,
}

/// Tables of a database in memory, which exists as long as its connection.
struct Stage {
    tables: BTreeSet<usize>,
    uri: String,
    _connection: Connection,
}

impl Job {
    pub(super) fn push(&mut self, batch: Batch) {
        self.row_count += batch.rows.len();
        self.batches.push(batch);
    }

    pub(super) fn is_full(&self) -> bool {
        self.row_count >= JOB_ROW_COUNT || self.batches.len() >= JOB_BATCH_COUNT
    }

    /// Moves the rows of tables with many rows to a database in memory. Returns the batches that
    /// have no others.
    pub(super) fn stage(&mut self, tables: &Tables) -> Result<Vec<Batch>, Refusal> {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for row in self.batches.iter().flat_map(|batch| &batch.rows) {
            *counts.entry(row.table as usize).or_default() += 1;
        }
        let has_view = |at: usize| tables.all.get(at).is_some_and(|table| table.has_view());
        counts.retain(|table, count| *count >= STAGED_ROW_COUNT && has_view(*table));
        let staged: BTreeSet<usize> = counts.into_keys().collect();
        if staged.is_empty() {
            return Ok(Vec::new());
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let uri = format!("file:/stage-{number}?vfs=memdb");
        let connection = Connection::open_with_flags(&uri, OpenFlags::default())?;
        connection.pragma_update(None, "page_size", 8192)?;
        connection.pragma_update(None, "journal_mode", "OFF")?;
        connection.execute_batch("BEGIN")?;
        for table in staged.iter().filter_map(|table| tables.all.get(*table)) {
            table.make_alone(&connection)?;
        }
        let mut inserter = Inserter::new(&connection, tables);
        for batch in &mut self.batches {
            inserter.insert(batch, |table| staged.contains(&table))?;
            batch.rows.retain(|row| !staged.contains(&(row.table as usize)));
        }
        drop(inserter);
        connection.execute_batch("COMMIT")?;
        self.stage = Some(Stage { tables: staged, uri, _connection: connection });
        Ok(self.batches.extract_if(.., |batch| batch.rows.is_empty()).collect())
    }
}

/// Adds the rows of jobs to a database.
pub(super) struct Merger<'c> {
    connection: &'c Connection,
    tables: &'c Tables,
    inserter: Inserter<'c>,
    /// Tables that exist.
    made: BTreeSet<usize>,
}

impl<'c> Merger<'c> {
    pub(super) fn new(connection: &'c Connection, tables: &'c Tables) -> Merger<'c> {
        let inserter = Inserter::new(connection, tables);
        Merger { connection, tables, inserter, made: BTreeSet::new() }
    }

    /// Adds the rows of a job. Returns how many events were new, and the batches for reuse.
    pub(super) fn add(&mut self, job: Job) -> Result<(u64, Vec<Batch>), Refusal> {
        let Job { batches, stage, .. } = job;
        let mut added = stage.map_or(Ok(0), |stage| self.copy(&stage))?;
        for batch in &batches {
            for rows in batch.rows.chunk_by(|row, next| row.table == next.table) {
                rows.first().map_or(Ok(()), |row| self.make(row.table as usize))?;
            }
            added += self.inserter.insert(batch, |_| true)?;
        }
        Ok((added, batches))
    }

    fn make(&mut self, table: usize) -> Result<(), Refusal> {
        if self.made.insert(table) { self.tables.make(self.connection, table) } else { Ok(()) }
    }

    /// Copies the tables of a stage. Another transaction begins.
    fn copy(&mut self, stage: &Stage) -> Result<u64, Refusal> {
        self.connection.execute("ATTACH ? AS stage", [&stage.uri])?;
        let mut added = 0;
        for &index in &stage.tables {
            let Some(table) = self.tables.all.get(index) else { continue };
            self.make(index)?;
            let name = quoted(&table.name);
            let copy = format!("INSERT INTO main.{name} SELECT * FROM stage.{name}");
            added += self.connection.execute(&copy, [])? as u64;
        }
        self.connection.execute_batch("COMMIT; DETACH stage; BEGIN IMMEDIATE")?;
        Ok(added)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::sql::rows::{self, Destination};
    use crate::export::sql::{Import, begin_new};
    use crate::open::select::Select;
    use eventlog::reader::Log;
    use rusqlite::types::Value;

    /// Returns the database of a log: the names of its tables, and the rows of each.
    fn database(log: &[u8], is_staged: bool) -> Vec<(String, Vec<Vec<Value>>)> {
        let log = Log::from_source(log.to_vec()).unwrap();
        let selection = Select::default().resolve(&log, true).unwrap();
        let connection = Connection::open("").unwrap();
        begin_new(&connection).unwrap();
        let import = Import::begin(&connection, &log, "a.log", 1024).unwrap();
        let (streams, tables) = (&import.streams[..], &import.tables);
        let to = Destination { log: &log, streams, tables, has_labels: true };
        let (counts, _) = rows::add(&connection, to, None, &selection, is_staged).unwrap();
        assert!(counts.added == counts.read && counts.read > 100, "{counts:?}");
        connection.execute_batch("COMMIT").unwrap();
        let names = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
        let mut names = connection.prepare(names).unwrap();
        let names = names.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let rows = |name: String| {
            let keyed =
                ["registries", "kinds", "types", "parameters", "threads", "losses", "counters"];
            let is_plain = !keyed.contains(&&*name);
            let rowid = if is_plain { "rowid, " } else { "" };
            let mut all = connection.prepare(&format!("SELECT {rowid}* FROM \"{name}\"")).unwrap();
            let count = all.column_count();
            let row = |row: &rusqlite::Row<'_>| (0..count).map(|at| row.get(at)).collect();
            let all = all.query_map([], row).unwrap().map(Result::unwrap).collect();
            (name, all)
        };
        names.map(|name| rows(name.unwrap())).collect()
    }

    /// Batches keep the text of rows that a database has already.
    #[test]
    fn a_job_has_a_bounded_number_of_batches() {
        let mut job = Job::default();
        let count = (1..).take_while(|_| {
            job.push(Batch::default());
            !job.is_full()
        });
        assert_eq!(count.count() + 1, JOB_BATCH_COUNT);
    }

    /// `.cnv.sql.speed`
    #[test]
    fn a_stage_gives_the_rows_that_single_inserts_give() {
        let logs: [&[u8]; 3] = [
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/log/heap-2.log")),
            include_bytes!("../../../tests/golden/mps/labels.log"),
            include_bytes!("../../../tests/golden/mps/mpmss-cut.log"),
        ];
        for log in logs {
            let before = NEXT.load(Ordering::Relaxed);
            let staged = database(log, true);
            assert!(NEXT.load(Ordering::Relaxed) > before, "there was no stage");
            let single = database(log, false);
            assert!(single.iter().any(|(_, rows)| rows.len() > 100));
            assert!(staged == single);
        }
    }
}
