//! Inserts rows into tables by prepared statements.
//!
//! ```text
//!  Batch ──▶ consecutive rows of one table ──▶ 16 at once │ one at a time
//! ```
//!
//! Design: `.cnv.sql.speed` in `design/eventcnv.md`.

use crate::export::sql::batch::{Batch, Cell, Row};
use crate::export::sql::refusal::Refusal;
use crate::export::sql::tables::{LABELS, Tables};
use rusqlite::types::{Null, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement};
use std::collections::HashMap;

/// Rows of one statement, if enough rows of a table follow each other.
const GROUP: usize = 16;

/// A statement, and the current values of its parameters. Most values equal those of the row
/// before, and SQLite keeps them.
struct Prepared<'c> {
    statement: Statement<'c>,
    bound: Vec<Cell>,
}

/// The statements of a table: for a group of rows, and for one.
#[derive(Default)]
struct Statements<'c> {
    group: Option<Prepared<'c>>,
    one: Option<Prepared<'c>>,
}

pub(crate) struct Inserter<'c> {
    connection: &'c Connection,
    tables: &'c Tables,
    statements: HashMap<usize, Statements<'c>>,
}

impl<'c> Inserter<'c> {
    pub(crate) fn new(connection: &'c Connection, tables: &'c Tables) -> Inserter<'c> {
        Inserter { connection, tables, statements: HashMap::new() }
    }

    /// Inserts the rows of some tables, which exist. Returns how many events were new.
    pub(crate) fn insert(
        &mut self,
        batch: &Batch,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Result<u64, Refusal> {
        let mut added = 0;
        for rows in batch.rows.chunk_by(|row, next| row.table == next.table) {
            let table = rows.first().map_or(0, |row| row.table as usize);
            if !is_wanted(table) {
                continue;
            }
            let groups = rows.chunks_exact(GROUP);
            let single = groups.remainder().chunks(1);
            for group in groups.chain(single) {
                let new = self.insert_group(table, batch, group)?;
                added += if table == LABELS { 0 } else { new };
            }
        }
        Ok(added)
    }

    fn insert_group(&mut self, table: usize, batch: &Batch, rows: &[Row]) -> Result<u64, Refusal> {
        let Some(described) = self.tables.all.get(table) else { return Ok(0) };
        let statements = self.statements.entry(table).or_default();
        let slot = if rows.len() == GROUP { &mut statements.group } else { &mut statements.one };
        let prepared = match slot {
            Some(prepared) => prepared,
            None => {
                let statement = self.connection.prepare(&described.insertion(rows.len()))?;
                // Parameters are NULL at first.
                let bound = vec![Cell::Null; described.column_count() * rows.len()];
                slot.insert(Prepared { statement, bound })
            }
        };
        let width = described.column_count();
        for (row, bound) in rows.iter().zip(0..) {
            let cells = batch.cells.get(row.begin as usize..row.end as usize).unwrap_or_default();
            // A short event has fewer cells. Parameters beyond the limit have no columns.
            let missing = std::iter::repeat(&Cell::Null);
            let cells = cells.iter().chain(missing).take(width);
            for (cell, position) in cells.zip(bound * width..) {
                prepared.bind(position, *cell, &batch.text)?;
            }
        }
        Ok(prepared.statement.raw_execute()? as u64)
    }
}

impl Prepared<'_> {
    /// Sets a parameter, counted from 0.
    #[inline]
    fn bind(&mut self, position: usize, cell: Cell, text: &[u8]) -> Result<(), Refusal> {
        let Some(bound) = self.bound.get_mut(position) else { return Ok(()) };
        match (*bound, cell) {
            (Cell::Integer(old), Cell::Integer(new)) if old == new => return Ok(()),
            (Cell::Null, Cell::Null) => return Ok(()),
            _ => *bound = cell,
        }
        let bytes = |begin: u32, size: u32| {
            text.get(begin as usize..begin as usize + size as usize).unwrap_or_default()
        };
        let (statement, position) = (&mut self.statement, position + 1);
        match cell {
            Cell::Null => statement.raw_bind_parameter(position, Null)?,
            Cell::Integer(value) => statement.raw_bind_parameter(position, value)?,
            Cell::Real(value) => statement.raw_bind_parameter(position, value)?,
            Cell::Text(begin, size) => {
                let text = ToSqlOutput::Borrowed(ValueRef::Text(bytes(begin, size)));
                statement.raw_bind_parameter(position, text)?;
            }
            Cell::Blob(begin, size) => {
                statement.raw_bind_parameter(position, bytes(begin, size))?;
            }
        }
        Ok(())
    }
}
