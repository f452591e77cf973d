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

use super::clock::Clock;
use super::line::Line;
use super::recipe::{Form, Own, Recipe};
use super::row::Row;
use crate::text;
use crate::text::page::{Page, Pen};
use eventdef::Sort;
use eventlog::format::text::is_steering;
use eventlog::reader::{Event, EventType, Filter, Param, Registry, Value};
use std::collections::HashMap;
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
    /// The column of each name.
    places: HashMap<&'l str, usize>,
}

impl<'l> Csv<'l> {
    /// Columns for the event types that a filter lets through. An error: they are too many.
    pub(crate) fn new(
        clock: Clock<'l>,
        registries: &'l [Registry],
        filter: &Filter,
    ) -> Result<Csv<'l>, String> {
        let (mut columns, mut places) = (Vec::new(), HashMap::new());
        for registry in registries {
            for row in registry.event_types.iter().filter(|row| is_asked(filter, registry, row)) {
                for param in &row.params {
                    places.entry(&*param.name).or_insert_with(|| {
                        columns.push(&*param.name);
                        columns.len() - 1
                    });
                }
            }
        }
        if columns.len() > COLUMN_COUNT_MAX {
            return Err(format!(
                "the event types have {} parameters, and a table takes {COLUMN_COUNT_MAX}; select \
                 some with --events, or take --style json",
                columns.len()
            ));
        }
        Ok(Csv { clock, columns, places })
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

impl Line for Csv<'_> {
    fn recipe(&self, row: Row<'_>) -> Recipe {
        let mut recipe = Recipe::new(row);
        let mut text = b",".to_vec();
        match row.event_type {
            Some(event_type) => field(&mut text, event_type.name.as_bytes()),
            None => {
                text.extend_from_slice(b"0x");
                text::hex(&mut text, row.code.into());
            }
        }
        text.push(b',');
        let kind = row.registry.kind(row.kind).map_or("?", |kind| &kind.name);
        field(&mut text, kind.as_bytes());
        text.push(b',');
        recipe.intro(&text);
        text.clear();
        let cell =
            |(index, param): (usize, &'_ Param)| Some((*self.places.get(&*param.name)?, index));
        let mut cells: Vec<(usize, usize)> =
            row.params.iter().enumerate().filter_map(cell).collect();
        cells.sort_unstable();
        // Of two parameters of one name the first has the column.
        cells.dedup_by_key(|(column, _)| *column);
        let mut count = 0;
        for (column, index) in cells {
            let Some(param) = row.params.get(index) else { continue };
            text.resize(text.len() + column + 1 - count, b',');
            count = column + 1;
            let form = match param.sort {
                Sort::P | Sort::A => Form::Hex,
                Sort::W | Sort::U => Form::Decimal,
                Sort::B => Form::Choice("false", "true"),
                Sort::D | Sort::S => Form::Own,
            };
            text.extend_from_slice(if matches!(form, Form::Hex) { b"0x" } else { b"" });
            recipe.push(&text, param, index, form);
            text.clear();
        }
        text.resize(self.columns.len() - count, b',');
        text.push(b'\n');
        recipe.end(&text)
    }

    #[inline(always)]
    fn begin(&self, event: &Event<'_, '_>, page: &mut Page) -> Option<u64> {
        if !matches!(self.clock, Clock::Ticks) {
            page.write(|out| {
                self.clock.append(event, out);
                let spaces = out.iter().take_while(|byte| **byte == b' ').count();
                out.drain(..spaces);
            });
        }
        None
    }

    #[inline(always)]
    fn head(&self, event: &Event<'_, '_>, recipe: &Recipe, pen: &mut Pen<'_>) {
        if matches!(self.clock, Clock::Ticks) {
            pen.decimal(event.ticks);
        }
        recipe.introduce(pen);
        pen.decimal(event.thread.into());
    }
}

impl Own for Csv<'_> {
    fn value(value: Value<'_>, out: &mut Vec<u8>) {
        match value {
            Value::D(value) => {
                let _ = write!(out, "{value:?}");
            }
            Value::S(value) => field(out, value),
            _ => {}
        }
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
