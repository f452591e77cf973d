//! The numeric form: MPS's portable text, one event a line, made for other programs.
//!
//! ```text
//!  000003DEDE6D2FFC   1F 7F1F123F2000 7F1F0E0631F0 2 2400000 0.45
//!  clock, 16 digits  code, 4 columns  values in hexadecimal; doubles as %.10G, strings quoted
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

use super::clock::Clock;
use super::line::Line;
use super::recipe::{Form, Own, Recipe};
use super::row::Row;
use crate::text;
use crate::text::page::Page;
use eventdef::Sort;
use eventlog::reader::{Event, Value};

/// The numeric form, with times as asked for.
pub(crate) struct Numeric<'l> {
    pub(crate) clock: Clock<'l>,
}

impl Line for Numeric<'_> {
    #[inline(always)]
    fn begin(&self, event: &Event<'_, '_>, page: &mut Page) -> Option<u64> {
        self.clock.begin(event, page)
    }

    fn recipe(&self, row: Row<'_>) -> Recipe {
        let mut text = b" ".to_vec();
        let code_width = if super::registry_index(row.registry, &mut text) { 1 } else { 4 };
        text::hex_spaces(&mut text, row.code.into(), code_width);
        values(row, text, b"\n")
    }
}

impl Own for Numeric<'_> {
    fn value(value: Value<'_>, out: &mut Vec<u8>) {
        match value {
            Value::D(value) => text::double_general(out, value),
            Value::S(value) => text::quoted(out, value),
            _ => {}
        }
    }
}

/// The recipe of a text, the values of a row, each after a space, and another text.
pub(super) fn values(row: Row<'_>, mut text: Vec<u8>, tail: &[u8]) -> Recipe {
    let mut recipe = Recipe::new(row);
    for (index, param) in row.params.iter().enumerate() {
        text.push(b' ');
        let form = match param.sort {
            Sort::P | Sort::A | Sort::W | Sort::U => Form::Hex,
            Sort::B => Form::Choice("0", "1"),
            Sort::D | Sort::S => Form::Own,
        };
        recipe.push(&text, param, index, form);
        text.clear();
    }
    text.extend_from_slice(tail);
    recipe.end(&text)
}
