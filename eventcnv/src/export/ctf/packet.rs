//! Packets: a header, then events of one buffer.
//!
//! ```text
//!  ┤ magic uuid stream instance │ begin end sizes number discarded pid tid buffer │ event … ├
//!                                                          event: id, time │ ticks │ parameters
//! ```
//!
//! `metadata.rs` writes this layout in TSDL. Design: `.cnv.ctf` in `design/eventcnv.md`.

use std::io;

/// Appends bytes to the file of a name; a new file is empty.
pub(crate) type Append<'a> = &'a mut dyn FnMut(&str, &[u8]) -> io::Result<()>;

const MAGIC: u32 = 0xC1FC_1FC1;

/// The source of the events of a packet.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// UUID of the trace; zero for none.
    pub(super) uuid: [u8; 16],
    pub(super) file: u64,
    /// The stream class, which is the registry.
    pub(super) class: u32,
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) buffer: u32,
}

/// The current packet of a buffer.
#[derive(Debug)]
pub(super) struct Packet {
    place: Place,
    number: u64,
    /// The times of its first and last event, in ns.
    times: (u64, u64),
    events: Vec<u8>,
}

impl Packet {
    pub(super) fn new(place: Place, ns: u64) -> Packet {
        Packet { place, number: 0, times: (ns, ns), events: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.events.extend_from_slice(bytes);
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    /// Begins an event with its id, time and ticks. Returns its offset.
    pub(super) fn begin(&mut self, id: u32, ns: u64, ticks: u64) -> usize {
        let begin = self.events.len();
        self.u32(id);
        // Times never go back.
        self.u64(ns.max(self.times.1));
        self.u64(ticks);
        begin
    }

    /// Ends the event at an offset. Writes the packet before it, if that is full.
    pub(super) fn end(
        &mut self,
        begin: usize,
        ns: u64,
        size: usize,
        append: Append<'_>,
    ) -> io::Result<()> {
        let ns = ns.max(self.times.1);
        let is_full = begin > 0 && self.events.len() > size;
        if is_full {
            let event = self.events.split_off(begin);
            self.write(0, append)?;
            self.events = event;
        }
        if is_full || begin == 0 {
            self.times.0 = ns;
        }
        self.times.1 = ns;
        Ok(())
    }

    /// Writes the packet to its file, and begins the next.
    pub(super) fn write(&mut self, discarded: u64, append: Append<'_>) -> io::Result<()> {
        let place = &self.place;
        let mut head = Vec::with_capacity(128);
        head.extend(MAGIC.to_le_bytes());
        if place.uuid != [0; 16] {
            head.extend(place.uuid);
        }
        head.extend(place.class.to_le_bytes());
        head.extend(place.file.to_le_bytes());
        head.extend(self.times.0.to_le_bytes());
        head.extend(self.times.1.to_le_bytes());
        // Two sizes, in bits, which include the fields that follow: 4 × u64, 3 × u32.
        let size = (head.len() + 4 * 8 + 3 * 4 + self.events.len()) as u64 * 8;
        for number in [size, size, self.number, discarded] {
            head.extend(number.to_le_bytes());
        }
        for number in [place.pid, place.tid, place.buffer] {
            head.extend(number.to_le_bytes());
        }
        head.append(&mut self.events);
        let name = format!("buffer-{}", place.file);
        self.number += 1;
        self.times.0 = self.times.1;
        append(&name, &head)
    }
}
