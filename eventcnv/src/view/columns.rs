//! The column form (`-v`): names, and values in columns.
//!
//! ```text
//!  0000178EA03C2825 PoolInitMFS             9C0D8    9C000     1000        C
//!  clock            name, padded    values in hexadecimal, right-justified in columns of 8
//! ```
//!
//! Design: `.control.output` in `design/telemetry.md`.

use super::View;
use super::clock::Clock;
use crate::text;
use eventlog::reader::{Event, Value};

/// Columns of a value; a wider one takes what it needs.
const VALUE_WIDTH: usize = 8;

/// The column form, with names padded to `name_width`.
pub(crate) struct Columns<'l> {
    pub(crate) clock: Clock<'l>,
    pub(crate) name_width: usize,
}

impl View for Columns<'_> {
    #[inline]
    fn line(&self, event: &Event<'_>, out: &mut Vec<u8>) {
        self.clock.append(event, out);
        out.push(b' ');
        let mut values = event.params().peekable();
        match event.event_type {
            None => {
                out.extend_from_slice(b"[Unknown ");
                super::registry_index(event, out);
                text::hex_zeros(out, event.code().into(), 4);
                out.push(b']');
            }
            // Without values there is nothing to pad for.
            Some(event_type) if values.peek().is_none() => {
                out.extend_from_slice(event_type.name.as_bytes());
            }
            Some(event_type) => {
                super::name(out, &event_type.name, self.name_width);
                out.push(b' ');
            }
        }
        for (_, value) in values {
            out.push(b' ');
            let start = out.len();
            match value {
                Value::P(value) | Value::A(value) | Value::W(value) => {
                    text::hex_spaces(out, value, VALUE_WIDTH);
                }
                Value::U(value) => text::hex_spaces(out, value.into(), VALUE_WIDTH),
                Value::B(value) => {
                    out.extend_from_slice(if value { b"    True" } else { b"   False" });
                }
                Value::D(value) => {
                    text::double_general(out, value);
                    text::align_right(out, start, VALUE_WIDTH);
                }
                Value::S(value) => text::quoted(out, value),
            }
        }
        out.push(b'\n');
    }
}
