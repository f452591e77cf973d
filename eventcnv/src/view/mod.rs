//! Views: events to text for people and for line tools. A view knows no file.
//!
//! ```text
//!  Event ─┬─ numeric.rs   000003DEDE6D2FFC   1F 7F1F123F2000 7F1F0E0631F0 2 2400000 0.45
//!         ├─ columns.rs   000003DEDE6D2FFC GenInit             7F1F123F2000 7F1F0E0631F0 …
//!         ├─ named.rs     000003DEDE6D2FFC 001F GenInit             arena:00007F1F123F2000 …
//!         ├─ json.rs, csv.rs, lisp.rs   the same for other programs
//!         │    recipe.rs  what is known of their lines beforehand
//!         └─ stats.rs     counted, and told at the end
//!  Log ──── registry.rs   the event types that it declares
//! ```
//!
//! Design: `.dumper`, `.control.output` in `design/telemetry.md`.

pub(crate) mod answer;
pub(crate) mod clock;
pub(crate) mod columns;
pub(crate) mod csv;
pub(crate) mod difference;
pub(crate) mod json;
pub(crate) mod lisp;
pub(crate) mod named;
pub(crate) mod numeric;
mod recipe;
pub(crate) mod registry;
pub(crate) mod report;
pub(crate) mod stats;
pub(crate) mod threads;

use crate::page::Page;
use crate::text;
use eventlog::reader::{Event, Registry};

/// Columns of the name of an event type, at least: as many as the longest name of the MPS has.
const NAME_WIDTH_MIN: usize = 19;

/// One line for one event.
pub(crate) trait View {
    /// Appends the line, with its end.
    fn line(&self, event: &Event<'_>, out: &mut Vec<u8>);

    /// Writes the same line on a page: by its recipe, if there is one.
    #[inline]
    fn write(&self, event: &Event<'_>, page: &mut Page) {
        page.write(|out| self.line(event, out));
    }
}

/// Columns that the names of all event types of these registries need.
pub(crate) fn name_width<'a>(registries: impl IntoIterator<Item = &'a Registry>) -> usize {
    let event_types = registries.into_iter().flat_map(|registry| &registry.event_types);
    event_types.map(|row| row.name.chars().count()).fold(NAME_WIDTH_MIN, usize::max)
}

/// Appends the index of the registry, where it is not a program's first or the runtime's own: the
/// codes of those cannot be confused, and stand alone.
#[inline]
fn registry_index(registry: &Registry, out: &mut Vec<u8>) -> bool {
    let index = registry.index;
    if index > 1 {
        text::decimal(out, index.into());
        out.push(b':');
    }
    index > 1
}

/// Appends a name and spaces to the width of all names.
fn name(out: &mut Vec<u8>, name: &str, width: usize) {
    out.extend_from_slice(name.as_bytes());
    let columns = if name.is_ascii() { name.len() } else { name.chars().count() };
    text::pad(out, width.saturating_sub(columns));
}

#[cfg(test)]
mod tests;
