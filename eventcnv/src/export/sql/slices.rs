//! The slices of a log, as rows that name the events of their beginnings and ends.
//!
//! ```text
//!  slices: name │ key │ thread │ begin, end │ duration │ begin_event │ end_event │ log │ verdict
//!                                                        └─ `event` in the table of its type
//! ```
//!
//! Design: `.cnv.sql.slices` in `design/eventcnv.md`.

use super::keys::Keys;
use super::refusal::Refusal;
use crate::reading::pairs::{By, Found, Marked, Told, key_text};
use crate::select::Selection;
use eventdef::Sort;
use eventlog::reader::marks::Marks;
use eventlog::reader::{Clock, Log};
use rusqlite::types::Value;
use rusqlite::{Connection, Statement, params};
use slices::{Edge, Slice};

/// Adds the slices of a log that begin in a selection. A slice that the database has gets the end
/// and the duration that it lacks. Returns what the reading found.
pub(crate) fn add(
    connection: &Connection,
    log: &Log,
    streams: &[i64],
    selection: &Selection,
) -> Result<Found, Refusal> {
    let (clock, marks) = (Clock::new(log), Marks::of(log.registries()));
    let marked = Marked { log, clock: &clock, marks: &marks };
    if !marked.has_beginnings(selection) {
        return Ok(Found::default());
    }
    let insert = connection.prepare(
        "INSERT INTO slices VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT(begin_event) DO UPDATE SET end = excluded.end, duration = excluded.duration,
           end_event = excluded.end_event, verdict = excluded.verdict
         WHERE duration IS NULL AND (excluded.duration IS NOT NULL
           OR end IS NULL AND excluded.end IS NOT NULL
           OR verdict = 'unfinished' AND excluded.verdict <> 'unfinished')",
    )?;
    let keys = Keys::load(connection, streams)?;
    let mut rows = Rows { marks: &marks, sorts: marked.key_sorts(), streams, keys, insert };
    let found = marked.each(selection, &By::Event, |told| match told {
        Told::Slice(slice) | Told::GaveWay(slice) => rows.add(&slice),
        Told::Alone(_) => Ok(()),
    })?;
    rows.keys.finish(connection)?;
    Ok(found)
}

/// Inserts rows.
struct Rows<'c> {
    marks: &'c Marks,
    sorts: Vec<Vec<Sort>>,
    streams: &'c [i64],
    keys: Keys,
    insert: Statement<'c>,
}

impl Rows<'_> {
    fn add(&mut self, slice: &Slice<'_>) -> Result<(), Refusal> {
        let begin = slice.begin;
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
            self.marks.name(begin.pair),
            key,
            begin.thread,
            begin.ticks as i64,
            slice.end.map(|end| end.ticks as i64),
            slice.duration().map(|ns| ns as i64),
            begin_event,
            slice.end.map(event),
            log,
            slice.verdict.name(),
        ])?;
        Ok(())
    }
}
