//! The Common Trace Format 1.8: a directory that babeltrace2 and Trace Compass read.
//!
//! ```text
//!  metadata     the layout, in TSDL             metadata.rs
//!  buffer-0     ┤ header │ context │ events ├┤ … ├      a file for each buffer, packets of events
//!  buffer-1     ┤ …                                     packet.rs
//! ```
//!
//! Little-endian and packed to bytes on every platform. Design: `.cnv.ctf` in `design/eventcnv.md`.

pub(crate) mod metadata;
pub(crate) mod packet;

use crate::export::ctf::metadata::{EMPTY, UNKNOWN};
use crate::export::ctf::packet::{Append, Packet, Place};
use crate::export::processes::Processes;
use crate::open::select::Selected;
use eventdef::Sort;
use eventlog::reader::{Account, Clock, Event, Log, Value};
use std::collections::HashMap;
use std::io;

/// Limits of the size of a packet; between them it is the size of a block.
const PACKET_SIZE_MIN: usize = 1 << 12;
const PACKET_SIZE_MAX: usize = 1 << 16;

/// Zero bytes for the parameters that an event lacks, at most. An event that lacks more is written
/// as its bytes, like one of unknown type; else a short log would become a huge trace.
const MADE_UP_SIZE_MAX: usize = 1 << 10;

/// Writes events as a trace. Returns a note for the user, if any.
pub(crate) fn write(
    log: &Log,
    clock: &Clock,
    events: &mut Selected<'_>,
    append: Append<'_>,
) -> io::Result<Option<String>> {
    append("metadata", metadata::metadata(log, clock).as_bytes())?;
    let registries = (0..).zip(log.registries());
    let mut ctf = Ctf {
        processes: Processes::new(log),
        uuid: log.streams().first().map_or([0; 16], |stream| stream.uuid),
        packets: HashMap::new(),
        registries: registries.map(|(at, of)| ((of.stream, of.index), at)).collect(),
        discarded: log.accounts().iter().map(discarded).filter(|(_, count)| *count > 0).collect(),
        short_count: 0,
    };
    while let Some(event) = events.next() {
        let block_size =
            log.streams().get(usize::from(event.stream)).map(|s| s.block_size as usize);
        let size = block_size.filter(|size| *size > 0).unwrap_or(PACKET_SIZE_MAX);
        let size = size.clamp(PACKET_SIZE_MIN, PACKET_SIZE_MAX);
        ctf.event(&event, clock.ns(event.stream, event.ticks), size, append)?;
    }
    ctf.end(append)?;
    let note = format!(
        "{} events lack parameters of their event types; the missing values are 0, or the event is \
         written as its bytes",
        ctf.short_count
    );
    Ok(Some(note).filter(|_| ctf.short_count > 0))
}

fn discarded(account: &Account) -> ((u16, u32), u64) {
    let counts = [
        account.discarded_full,
        account.discarded_nested,
        account.discarded_large,
        account.discarded_io,
    ];
    ((account.stream, account.buffer), counts.iter().map(|&count| u64::from(count)).sum())
}

struct Ctf {
    processes: Processes,
    uuid: [u8; 16],
    /// The current packet of each buffer: by stream, registry, buffer.
    packets: HashMap<(u16, u16, u32), Packet>,
    /// The position of a registry in the log, by stream and index.
    registries: HashMap<(u16, u16), u32>,
    /// Discarded events, by stream and buffer.
    discarded: HashMap<(u16, u32), u64>,
    short_count: u64,
}

impl Ctf {
    fn event(
        &mut self,
        event: &Event<'_, '_>,
        ns: u64,
        size: usize,
        append: Append<'_>,
    ) -> io::Result<()> {
        let registry = (event.registry.stream, event.registry.index);
        let key = (event.stream, event.registry.index, event.buffer);
        if !self.packets.contains_key(&key) {
            let place = Place {
                uuid: self.uuid,
                file: self.packets.len() as u64,
                class: self.registries.get(&registry).copied().unwrap_or(0),
                pid: self.processes.pid(event.stream),
                tid: self.processes.thread(event).0,
                buffer: event.buffer,
            };
            let mut packet = Packet::new(place, ns);
            if self.discarded.contains_key(&(event.stream, event.buffer)) {
                // Losses count from one packet to the next, so an empty packet comes first.
                packet.write(0, append)?;
            }
            self.packets.insert(key, packet);
        }
        let Some(packet) = self.packets.get_mut(&key) else { return Ok(()) };
        let missing = missing(event);
        let is_known = event.event_type.is_some() && missing.is_some();
        let begin = packet.begin(if is_known { id(event) } else { UNKNOWN }, ns, event.ticks);
        if is_known {
            fields(event, missing.unwrap_or(0), packet);
        } else {
            packet.u32(event.code().into());
            packet.u32(event.bytes.len() as u32);
            packet.bytes(event.bytes);
        }
        self.short_count += u64::from(missing != Some(0));
        packet.end(begin, ns, size, append)
    }

    /// Writes the last packets, with the losses.
    fn end(&mut self, append: Append<'_>) -> io::Result<()> {
        for ((stream, _, buffer), packet) in &mut self.packets {
            let discarded = self.discarded.get(&(*stream, *buffer)).copied().unwrap_or(0);
            if discarded > 0 || !packet.is_empty() {
                packet.write(discarded, append)?;
            }
        }
        Ok(())
    }
}

fn id(event: &Event<'_, '_>) -> u32 {
    let Some(event_type) = event.event_type else { return UNKNOWN };
    let last = event_type.params.len().saturating_sub(1);
    let has_string = event_type.params.last().is_some_and(|param| param.sort == Sort::S);
    let is_empty = has_string && !matches!(event.param_at(last), Some(Value::S([_, ..])));
    u32::from(event_type.code) + if is_empty { EMPTY } else { 0 }
}

/// Returns the size of the parameters that an event lacks; `None` if that is too much.
fn missing(event: &Event<'_, '_>) -> Option<usize> {
    let params = event.event_type.map_or(&[][..], |event_type| &event_type.params);
    let mut size = 0;
    // Each takes at least a byte.
    for param in params.iter().skip(event.params().count()).take(MADE_UP_SIZE_MAX + 1) {
        size += if param.sort == Sort::S { 1 } else { param.sort.size(8) };
    }
    (size <= MADE_UP_SIZE_MAX).then_some(size)
}

/// Appends the parameters of an event, and `missing` bytes for those that it lacks.
fn fields(event: &Event<'_, '_>, missing: usize, packet: &mut Packet) {
    for (_, value) in event.params() {
        match value {
            Value::P(value) | Value::A(value) | Value::W(value) => packet.u64(value),
            Value::U(value) => packet.u32(value),
            Value::B(value) => packet.bytes(&[value.into()]),
            Value::D(value) => packet.u64(value.to_bits()),
            // A NUL ends a string, so its picture replaces one within the string.
            Value::S(value) => {
                packet.bytes(String::from_utf8_lossy(value).replace('\0', "\u{2400}").as_bytes());
                packet.bytes(&[0]);
            }
        }
    }
    packet.bytes([0; MADE_UP_SIZE_MAX].get(..missing).unwrap_or_default());
}
