//! The changes of the counters of a log, as rows that name their events.
//!
//! ```text
//!  counters: event, place │ log, thread, time │ name, key, label │ value, change …
//! ```
//!
//! Design: `.cnv.sql.counters` in `design/eventcnv.md`.

use crate::ask::pairs::reading::key_text;
use crate::export::sql::keys::Keys;
use crate::export::sql::refusal::Refusal;
use eventdef::Sort;
use eventlog::reader::marks::Key;
use lens::counters::{Counter, Counters, Number, Step};
use rusqlite::types::Value;
use rusqlite::{Connection, Statement, params};
use std::cell::RefCell;

/// Inserts rows.
pub(super) struct Rows<'c> {
    streams: &'c [i64],
    keys: &'c RefCell<Keys>,
    insert: Statement<'c>,
}

impl<'c> Rows<'c> {
    pub(super) fn new(
        connection: &'c Connection,
        streams: &'c [i64],
        keys: &'c RefCell<Keys>,
    ) -> Result<Rows<'c>, Refusal> {
        let insert =
            "INSERT OR REPLACE INTO counters VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        Ok(Rows { streams, keys, insert: connection.prepare(insert)? })
    }

    /// Adds a change; `counter` has the value after it.
    pub(super) fn add(
        &mut self,
        counters: &Counters,
        counter: &Counter,
        step: &Step,
    ) -> Result<(), Refusal> {
        let log = self.streams.get(usize::from(counter.stream)).copied().unwrap_or(-1);
        let of = || (step.registry, step.kind, step.thread);
        let event = self.keys.borrow_mut().key_of(log, step.id.buffer, step.id.number, of);
        self.insert.execute(params![
            event,
            step.place,
            log,
            step.thread,
            step.ticks as i64,
            counters.name(counter),
            key_value(&counter.key, counters.sorts(counter)),
            counter.label,
            counter.unit.map(|unit| unit.name()),
            number(counter.value),
            number(counter.value.less(counter.before)),
            counters.least(counter).map(number),
            counters.registry(counter),
        ])?;
        Ok(())
    }
}

/// Returns a number of SQLite; an integer that needs more than 64 bits becomes a double.
fn number(number: Number) -> Value {
    number.as_i64().map_or(Value::Real(number.as_f64()), Value::Integer)
}

/// Returns a key as SQLite has it: the value of one parameter, or text; `sorts` are those of its
/// parameters.
pub(super) fn key_value(key: &Key, sorts: &[Sort]) -> Value {
    match (sorts, key.first()) {
        ([], _) | (_, None) => Value::Null,
        ([Sort::D], Some(value)) => Value::Real(f64::from_bits(*value)),
        ([sort], Some(value)) if *sort != Sort::S => Value::Integer(*value as i64),
        _ => Value::Text(key_text(key, sorts)),
    }
}
