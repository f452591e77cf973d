//! The Lisp form: a list for each event, as the dumper of the MPS printed it before 1.111.
//!
//! ```text
//!  (0000178EA03C2825 PoolInitMFS          9C0D8 9C000 1000 C)
//!  clock, 16 digits  name, padded         values in hexadecimal; doubles with ten digits
//! ```
//!
//! Design: `.cnv.styles` in `design/eventcnv.md`.

use crate::show::Row;
use crate::show::clock::{Clock, Stamp};
use crate::show::line::Line;
use crate::show::numeric::{Numeric, push_values};
use crate::show::recipe::{Custom, Recipe};
use crate::text::page::Page;
use eventlog::reader::{Event, Value};
use std::io::Write;

/// The form; names are padded to `name_width`.
pub(crate) struct Lisp<'l> {
    pub(crate) clock: Clock<'l>,
    pub(crate) name_width: usize,
}

impl Line for Lisp<'_> {
    fn clock(&self) -> &Clock<'_> {
        &self.clock
    }

    fn begin(&self, event: &Event<'_, '_>, page: &mut Page) -> Stamp {
        page.write(|out| {
            out.push(b'(');
            self.clock.append(event, out);
        });
        Stamp::None
    }

    fn recipe(&self, row: Row<'_>) -> Recipe {
        let mut recipe = Recipe::new(row);
        recipe.text().push(b' ');
        match row.event_type {
            Some(event_type) => {
                crate::show::append_name(recipe.text(), &event_type.name, self.name_width);
            }
            None => drop(write!(recipe.text(), "{:04X}", row.code)),
        }
        push_values(row, &mut recipe);
        recipe.text().extend_from_slice(b")\n");
        recipe.end()
    }
}

impl Custom for Lisp<'_> {
    fn value(value: Value<'_>, out: &mut Vec<u8>) {
        Numeric::value(value, out);
    }
}
