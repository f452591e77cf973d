//! The named form (`-vv`): names of everything, values by sort, labels as of the event's time; and
//! the same with threads (`-vvv`).
//!
//! ```text
//!  000003DEDE6E4910 0022 Label               address:0000000000001000["InstClass"] stringId:…
//!  clock            code name                words in as many digits as they have, with the label
//! ```
//!
//! Design: `.dumper`, `.sol.client` in `design/telemetry.md`.

use super::View;
use super::clock::Clock;
use super::recipe::{Form, Own, Recipe, Recipes};
use super::threads::Threads;
use crate::page::Page;
use crate::text;
use eventdef::Sort;
use eventlog::reader::{Event, EventType, Registry, Value};

/// The named form, with names padded to `name_width`.
pub(crate) struct Named<'l> {
    clock: Clock<'l>,
    name_width: usize,
    recipes: Recipes,
}

impl<'l> Named<'l> {
    /// For events of a log with these registries.
    pub(crate) fn new(clock: Clock<'l>, name_width: usize, registries: &[Registry]) -> Named<'l> {
        let recipe = |registry: &Registry, row: &EventType| recipe(registry, row, name_width);
        Named { clock, name_width, recipes: Recipes::new(registries, recipe) }
    }

    /// The line after the clock.
    fn rest(&self, event: &Event<'_, '_>, out: &mut Vec<u8>) {
        let Some(event_type) = event.event_type else {
            code(event.registry, event.code(), out);
            super::name(out, "[Unknown]", self.name_width);
            out.extend_from_slice(b" Unknown event.\n");
            return;
        };
        code(event.registry, event_type.code, out);
        super::name(out, &event_type.name, self.name_width);
        out.push(b' ');
        let digits = digits(event.registry);
        for (param, value) in event.params() {
            out.extend_from_slice(param.name.as_bytes());
            out.push(b':');
            match value {
                Value::W(value) => text::hex_zeros(out, value, digits),
                Value::P(word) | Value::A(word) => {
                    text::hex_zeros(out, word, digits);
                    if let Some(id) = event.labels.label_id_of(value) {
                        Named::label(event, id, out);
                    }
                }
                Value::U(value) => text::decimal(out, value.into()),
                Value::B(value) => {
                    out.extend_from_slice(if value { TRUE } else { FALSE }.as_bytes())
                }
                value => Named::value(value, out),
            }
            out.push(b' ');
        }
        out.push(b'\n');
    }
}

impl View for Named<'_> {
    fn line(&self, event: &Event<'_, '_>, out: &mut Vec<u8>) {
        self.clock.append(event, out);
        self.rest(event, out);
    }

    #[inline]
    fn write(&self, event: &Event<'_, '_>, page: &mut Page) {
        match self.recipes.of(event) {
            Some(recipe) => {
                let clock = self.clock.write(event, page);
                recipe.write::<Named<'_>>(event, page, clock);
            }
            None => page.write(|out| self.line(event, out)),
        }
    }
}

/// The named form with the thread after the clock.
pub(crate) struct Threaded<'l> {
    pub(crate) named: Named<'l>,
    pub(crate) threads: Threads,
}

impl View for Threaded<'_> {
    fn line(&self, event: &Event<'_, '_>, out: &mut Vec<u8>) {
        self.begin(event, out);
        self.named.rest(event, out);
    }

    #[inline]
    fn write(&self, event: &Event<'_, '_>, page: &mut Page) {
        match self.named.recipes.of(event) {
            Some(recipe) => {
                page.write(|out| self.begin(event, out));
                recipe.write::<Named<'_>>(event, page, |_| {});
            }
            None => page.write(|out| self.line(event, out)),
        }
    }
}

impl Threaded<'_> {
    /// Clock and thread.
    fn begin(&self, event: &Event<'_, '_>, out: &mut Vec<u8>) {
        self.named.clock.append(event, out);
        out.push(b' ');
        self.threads.append(event, out);
    }
}

fn recipe(registry: &Registry, event_type: &EventType, name_width: usize) -> Recipe {
    let mut recipe = Recipe::new(registry, event_type);
    let mut text = Vec::new();
    code(registry, event_type.code, &mut text);
    super::name(&mut text, &event_type.name, name_width);
    text.push(b' ');
    let digits = digits(registry) as u8;
    for (index, param) in event_type.params.iter().enumerate() {
        text.extend_from_slice(param.name.as_bytes());
        text.push(b':');
        let form = match param.sort {
            Sort::W => Form::HexZeros(digits),
            Sort::P | Sort::A => Form::Called(digits),
            Sort::U => Form::Decimal,
            Sort::B => Form::Choice(FALSE, TRUE),
            Sort::D | Sort::S => Form::Own,
        };
        recipe.push(&text, event_type, index, form);
        text = b" ".to_vec();
    }
    text.push(b'\n');
    recipe.end(&text)
}

const FALSE: &str = "False";
const TRUE: &str = "True";

/// Digits of a word.
fn digits(registry: &Registry) -> usize {
    usize::from(registry.platform.word_size) * 2
}

/// Appends what an event type is called in numbers.
fn code(registry: &Registry, code: u16, out: &mut Vec<u8>) {
    out.push(b' ');
    super::registry_index(registry, out);
    text::hex_zeros(out, code.into(), 4);
    out.push(b' ');
}

impl Own for Named<'_> {
    fn value(value: Value<'_>, out: &mut Vec<u8>) {
        match value {
            Value::D(value) => text::double_short(out, value),
            Value::S(value) => text::quoted(out, value),
            _ => {}
        }
    }

    /// What a pointer or address is called at that time.
    fn label(event: &Event<'_, '_>, id: u64, out: &mut Vec<u8>) {
        out.push(b'[');
        match event.labels.string(id) {
            Some(string) => text::quoted(out, string),
            None => {
                out.extend_from_slice(b"unknown label ");
                text::hex(out, id);
            }
        }
        out.push(b']');
    }
}
