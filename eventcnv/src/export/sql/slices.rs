//! The slices of a log, as rows that name the events of their beginnings and ends; and in the same
//! reading the changes of its counters.
//!
//! ```text
//!  slices: name │ key │ thread │ begin, end │ duration │ begin_event │ end_event │ log │ verdict
//!                                                        └─ `event` in the table of its type
//! ```
//!
//! Design: `.cnv.sql.slices` in `design/eventcnv.md`.

use crate::ask::pairs::lanes::Shape;
use crate::ask::pairs::reading::{By, Found, Marked, Open, Told, Values};
use crate::ask::pairs::summary::slice_name;
use crate::export::sql::counters::key_value;
use crate::export::sql::keys::Keys;
use crate::export::sql::refusal::Refusal;
use crate::export::sql::{Lenses, counters};
use crate::open::select::Selection;
use eventdef::Sort;
use eventlog::reader::marks::Marks;
use eventlog::reader::{Clock, Log};
use lens::counters::{Counter, Counters, Step};
use lens::slices::{Edge, Id, Slice};
use rusqlite::{Connection, Statement, params};
use std::cell::RefCell;

/// What a reading of slices and counters adds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) slices: bool,
    pub(crate) counters: bool,
}

impl Wanted {
    pub(crate) const ALL: Wanted = Wanted { slices: true, counters: true };
}

/// Adds the slices of a log that begin in a selection, and those that the log so far left `open`
/// and that end in it; and the changes of counters by its events. A slice that the database has
/// gets the end and the duration that it lacks. Returns what the reading found.
pub(crate) fn add(
    connection: &Connection,
    log: &Log,
    streams: &[i64],
    selection: &Selection,
    lenses: &mut Lenses,
    wanted: Wanted,
) -> Result<Found, Refusal> {
    let (clock, marks) = (Clock::new(log), Marks::of(log.registries()));
    let marked = Marked { log, clock: &clock, marks: &marks };
    let has_slices = wanted.slices && marked.has_beginnings(selection);
    let has_counters = wanted.counters && marked.has_changes(selection);
    if !has_slices && !has_counters {
        return Ok(Found::default());
    }
    let keys = RefCell::new(Keys::load(connection, streams)?);
    let mut rows = Rows::new(connection, &marked, streams, &keys, lenses)?;
    let is_growing = lenses.is_growing;
    let open = lenses.slices.get_or_insert_with(|| Open::before(log));
    open.go_on(&marked, &selection.part().known, is_growing);
    let mut take = |told: Told<'_>, values: &Values| match told {
        Told::Slice(slice) | Told::GaveWay(slice) if has_slices => rows.add(&slice, values),
        _ => Ok(()),
    };
    let found = if has_counters {
        let counters = match lenses.counters.take() {
            Some(counters) => counters.go_on(log, &marks),
            None => marked.counters(),
        };
        let counters = lenses.counters.insert(counters);
        let mut changes = counters::Rows::new(connection, streams, &keys)?;
        let add = |counters: &Counters, counter: &Counter, step: &Step| {
            changes.add(counters, counter, step)
        };
        marked.advance_counting(selection, open, &mut take, counters, add)?
    } else {
        marked.advance(selection, &By::Event, open, &mut take)?
    };
    let (part, mut result) = (selection.part(), Ok(()));
    open.each(|slice, values| {
        let Id { stream, buffer, number } = slice.begin.id;
        // The others have a row.
        if has_slices && result.is_ok() && part.has(stream, buffer, number) {
            result = rows.add(&slice, values);
        }
    });
    result?;
    drop(rows);
    keys.into_inner().finish(connection)?;
    Ok(found)
}

/// Inserts rows.
struct Rows<'c> {
    marks: &'c Marks,
    shapes: Vec<Shape>,
    sorts: Vec<Vec<Sort>>,
    streams: &'c [i64],
    keys: &'c RefCell<Keys>,
    has_times: bool,
    insert: Statement<'c>,
}

impl<'c> Rows<'c> {
    fn new(
        connection: &'c Connection,
        marked: &Marked<'c>,
        streams: &'c [i64],
        keys: &'c RefCell<Keys>,
        lenses: &Lenses,
    ) -> Result<Rows<'c>, Refusal> {
        let insert = connection.prepare(&format!(
            "INSERT INTO slices VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT(begin_event) DO UPDATE SET end = excluded.end,
               duration = excluded.duration, end_event = excluded.end_event,
               verdict = excluded.verdict
             WHERE duration IS NULL AND (excluded.duration IS NOT NULL
               OR end IS NULL AND excluded.end IS NOT NULL
               OR verdict = 'unfinished' AND excluded.verdict <> 'unfinished') {}",
            if lenses.is_exact {
                "OR excluded.duration <> duration
                 OR excluded.verdict = 'doubtful' AND verdict <> 'doubtful'"
            } else {
                ""
            }
        ))?;
        let shapes = Shape::of(marked.log.registries(), marked.marks);
        let (sorts, has_times) = (marked.key_sorts(), lenses.has_times(marked.clock));
        Ok(Rows { marks: marked.marks, shapes, sorts, streams, keys, has_times, insert })
    }

    fn add(&mut self, slice: &Slice<'_>, values: &Values) -> Result<(), Refusal> {
        let begin = slice.begin;
        let is_apart = self.shapes.get(begin.pair as usize).is_some_and(Shape::is_apart);
        let name = values.text(values.name_of(begin));
        let name = slice_name(self.marks.name(begin.pair), name, is_apart);
        let log = self.streams.get(usize::from(begin.id.stream)).copied().unwrap_or(-1);
        let sorts = self.sorts.get(begin.pair as usize).map_or(&[][..], Vec::as_slice);
        let key = key_value(&begin.key, sorts);
        let mut keys = self.keys.borrow_mut();
        let mut event = |edge: &Edge| {
            let of = || (edge.registry, edge.kind, edge.thread);
            keys.key_of(log, edge.id.buffer, edge.id.number, of)
        };
        let begin_event = event(begin);
        self.insert.execute(params![
            name,
            key,
            begin.thread,
            begin.ticks as i64,
            slice.end.map(|end| end.ticks as i64),
            slice.duration().filter(|_| self.has_times).map(|ns| ns as i64),
            begin_event,
            slice.end.map(event),
            log,
            slice.verdict.name(),
        ])?;
        Ok(())
    }
}
