//! A naive twin of the views: value by value, by the standard formatter.
//!
//! ```text
//!  Event ── params ──▶ Value ── format! ──▶ the line that a recipe must write
//! ```

use crate::show::json::{append_labels, string};
use crate::text;
use cli::fields::csv_field as field;
use eventlog::reader::{Event, Param, Value};

fn double(value: f64, write: fn(&mut Vec<u8>, f64)) -> String {
    let mut out = Vec::new();
    write(&mut out, value);
    String::from_utf8(out).unwrap()
}

fn bytes(value: &[u8], write: impl Fn(&mut Vec<u8>, &[u8])) -> String {
    let mut out = Vec::new();
    write(&mut out, value);
    // A string may contain bytes that are not UTF-8.
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns the index of a registry and a colon, if a code needs it.
fn index(event: &Event<'_, '_>) -> String {
    let index = event.registry.index;
    if index > 1 { format!("{index}:") } else { String::new() }
}

/// Returns a value in the numeric form.
fn numeric_value(value: Value<'_>) -> String {
    match value {
        Value::P(value) | Value::A(value) | Value::W(value) => format!("{value:X}"),
        Value::U(value) => format!("{value:X}"),
        Value::B(value) => u8::from(value).to_string(),
        Value::D(value) => double(value, text::double_general),
        Value::S(value) => bytes(value, text::quoted),
    }
}

/// Returns the lines of an event in all forms of `twins`.
pub(super) fn naive(event: &Event<'_, '_>) -> [String; 6] {
    let (ticks, code, name) = (event.ticks, event.code(), event.name());
    let params = || event.params();
    let is_known = event.event_type.is_some();
    let values: String = params().map(|(_, value)| format!(" {}", numeric_value(value))).collect();
    let width = if event.registry.index > 1 { 1 } else { 4 };
    let numeric = format!("{ticks:016X} {}{code:width$X}{values}\n", index(event));
    let in_columns = |(_, value): (_, Value<'_>)| match value {
        Value::B(value) => format!(" {:>8}", if value { "True" } else { "False" }),
        Value::S(value) => format!(" {}", bytes(value, text::quoted)),
        value => format!(" {:>8}", numeric_value(value)),
    };
    let of_columns: String = params().map(in_columns).collect();
    let columns = match (is_known, params().next()) {
        (false, _) => format!("{ticks:016X} [Unknown {}{code:04X}]\n", index(event)),
        (true, None) => format!("{ticks:016X} {name}\n"),
        _ => format!("{ticks:016X} {name:19} {of_columns}\n"),
    };
    let digits = usize::from(event.registry.platform.word_size) * 2;
    let label = |value: Value<'_>| {
        let id = event.labels.label_id_of(value)?;
        Some(match event.labels.string(id) {
            Some(string) => format!("[{}]", bytes(string, text::quoted)),
            None => format!("[unknown label {id:X}]"),
        })
    };
    let in_words = |value: Value<'_>| match value {
        Value::P(word) | Value::A(word) => {
            format!("{word:0digits$X}{}", label(value).unwrap_or_default())
        }
        Value::W(word) => format!("{word:0digits$X}"),
        Value::U(value) => value.to_string(),
        Value::B(value) => if value { "True" } else { "False" }.to_owned(),
        Value::D(value) => double(value, text::double_short),
        Value::S(value) => bytes(value, text::quoted),
    };
    let words = params().map(|(param, value)| format!("{}:{} ", param.name, in_words(value)));
    let (named, words) = match is_known {
        true => (name, words.collect()),
        false => ("[Unknown]", "Unknown event.".to_owned()),
    };
    let coarse = ["", "+"][usize::from(event.event_type.is_some_and(|row| row.coarse))];
    let named = format!("{ticks:016X}{coarse} {}{code:04X} {named:19} {words}\n", index(event));
    let lisp = match is_known {
        true => format!("({ticks:016X} {name:19}{values})\n"),
        false => format!("({ticks:016X} {code:04X})\n"),
    };
    [numeric, columns, named, naive_json(event), lisp, naive_readable(event)]
}

