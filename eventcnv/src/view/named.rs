//! The named form (`-vv`): names of everything, values by sort, labels as of the event's time; and
//! the same with threads (`-vvv`).
//!
//! ```text
//!  000003DEDE6E4910 0022 Label               address:0000000000001000["InstClass"] stringId:…
//!  clock            code name                words in as many digits as they have, with the label
//! ```
//!
//! Design: `.dumper`, `.sol.client` in `design/telemetry.md`.

use super::clock::Clock;
use super::line::Line;
use super::recipe::{Form, Own, Recipe};
use super::row::Row;
use crate::input::threads::Threads;
use crate::text;
use crate::text::page::Page;
use eventdef::Sort;
use eventlog::reader::{Event, Value};

/// The named form, with names padded to `name_width`.
pub(crate) struct Named<'l> {
    pub(crate) clock: Clock<'l>,
    pub(crate) name_width: usize,
}

impl Line for Named<'_> {
    #[inline(always)]
    fn begin(&self, event: &Event<'_, '_>, page: &mut Page) -> Option<u64> {
        self.clock.begin(event, page)
    }

    fn recipe(&self, row: Row<'_>) -> Recipe {
        let mut recipe = Recipe::new(row);
        let mut text = b" ".to_vec();
        super::registry_index(row.registry, &mut text);
        text::hex_zeros(&mut text, row.code.into(), 4);
        text.push(b' ');
        let name = row.event_type.map_or("[Unknown]", |event_type| &event_type.name);
        super::name(&mut text, name, self.name_width);
        text.push(b' ');
        if row.event_type.is_none() {
            text.extend_from_slice(b"Unknown event.");
        }
        // A word has two digits a byte.
        let digits = row.registry.platform.word_size * 2;
        for (index, param) in row.params.iter().enumerate() {
            text.extend_from_slice(param.name.as_bytes());
            text.push(b':');
            let form = match param.sort {
                Sort::W => Form::HexZeros(digits),
                Sort::P | Sort::A => Form::Called(digits),
                Sort::U => Form::Decimal,
                Sort::B => Form::Choice("False", "True"),
                Sort::D | Sort::S => Form::Own,
            };
            recipe.push(&text, param, index, form);
            text = b" ".to_vec();
        }
        text.push(b'\n');
        recipe.end(&text)
    }
}

/// The named form with the thread after the clock.
pub(crate) struct Threaded<'l> {
    pub(crate) named: Named<'l>,
    pub(crate) threads: Threads,
}

impl Line for Threaded<'_> {
    fn begin(&self, event: &Event<'_, '_>, page: &mut Page) -> Option<u64> {
        page.write(|out| {
            self.named.clock.append(event, out);
            out.push(b' ');
            self.threads.append(event, out);
        });
        None
    }

    fn recipe(&self, row: Row<'_>) -> Recipe {
        self.named.recipe(row)
    }
}

impl Own for Threaded<'_> {
    fn value(value: Value<'_>, out: &mut Vec<u8>) {
        Named::value(value, out);
    }

    fn label(event: &Event<'_, '_>, id: u64, out: &mut Vec<u8>) {
        Named::label(event, id, out);
    }
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
