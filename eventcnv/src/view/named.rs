//! The named form (`-vv`): names of everything, values by sort, labels as of the event's time; and
//! the same with threads (`-vvv`).
//!
//! ```text
//!  000003DEDE6E4910 0022 Label               address:0000000000001000["InstClass"] stringId:…
//!  clock            code name                words in as many digits as they have, with the label
//! ```
//!
//! Design: `.dumper`, `.sol.client` in `design/telemetry.md`.

use super::View;
use super::clock::Clock;
use super::threads::Threads;
use crate::text;
use eventlog::reader::{Event, Value};

/// The named form, with names padded to `name_width`.
pub(crate) struct Named<'l> {
    pub(crate) clock: Clock<'l>,
    pub(crate) name_width: usize,
}

impl View for Named<'_> {
    #[inline]
    fn line(&self, event: &Event<'_>, out: &mut Vec<u8>) {
        self.clock.append(event, out);
        self.rest(event, out);
    }
}

impl Named<'_> {
    /// The line after the clock.
    #[inline]
    fn rest(&self, event: &Event<'_>, out: &mut Vec<u8>) {
        out.push(b' ');
        super::registry_index(event, out);
        text::hex_zeros(out, event.code().into(), 4);
        out.push(b' ');
        let Some(event_type) = event.event_type else {
            super::name(out, "[Unknown]", self.name_width);
            out.extend_from_slice(b" Unknown event.\n");
            return;
        };
        super::name(out, &event_type.name, self.name_width);
        out.push(b' ');
        let digits = usize::from(event.registry.platform.word_size) * 2;
        for (param, value) in event.params() {
            out.extend_from_slice(param.name.as_bytes());
            out.push(b':');
            match value {
                Value::W(value) => text::hex_zeros(out, value, digits),
                Value::P(word) | Value::A(word) => {
                    text::hex_zeros(out, word, digits);
                    label(event, value, out);
                }
                Value::U(value) => text::decimal(out, value.into()),
                Value::B(value) => out.extend_from_slice(if value { b"True" } else { b"False" }),
                Value::D(value) => text::double_short(out, value),
                Value::S(value) => text::quoted(out, value),
            }
            out.push(b' ');
        }
        out.push(b'\n');
    }
}

/// The named form with the thread after the clock.
pub(crate) struct Threaded<'l> {
    pub(crate) named: Named<'l>,
    pub(crate) threads: Threads,
}

impl View for Threaded<'_> {
    fn line(&self, event: &Event<'_>, out: &mut Vec<u8>) {
        self.named.clock.append(event, out);
        out.push(b' ');
        self.threads.append(event, out);
        self.named.rest(event, out);
    }
}

/// Appends what a pointer or address is called at that time, if it is called anything.
fn label(event: &Event<'_>, value: Value<'_>, out: &mut Vec<u8>) {
    let Some(id) = event.labels.label_id_of(value) else { return };
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
