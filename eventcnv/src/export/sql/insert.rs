//! Rows into tables, by statements that are prepared once.
//!
//! ```text
//!  Batch ──▶ rows of one table in a row ──▶ 16 at once │ one at a time
//! ```
//!
//! Design: `.cnv.sql.speed` in `design/eventcnv.md`.

use super::Refusal;
use super::rows::{Batch, Cell, Row};
use super::tables::Tables;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Statement};
use std::sync::mpsc::{Receiver, Sender};

/// Rows that one statement inserts, if so many of a table follow each other.
const GROUP: usize = 16;

/// The statements of a table: for a group of rows, and for one.
#[derive(Default)]
struct Statements<'c> {
    group: Option<Statement<'c>>,
    one: Option<Statement<'c>>,
}

/// What inserts.
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

    /// Inserts all batches that come, and gives them back. How many rows were new.
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
            added += self.insert_group(table as usize, batch, group)?;
            rows = rest;
        }
        Ok(added)
    }

    /// Inserts some rows of one table.
    fn insert_group(&mut self, table: usize, batch: &Batch, rows: &[Row]) -> Result<u64, Refusal> {
        let (Some(described), Some(statements)) =
            (self.tables.all.get(table), self.statements.get_mut(table))
        else {
            return Ok(0);
        };
        let slot = if rows.len() == GROUP { &mut statements.group } else { &mut statements.one };
        let statement = match slot {
            Some(statement) => statement,
            None => {
                described.make(self.connection)?;
                if self.tables.is_again {
                    described.guard(self.connection)?;
                }
                slot.insert(self.connection.prepare(&described.insertion(rows.len()))?)
            }
        };
        let width = described.column_count();
        let mut position = 1;
        for row in rows {
            let cells = batch.cells.get(row.begin as usize..row.end as usize).unwrap_or_default();
            // A short event has fewer; of one with very many, some have no column.
            let missing = std::iter::repeat(&Cell::Null);
            for cell in cells.iter().chain(missing).take(width) {
                statement.raw_bind_parameter(position, cell.as_value(&batch.text))?;
                position += 1;
            }
        }
        Ok(statement.raw_execute()? as u64)
    }
}

impl Cell {
    #[inline]
    fn as_value(self, text: &[u8]) -> ToSqlOutput<'_> {
        let bytes = |begin: u32, size: u32| {
            text.get(begin as usize..begin as usize + size as usize).unwrap_or_default()
        };
        match self {
            Cell::Null => ToSqlOutput::Owned(Value::Null),
            Cell::Integer(value) => ToSqlOutput::Owned(Value::Integer(value)),
            Cell::Real(value) => ToSqlOutput::Owned(Value::Real(value)),
            Cell::Text(begin, size) => ToSqlOutput::Borrowed(ValueRef::Text(bytes(begin, size))),
            Cell::Blob(begin, size) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes(begin, size))),
        }
    }
}
