//! The named form (`-vv`): all names, values by sort, labels as of the time of the event; the same
//! with threads (`-vvv`).
//!
//! ```text
//!  000003DEDE6E4910 0022 Label               address:0000000000001000["InstClass"] stringId:…
//!  clock            code name                words with all their digits, and the label
//!  clock, and + where the event happened at or after it
//! ```
//!
//! Design: `.dumper`, `.sol.client` in `design/telemetry.md`.

use crate::open::input::threads::Threads;
use crate::show::Row;
use crate::show::clock::{Clock, Stamp};
use crate::show::line::Line;
use crate::show::recipe::{Custom, Form, Recipe};
use crate::text;
use crate::text::page::Page;
use eventdef::Sort;
use eventlog::reader::{Event, Value};
use std::io::Write;

/// The named form; names are padded to `name_width`.
pub(crate) struct Named<'l> {
    pub(crate) clock: Clock<'l>,
    pub(crate) name_width: usize,
}

impl Line for Named<'_> {
    fn clock(&self) -> &Clock<'_> {
        &self.clock
    }

    fn recipe(&self, row: Row<'_>) -> Recipe {
        self.recipe_after(crate::show::coarse_mark(row.event_type), row)
    }
}

impl Named<'_> {
    /// Returns the recipe of what stands behind the clock, or behind the thread.
    fn recipe_after(&self, mark: &str, row: Row<'_>) -> Recipe {
        let mut recipe = Recipe::new(row);
        let text = recipe.text();
        text.extend_from_slice(mark.as_bytes());
        text.push(b' ');
        crate::show::append_registry_index(row.registry, text);
        let _ = write!(text, "{:04X} ", row.code);
        let name = row.event_type.map_or("[Unknown]", |event_type| &event_type.name);
        crate::show::append_name(text, name, self.name_width);
        // A word has two digits a byte.
        let digits = row.registry.platform.word_size * 2;
        recipe.push_all(row.params, |param, text| {
            let _ = write!(text, " {}:", param.name);
            match param.sort {
                Sort::W => Form::HexZeros(digits),
                Sort::P | Sort::A => Form::Labelled(digits),
                Sort::U => Form::Decimal,
                Sort::B => Form::Choice("False", "True"),
                Sort::D | Sort::S => Form::Custom,
            }
        });
        let tail = if row.event_type.is_some() { " \n" } else { " Unknown event.\n" };
        recipe.text().extend_from_slice(tail.as_bytes());
        recipe.end()
    }
}

/// The named form with the thread after the clock.
pub(crate) struct Threaded<'l> {
    pub(crate) named: Named<'l>,
    pub(crate) threads: Threads,
}

impl Line for Threaded<'_> {
    fn clock(&self) -> &Clock<'_> {
        &self.named.clock
    }

    fn begin(&self, event: &Event<'_, '_>, page: &mut Page) -> Stamp {
        page.write(|out| {
            self.named.clock.append(event, out);
            out.extend_from_slice(crate::show::coarse_mark(event.event_type).as_bytes());
            out.push(b' ');
            self.threads.append(event, out);
        });
        Stamp::None
    }

    fn recipe(&self, row: Row<'_>) -> Recipe {
        self.named.recipe_after("", row)
    }
}

impl Custom for Threaded<'_> {
    fn value(value: Value<'_>, out: &mut Vec<u8>) {
        Named::value(value, out);
    }

    fn label(event: &Event<'_, '_>, id: u64, out: &mut Vec<u8>) {
        Named::label(event, id, out);
    }
}

impl Custom for Named<'_> {
    fn value(value: Value<'_>, out: &mut Vec<u8>) {
        match value {
            Value::D(value) => text::double_short(out, value),
            Value::S(value) => text::quoted(out, value),
            _ => {}
        }
    }

    fn label(event: &Event<'_, '_>, id: u64, out: &mut Vec<u8>) {
        out.push(b'[');
        match event.labels.string(id) {
            Some(string) => text::quoted(out, string),
            None => drop(write!(out, "unknown label {id:X}")),
        }
        out.push(b']');
    }
}
