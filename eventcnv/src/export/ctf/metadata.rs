//! Writes the metadata of a trace, in TSDL: the layout of its packets.
//!
//! ```text
//!  trace { … } env { … } clock { … }
//!  stream { id = 1; … }                       a registry: its event types, in packets of buffers
//!  event { name = "PoolInit"; id = 17; stream_id = 1; fields := struct { pointer _pool; … }; };
//! ```
//!
//! Readers remove an underscore from a field's name; with it, no name is a keyword of TSDL. Design:
//! `.cnv.ctf` in `design/eventcnv.md`.

use super::{EMPTY, UNKNOWN};
use crate::export::names::Taken;
use crate::text;
use eventdef::Sort;
use eventlog::reader::{Clock, ClockBase, EventType, Log, Registry};
use std::fmt::Write;

const TYPES: &str = "\
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := pointer;
typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := double;
typealias integer { size = 64; align = 8; signed = false; map = clock.eventlog.value; } := time;
";

/// Returns the metadata of a log.
pub(super) fn metadata(log: &Log, clock: &Clock) -> String {
    let mut out = "/* CTF 1.8 */\n\n".to_owned();
    let first = log.streams().first();
    let uuid = first.map_or([0; 16], |stream| stream.uuid);
    let uuid = (uuid != [0; 16]).then(|| text::uuid(&uuid));
    out += "trace {\n  major = 1;\n  minor = 8;\n  byte_order = le;\n";
    if let Some(uuid) = &uuid {
        put(&mut out, format_args!("  uuid = \"{uuid}\";\n"));
    }
    out += "  packet.header := struct {\n    integer { size = 32; align = 8; } magic;\n";
    if uuid.is_some() {
        out += "    integer { size = 8; align = 8; } uuid[16];\n";
    }
    out += "    integer { size = 32; align = 8; } stream_id;\n";
    out += "    integer { size = 64; align = 8; } stream_instance_id;\n  };\n};\n\n";
    out += "env {\n  tracer_name = \"eventcnv\";\n";
    if let Some(stream) = first {
        for (name, value) in [("hostname", &stream.host), ("procname", &stream.program)] {
            if !value.is_empty() {
                put(&mut out, format_args!("  {name} = {};\n", quoted(value)));
            }
        }
    }
    out += "};\n\n";
    head_of_clock(&mut out, clock);
    out += TYPES;
    for (class, registry) in log.registries().iter().enumerate() {
        stream(&mut out, class, registry);
    }
    out
}

fn head_of_clock(out: &mut String, clock: &Clock) {
    let what = match clock.base {
        ClockBase::Monotonic => "CLOCK_MONOTONIC",
        ClockBase::Realtime => "CLOCK_REALTIME",
        ClockBase::Start => "ns since the first event",
        ClockBase::Ticks => "ticks, as ns",
    };
    out.push_str("clock {\n  name = eventlog;\n");
    put(out, format_args!("  description = \"{what}\";\n  freq = 1000000000;\n"));
    let (monotonic, realtime) = clock.sync.unwrap_or_default();
    let offset = realtime.saturating_sub(monotonic);
    let (seconds, ns) = (offset / 1_000_000_000, offset % 1_000_000_000);
    put(out, format_args!("  offset_s = {seconds};\n  offset = {ns};\n"));
    let is_absolute = clock.base == ClockBase::Realtime;
    put(out, format_args!("  absolute = {is_absolute};\n}};\n\n"));
}

/// Appends a registry: the layout of its packets, and its event types.
fn stream(out: &mut String, class: usize, registry: &Registry) {
    let version = registry.version;
    put(
        out,
        format_args!(
            "\n/* {} {}.{}.{} */\n",
            comment(&registry.name),
            version.major,
            version.median,
            version.minor
        ),
    );
    put(out, format_args!("stream {{\n  id = {class};\n"));
    out.push_str("  event.header := struct { u32 id; time timestamp; };\n");
    out.push_str("  event.context := struct { u64 ticks; };\n");
    out.push_str(
        "  packet.context := struct {\n    time timestamp_begin;\n    time timestamp_end;\n    \
         u64 content_size;\n    u64 packet_size;\n    u64 packet_seq_num;\n    \
         u64 events_discarded;\n    u32 pid;\n    u32 tid;\n    u32 buffer;\n  };\n};\n",
    );
    for event_type in &registry.event_types {
        event(out, class, registry, event_type);
    }
    put(
        out,
        format_args!(
            "event {{ name = \"?\"; id = {UNKNOWN}; stream_id = {class}; \
         fields := struct {{ u32 _code; u32 _size; u8 _bytes[_size]; }}; }};\n"
        ),
    );
}

fn event(out: &mut String, class: usize, registry: &Registry, event_type: &EventType) {
    let kind = registry.kind(event_type.kind).map_or("?", |kind| &kind.name);
    put(out, format_args!("/* {}: {} */\n", comment(kind), comment(&event_type.doc)));
    let name = quoted(&event_type.name);
    let code = u32::from(event_type.code);
    let has_string = event_type.params.iter().any(|param| param.sort == Sort::S);
    let empty = has_string.then_some(code + EMPTY);
    for id in [Some(code), empty].into_iter().flatten() {
        put(out, format_args!("event {{ name = {name}; id = {id}; stream_id = {class};"));
        fields(out, event_type);
        out.push_str(" };\n");
    }
}

fn fields(out: &mut String, event_type: &EventType) {
    if event_type.params.is_empty() {
        return;
    }
    out.push_str(" fields := struct {");
    let mut taken = Taken::default();
    for param in &event_type.params {
        let sort = match param.sort {
            Sort::P | Sort::A => "pointer",
            Sort::W => "u64",
            Sort::U => "u32",
            Sort::B => "u8",
            Sort::D => "double",
            Sort::S => "string",
        };
        put(out, format_args!(" {sort} {};", field(&param.name, &mut taken)));
    }
    out.push_str(" };");
}

/// Returns a unique name for a field: an underscore, and characters of C identifiers.
fn field(name: &str, taken: &mut Taken) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let own: String = ['_'].into_iter().chain(name.chars().map(clean)).collect();
    taken.take([&own])
}

/// Returns text for a comment, on one line.
fn comment(text: &str) -> String {
    text.replace("*/", "* /").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn quoted(text: &str) -> String {
    let mut out = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out + "\""
}

/// Appends to a string, which cannot fail.
fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.cnv.ctf`
    #[test]
    fn names_and_texts_are_valid_tsdl() {
        let mut taken = Taken::default();
        let names = ["size", "größe", "gr__e", "a b", "a_b"].map(|name| field(name, &mut taken));
        assert_eq!(names, ["_size", "_gr__e", "_gr__e_2", "_a_b", "_a_b_2"]);
        assert_eq!(quoted("a\"b\\\n"), "\"a\\\"b\\\\\u{FFFD}\"");
        assert_eq!(comment("a */\n b"), "a * / b");
    }
}
