//! The event types that a log declares (command `registry`).
//!
//! ```text
//!  registry 1: mps 2.0.0
//!  CODE  EVENT          KIND  WHEN     PARAMETERS
//!  001F  GenInit        Pool  always  P arena, P gen, U serial, …
//!          A generation was made.
//! ```
//!
//! Design: `.reg`, `.reg.doc` in `design/telemetry.md`.

use crate::show;
use eventlog::reader::{EventType, Registry};
use serde_json::{Value, json};
use std::io::{self, Write};

pub(crate) fn write<'a>(
    registries: impl IntoIterator<Item = &'a Registry>,
    is_shown: impl Fn(&Registry, &EventType) -> bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (count, registry) in registries.into_iter().enumerate() {
        if count > 0 {
            writeln!(out)?;
        }
        write_heading(registry, out)?;
        let shown: Vec<&EventType> =
            registry.event_types.iter().filter(|row| is_shown(registry, row)).collect();
        let width = crate::show::name_width([registry]);
        if !shown.is_empty() {
            let (event, kind) = ("EVENT", "KIND");
            writeln!(out, "\n  CODE  {event:width$}  {kind:8}  WHEN     PARAMETERS")?;
        }
        for event_type in shown {
            write_row(registry, event_type, width, out)?;
        }
    }
    Ok(())
}

/// Writes all registries as JSON, an object a line.
pub(crate) fn write_json<'a>(
    registries: impl IntoIterator<Item = &'a Registry>,
    is_shown: impl Fn(&Registry, &EventType) -> bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    for registry in registries {
        let kinds = registry
            .kinds
            .iter()
            .map(|kind| json!({ "index": kind.index, "name": kind.name, "doc": kind.doc }));
        let rows = registry.event_types.iter().filter(|row| is_shown(registry, row)).map(|row| {
            let params = row.params.iter().map(|param| {
                let sort = param.sort.letter().to_string();
                json!({ "sort": sort, "name": param.name, "doc": param.doc })
            });
            json!({
                "code": row.code, "name": row.name, "doc": row.doc,
                "kind": registry.kind(row.kind).map(|kind| &kind.name),
                "always": row.always, "retired": row.retired, "coarse": row.coarse,
                "parameters": params.collect::<Value>(),
            })
        });
        let registry = json!({
            "stream": registry.stream, "registry": registry.index, "name": registry.name,
            "version": registry.version.to_string(), "doc": registry.doc,
            "kinds": kinds.collect::<Value>(), "event_types": rows.collect::<Value>(),
        });
        writeln!(out, "{registry}")?;
    }
    Ok(())
}

fn write_heading(registry: &Registry, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "registry {}: {} {}", registry.index, registry.name, registry.version)?;
    if !registry.doc.is_empty() {
        writeln!(out, "  {}", registry.doc)?;
    }
    if !registry.kinds.is_empty() {
        writeln!(out, "\n  KIND")?;
    }
    for kind in &registry.kinds {
        writeln!(out, "  {:4}  {:8}  {}", kind.index, kind.name, kind.doc)?;
    }
    Ok(())
}

fn write_row(
    registry: &Registry,
    event_type: &EventType,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let kind = match registry.kind(event_type.kind) {
        Some(kind) => kind.name.to_string(),
        None => event_type.kind.to_string(),
    };
    let when = match (event_type.retired, event_type.always) {
        (true, _) => "retired",
        (false, true) => "always",
        (false, false) => "cool",
    };
    let when = format!("{when}{}", show::coarse_mark(Some(event_type)));
    let params =
        event_type.params.iter().map(|param| format!("{} {}", param.sort.letter(), param.name));
    let params = params.collect::<Vec<_>>().join(", ");
    let name = &event_type.name;
    let line = format!("  {:04X}  {name:width$}  {kind:8}  {when:7}  {params}", event_type.code);
    writeln!(out, "{}", line.trim_end())?;
    if !event_type.doc.is_empty() {
        writeln!(out, "          {}", event_type.doc)?;
    }
    for param in &event_type.params {
        if !param.doc.is_empty() {
            writeln!(out, "            {}: {}", param.name, param.doc)?;
        }
    }
    Ok(())
}
