//! The slices of a log, as rows that name the events of their beginnings and ends.
//!
//! ```text
//!  slices: name │ key │ thread │ begin, end │ duration │ begin_event │ end_event │ log │ verdict
//!                                                        └─ `event` in the table of its type
//! ```
//!
//! Design: `.cnv.sql.slices` in `design/eventcnv.md`.

use crate::ask::pairs::lanes::Shape;
use crate::ask::pairs::reading::{By, Found, Marked, Open, Told, Values, key_text};
use crate::ask::pairs::summary::slice_name;
use crate::export::sql::Lenses;
use crate::export::sql::keys::Keys;
use crate::export::sql::refusal::Refusal;
use crate::open::select::Selection;
use eventdef::Sort;
use eventlog::reader::marks::Marks;
use eventlog::reader::{Clock, Log};
use lens::slices::{Edge, Id, Slice};
use rusqlite::types::Value;
use rusqlite::{Connection, Statement, params};

/// Adds the slices of a log that begin in a selection, and those that the log so far left `open`
/// and that end in it. A slice that the database has gets the end and the duration that it lacks.
/// Returns what the reading found.
pub(crate) fn add(
    connection: &Connection,
    log: &Log,
    streams: &[i64],
    selection: &Selection,
    lenses: &mut Lenses,
) -> Result<Found, Refusal> {
    let (clock, marks) = (Clock::new(log), Marks::of(log.registries()));
    let marked = Marked { log, clock: &clock, marks: &marks };
    if !marked.has_beginnings(selection) {
        return Ok(Found::default());
    }
    let insert = connection.prepare(&format!(
        "INSERT INTO slices VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT(begin_event) DO UPDATE SET end = excluded.end, duration = excluded.duration,
           end_event = excluded.end_event, verdict = excluded.verdict
         WHERE duration IS NULL AND (excluded.duration IS NOT NULL
           OR end IS NULL AND excluded.end IS NOT NULL
           OR verdict = 'unfinished' AND excluded.verdict <> 'unfinished') {}",
        if lenses.is_exact { "OR excluded.duration <> duration" } else { "" }
    ))?;
    let keys = Keys::load(connection, streams)?;
    let has_times = lenses.has_times(&clock);
    let sorts = marked.key_sorts();
    let shapes = Shape::of(log.registries(), &marks);
    let mut rows = Rows { marks: &marks, shapes, sorts, streams, keys, has_times, insert };
    let open = match &mut lenses.slices {
        Some(open) => {
            open.go_on(&clock);
            open
        }
        none => none.insert(Open::new(log)),
    };
    let found = marked.advance(selection, &By::Event, open, &mut |told, values| match told {
        Told::Slice(slice) | Told::GaveWay(slice) => rows.add(&slice, values),
        Told::Alone(_) | Told::Begun { .. } => Ok(()),
    })?;
    let (part, mut result) = (selection.part(), Ok(()));
    open.each(|slice, values| {
        let Id { stream, buffer, number } = slice.begin.id;
        // The others have a row.
        if result.is_ok() && part.has(stream, buffer, number) {
            result = rows.add(&slice, values);
        }
    });
    result?;
    rows.keys.finish(connection)?;
    Ok(found)
}

/// Inserts rows.
struct Rows<'c> {
    marks: &'c Marks,
    shapes: Vec<Shape>,
    sorts: Vec<Vec<Sort>>,
    streams: &'c [i64],
    keys: Keys,
    has_times: bool,
    insert: Statement<'c>,
}

impl Rows<'_> {
    fn add(&mut self, slice: &Slice<'_>, values: &Values) -> Result<(), Refusal> {
        let begin = slice.begin;
        let is_apart = self.shapes.get(begin.pair as usize).is_some_and(Shape::is_apart);
        let name = values.text(values.name_of(begin));
        let name = slice_name(self.marks.name(begin.pair), name, is_apart);
        let log = self.streams.get(usize::from(begin.id.stream)).copied().unwrap_or(-1);
        let sorts = self.sorts.get(begin.pair as usize).map_or(&[][..], Vec::as_slice);
        let key = match (sorts, begin.key.first()) {
            ([], _) | (_, None) => Value::Null,
            ([Sort::D], Some(value)) => Value::Real(f64::from_bits(*value)),
            ([sort], Some(value)) if *sort != Sort::S => Value::Integer(*value as i64),
            _ => Value::Text(key_text(&begin.key, sorts)),
        };
        let keys = &mut self.keys;
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
