//! Lisp: a list for each event, as the dumper of the MPS had it before version 1.111.
//!
//! ```text
//!  (0000178EA03C2825 PoolInitMFS          9C0D8 9C000 1000 C)
//!  clock, 16 digits  name, padded         values in hexadecimal; doubles with ten digits
//! ```
//!
//! Design: `.cnv.styles` in `design/eventcnv.md`.

use super::View;
use super::clock::Clock;
use super::numeric::values;
use crate::text;
use eventlog::reader::Event;

/// The form, with times as asked for, and names padded to `name_width`.
pub(crate) struct Lisp<'l> {
    pub(crate) clock: Clock<'l>,
    pub(crate) name_width: usize,
}

impl View for Lisp<'_> {
    fn line(&self, event: &Event<'_, '_>, out: &mut Vec<u8>) {
        out.push(b'(');
        self.clock.append(event, out);
        out.push(b' ');
        match event.event_type {
            Some(event_type) => super::name(out, &event_type.name, self.name_width),
            None => text::hex_zeros(out, event.code().into(), 4),
        }
        values(event, out);
        out.extend_from_slice(b")\n");
    }
}
