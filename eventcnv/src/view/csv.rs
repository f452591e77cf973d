//! Comma-separated values: a column for each parameter of the event types that are selected.
//!
//! ```text
//!  time,event,kind,thread,pool,addr,size
//!  25900923400994,PoolAlloc,Object,1,0x556289605A10,0x556289617858,8
//! ```
//!
//! Parameters of one name share a column; what an event has not is empty. Design: `.cnv.styles` in
//! `design/eventcnv.md`; CSV: RFC 4180, with lines that end in LF.

use super::View;
use super::clock::Clock;
use crate::text;
use eventlog::reader::{Event, EventType, Filter, Registry, Value};
use std::io::Write;

/// The form, with times as asked for.
pub(crate) struct Csv<'l> {
    clock: Clock<'l>,
    /// The names of parameters, in the order of their columns.
    columns: Vec<Box<str>>,
}

impl<'l> Csv<'l> {
    /// Columns for the event types that a filter lets through.
    pub(crate) fn new(clock: Clock<'l>, registries: &[Registry], filter: &Filter) -> Csv<'l> {
        let mut columns: Vec<Box<str>> = Vec::new();
        for registry in registries {
            for row in registry.event_types.iter().filter(|row| is_asked(filter, registry, row)) {
                for param in &row.params {
                    if !columns.contains(&param.name) {
                        columns.push(param.name.clone());
                    }
                }
            }
        }
        Csv { clock, columns }
    }

    /// The line that names the columns.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut out = b"time,event,kind,thread".to_vec();
        for column in &self.columns {
            out.push(b',');
            field(&mut out, column.as_bytes());
        }
        out.push(b'\n');
        out
    }
}

fn is_asked(filter: &Filter, registry: &Registry, row: &EventType) -> bool {
    let kind = registry.kind(row.kind).map_or("", |kind| &kind.name);
    let is_kind = filter.kinds.is_empty()
        || filter.kinds.iter().any(|pick| pick.matches(registry.index, kind, row.kind.into()));
    let is_type = filter.event_types.is_empty()
        || filter.event_types.iter().any(|pick| pick.matches(registry.index, &row.name, row.code));
    is_kind && is_type
}

impl View for Csv<'_> {
    fn line(&self, event: &Event<'_>, out: &mut Vec<u8>) {
        match self.clock {
            Clock::Ticks => text::decimal(out, event.ticks),
            _ => {
                let begin = out.len();
                self.clock.append(event, out);
                let spaces = out.iter().skip(begin).take_while(|byte| **byte == b' ').count();
                out.drain(begin..begin + spaces);
            }
        }
        out.push(b',');
        match event.event_type {
            Some(event_type) => field(out, event_type.name.as_bytes()),
            None => {
                out.extend_from_slice(b"0x");
                text::hex(out, event.code().into());
            }
        }
        out.push(b',');
        let kind = event.registry.kind(event.kind).map_or("?", |kind| &kind.name);
        field(out, kind.as_bytes());
        out.push(b',');
        text::decimal(out, event.thread.into());
        for column in &self.columns {
            out.push(b',');
            if let Some(value) = event.param(column) {
                append(value, out);
            }
        }
        out.push(b'\n');
    }
}

fn append(value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::P(value) | Value::A(value) => {
            out.extend_from_slice(b"0x");
            text::hex(out, value);
        }
        Value::W(value) => text::decimal(out, value),
        Value::U(value) => text::decimal(out, value.into()),
        Value::B(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        Value::D(value) => {
            let _ = write!(out, "{value:?}");
        }
        Value::S(value) => field(out, value),
    }
}

/// Appends text, in quotation marks if it needs them.
pub(crate) fn field(out: &mut Vec<u8>, bytes: &[u8]) {
    if !bytes.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        return out.extend_from_slice(bytes);
    }
    out.push(b'"');
    for &byte in bytes {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}
