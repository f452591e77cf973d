//! Events as text, for people and for programs. A view knows no file.
//!
//! ```text
//!  Event ─┬─ numeric.rs   000003DEDE6D2FFC   1F 7F1F123F2000 7F1F0E0631F0 2 2400000 0.45
//!         ├─ columns.rs   000003DEDE6D2FFC GenInit             7F1F123F2000 7F1F0E0631F0 …
//!         ├─ named.rs     000003DEDE6D2FFC 001F GenInit             arena:00007F1F123F2000 …
//!         ├─ readable.rs   12.345678901 GenInit  arena "arena"  …      for people
//!         └─ json.rs, csv.rs, lisp.rs   the same for other programs
//!              line.rs, recipe.rs       the definition of a form, and its prepared lines
//!              look.rs                  which form: the options, and the rule without them
//!  Log ──── registry.rs   the event types that it declares
//! ```
//!
//! Design: `.dumper`, `.control.output` in `design/telemetry.md`.

pub(crate) mod clock;
pub(crate) mod columns;
pub(crate) mod csv;
pub(crate) mod json;
pub(crate) mod line;
pub(crate) mod lisp;
pub(crate) mod look;
pub(crate) mod named;
pub(crate) mod numeric;
pub(crate) mod readable;
pub(crate) mod recipe;
pub(crate) mod registry;
#[cfg(test)]
mod tests;

use crate::text;
use crate::text::page::Page;
use cli::table::Cell;
use cli::units::{self, Figure};
use eventdef::Sort;
use eventdef::marks::Unit;
use eventlog::reader::{Event, EventType, Param, Registry};
use lens::slices::Percentile;

/// Least width of the names of event types: the length of the longest name of the MPS.
const NAME_WIDTH_MIN: usize = 19;

/// Returns what stands behind the times of a coarse event type, for people: its events happened at
/// or after them (`.time.coarse`).
pub(crate) fn coarse_mark(event_type: Option<&EventType>) -> &'static str {
    if event_type.is_some_and(|event_type| event_type.coarse) { "+" } else { "" }
}

/// Writes a line for each event.
pub(crate) trait View {
    fn write(&self, event: &Event<'_, '_>, page: &mut Page);
}

/// Events of one type, or of a code that their registry lacks.
#[derive(Clone, Copy)]
pub(crate) struct Row<'r> {
    pub(crate) registry: &'r Registry,
    pub(crate) event_type: Option<&'r EventType>,
    pub(crate) code: u16,
    pub(crate) kind: u8,
    /// The parameters of the events.
    pub(crate) params: &'r [Param],
}

impl<'r> Row<'r> {
    /// Returns the row of one event: a short event lacks parameters.
    pub(crate) fn from_event(event: &Event<'r, '_>) -> Row<'r> {
        let params = event.event_type.map_or(&[][..], |event_type| &event_type.params);
        Row {
            registry: event.registry,
            event_type: event.event_type,
            code: event.code(),
            kind: event.kind,
            params: params.get(..event.params().count()).unwrap_or_default(),
        }
    }

    pub(crate) fn kind_name(&self) -> &'r str {
        self.registry.kind(self.kind).map_or("?", |kind| &kind.name)
    }
}

/// Returns the cell of a percentile.
pub(crate) fn percentile(found: Percentile) -> Cell {
    Cell::exact_if(found.is_exact, found.ns)
}

/// Returns the text of a number in its unit.
pub(crate) type Scale = fn(f64) -> Figure;

/// Returns the function that writes a number of a unit: whole bytes and ns, except of doubles.
pub(crate) fn scale(unit: Option<Unit>, sort: Sort) -> Option<Scale> {
    match (unit?, sort) {
        (Unit::Bytes, Sort::D) => Some(|value| units::Unit::Bytes.figure(value)),
        (Unit::Ns, Sort::D) => Some(|value| units::Unit::Nanoseconds.figure(value)),
        (Unit::Bytes, _) => Some(|value| units::Unit::Bytes.whole(value)),
        (Unit::Ns, _) => Some(|value| units::Unit::Nanoseconds.whole(value)),
        (Unit::Count, _) => None,
    }
}

/// Returns a value of a parameter as a cell of a table, which text shows in its unit.
pub(crate) fn cell(value: Option<f64>, unit: Option<Unit>, sort: Sort) -> Cell {
    match (value, scale(unit, sort)) {
        (Some(value), Some(scale)) => Cell::Scaled(value, scale),
        (value, _) => value.into(),
    }
}

/// Returns the same of a value that may not be exact.
pub(crate) fn about(value: Option<(f64, bool)>, unit: Option<Unit>, sort: Sort) -> Cell {
    value.map_or(Cell::None, |(value, is_exact)| {
        Cell::exact_if(is_exact, cell(Some(value), unit, sort))
    })
}

/// Returns the width of the longest name of an event type.
pub(crate) fn name_width<'a>(registries: impl IntoIterator<Item = &'a Registry>) -> usize {
    let event_types = registries.into_iter().flat_map(|registry| &registry.event_types);
    event_types.map(|row| row.name.chars().count()).fold(NAME_WIDTH_MIN, usize::max)
}

/// Appends the index of a registry, except of a program's first registry and the runtime's own:
/// nobody confuses their codes. Returns whether it did.
#[inline]
fn append_registry_index(registry: &Registry, out: &mut Vec<u8>) -> bool {
    let index = registry.index;
    if index > 1 {
        text::decimal(out, index.into());
        out.push(b':');
    }
    index > 1
}

/// Appends a name, padded with spaces.
fn append_name(out: &mut Vec<u8>, name: &str, width: usize) {
    out.extend_from_slice(name.as_bytes());
    let columns = if name.is_ascii() { name.len() } else { name.chars().count() };
    text::pad(out, width.saturating_sub(columns));
}
