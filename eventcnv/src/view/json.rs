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
use super::clock::{Clock, Form as Time};
use super::recipe::{Form, Own, Recipe, Recipes};
use crate::page::{Page, Pen};
use crate::text;
use eventdef::Sort;
use eventlog::format::text::is_steering;
use eventlog::reader::{Event, EventType, Registry, Value};
use std::fmt;
use std::io::Write;

/// The form, with times as asked for.
pub(crate) struct Json<'l> {
    clock: Clock<'l>,
    time: Time,
    recipes: Recipes,
}

impl<'l> Json<'l> {
    /// For events of a log with these registries.
    pub(crate) fn new(clock: Clock<'l>, time: Time, registries: &[Registry]) -> Json<'l> {
        Json { clock, time, recipes: Recipes::new(registries, recipe) }
    }

    /// Appends the time with what stands before it.
    fn append_time(&self, event: &Event<'_, '_>, out: &mut Vec<u8>) {
        if self.time == Time::Ticks {
            out.extend_from_slice(b"{\"ticks\":");
            return text::decimal(out, event.ticks);
        }
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

impl View for Json<'_> {
    fn line(&self, event: &Event<'_, '_>, out: &mut Vec<u8>) {
        self.append_time(event, out);
        match event.event_type {
            Some(event_type) => name(event_type, out),
            None => {
                out.extend_from_slice(b",\"event\":null,\"code\":");
                text::decimal(out, event.code().into());
            }
        }
        origin(event.registry, event.kind, out);
        if event.stream > 0 {
            out.extend_from_slice(b",\"stream\":");
            text::decimal(out, event.stream.into());
        }
        out.extend_from_slice(b",\"thread\":");
        text::decimal(out, event.thread.into());
        out.extend_from_slice(b",\"params\":{");
        for (index, (param, value)) in event.params().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            string(out, param.name.as_bytes());
            out.push(b':');
            Json::value(value, out);
        }
        out.push(b'}');
        labels(event, out);
        out.extend_from_slice(b"}\n");
    }

    #[inline]
    fn write(&self, event: &Event<'_, '_>, page: &mut Page) {
        // The kind is that of the block.
        let recipe = self.recipes.of(event).filter(|recipe| recipe.kind == event.kind);
        let Some(recipe) = recipe else { return page.write(|out| self.line(event, out)) };
        if self.time != Time::Ticks {
            page.write(|out| self.append_time(event, out));
        }
        let head = |pen: &mut Pen<'_>| {
            if self.time == Time::Ticks {
                pen.put(b"{\"ticks\":       ", 9);
                pen.decimal(event.ticks);
            }
            recipe.introduce(pen);
            if event.stream > 0 {
                pen.put(b",\"stream\":      ", 10);
                pen.decimal(event.stream.into());
            }
            pen.put(b",\"thread\":      ", 10);
            pen.decimal(event.thread.into());
        };
        if recipe.write::<Json<'_>>(event, page, head) {
            page.write(|out| labels(event, out));
        }
        let mut pen = page.pen(16);
        pen.put(b"}\n              ", 2);
        let written = pen.written();
        page.keep(written);
    }
}

fn recipe(registry: &Registry, event_type: &EventType) -> Recipe {
    let mut recipe = Recipe::new(registry, event_type);
    let mut text = Vec::new();
    name(event_type, &mut text);
    origin(registry, event_type.kind, &mut text);
    recipe.intro(&text);
    text = b",\"params\":{".to_vec();
    for (index, param) in event_type.params.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        string(&mut text, param.name.as_bytes());
        text.push(b':');
        let is_address = matches!(param.sort, Sort::P | Sort::A);
        if is_address {
            text.extend_from_slice(b"\"0x");
        }
        let form = match param.sort {
            Sort::P | Sort::A => Form::Noted,
            Sort::W | Sort::U => Form::Decimal,
            Sort::B => Form::Choice(FALSE, TRUE),
            Sort::D | Sort::S => Form::Own,
        };
        recipe.push(&text, event_type, index, form);
        text.clear();
        if is_address {
            text.push(b'"');
        }
    }
    text.push(b'}');
    recipe.end(&text)
}

const FALSE: &str = "false";
const TRUE: &str = "true";

fn name(event_type: &EventType, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"event\":");
    string(out, event_type.name.as_bytes());
}

/// Appends kind and registry.
fn origin(registry: &Registry, kind: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"kind\":");
    string(out, registry.kind(kind).map_or("?", |kind| &kind.name).as_bytes());
    out.extend_from_slice(b",\"registry\":");
    string(out, registry.name.as_bytes());
}

impl Own for Json<'_> {
    fn value(value: Value<'_>, out: &mut Vec<u8>) {
        match value {
            Value::P(value) | Value::A(value) => {
                out.extend_from_slice(b"\"0x");
                text::hex(out, value);
                out.push(b'"');
            }
            Value::W(value) => text::decimal(out, value),
            Value::U(value) => text::decimal(out, value.into()),
            Value::B(value) => out.extend_from_slice(if value { TRUE } else { FALSE }.as_bytes()),
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
fn labels(event: &Event<'_, '_>, out: &mut Vec<u8>) {
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

/// JSON in which what steers a terminal is escaped: none of it stands outside of strings, except
/// ends of lines.
pub(crate) fn escaped(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            c if is_steering(c) && c != '\n' => {
                let _ = fmt::Write::write_fmt(&mut escaped, format_args!("\\u{:04x}", c as u32));
            }
            c => escaped.push(c),
        }
    }
    escaped
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
