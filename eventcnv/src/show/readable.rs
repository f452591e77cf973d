//! The form for people: a name, and the values in the words of a person.
//!
//! ```text
//!   0.000123456 2 teller  Deposit      account "savings"  amount 300  latency 1.25 ms
//!  seconds      thread    name, padded label of an address            unit that the log declares
//!               if there are several
//! ```
//!
//! Design: `.dumper.text` in `design/telemetry.md`.

use crate::open::input::threads::{self, Threads};
use crate::show::Row;
use crate::show::clock::Clock;
use crate::show::line::Line;
use crate::show::recipe::{Custom, Form, Recipe};
use crate::text;
use crate::text::page::Pen;
use eventdef::Sort;
use eventlog::reader::marks::Marks;
use eventlog::reader::{Event, Log, Registry, Value};
use std::io::Write;

/// The colours of kinds on a terminal: none is red, which means an error elsewhere.
const COLOURS: [u8; 10] = [32, 33, 34, 35, 36, 92, 93, 94, 95, 96];

/// Names of parameters, and the runtime's own events.
const FAINT: u8 = 2;

/// The form for people.
pub(crate) struct Readable<'l> {
    pub(super) clock: Clock<'l>,
    /// The column of threads, if the log has several.
    pub(super) threads: Option<Threads>,
    pub(super) name_width: usize,
    pub(super) is_coloured: bool,
    /// The units of parameters.
    pub(super) marks: Marks,
}

impl<'l> Readable<'l> {
    /// Returns the form for the events of a log.
    pub(crate) fn new(clock: Clock<'l>, log: &Log, is_coloured: bool) -> Readable<'l> {
        let threads = threads::recorded(log);
        let threads = (threads.len() > 1).then(|| Threads::new(&threads));
        let (name_width, marks) = (name_width(log.registries()), Marks::of(log.registries()));
        Readable { clock, threads, name_width, is_coloured, marks }
    }

    /// Appends text in a colour, or as it is.
    fn coloured(&self, colour: u8, text: &str, out: &mut Vec<u8>) {
        let _ = match self.is_coloured {
            true => write!(out, "\x1B[{colour}m{text}\x1B[0m"),
            false => write!(out, "{text}"),
        };
    }
}

/// Returns the columns of the longest name of a program's own event types.
fn name_width(registries: &[Registry]) -> usize {
    let own = registries.iter().filter(|registry| registry.index > 0);
    let names = own.flat_map(|registry| {
        registry.event_types.iter().map(|row| name(registry, &row.name).chars().count())
    });
    names.max().unwrap_or(0)
}

/// Returns a name, after the index of its registry if a code needs that.
fn name(registry: &Registry, name: &str) -> String {
    let mut index = Vec::new();
    super::append_registry_index(registry, &mut index);
    String::from_utf8_lossy(&index).into_owned() + name
}

impl Line for Readable<'_> {
    fn clock(&self) -> &Clock<'_> {
        &self.clock
    }

    fn recipe(&self, row: Row<'_>) -> Recipe {
        let mut recipe = Recipe::new(row);
        recipe.add_room(threads::SIZE_MAX);
        let text = recipe.text();
        text.extend_from_slice(super::coarse_mark(row.event_type).as_bytes());
        text.push(b' ');
        recipe.end_intro();
        let name = match row.event_type {
            Some(event_type) => name(row.registry, &event_type.name),
            None => format!("[Unknown {}]", name(row.registry, &format!("{:04X}", row.code))),
        };
        let is_runtime = row.registry.index == 0;
        let colour = COLOURS.get(usize::from(row.kind) % COLOURS.len()).copied();
        self.coloured(colour.filter(|_| !is_runtime).unwrap_or(FAINT), &name, recipe.text());
        let missing = self.name_width.saturating_sub(name.chars().count());
        let role = self.marks.role_of(row.registry, row.code);
        let (mut separator, mut indices) = (missing + 2, 0..);
        recipe.push_all(row.params, |param, out| {
            text::pad(out, std::mem::replace(&mut separator, 2));
            self.coloured(FAINT, &param.name, out);
            out.push(b' ');
            let index = indices.next().unwrap_or(0);
            let unit = role.unit(index);
            match param.sort {
                // The runtime's own events tell which address a label is of.
                Sort::P | Sort::A if is_runtime => {
                    out.extend_from_slice(b"0x");
                    Form::Hex
                }
                Sort::P | Sort::A => Form::Named,
                Sort::W if unit.is_none() && role.identifies(index) => Form::NamedWord,
                Sort::W | Sort::U => {
                    super::scale(unit, param.sort).map_or(Form::Decimal, Form::Scaled)
                }
                Sort::D => super::scale(unit, param.sort).map_or(Form::Custom, Form::Scaled),
                Sort::B => Form::Choice("false", "true"),
                Sort::S => Form::Custom,
            }
        });
        recipe.text().push(b'\n');
        recipe.end()
    }

    #[inline(always)]
    fn head(&self, event: &Event<'_, '_>, recipe: &Recipe, pen: &mut Pen<'_>) {
        recipe.write_intro(pen);
        if let Some(threads) = &self.threads {
            threads.write(event, pen);
        }
    }
}

impl Custom for Readable<'_> {
    fn value(value: Value<'_>, out: &mut Vec<u8>) {
        match value {
            Value::D(value) => text::double_general(out, value),
            Value::S(value) => text::quoted(out, value),
            _ => {}
        }
    }
}
