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

use crate::text;
use crate::text::names::Taken;
use eventdef::Sort;
use eventlog::reader::{Clock, ClockBase, EventType, Log, Registry};

/// The id of events of unknown type, above all codes.
pub(super) const UNKNOWN: u32 = 1 << 16;

/// Added to the id of an event whose string is empty. For an empty string, babeltrace2 up to 2.0.4
/// shows the string of an earlier event of the same id; with this id all strings are empty.
pub(super) const EMPTY: u32 = 1 << 17;

const TYPES: &str = "\
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := pointer;
typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := double;
typealias integer { size = 64; align = 8; signed = false; map = clock.eventlog.value; } := time;
";

pub(super) fn metadata(log: &Log, clock: &Clock) -> String {
    let first = log.streams().first();
    let uuid = first.map_or([0; 16], |stream| stream.uuid);
    let (mut uuid_line, mut uuid_field) = (String::new(), "");
    if uuid != [0; 16] {
        uuid_line = format!("  uuid = \"{}\";\n", text::uuid(&uuid));
        uuid_field = "    integer { size = 8; align = 8; } uuid[16];\n";
    }
    let mut env = String::new();
    if let Some(stream) = first {
        for (name, value) in [("hostname", &stream.host), ("procname", &stream.program)] {
            if !value.is_empty() {
                env += &format!("  {name} = {};\n", quoted(value));
            }
        }
    }
    let what = match clock.base {
        ClockBase::Monotonic => "CLOCK_MONOTONIC",
        ClockBase::Realtime => "CLOCK_REALTIME",
        ClockBase::Start => "ns since the first event",
        ClockBase::Ticks => "ticks, as ns",
    };
    let (monotonic, realtime) = clock.sync.unwrap_or_default();
    let offset = realtime.saturating_sub(monotonic);
    let (seconds, ns) = (offset / 1_000_000_000, offset % 1_000_000_000);
    let is_absolute = clock.base == ClockBase::Realtime;
    let mut out = format!(
        "/* CTF 1.8 */

trace {{
  major = 1;
  minor = 8;
  byte_order = le;
{uuid_line}  packet.header := struct {{
    integer {{ size = 32; align = 8; }} magic;
{uuid_field}    integer {{ size = 32; align = 8; }} stream_id;
    integer {{ size = 64; align = 8; }} stream_instance_id;
  }};
}};

env {{
  tracer_name = \"eventcnv\";
{env}}};

clock {{
  name = eventlog;
  description = \"{what}\";
  freq = 1000000000;
  offset_s = {seconds};
  offset = {ns};
  absolute = {is_absolute};
}};

{TYPES}"
    );
    for (class, registry) in log.registries().iter().enumerate() {
        stream(&mut out, class, registry);
    }
    out
}

/// Appends a registry: the layout of its packets, and its event types.
fn stream(out: &mut String, class: usize, registry: &Registry) {
    *out += &format!(
        "
/* {} {} */
stream {{
  id = {class};
  event.header := struct {{ u32 id; time timestamp; }};
  event.context := struct {{ u64 ticks; }};
  packet.context := struct {{
    time timestamp_begin;
    time timestamp_end;
    u64 content_size;
    u64 packet_size;
    u64 packet_seq_num;
    u64 events_discarded;
    u32 pid;
    u32 tid;
    u32 buffer;
  }};
}};
",
        comment(&registry.name),
        registry.version
    );
    for event_type in &registry.event_types {
        event(out, class, registry, event_type);
    }
    *out += &format!(
        "event {{ name = \"?\"; id = {UNKNOWN}; stream_id = {class}; \
         fields := struct {{ u32 _code; u32 _size; u8 _bytes[_size]; }}; }};\n"
    );
}

fn event(out: &mut String, class: usize, registry: &Registry, event_type: &EventType) {
    let kind = registry.kind(event_type.kind).map_or("?", |kind| &kind.name);
    *out += &format!("/* {}: {} */\n", comment(kind), comment(&event_type.doc));
    let name = quoted(&event_type.name);
    let code = u32::from(event_type.code);
    let has_string = event_type.params.iter().any(|param| param.sort == Sort::S);
    let empty = has_string.then_some(code + EMPTY);
    for id in [Some(code), empty].into_iter().flatten() {
        *out += &format!("event {{ name = {name}; id = {id}; stream_id = {class};");
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
        *out += &format!(" {sort} {};", field(&param.name, &mut taken));
    }
    out.push_str(" };");
}

/// Returns a unique name for a field: an underscore, and characters of C identifiers.
fn field(name: &str, taken: &mut Taken) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let own: String = ['_'].into_iter().chain(name.chars().map(clean)).collect();
    taken.take([&own])
}

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
