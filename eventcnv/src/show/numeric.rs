//! The numeric form: the portable text of the MPS, one event a line, for other programs.
//!
//! ```text
//!  000003DEDE6D2FFC   1F 7F1F123F2000 7F1F0E0631F0 2 2400000 0.45
//!  clock, 16 digits  code, 4 columns  values in hexadecimal; doubles as %.10G, strings in quotes
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

use crate::show::Row;
use crate::show::clock::Clock;
use crate::show::line::Line;
use crate::show::recipe::{Custom, Form, Recipe};
use crate::text;
use eventdef::Sort;
use eventlog::reader::Value;
use std::io::Write;

pub(crate) struct Numeric<'l> {
    pub(crate) clock: Clock<'l>,
}

impl Line for Numeric<'_> {
    fn clock(&self) -> &Clock<'_> {
        &self.clock
    }

    fn recipe(&self, row: Row<'_>) -> Recipe {
        let mut recipe = Recipe::new(row);
        recipe.text().push(b' ');
        let width =
            if crate::show::append_registry_index(row.registry, recipe.text()) { 1 } else { 4 };
        let _ = write!(recipe.text(), "{:width$X}", row.code);
        push_values(row, &mut recipe);
        recipe.text().push(b'\n');
        recipe.end()
    }
}

impl Custom for Numeric<'_> {
    fn value(value: Value<'_>, out: &mut Vec<u8>) {
        match value {
            Value::D(value) => text::double_general(out, value),
            Value::S(value) => text::quoted(out, value),
            _ => {}
        }
    }
}

/// Adds the values of a row, each after a space.
pub(super) fn push_values(row: Row<'_>, recipe: &mut Recipe) {
    recipe.push_all(row.params, |param, text| {
        text.push(b' ');
        match param.sort {
            Sort::P | Sort::A | Sort::W | Sort::U => Form::Hex,
            Sort::B => Form::Choice("0", "1"),
            Sort::D | Sort::S => Form::Custom,
        }
    });
}
