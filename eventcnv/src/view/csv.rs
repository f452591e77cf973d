//! Comma-separated values: a column for each parameter of the event types that are selected.
//!
//! ```text
//!  time,event,kind,thread,pool,addr,size
//!  25900923400994,PoolAlloc,Object,1,0x556289605A10,0x556289617858,8
//! ```
//!
//! Parameters of one name share a column; what an event has not is empty. No cell is a formula, and
//! none steers a terminal. Design: `.cnv.styles` in `design/eventcnv.md`; CSV: RFC 4180, with lines
//! that end in LF.

use super::View;
use super::clock::Clock;
use crate::text;
use eventlog::format::text::is_steering;
use eventlog::reader::{Event, EventType, Filter, Registry, Value};
use std::collections::{HashMap, HashSet};
use std::io::Write;

/// Columns for parameters, at most: each line has all of them, so that a short log with many
/// parameters would become a table without end.
const COLUMN_COUNT_MAX: usize = 4096;
/// Cells that begin with one of these are formulas for a spreadsheet.
const FORMULA: [u8; 6] = *b"=+-@\t\r";

/// The form, with times as asked for.
pub(crate) struct Csv<'l> {
    clock: Clock<'l>,
    /// The names of parameters, in the order of their columns.
    columns: Vec<&'l str>,
    /// For each registry, event type and parameter its column, if it has one.
    rows: Vec<Vec<Vec<Option<u32>>>>,
}

impl<'l> Csv<'l> {
    /// Columns for the event types that a filter lets through. An error: they are too many.
    pub(crate) fn new(
        clock: Clock<'l>,
        registries: &'l [Registry],
        filter: &Filter,
    ) -> Result<Csv<'l>, String> {
        let (mut columns, mut known) = (Vec::new(), HashMap::new());
        let mut column = |name: &'l str| {
            *known.entry(name).or_insert_with(|| {
                columns.push(name);
                columns.len() as u32 - 1
            })
        };
        let mut of_row = |registry: &Registry, row: &'l EventType| {
            let is_asked = is_asked(filter, registry, row);
            let params = row.params.iter().filter(|_| is_asked);
            let mut places: Vec<_> = params.map(|param| Some(column(&param.name))).collect();
            // Of two parameters of one name the first has the column.
            let mut seen = HashSet::new();
            places.iter_mut().for_each(|place| *place = place.filter(|at| seen.insert(*at)));
            places
        };
        let rows = registries
            .iter()
            .map(|registry| registry.event_types.iter().map(|row| of_row(registry, row)).collect())
            .collect();
        if columns.len() > COLUMN_COUNT_MAX {
            return Err(format!(
                "the event types have {} parameters, and a table takes {COLUMN_COUNT_MAX}; select \
                 some with --events, or take --style json",
                columns.len()
            ));
        }
        Ok(Csv { clock, columns, rows })
    }

    /// The line that names the columns.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut out = b"time,event,kind,thread".to_vec();
        for column in &self.columns {
            out.push(b',');
            field(&mut out, column.as_bytes());
        }
        out.push(b'\n');
        out
    }
}

fn is_asked(filter: &Filter, registry: &Registry, row: &EventType) -> bool {
    let kind = registry.kind(row.kind).map_or("", |kind| &kind.name);
    let is_kind = filter.kinds.is_empty()
        || filter.kinds.iter().any(|pick| pick.matches(registry.index, kind, row.kind.into()));
    let is_type = filter.event_types.is_empty()
        || filter.event_types.iter().any(|pick| pick.matches(registry.index, &row.name, row.code));
    is_kind && is_type
}

impl View for Csv<'_> {
    fn line(&self, event: &Event<'_, '_>, out: &mut Vec<u8>) {
        match self.clock {
            Clock::Ticks => text::decimal(out, event.ticks),
            _ => {
                let begin = out.len();
                self.clock.append(event, out);
                let spaces = out.iter().skip(begin).take_while(|byte| **byte == b' ').count();
                out.drain(begin..begin + spaces);
            }
        }
        out.push(b',');
        match event.event_type {
            Some(event_type) => field(out, event_type.name.as_bytes()),
            None => {
                out.extend_from_slice(b"0x");
                text::hex(out, event.code().into());
            }
        }
        out.push(b',');
        let kind = event.registry.kind(event.kind).map_or("?", |kind| &kind.name);
        field(out, kind.as_bytes());
        out.push(b',');
        text::decimal(out, event.thread.into());
        let columns = self.rows.get(event.registry_index as usize);
        let columns = columns.and_then(|rows| rows.get(usize::from(event.event_type_index)));
        let columns = columns.map_or(&[][..], |columns| columns);
        let cells = columns.iter().zip(event.params());
        let mut cells: Vec<(usize, Value<'_>)> =
            cells.filter_map(|(column, (_, value))| Some(((*column)? as usize, value))).collect();
        cells.sort_by_key(|(column, _)| *column);
        let mut count = 0;
        for (column, value) in cells {
            out.resize(out.len() + column + 1 - count, b',');
            count = column + 1;
            append(value, out);
        }
        out.resize(out.len() + self.columns.len() - count, b',');
        out.push(b'\n');
    }
}

fn append(value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::P(value) | Value::A(value) => {
            out.extend_from_slice(b"0x");
            text::hex(out, value);
        }
        Value::W(value) => text::decimal(out, value),
        Value::U(value) => text::decimal(out, value.into()),
        Value::B(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        Value::D(value) => {
            let _ = write!(out, "{value:?}");
        }
        Value::S(value) => field(out, value),
    }
}

/// Appends text, in quotation marks if it needs them. What would be a formula has an apostrophe
/// before it, unless it is a number; what steers a terminal is U+FFFD, except tabs and ends of
/// lines, which a cell may have.
pub(crate) fn field(out: &mut Vec<u8>, bytes: &[u8]) {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b',' | b'"');
    let is_formula = bytes.first().is_some_and(|first| FORMULA.contains(first))
        && !str::from_utf8(bytes).is_ok_and(|text| text.parse::<f64>().is_ok());
    if !is_formula && bytes.iter().all(is_plain) {
        return out.extend_from_slice(bytes);
    }
    let is_quoted = bytes.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'));
    out.extend_from_slice(if is_quoted { b"\"" } else { b"" });
    out.extend_from_slice(if is_formula { b"'" } else { b"" });
    for piece in bytes.utf8_chunks() {
        let mut letters = piece.valid().chars().peekable();
        while let Some(letter) = letters.next() {
            let is_end = letter == '\r' && letters.peek() == Some(&'\n');
            match letter {
                '"' => out.extend_from_slice(b"\"\""),
                c if is_steering(c) && !matches!(c, '\t' | '\n') && !is_end => replace(out),
                c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        if !piece.invalid().is_empty() {
            replace(out);
        }
    }
    out.extend_from_slice(if is_quoted { b"\"" } else { b"" });
}

fn replace(out: &mut Vec<u8>) {
    out.extend_from_slice("\u{FFFD}".as_bytes());
}
