//! Batches of rows for tables.
//!
//! ```text
//!  rows.rs ──▶ Batch: rows │ cells │ text of cells ──▶ insert.rs      ◀── used batches return
//! ```
//!
//! Design: `.cnv.sql.speed` in `design/eventcnv.md`.

use crate::export::sql::labels;
use crate::export::sql::tables::LABELS;
use eventlog::reader::{Event, Value};

/// Rows, or bytes of strings, of a full batch.
const BATCH_ROW_COUNT: usize = 4096;
const BATCH_TEXT_SIZE: usize = 1 << 20;

/// A value of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    /// Offset and size in the batch's text.
    Text(u32, u32),
    Blob(u32, u32),
}

/// A row: its table, and the range of its cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) table: u32,
    pub(crate) begin: u32,
    pub(crate) end: u32,
}

/// Rows to insert.
#[derive(Default)]
pub(crate) struct Batch {
    /// In order of their tables, after [`Batch::sort`].
    pub(crate) rows: Vec<Row>,
    pub(crate) cells: Vec<Cell>,
    pub(crate) text: Vec<u8>,
}

impl Batch {
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.cells.clear();
        self.text.clear();
    }

    /// Sorts rows by table; rows of one table keep their order.
    pub(crate) fn sort(&mut self) {
        self.rows.sort_by_key(|row| row.table);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.rows.len() >= BATCH_ROW_COUNT || self.text.len() >= BATCH_TEXT_SIZE
    }

    pub(crate) fn push_bytes(&mut self, bytes: &[u8], is_text: bool) {
        let (begin, size) = (self.text.len() as u32, bytes.len() as u32);
        self.text.extend_from_slice(bytes);
        self.cells.push(if is_text { Cell::Text(begin, size) } else { Cell::Blob(begin, size) });
    }

    #[cold]
    pub(crate) fn push_label(&mut self, key: i64, log: i64, event: &Event<'_, '_>) {
        let Some((address, id)) = labels::label(event) else { return };
        let begin = self.cells.len() as u32;
        self.cells.extend([Cell::Integer(key), Cell::Integer(log)]);
        self.push_bytes(labels::sort(event).as_bytes(), true);
        let numbers = [address, event.ticks, id].map(|number| Cell::Integer(number as i64));
        self.cells.extend(numbers);
        match event.labels.string(id).filter(|_| id != 0) {
            Some(bytes) => self.push_bytes(bytes, std::str::from_utf8(bytes).is_ok()),
            None => self.cells.push(Cell::Null),
        }
        self.rows.push(Row { table: LABELS as u32, begin, end: self.cells.len() as u32 });
    }

    pub(crate) fn push(&mut self, value: Value<'_>) {
        let cell = match value {
            Value::P(value) | Value::A(value) | Value::W(value) => Cell::Integer(value as i64),
            Value::U(value) => Cell::Integer(value.into()),
            Value::B(value) => Cell::Integer(value.into()),
            Value::D(value) => Cell::Real(value),
            Value::S(bytes) => {
                // SQLite's functions see text only up to a NUL.
                let is_text = !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok();
                return self.push_bytes(bytes, is_text);
            }
        };
        self.cells.push(cell);
    }
}