/// Returns the line of an event for people, with names padded to 12 columns.
fn naive_readable(event: &Event<'_, '_>) -> String {
    let (ticks, code) = (event.ticks, event.code());
    let in_words = |value: Value<'_>| match value {
        Value::P(word) | Value::A(word) => format!("0x{word:X}"),
        Value::W(value) => value.to_string(),
        Value::U(value) => value.to_string(),
        Value::B(value) => value.to_string(),
        Value::D(value) => double(value, text::double_general),
        Value::S(value) => bytes(value, text::quoted),
    };
    let pair = |(param, value): (&Param, _)| format!("  {} {}", param.name, in_words(value));
    let pairs: String = event.params().map(pair).collect();
    let name = match event.event_type {
        Some(event_type) => format!("{}{}", index(event), event_type.name),
        None => format!("[Unknown {}{code:04X}]", index(event)),
    };
    let coarse = ["", "+"][usize::from(event.event_type.is_some_and(|row| row.coarse))];
    let line = format!("{ticks:016X}{coarse} {name:12}{pairs}");
    line.trim_end_matches(|c| pairs.is_empty() && c == ' ').to_owned() + "\n"
}

/// Returns the line of an event as JSON.
fn naive_json(event: &Event<'_, '_>) -> String {
    let (ticks, code, name) = (event.ticks, event.code(), event.name());
    let params = || event.params();
    let is_known = event.event_type.is_some();
    let quoted = |value: &[u8]| bytes(value, string);
    let in_json = |value: Value<'_>| match value {
        Value::P(value) | Value::A(value) => format!("\"0x{value:X}\""),
        Value::W(value) => value.to_string(),
        Value::U(value) => value.to_string(),
        Value::B(value) => value.to_string(),
        Value::D(value) if value.is_finite() => format!("{value:?}"),
        Value::D(_) => "null".to_owned(),
        Value::S(value) => quoted(value),
    };
    let words = params().map(|(param, value)| format!("{:?}:{}", param.name, in_json(value)));
    let of_json = words.collect::<Vec<_>>().join(",");
    let event_name = match is_known {
        true => format!("{name:?}"),
        false => format!("null,\"code\":{code}"),
    };
    let kind = event.registry.kind(event.kind).map_or("?", |kind| &kind.name);
    let stream = match event.stream {
        0 => String::new(),
        stream => format!(",\"stream\":{stream}"),
    };
    let labels = bytes(&[], |out, _| append_labels(event, out));
    format!(
        "{{\"ticks\":{ticks},\"event\":{event_name},\"kind\":{kind:?},\"registry\":{:?}{stream},\
         \"thread\":{},\"params\":{{{of_json}}}{labels}}}\n",
        event.registry.name, event.thread
    )
}

/// Returns the line of an event of the only registry as CSV.
pub(super) fn naive_csv(event: &Event<'_, '_>) -> String {
    let mut columns: Vec<&str> = Vec::new();
    for param in event.registry.event_types.iter().flat_map(|event_type| &event_type.params) {
        if !columns.contains(&&*param.name) {
            columns.push(&param.name);
        }
    }
    let cell = |name: &&str| {
        let value = event.params().find(|(param, _)| *param.name == **name);
        match value {
            None => String::new(),
            Some((_, Value::P(value) | Value::A(value))) => format!("0x{value:X}"),
            Some((_, Value::W(value))) => value.to_string(),
            Some((_, Value::U(value))) => value.to_string(),
            Some((_, Value::B(value))) => value.to_string(),
            Some((_, Value::D(value))) => format!("{value:?}"),
            Some((_, Value::S(value))) => bytes(value, field),
        }
    };
    let name = match event.event_type {
        Some(event_type) => event_type.name.clone(),
        None => format!("0x{:X}", event.code()).into(),
    };
    let kind = event.registry.kind(event.kind).map_or("?", |kind| &kind.name);
    let cells = columns.iter().map(cell).collect::<Vec<_>>().join(",");
    format!("{},{name},{kind},{},{cells}\n", event.ticks, event.thread)
}
