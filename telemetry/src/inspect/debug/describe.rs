//! One event, with everything that its registry knows about it.
//!
//! ```text
//!  handle of a kind ─▶ its newest event ─▶ lines
//!  another address ──▶ one line that names the command of gdb for it
//! ```
//!
//! Design: `.debug.describe` in `design/telemetry.md`.

use super::Out;
use crate::block::walk::Spot;
use crate::inspect::history::{self, Recalled};
use crate::inspect::text::{self, EVENT_SIZE_SHOWN, Now};
use crate::os::pages::Temporary;
use crate::os::sys::Errno;
use core::ffi::c_int;
use core::fmt::Write;

/// Describes the event that an address stands for; returns the number of events described.
pub(super) fn describe(address: usize, file: c_int) -> Result<usize, Errno> {
    let mut out = Out::new(file)?;
    let mut bytes = Temporary::map(EVENT_SIZE_SHOWN).ok_or(libc::ENOMEM)?;
    let kind = super::kind_of(address);
    let spot = kind.and_then(history::newest_of_kind);
    let event = spot.and_then(|spot| Some((spot, spot.read(&mut bytes)?)));
    match (kind, &event) {
        (_, Some((spot, event))) => write(&mut out, spot, event)?,
        (Some(_), None) if spot.is_some() => {
            out.line(|line| line.write_str("telemetry: overwritten meanwhile"))?;
        }
        (Some(kind), None) => {
            out.line(|line| write!(line, "telemetry: no event of kind {kind} is in memory"))?;
        }
        (None, None) => out.line(|line| {
            write!(
                line,
                "telemetry: {address:#x} is not an element of EventLast; `telemetry describe \
                 {address:#x}` in gdb finds an event at an address"
            )
        })?,
    }
    out.flush()?;
    Ok(usize::from(event.is_some()))
}

fn write(out: &mut Out, spot: &Spot, event: &Recalled<'_>) -> Result<(), Errno> {
    let registry = event.registry.map_or("?", |registry| registry.name);
    let event_type = event.event_type();
    let kind_of = |index| Some(crate::inspect::postmortem::kind_of(event.registry?, index)?.name);
    let kind = event_type.and_then(|event_type| kind_of(event_type.kind)).unwrap_or("?");
    out.line(|line| {
        let (code, number, buffer) = (event.code, spot.number, spot.buffer);
        write!(
            line,
            "telemetry: event {code:04X} of registry {registry}, kind {kind}, number {number} of \
             buffer {buffer}:"
        )
    })?;
    out.line(|line| text::write_event(line, spot.ticks, event, Now::read(), &text::scan))?;
    let Some(event_type) = event_type else { return Ok(()) };
    out.line(|line| write!(line, "  {}: {}", event_type.name, OneLine(event_type.doc)))?;
    for param in event_type.params {
        let (name, sort, doc) = (param.name, param.sort, OneLine(param.doc));
        out.line(|line| write!(line, "    {name}, {sort:?}: {doc}"))?;
    }
    Ok(())
}

struct OneLine<'a>(&'a str);

impl core::fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        for (index, word) in self.0.split_ascii_whitespace().enumerate() {
            f.write_str(if index == 0 { "" } else { " " })?;
            f.write_str(word)?;
        }
        Ok(())
    }
}
