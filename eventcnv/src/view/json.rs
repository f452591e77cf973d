//! JSON lines: an object for each event.
//!
//! ```text
//!  {"ticks":25900923400994,"event":"PoolInit","kind":"Pool","registry":"heap","thread":1,
//!   "params":{"pool":"0x556289605AE0","arena":"0x556289605D60","moving":true},
//!   "labels":{"arena":"arena"}}                                            (on one line)
//! ```
//!
//! Pointers and addresses are strings, for few readers of JSON keep 64 bits of a number. Design:
//! `.cnv.styles` in `design/eventcnv.md`; JSON: RFC 8259.

use super::View;
use super::clock::{Clock, Form};
use crate::text;
use eventlog::reader::{Event, Value};
use std::io::Write;

/// The form, with times as asked for.
pub(crate) struct Json<'l> {
    pub(crate) clock: Clock<'l>,
    pub(crate) form: Form,
}

impl View for Json<'_> {
    fn line(&self, event: &Event<'_>, out: &mut Vec<u8>) {
        match self.form {
            Form::Ticks => {
                out.extend_from_slice(b"{\"ticks\":");
                text::decimal(out, event.ticks);
            }
            Form::Seconds => {
                out.extend_from_slice(b"{\"seconds\":");
                self.append_time(event, out, false);
            }
            Form::Wall => {
                out.extend_from_slice(b"{\"time\":");
                self.append_time(event, out, true);
            }
        }
        out.extend_from_slice(b",\"event\":");
        match event.event_type {
            Some(event_type) => string(out, event_type.name.as_bytes()),
            None => {
                out.extend_from_slice(b"null,\"code\":");
                text::decimal(out, event.code().into());
            }
        }
        out.extend_from_slice(b",\"kind\":");
        let kind = event.registry.kind(event.kind).map_or("?", |kind| &kind.name);
        string(out, kind.as_bytes());
        out.extend_from_slice(b",\"registry\":");
        string(out, event.registry.name.as_bytes());
        if event.stream > 0 {
            out.extend_from_slice(b",\"stream\":");
            text::decimal(out, event.stream.into());
        }
        out.extend_from_slice(b",\"thread\":");
        text::decimal(out, event.thread.into());
        out.extend_from_slice(b",\"params\":{");
        params(event, out);
        out.push(b'}');
        labels(event, out);
        out.extend_from_slice(b"}\n");
    }
}

impl Json<'_> {
    /// A time that is not in ticks, trimmed, in quotation marks or not.
    fn append_time(&self, event: &Event<'_>, out: &mut Vec<u8>, is_quoted: bool) {
        let mut time = Vec::with_capacity(32);
        self.clock.append(event, &mut time);
        let time = time.trim_ascii_start();
        match (time, is_quoted) {
            (b"-", _) => out.extend_from_slice(b"null"),
            (time, true) => string(out, time),
            (time, false) => out.extend_from_slice(time),
        }
    }
}

fn params(event: &Event<'_>, out: &mut Vec<u8>) {
    for (index, (param, value)) in event.params().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        string(out, param.name.as_bytes());
        out.push(b':');
        match value {
            Value::P(value) | Value::A(value) => {
                out.extend_from_slice(b"\"0x");
                text::hex(out, value);
                out.push(b'"');
            }
            Value::W(value) => text::decimal(out, value),
            Value::U(value) => text::decimal(out, value.into()),
            Value::B(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
            Value::D(value) if value.is_finite() => {
                // The shortest text that is read as the same number.
                let _ = write!(out, "{value:?}");
            }
            Value::D(_) => out.extend_from_slice(b"null"),
            Value::S(value) => string(out, value),
        }
    }
}

/// What of its parameters is called something.
fn labels(event: &Event<'_>, out: &mut Vec<u8>) {
    let mut has_any = false;
    for (param, value) in event.params() {
        if !matches!(value, Value::P(_) | Value::A(_)) {
            continue;
        }
        let id = event.labels.label_id_of(value);
        let Some(label) = id.and_then(|id| event.labels.string(id)) else { continue };
        out.extend_from_slice(if has_any { b"," } else { b",\"labels\":{" });
        has_any = true;
        string(out, param.name.as_bytes());
        out.push(b':');
        string(out, label);
    }
    if has_any {
        out.push(b'}');
    }
}

/// Appends a string. What is not UTF-8 is replaced by U+FFFD.
pub(crate) fn string(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => out.extend_from_slice(b"\\\""),
                '\\' => out.extend_from_slice(b"\\\\"),
                '\n' => out.extend_from_slice(b"\\n"),
                '\t' => out.extend_from_slice(b"\\t"),
                c if c.is_control() => {
                    let _ = write!(out, "\\u{:04x}", c as u32);
                }
                c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{FFFD}".as_bytes());
        }
    }
    out.push(b'"');
}
