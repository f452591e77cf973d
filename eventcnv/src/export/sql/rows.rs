//! Events to rows, in batches that another thread inserts.
//!
//! ```text
//!  event ── buffer 7, number 41 ──▶ key, log, thread, time, wall, parameters
//!                                        └─▶ Batch ──▶ insert.rs        ◀── empty ones come back
//! ```
//!
//! Design: `.cnv.sql`, `.cnv.sql.again` in `design/eventcnv.md`.

use super::insert::Inserter;
use super::keys::Keys;
use super::tables::{LABELS, Tables, UNKNOWN};
use super::{Counts, Refusal, labels};
use crate::export::places::Places;
use crate::select::Selected;
use eventlog::reader::{Event, Log, Value};
use roaring::RoaringTreemap;
use rusqlite::Connection;
use std::sync::mpsc;

/// Rows of a batch, and bytes of its strings, from which on it is handed over.
const BATCH_ROW_COUNT: usize = 4096;
const BATCH_TEXT_SIZE: usize = 1 << 20;
/// Batches under way.
const BATCH_COUNT: usize = 4;

/// A value of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    /// Where it is in the batch's text: begin and size.
    Text(u32, u32),
    Blob(u32, u32),
}

/// A row: its table, and where its cells begin and end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) table: u32,
    pub(crate) begin: u32,
    pub(crate) end: u32,
}

/// Rows to insert.
#[derive(Default)]
pub(crate) struct Batch {
    /// In order of their tables.
    pub(crate) rows: Vec<Row>,
    pub(crate) cells: Vec<Cell>,
    pub(crate) text: Vec<u8>,
}

impl Batch {
    fn clear(&mut self) {
        self.rows.clear();
        self.cells.clear();
        self.text.clear();
    }

    /// Rows of a table follow each other, in the order in which they came.
    fn sort(&mut self) {
        self.rows.sort_by_key(|row| row.table);
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= BATCH_ROW_COUNT || self.text.len() >= BATCH_TEXT_SIZE
    }

    fn push_bytes(&mut self, bytes: &[u8], is_text: bool) {
        let (begin, size) = (self.text.len() as u32, bytes.len() as u32);
        self.text.extend_from_slice(bytes);
        self.cells.push(if is_text { Cell::Text(begin, size) } else { Cell::Blob(begin, size) });
    }

    /// A row of what is called what.
    #[cold]
    fn push_label(&mut self, key: i64, log: i64, event: &Event<'_, '_>) {
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

    fn push(&mut self, value: Value<'_>) {
        let cell = match value {
            Value::P(value) | Value::A(value) | Value::W(value) => Cell::Integer(value as i64),
            Value::U(value) => Cell::Integer(value.into()),
            Value::B(value) => Cell::Integer(value.into()),
            Value::D(value) => Cell::Real(value),
            Value::S(bytes) => {
                // Of text with a NUL in it the functions of SQLite see the beginning alone.
                let is_text = !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok();
                return self.push_bytes(bytes, is_text);
            }
        };
        self.cells.push(cell);
    }
}

/// Where the events of a log go.
#[derive(Clone, Copy)]
pub(crate) struct To<'l> {
    pub(crate) log: &'l Log,
    pub(crate) streams: &'l [i64],
    pub(crate) tables: &'l Tables,
    /// Whether labels are told too.
    pub(crate) has_labels: bool,
}

/// Adds events, except those whose keys are known; the connection comes back when they are in.
pub(crate) fn add(
    connection: Connection,
    to: To<'_>,
    known: Option<RoaringTreemap>,
    events: &mut Selected<'_>,
) -> Result<(Connection, Counts), Refusal> {
    let To { log, streams, tables, .. } = to;
    let mut keys = Keys::of(&connection, streams)?;
    let (full, to_insert) = mpsc::sync_channel::<Batch>(BATCH_COUNT);
    let (empty, to_fill) = mpsc::channel();
    std::thread::scope(|scope| {
        let inserter = scope.spawn(move || -> Result<(Connection, u64), Refusal> {
            let added = Inserter::new(&connection, tables).run(&to_insert, &empty)?;
            Ok((connection, added))
        });
        let (places, batch) = (Places::new(log), Batch::default());
        let near = vec![0; log.streams().len()];
        let mut filler = Filler { to, known, places, near, batch };
        let mut read = 0;
        while let Some(event) = events.next() {
            read += 1;
            filler.fill(&event, &mut keys);
            if filler.batch.is_full() {
                filler.batch.sort();
                let next = to_fill.try_recv().unwrap_or_default();
                if full.send(std::mem::replace(&mut filler.batch, next)).is_err() {
                    break;
                }
                filler.batch.clear();
            }
        }
        filler.batch.sort();
        let _ = full.send(filler.batch);
        drop(full);
        let (connection, added) = match inserter.join() {
            Ok(result) => result?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        keys.finish(&connection)?;
        Ok((connection, Counts { read, added }))
    })
}

/// Puts events into batches.
struct Filler<'l> {
    to: To<'l>,
    /// The keys of the events that are there, if any may be.
    known: Option<RoaringTreemap>,
    places: Places<'l>,
    /// For each stream where its last event was among its syncs.
    near: Vec<usize>,
    batch: Batch,
}

impl Filler<'_> {
    #[inline]
    fn fill(&mut self, event: &Event<'_, '_>, keys: &mut Keys) {
        let To { log: of, streams, tables, has_labels } = self.to;
        let log = streams.get(usize::from(event.stream)).copied().unwrap_or(-1);
        let table = self.table(event);
        let Some(described) = tables.all.get(table).filter(|table| table.is_chosen) else {
            return;
        };
        let stream = usize::from(event.stream);
        let key = keys.key(log, event);
        if self.known.as_mut().is_some_and(|known| !known.insert(key as u64)) {
            return;
        }
        let wall = of.streams().get(stream).zip(self.near.get_mut(stream));
        let wall = wall.and_then(|(stream, near)| stream.wall_time_near(event.ticks, near));
        let wall = wall.map_or(Cell::Null, |wall| Cell::Integer(wall.realtime as i64));
        if described.is_label && has_labels {
            self.batch.push_label(key, log, event);
        }
        let batch = &mut self.batch;
        let begin = batch.cells.len() as u32;
        batch.cells.extend([
            Cell::Integer(key),
            Cell::Integer(log),
            Cell::Integer(event.thread.into()),
            Cell::Integer(event.ticks as i64),
            wall,
        ]);
        if table == UNKNOWN {
            batch.cells.push(Cell::Integer(event.registry.index.into()));
            batch.cells.push(Cell::Integer(event.code().into()));
            batch.push_bytes(event.bytes, false);
        } else {
            event.params().for_each(|(_, value)| batch.push(value));
        }
        let end = batch.cells.len() as u32;
        batch.rows.push(Row { table: table as u32, begin, end });
    }

    #[inline]
    fn table(&mut self, event: &Event<'_, '_>) -> usize {
        match event.event_type {
            Some(event_type) => self.to.tables.index(self.places.of(event), event_type.code),
            None => UNKNOWN,
        }
    }
}
