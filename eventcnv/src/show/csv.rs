//! The CSV form: a column for each parameter of the selected event types.
//!
//! ```text
//!  time,event,kind,thread,pool,addr,size
//!  25900923400994,PoolAlloc,Object,1,0x556289605A10,0x556289617858,8
//! ```
//!
//! Parameters of one name share a column. A name that another column has, in whatever case, gets an
//! underscore after it. A parameter that an event lacks is an empty cell. No cell
//! is a formula, and none steers a terminal. Design: `.cnv.styles` in `design/eventcnv.md`; CSV:
//! RFC 4180, with lines that end in LF.

use crate::open::select::is_selected;
use crate::show::Row;
use crate::show::clock::{Clock, Stamp};
use crate::show::line::Line;
use crate::show::recipe::{Custom, Form, Recipe};
use crate::text::names::Taken;
use crate::text::page::{Page, Pen};
use cli::fields::csv_field as field;
use eventdef::Sort;
use eventlog::reader::{Event, Filter, Param, Registry, Value};
use std::collections::HashMap;
use std::io::Write;

/// Columns for parameters, at most. Each line has all columns, so a short log with many parameters
/// would become a huge table.
const COLUMN_COUNT_MAX: usize = 4096;
/// The columns before those of the parameters.
const FIRST: [&str; 4] = ["time", "event", "kind", "thread"];

pub(crate) struct Csv<'l> {
    clock: Clock<'l>,
    /// The columns of parameters.
    columns: Vec<String>,
    /// The column of each name of a parameter, as an index in `columns`.
    places: HashMap<&'l str, usize>,
}

impl<'l> Csv<'l> {
    /// Returns the form with columns for the event types of a filter, or an error if they have too
    /// many parameters.
    pub(crate) fn new(
        clock: Clock<'l>,
        registries: &'l [Registry],
        filter: &Filter,
    ) -> Result<Csv<'l>, String> {
        let (mut columns, mut places) = (Vec::new(), HashMap::new());
        let mut taken = Taken::new(FIRST);
        for registry in registries {
            for row in registry.event_types.iter().filter(|row| is_selected(filter, registry, row))
            {
                for param in &row.params {
                    places.entry(&*param.name).or_insert_with(|| {
                        columns.push(taken.column(&param.name));
                        columns.len() - 1
                    });
                }
            }
        }
        if columns.len() > COLUMN_COUNT_MAX {
            return Err(format!(
                "the event types have {} parameters, more than the {COLUMN_COUNT_MAX} of a table; \
                 select some with --events, or use --style json",
                columns.len()
            ));
        }
        Ok(Csv { clock, columns, places })
    }
}

impl Line for Csv<'_> {
    fn clock(&self) -> &Clock<'_> {
        &self.clock
    }

    /// Returns the line that names the columns.
    fn heading(&self) -> Vec<u8> {
        let mut out = FIRST.join(",").into_bytes();
        for column in &self.columns {
            out.push(b',');
            field(&mut out, column.as_bytes());
        }
        out.push(b'\n');
        out
    }

    fn recipe(&self, row: Row<'_>) -> Recipe {
        let mut recipe = Recipe::new(row);
        let text = recipe.text();
        text.push(b',');
        match row.event_type {
            Some(event_type) => field(text, event_type.name.as_bytes()),
            None => drop(write!(text, "0x{:X}", row.code)),
        }
        text.push(b',');
        field(text, row.kind_name().as_bytes());
        text.push(b',');
        recipe.end_intro();
        let cell =
            |(index, param): (usize, &'_ Param)| Some((*self.places.get(&*param.name)?, index));
        let mut cells: Vec<(usize, usize)> =
            row.params.iter().enumerate().filter_map(cell).collect();
        cells.sort_unstable();
        // The first of two parameters with one name has the column.
        cells.dedup_by_key(|(column, _)| *column);
        let mut count = 0;
        for (column, index) in cells {
            let Some(param) = row.params.get(index) else { continue };
            let text = recipe.text();
            text.resize(text.len() + column + 1 - count, b',');
            count = column + 1;
            let form = match param.sort {
                Sort::P | Sort::A => Form::Hex,
                Sort::W | Sort::U => Form::Decimal,
                Sort::B => Form::Choice("false", "true"),
                Sort::D | Sort::S => Form::Custom,
            };
            text.extend_from_slice(if matches!(form, Form::Hex) { b"0x" } else { b"" });
            recipe.push(param, index, form);
        }
        let text = recipe.text();
        text.resize(self.columns.len() - count, b',');
        text.push(b'\n');
        recipe.end()
    }

    #[inline(always)]
    fn begin(&self, event: &Event<'_, '_>, page: &mut Page) -> Stamp {
        if !matches!(self.clock, Clock::Ticks) {
            page.write(|out| {
                self.clock.append(event, out);
                let spaces = out.iter().take_while(|byte| **byte == b' ').count();
                out.drain(..spaces);
            });
        }
        Stamp::None
    }

    #[inline(always)]
    fn head(&self, event: &Event<'_, '_>, recipe: &Recipe, pen: &mut Pen<'_>) {
        if matches!(self.clock, Clock::Ticks) {
            pen.decimal(event.ticks);
        }
        recipe.write_intro(pen);
        pen.decimal(event.thread.into());
    }
}

impl Custom for Csv<'_> {
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
