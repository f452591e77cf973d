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
use crate::text;
use eventlog::reader::{Event, Value};

/// The numeric form, with times as asked for.
pub(crate) struct Numeric<'l> {
    pub(crate) clock: Clock<'l>,
}

impl View for Numeric<'_> {
    #[inline]
    fn line(&self, event: &Event<'_>, out: &mut Vec<u8>) {
        self.clock.append(event, out);
        out.push(b' ');
        let code_width = if super::registry_index(event, out) { 1 } else { 4 };
        text::hex_spaces(out, event.code().into(), code_width);
        values(event, out);
        out.push(b'\n');
    }
}

/// Appends the values of an event, each after a space.
#[inline]
pub(super) fn values(event: &Event<'_>, out: &mut Vec<u8>) {
    for (_, value) in event.params() {
        out.push(b' ');
        match value {
            Value::P(value) | Value::A(value) | Value::W(value) => text::hex(out, value),
            Value::U(value) => text::hex(out, value.into()),
            Value::B(value) => out.push(b'0' + u8::from(value)),
            Value::D(value) => text::double_general(out, value),
            Value::S(value) => text::quoted(out, value),
        }
    }
}
