//! Makes rows from events on all processors, and inserts them on one thread.
//!
//! ```text
//!  partitions ── workers ──▶ Batch: key, log, thread, time, wall, parameters of each event
//!    in order: buffer 7, number 41 ──▶ key ──▶ jobs ── stage.rs, workers ──▶ SQLite's thread
//! ```
//!
//! Design: `.cnv.sql`, `.cnv.sql.again`, `.cnv.sql.speed` in `design/eventcnv.md`.

use crate::export::sql::batch::{Batch, Cell, Row};
use crate::export::sql::keys::Keys;
use crate::export::sql::refusal::{Counts, Refusal};
use crate::export::sql::stage::{Job, Merger};
use crate::export::sql::tables::{Tables, UNKNOWN};
use crate::export::wall::Wall;
use crate::open::parallel;
use crate::open::parallel::{Emit, map_in_order};
use crate::open::select::{Selected, Selection};
use cli::Stop;
use eventlog::reader::{Event, Faults, Log, Order, Value};
use roaring::RoaringTreemap;
use rusqlite::Connection;
use std::sync::{Mutex, PoisonError};

/// The destination of the events of a log.
#[derive(Clone, Copy)]
pub(crate) struct Destination<'l> {
    pub(crate) log: &'l Log,
    pub(crate) streams: &'l [i64],
    pub(crate) tables: &'l Tables,
    /// Whether labels are added too.
    pub(crate) has_labels: bool,
}

/// Adds the events of a selection, except those with known keys; by stages, if it `is_staged`.
/// Returns the faults of the events.
pub(crate) fn add(
    connection: &Connection,
    to: Destination<'_>,
    mut known: Option<RoaringTreemap>,
    selection: &Selection,
    is_staged: bool,
) -> Result<(Counts, Faults), Refusal> {
    let mut keys = Keys::load(connection, to.streams)?;
    let spare: Mutex<Vec<Batch>> = Mutex::default();
    let spares = || spare.lock().unwrap_or_else(PoisonError::into_inner);
    let work = |events: &mut Selected<'_>, emit: Emit<'_, Batch>| {
        let new = || spares().pop().unwrap_or_default();
        let mut filler = Filler { to, wall: Wall::new(to.log), batch: new() };
        events.each_while(|event| {
            filler.fill(event);
            !filler.batch.is_full() || emit(filler.take(new()))
        });
        emit(filler.take(Batch::default()));
    };
    let reuse = |batches: Vec<Batch>| spares().extend(batches.into_iter().map(Batch::emptied));
    let make = |send: &mut dyn FnMut(Job) -> bool| {
        let (mut job, mut counts) = (Job::default(), Counts::default());
        let faults = parallel::run(to.log, selection, Order::Time, work, |mut batch| {
            batch.set_keys(&mut keys, known.as_mut());
            counts.read += batch.read_count;
            counts.great += batch.rows.iter().map(|row| u64::from(row.great_count)).sum::<u64>();
            if batch.rows.is_empty() {
                reuse(vec![batch]);
                return Ok(());
            }
            job.push(batch);
            let is_wanted = !job.is_full() || send(std::mem::take(&mut job));
            if is_wanted { Ok(()) } else { Err(Stop::Closed) }
        });
        send(job);
        // Nothing but the inserting fails.
        (keys, counts, faults.unwrap_or_default())
    };
    let stage = |mut job: Job| {
        if is_staged {
            reuse(job.stage(to.tables)?);
        }
        Ok(job)
    };
    let (mut merger, mut added) = (Merger::new(connection, to.tables), 0);
    let merge = |job: Result<Job, Refusal>| {
        let (new, batches) = merger.add(job?)?;
        added += new;
        reuse(batches);
        Ok::<_, Refusal>(())
    };
    let (keys, counts, faults) = map_in_order(make, stage, merge)?;
    keys.finish(connection)?;
    Ok((Counts { added, ..counts }, faults))
}

/// Fills a batch with events.
struct Filler<'l> {
    to: Destination<'l>,
    wall: Wall<'l>,
    batch: Batch,
}

impl Filler<'_> {
    /// Takes the batch, and goes on with an empty one.
    fn take(&mut self, next: Batch) -> Batch {
        self.batch.sort();
        std::mem::replace(&mut self.batch, next)
    }

    #[inline]
    fn fill(&mut self, event: &Event<'_, '_>) {
        self.batch.read_count += 1;
        let Destination { streams, tables, has_labels, .. } = self.to;
        let log = streams.get(usize::from(event.stream)).copied().unwrap_or(-1);
        let table = self.table(event);
        let Some(described) = tables.all.get(table).filter(|table| table.is_chosen) else {
            return;
        };
        let key = self.batch.key(log, event);
        let wall = self.wall.time(event.stream, event.ticks);
        let wall = wall.map_or(Cell::Null, |ns| Cell::Integer(ns as i64));
        if described.is_label && has_labels {
            self.batch.push_label(key, log, event);
        }
        let batch = &mut self.batch;
        let (begin, mut great_count) = (batch.cells.len() as u32, 0);
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
                great_count += u32::from(matches!(value, Value::W(word) if word >> 63 == 1));
                batch.push(value);
            }
        }
        let end = batch.cells.len() as u32;
        batch.rows.push(Row { table: table as u32, begin, end, great_count });
    }

    #[inline]
    fn table(&self, event: &Event<'_, '_>) -> usize {
        match event.event_type {
            Some(event_type) => {
                self.to.tables.index(event.registry_index as usize, event_type.code)
            }
            None => UNKNOWN,
        }
    }
}
