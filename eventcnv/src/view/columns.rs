//! The column form (`-v`): names, and values in columns.
//!
//! ```text
//!  0000178EA03C2825 PoolInitMFS             9C0D8    9C000     1000        C
//!  clock            name, padded    values in hexadecimal, right-justified in columns of 8
//! ```
//!
//! Design: `.control.output` in `design/telemetry.md`.

use super::clock::Clock;
use super::line::Line;
use super::recipe::{Form, Own, Recipe};
use super::row::Row;
use crate::text;
use crate::text::page::Page;
use eventdef::Sort;
use eventlog::reader::{Event, Value};

/// Columns of a value; a wider one takes what it needs.
const VALUE_WIDTH: usize = 8;

/// The column form, with names padded to `name_width`.
pub(crate) struct Columns<'l> {
    pub(crate) clock: Clock<'l>,
    pub(crate) name_width: usize,
}

impl Line for Columns<'_> {
    #[inline(always)]
    fn begin(&self, event: &Event<'_, '_>, page: &mut Page) -> Option<u64> {
        self.clock.begin(event, page)
    }

    fn recipe(&self, row: Row<'_>) -> Recipe {
        let mut recipe = Recipe::new(row);
        let mut text = b" ".to_vec();
        match row.event_type {
            None => {
                text.extend_from_slice(b"[Unknown ");
                super::registry_index(row.registry, &mut text);
                text::hex_zeros(&mut text, row.code.into(), 4);
                text.push(b']');
            }
            // Without values nothing needs padding.
            Some(event_type) if row.params.is_empty() => {
                text.extend_from_slice(event_type.name.as_bytes());
            }
            Some(event_type) => {
                super::name(&mut text, &event_type.name, self.name_width);
                text.push(b' ');
            }
        }
        for (index, param) in row.params.iter().enumerate() {
            text.push(b' ');
            let form = match param.sort {
                Sort::P | Sort::A | Sort::W | Sort::U => Form::HexSpaces(VALUE_WIDTH as u8),
                Sort::B => Form::Choice("   False", "    True"),
                Sort::D | Sort::S => Form::Own,
            };
            recipe.push(&text, param, index, form);
            text.clear();
        }
        text.push(b'\n');
        recipe.end(&text)
    }
}

impl Own for Columns<'_> {
    fn value(value: Value<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        match value {
            Value::D(value) => {
                text::double_general(out, value);
                text::align_right(out, start, VALUE_WIDTH);
            }
            Value::S(value) => text::quoted(out, value),
            _ => {}
        }
    }
}
