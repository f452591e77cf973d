//! The numeric form: MPS's portable text, one event a line, made for other programs.
//!
//! ```text
//!  000003DEDE6D2FFC   1F 7F1F123F2000 7F1F0E0631F0 2 2400000 0.45
//!  clock, 16 digits  code, 4 columns  values in hexadecimal; doubles as %.10G, strings quoted
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

use super::View;
use super::clock::Clock;
use super::recipe::{Form, Own, Recipe, Recipes};
use crate::page::Page;
use crate::text;
use eventdef::Sort;
use eventlog::reader::{Event, EventType, Registry, Value};

/// The numeric form, with times as asked for.
pub(crate) struct Numeric<'l> {
    clock: Clock<'l>,
    recipes: Recipes,
}

impl<'l> Numeric<'l> {
    /// For events of a log with these registries.
    pub(crate) fn new(clock: Clock<'l>, registries: &[Registry]) -> Numeric<'l> {
        Numeric { clock, recipes: Recipes::new(registries, recipe) }
    }
}

impl View for Numeric<'_> {
    #[inline]
    fn line(&self, event: &Event<'_, '_>, out: &mut Vec<u8>) {
        self.clock.append(event, out);
        code(event.registry, event.code(), out);
        values(event, out);
        out.push(b'\n');
    }

    #[inline]
    fn write(&self, event: &Event<'_, '_>, page: &mut Page) {
        match self.recipes.of(event) {
            Some(recipe) => {
                let clock = self.clock.write(event, page);
                recipe.write::<Numeric<'_>>(event, page, clock);
            }
            None => page.write(|out| self.line(event, out)),
        }
    }
}

fn recipe(registry: &Registry, event_type: &EventType) -> Recipe {
    let mut recipe = Recipe::new(registry, event_type);
    let mut text = Vec::new();
    code(registry, event_type.code, &mut text);
    for (index, param) in event_type.params.iter().enumerate() {
        text.push(b' ');
        let form = match param.sort {
            Sort::P | Sort::A | Sort::W | Sort::U => Form::Hex,
            Sort::B => Form::Choice("0", "1"),
            Sort::D | Sort::S => Form::Own,
        };
        recipe.push(&text, event_type, index, form);
        text.clear();
    }
    text.push(b'\n');
    recipe.end(&text)
}

impl Own for Numeric<'_> {
    fn value(value: Value<'_>, out: &mut Vec<u8>) {
        self::value(value, out);
    }
}

/// Appends what an event type is called in numbers.
#[inline]
fn code(registry: &Registry, code: u16, out: &mut Vec<u8>) {
    out.push(b' ');
    let code_width = if super::registry_index(registry, out) { 1 } else { 4 };
    text::hex_spaces(out, code.into(), code_width);
}

/// Appends the values of an event, each after a space.
#[inline]
pub(super) fn values(event: &Event<'_, '_>, out: &mut Vec<u8>) {
    for (_, value) in event.params() {
        out.push(b' ');
        self::value(value, out);
    }
}

#[inline]
fn value(value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::P(value) | Value::A(value) | Value::W(value) => text::hex(out, value),
        Value::U(value) => text::hex(out, value.into()),
        Value::B(value) => out.push(b'0' + u8::from(value)),
        Value::D(value) => text::double_general(out, value),
        Value::S(value) => text::quoted(out, value),
    }
}
