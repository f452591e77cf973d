//! The column form (`-v`): names, and values in columns.
//!
//! ```text
//!  0000178EA03C2825 PoolInitMFS             9C0D8    9C000     1000        C
//!  clock            name, padded    values in hexadecimal, right-justified in columns of 8
//! ```
//!
//! Design: `.control.output` in `design/telemetry.md`.

use super::View;
use super::clock::Clock;
use super::recipe::{Form, Own, Recipe, Recipes};
use crate::page::Page;
use crate::text;
use eventdef::Sort;
use eventlog::reader::{Event, EventType, Registry, Value};

/// Columns of a value; a wider one takes what it needs.
const VALUE_WIDTH: usize = 8;

/// The column form, with names padded to `name_width`.
pub(crate) struct Columns<'l> {
    clock: Clock<'l>,
    name_width: usize,
    recipes: Recipes,
}

impl<'l> Columns<'l> {
    /// For events of a log with these registries.
    pub(crate) fn new(clock: Clock<'l>, name_width: usize, registries: &[Registry]) -> Columns<'l> {
        let recipe = |registry: &Registry, row: &EventType| recipe(registry, row, name_width);
        Columns { clock, name_width, recipes: Recipes::new(registries, recipe) }
    }
}

impl View for Columns<'_> {
    #[inline]
    fn line(&self, event: &Event<'_, '_>, out: &mut Vec<u8>) {
        self.clock.append(event, out);
        out.push(b' ');
        let mut values = event.params().peekable();
        match event.event_type {
            None => {
                out.extend_from_slice(b"[Unknown ");
                super::registry_index(event.registry, out);
                text::hex_zeros(out, event.code().into(), 4);
                out.push(b']');
            }
            // Without values there is nothing to pad for.
            Some(event_type) if values.peek().is_none() => {
                out.extend_from_slice(event_type.name.as_bytes());
            }
            Some(event_type) => {
                super::name(out, &event_type.name, self.name_width);
                out.push(b' ');
            }
        }
        for (_, value) in values {
            out.push(b' ');
            Columns::value(value, out);
        }
        out.push(b'\n');
    }

    #[inline]
    fn write(&self, event: &Event<'_, '_>, page: &mut Page) {
        match self.recipes.of(event) {
            Some(recipe) => {
                let clock = self.clock.write(event, page);
                recipe.write::<Columns<'_>>(event, page, clock);
            }
            None => page.write(|out| self.line(event, out)),
        }
    }
}

fn recipe(registry: &Registry, event_type: &EventType, name_width: usize) -> Recipe {
    let mut recipe = Recipe::new(registry, event_type);
    let mut text = b" ".to_vec();
    if event_type.params.is_empty() {
        text.extend_from_slice(event_type.name.as_bytes());
    } else {
        super::name(&mut text, &event_type.name, name_width);
        text.push(b' ');
    }
    for (index, param) in event_type.params.iter().enumerate() {
        text.push(b' ');
        let form = match param.sort {
            Sort::P | Sort::A | Sort::W | Sort::U => Form::HexSpaces(VALUE_WIDTH as u8),
            Sort::B => Form::Choice(FALSE, TRUE),
            Sort::D | Sort::S => Form::Own,
        };
        recipe.push(&text, event_type, index, form);
        text.clear();
    }
    text.push(b'\n');
    recipe.end(&text)
}

const FALSE: &str = "   False";
const TRUE: &str = "    True";

impl Own for Columns<'_> {
    fn value(value: Value<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        match value {
            Value::P(value) | Value::A(value) | Value::W(value) => {
                text::hex_spaces(out, value, VALUE_WIDTH);
            }
            Value::U(value) => text::hex_spaces(out, value.into(), VALUE_WIDTH),
            Value::B(value) => out.extend_from_slice(if value { TRUE } else { FALSE }.as_bytes()),
            Value::D(value) => {
                text::double_general(out, value);
                text::align_right(out, start, VALUE_WIDTH);
            }
            Value::S(value) => text::quoted(out, value),
        }
    }
}
