//! Lisp: a list for each event, as the dumper of the MPS had it before version 1.111.
//!
//! ```text
//!  (0000178EA03C2825 PoolInitMFS          9C0D8 9C000 1000 C)
//!  clock, 16 digits  name, padded         values in hexadecimal; doubles with ten digits
//! ```
//!
//! Design: `.cnv.styles` in `design/eventcnv.md`.

use super::clock::Clock;
use super::line::Line;
use super::numeric::{Numeric, values};
use super::recipe::{Own, Recipe};
use super::row::Row;
use crate::text;
use crate::text::page::Page;
use eventlog::reader::{Event, Value};

/// The form, with times as asked for, and names padded to `name_width`.
pub(crate) struct Lisp<'l> {
    pub(crate) clock: Clock<'l>,
    pub(crate) name_width: usize,
}

impl Line for Lisp<'_> {
    fn begin(&self, event: &Event<'_, '_>, page: &mut Page) -> Option<u64> {
        page.write(|out| {
            out.push(b'(');
            self.clock.append(event, out);
        });
        None
    }

    fn recipe(&self, row: Row<'_>) -> Recipe {
        let mut text = b" ".to_vec();
        match row.event_type {
            Some(event_type) => super::name(&mut text, &event_type.name, self.name_width),
            None => text::hex_zeros(&mut text, row.code.into(), 4),
        }
        values(row, text, b")\n")
    }
}

impl Own for Lisp<'_> {
    fn value(value: Value<'_>, out: &mut Vec<u8>) {
        Numeric::value(value, out);
    }
}
