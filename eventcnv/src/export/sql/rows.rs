//! Makes rows from events, in batches that another thread inserts.
//!
//! ```text
//!  event ── buffer 7, number 41 ──▶ key, log, thread, time, wall, parameters
//!                                        └─▶ Batch ──▶ insert.rs        ◀── used batches return
//! ```
//!
//! Design: `.cnv.sql`, `.cnv.sql.again` in `design/eventcnv.md`.

use crate::export::sql::batch::{Batch, Cell, Row};
use crate::export::sql::insert::Inserter;
use crate::export::sql::keys::Keys;
use crate::export::sql::refusal::{Counts, Refusal};
use crate::export::sql::tables::{Tables, UNKNOWN};
use crate::export::wall::Wall;
use crate::open::select::Selected;
use eventlog::reader::{Event, Log, Value};
use roaring::RoaringTreemap;
use rusqlite::Connection;
use std::sync::mpsc;

const BATCH_COUNT: usize = 4;

/// The destination of the events of a log.
#[derive(Clone, Copy)]
pub(crate) struct Destination<'l> {
    pub(crate) log: &'l Log,
    pub(crate) streams: &'l [i64],
    pub(crate) tables: &'l Tables,
    /// Whether labels are added too.
    pub(crate) has_labels: bool,
}

/// Adds events, except those with known keys. Returns the connection when all are inserted.
pub(crate) fn add(
    connection: Connection,
    to: Destination<'_>,
    known: Option<RoaringTreemap>,
    events: &mut Selected<'_>,
) -> Result<(Connection, Counts), Refusal> {
    let Destination { log, streams, tables, .. } = to;
    let mut keys = Keys::load(&connection, streams)?;
    let (full, to_insert) = mpsc::sync_channel::<Batch>(BATCH_COUNT);
    let (empty, to_fill) = mpsc::channel();
    std::thread::scope(|scope| {
        let inserter = scope.spawn(move || -> Result<(Connection, u64), Refusal> {
            let added = Inserter::new(&connection, tables).run(&to_insert, &empty)?;
            Ok((connection, added))
        });
        let (wall, batch) = (Wall::new(log), Batch::default());
        let mut filler = Filler { to, known, wall, batch, great_count: 0 };
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
        let _ = full.send(std::mem::take(&mut filler.batch));
        drop(full);
        let (connection, added) = match inserter.join() {
            Ok(result) => result?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        keys.finish(&connection)?;
        Ok((connection, Counts { read, added, great: filler.great_count }))
    })
}

/// Fills batches with events.
struct Filler<'l> {
    to: Destination<'l>,
    /// The keys of events in the database, if it may have any of the log.
    known: Option<RoaringTreemap>,
    wall: Wall<'l>,
    batch: Batch,
    /// Words that SQLite's integers lack.
    great_count: u64,
}

impl Filler<'_> {
    #[inline]
    fn fill(&mut self, event: &Event<'_, '_>, keys: &mut Keys) {
        let Destination { streams, tables, has_labels, .. } = self.to;
        let log = streams.get(usize::from(event.stream)).copied().unwrap_or(-1);
        let table = self.table(event);
        let Some(described) = tables.all.get(table).filter(|table| table.is_chosen) else {
            return;
        };
        let key = keys.key(log, event);
        if self.known.as_mut().is_some_and(|known| !known.insert(key as u64)) {
            return;
        }
        let wall = self.wall.time(event.stream, event.ticks);
        let wall = wall.map_or(Cell::Null, |ns| Cell::Integer(ns as i64));
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
            for (_, value) in event.params() {
                self.great_count += u64::from(matches!(value, Value::W(word) if word >> 63 == 1));
                batch.push(value);
            }
        }
        let end = batch.cells.len() as u32;
        batch.rows.push(Row { table: table as u32, begin, end });
    }

    #[inline]
    fn table(&mut self, event: &Event<'_, '_>) -> usize {
        match event.event_type {
            Some(event_type) => {
                self.to.tables.index(event.registry_index as usize, event_type.code)
            }
            None => UNKNOWN,
        }
    }
}
