//! The column form (`-v`): names, and values in columns.
//!
//! ```text
//!  0000178EA03C2825 PoolInitMFS             9C0D8    9C000     1000        C
//!  clock            name, padded    values in hexadecimal, right-justified in columns of 8
//! ```
//!
//! Design: `.control.output` in `design/telemetry.md`.

use crate::show::Row;
use crate::show::clock::Clock;
use crate::show::line::Line;
use crate::show::recipe::{Custom, Form, Recipe};
use crate::text;
use eventdef::Sort;
use eventlog::reader::Value;
use std::io::Write;

/// Columns of a value; a wider value takes more.
const VALUE_WIDTH: usize = 8;

/// The column form; names are padded to `name_width`.
pub(crate) struct Columns<'l> {
    pub(crate) clock: Clock<'l>,
    pub(crate) name_width: usize,
}

impl Line for Columns<'_> {
    fn clock(&self) -> &Clock<'_> {
        &self.clock
    }

    fn recipe(&self, row: Row<'_>) -> Recipe {
        let mut recipe = Recipe::new(row);
        let text = recipe.text();
        text.push(b' ');
        match row.event_type {
            None => {
                text.extend_from_slice(b"[Unknown ");
                crate::show::append_registry_index(row.registry, text);
                let _ = write!(text, "{:04X}]", row.code);
            }
            // Without values nothing needs padding.
            Some(event_type) if row.params.is_empty() => {
                text.extend_from_slice(event_type.name.as_bytes());
            }
            Some(event_type) => {
                crate::show::append_name(text, &event_type.name, self.name_width);
                text.push(b' ');
            }
        }
        recipe.push_all(row.params, |param, text| {
            text.push(b' ');
            match param.sort {
                Sort::P | Sort::A | Sort::W | Sort::U => Form::HexSpaces(VALUE_WIDTH as u8),
                Sort::B => Form::Choice("   False", "    True"),
                Sort::D | Sort::S => Form::Custom,
            }
        });
        recipe.text().push(b'\n');
        recipe.end()
    }
}

impl Custom for Columns<'_> {
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
