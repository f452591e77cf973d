//! Batches of rows for tables.
//!
//! ```text
//!  rows.rs ──▶ Batch: rows │ cells │ text of cells ──▶ insert.rs      ◀── used batches return
//!  key of a row: place in `buffers` │ number, until the keys are known
//! ```
//!
//! Design: `.cnv.sql.speed` in `design/eventcnv.md`.

use crate::export::sql::keys::{Buffer, Keys, NUMBER_BITS, part_of};
use crate::export::sql::labels;
use crate::export::sql::tables::LABELS;
use eventlog::reader::{Event, Value};
use roaring::RoaringTreemap;
use std::collections::HashMap;

/// Rows, or bytes of strings, of a full batch.
const BATCH_ROW_COUNT: usize = 4096;
const BATCH_TEXT_SIZE: usize = 1 << 18;

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

/// A row: its table, and the range of its cells. The first is its key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) table: u32,
    pub(crate) begin: u32,
    pub(crate) end: u32,
    /// Words that SQLite's integers lack.
    pub(crate) great_count: u32,
}

/// Rows to insert.
#[derive(Default)]
pub(crate) struct Batch {
    /// In order of their tables, after [`Batch::sort`].
    pub(crate) rows: Vec<Row>,
    pub(crate) cells: Vec<Cell>,
    pub(crate) text: Vec<u8>,
    /// Events that were read.
    pub(crate) read_count: u64,
    /// The buffers of the rows in the order of the events; registry, kind and thread of each.
    buffers: Vec<(Buffer, (u16, u8, u32))>,
    places: HashMap<Buffer, i64>,
    last: Option<(Buffer, i64)>,
}

impl Batch {
    /// Returns the batch without its rows, for reuse.
    pub(crate) fn emptied(mut self) -> Batch {
        self.rows.clear();
        self.cells.clear();
        self.text.clear();
        self.buffers.clear();
        self.places.clear();
        Batch { read_count: 0, last: None, ..self }
    }

    /// Returns the key of an event for [`Batch::set_keys`].
    #[inline]
    pub(crate) fn key(&mut self, log: i64, event: &Event<'_, '_>) -> i64 {
        let (first, number) = part_of(event.number);
        let buffer = (log, event.buffer, first);
        let place = match self.last {
            Some((last, place)) if last == buffer => place,
            _ => self.place(buffer, event),
        };
        place << NUMBER_BITS | number
    }

    #[cold]
    fn place(&mut self, buffer: Buffer, event: &Event<'_, '_>) -> i64 {
        let next = self.buffers.len() as i64;
        let place = *self.places.entry(buffer).or_insert(next);
        if place == next {
            self.buffers.push((buffer, (event.registry.index, event.kind, event.thread)));
        }
        self.last = Some((buffer, place));
        place
    }

    /// Gives the rows their keys, and removes those whose keys are known. New keys become known.
    pub(crate) fn set_keys(&mut self, keys: &mut Keys, known: Option<&mut RoaringTreemap>) {
        let ids: Vec<i64> = self.buffers.iter().map(|&(of, facts)| keys.id(of, || facts)).collect();
        let cells = &mut self.cells;
        let mut key_of = |row: &Row| {
            let Some(Cell::Integer(key)) = cells.get_mut(row.begin as usize) else { return 0 };
            let id = ids.get((*key >> NUMBER_BITS) as usize).copied().unwrap_or(0);
            *key = id << NUMBER_BITS | *key & ((1 << NUMBER_BITS) - 1);
            *key as u64
        };
        match known {
            None => {
                self.rows.iter().map(key_of).for_each(|_| {});
            }
            // The row of a label has the key of its event, whose row comes later.
            Some(known) => self.rows.retain(|row| match key_of(row) {
                key if row.table as usize == LABELS => !known.contains(key),
                key => known.insert(key),
            }),
        }
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
        let end = self.cells.len() as u32;
        self.rows.push(Row { table: LABELS as u32, begin, end, great_count: 0 });
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
