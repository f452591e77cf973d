//! The JSON form: an object for each event, on a line.
//!
//! ```text
//!  {"ticks":25900923400994,"event":"PoolInit","kind":"Pool","registry":"heap","thread":1,
//!   "params":{"pool":"0x556289605AE0","arena":"0x556289605D60","moving":true},
//!   "labels":{"arena":"arena"}}                                            (on one line)
//! ```
//!
//! Pointers and addresses are strings, because few readers of JSON keep 64 bits of a number. So are
//! doubles that JSON lacks: "Infinity", "-Infinity", "NaN".
//! Design: `.cnv.styles` in `design/eventcnv.md`; JSON: RFC 8259.

use crate::show::Row;
use crate::show::clock::{Clock, Form as Time, Stamp};
use crate::show::line::Line;
use crate::show::recipe::{Custom, Form, Recipe};
use crate::text::page::{Page, Pen};
use cli::fields::{Real, escaped};
use eventdef::Sort;
use eventlog::format::text::is_steering;
use eventlog::reader::{Event, Value};
use std::io::{self, Write};

pub(crate) struct Json<'l> {
    pub(crate) clock: Clock<'l>,
    pub(crate) time: Time,
}

impl Line for Json<'_> {
    fn clock(&self) -> &Clock<'_> {
        &self.clock
    }

    fn recipe(&self, row: Row<'_>) -> Recipe {
        let mut recipe = Recipe::new(row);
        let text = recipe.text();
        text.extend_from_slice(b",\"event\":");
        match row.event_type {
            Some(event_type) => string(text, event_type.name.as_bytes()),
            None => drop(write!(text, "null,\"code\":{}", row.code)),
        }
        text.extend_from_slice(b",\"kind\":");
        string(text, row.kind_name().as_bytes());
        text.extend_from_slice(b",\"registry\":");
        string(text, row.registry.name.as_bytes());
        recipe.end_intro();
        recipe.text().extend_from_slice(b",\"params\":{");
        // The text between the value before and the next name.
        let mut separator: &[u8] = b"";
        recipe.push_all(row.params, |param, text| {
            text.extend_from_slice(separator);
            string(text, param.name.as_bytes());
            let is_address = matches!(param.sort, Sort::P | Sort::A);
            text.extend_from_slice(if is_address { b":\"0x" } else { b":" });
            separator = if is_address { b"\"," } else { b"," };
            match param.sort {
                Sort::P | Sort::A => Form::LabelledLater,
                Sort::W | Sort::U => Form::Decimal,
                Sort::B => Form::Choice("false", "true"),
                Sort::D | Sort::S => Form::Custom,
            }
        });
        recipe.text().extend_from_slice(separator.strip_suffix(b",").unwrap_or_default());
        recipe.text().push(b'}');
        recipe.end()
    }

    #[inline(always)]
    fn begin(&self, event: &Event<'_, '_>, page: &mut Page) -> Stamp {
        if self.time != Time::Ticks {
            page.write(|out| self.append_time(event, out));
        }
        Stamp::None
    }

    #[inline(always)]
    fn head(&self, event: &Event<'_, '_>, recipe: &Recipe, pen: &mut Pen<'_>) {
        if self.time == Time::Ticks {
            pen.put(b"{\"ticks\":       ", 9);
            pen.decimal(event.ticks);
        }
        recipe.write_intro(pen);
        if event.stream > 0 {
            pen.put(b",\"stream\":      ", 10);
            pen.decimal(event.stream.into());
        }
        pen.put(b",\"thread\":      ", 10);
        pen.decimal(event.thread.into());
    }

    #[inline(always)]
    fn end(&self, event: &Event<'_, '_>, has_label: bool, page: &mut Page) {
        if has_label {
            page.write(|out| append_labels(event, out));
        }
        let mut pen = page.pen(16);
        pen.put(b"}\n              ", 2);
        let written = pen.written();
        page.keep(written);
    }
}

impl Json<'_> {
    /// Appends a time that is not in ticks, as the first field of the object.
    fn append_time(&self, event: &Event<'_, '_>, out: &mut Vec<u8>) {
        let mut time = Vec::with_capacity(32);
        self.clock.append(event, &mut time);
        let is_quoted = self.time == Time::Wall;
        out.extend_from_slice(if is_quoted { b"{\"time\":" } else { b"{\"seconds\":" });
        match (time.trim_ascii_start(), is_quoted) {
            (b"-", _) => out.extend_from_slice(b"null"),
            (time, true) => string(out, time),
            (time, false) => out.extend_from_slice(time),
        }
    }
}

impl Custom for Json<'_> {
    fn value(value: Value<'_>, out: &mut Vec<u8>) {
        match value {
            Value::D(value) => real(out, value),
            Value::S(value) => string(out, value),
            _ => {}
        }
    }
}

/// Appends a double: the shortest text that a parser reads as the same number.
pub(crate) fn real(out: &mut Vec<u8>, value: f64) {
    match Real(value).string() {
        None => drop(write!(out, "{value:?}")),
        Some(text) => string(out, text.as_bytes()),
    }
}

/// Appends the labels of the parameters of an event, as a field.
pub(super) fn append_labels(event: &Event<'_, '_>, out: &mut Vec<u8>) {
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

/// Makes serde_json escape the characters that steer a terminal.
pub(crate) struct Escaping;

impl serde_json::ser::Formatter for Escaping {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        to: &mut W,
        text: &str,
    ) -> io::Result<()> {
        let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if is_plain || !text.contains(is_steering) {
            return to.write_all(text.as_bytes());
        }
        to.write_all(escaped(text).as_bytes())
    }
}

/// Appends a string. Replaces bytes that are not UTF-8 by U+FFFD.
pub(crate) fn string(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => out.extend_from_slice(b"\\\""),
                '\\' => out.extend_from_slice(b"\\\\"),
                '\n' => out.extend_from_slice(b"\\n"),
                '\t' => out.extend_from_slice(b"\\t"),
                c if is_steering(c) => {
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
