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
use std::sync::mpsc::{Receiver, Sender};

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
    statements: Vec<Statements<'c>>,
}

impl<'c> Inserter<'c> {
    pub(crate) fn new(connection: &'c Connection, tables: &'c Tables) -> Inserter<'c> {
        let statements = tables.all.iter().map(|_| Statements::default()).collect();
        Inserter { connection, tables, statements }
    }

    /// Inserts all batches, and returns them for reuse. Returns how many events were new.
    pub(crate) fn run(
        mut self,
        full: &Receiver<Batch>,
        empty: &Sender<Batch>,
    ) -> Result<u64, Refusal> {
        let mut added = 0;
        for batch in full {
            added += self.insert(&batch)?;
            let _ = empty.send(batch);
        }
        Ok(added)
    }

    fn insert(&mut self, batch: &Batch) -> Result<u64, Refusal> {
        let (mut added, mut rows) = (0, &*batch.rows);
        while let Some(&Row { table, .. }) = rows.first() {
            let same = rows.iter().take(GROUP).take_while(|row| row.table == table).count();
            let count = if same == GROUP { GROUP } else { 1 };
            let (group, rest) = rows.split_at(count);
            let new = self.insert_group(table as usize, batch, group)?;
            added += if table as usize == LABELS { 0 } else { new };
            rows = rest;
        }
        Ok(added)
    }

    fn insert_group(&mut self, table: usize, batch: &Batch, rows: &[Row]) -> Result<u64, Refusal> {
        let (Some(described), Some(statements)) =
            (self.tables.all.get(table), self.statements.get_mut(table))
        else {
            return Ok(0);
        };
        let slot = if rows.len() == GROUP { &mut statements.group } else { &mut statements.one };
        let prepared = match slot {
            Some(prepared) => prepared,
            None => {
                self.tables.make(self.connection, table)?;
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
