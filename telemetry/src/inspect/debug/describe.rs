//! One event, with everything that its registry knows about it.
//!
//! ```text
//!  address ─┬─ handle of a kind ─▶ its newest event ─┐
//!           ├─ in a block ───────▶ the event there ──┴─▶ lines
//!           └─ elsewhere ────────▶ one line that states this
//! ```
//!
//! Design: `.debug.describe` in `design/telemetry.md`.

use super::out::Out;
use crate::inspect::history::{self, Found, Recalled, Spot};
use crate::inspect::text::{self, EVENT_SIZE_SHOWN, Now};
use crate::os::pages::Temporary;
use crate::os::sys::Errno;
use core::ffi::c_int;
use core::fmt::Write;

/// Describes the event at an address; returns the number of events described.
pub(super) fn describe(address: usize, file: c_int) -> Result<usize, Errno> {
    let mut out = Out::new(file)?;
    let spot = match super::kind_of(address) {
        Some(kind) => {
            let spot = history::newest_of_kind(kind);
            if spot.is_none() {
                out.line(|line| write!(line, "telemetry: no event of kind {kind} is in memory"))?;
            }
            spot
        }
        None => find(&mut out, address)?,
    };
    let mut bytes = Temporary::map(EVENT_SIZE_SHOWN).ok_or(libc::ENOMEM)?;
    let event = spot.and_then(|spot| Some((spot, spot.read(&mut bytes)?)));
    let count = usize::from(event.is_some());
    match (spot, event) {
        (_, Some((spot, event))) => write(&mut out, &spot, &event)?,
        (Some(_), None) => out.line(|line| line.write_str("telemetry: overwritten meanwhile"))?,
        (None, None) => {}
    }
    out.flush()?;
    Ok(count)
}

/// Returns the event at an address, or writes a line that states why it finds none.
fn find(out: &mut Out, address: usize) -> Result<Option<Spot>, Errno> {
    match history::at(address) {
        Found::Event(spot) => return Ok(Some(spot)),
        Found::Block(buffer, sequence) => out.line(|line| {
            write!(
                line,
                "telemetry: no event is at {address:#x}, which is in block {sequence} of buffer \
                 {buffer}: in its header, or where nothing was recorded yet"
            )
        })?,
        Found::Nothing => out.line(|line| {
            write!(line, "telemetry: {address:#x} is in no block that events are recorded into")
        })?,
    }
    Ok(None)
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

/// A doc string as one line.
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
