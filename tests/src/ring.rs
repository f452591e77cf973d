//! A block that the naive writer fills.
//!
//! ```text
//!  record ──▶ payload: newest … oldest ── flush ──▶ a part; write ──▶ the whole block
//! ```

use super::naive::{BlockFields, Buffer, Platform, Value, Writer};

/// The current block of a buffer.
#[derive(Clone, Debug)]
pub struct Ring {
    /// The buffer.
    pub buffer: Buffer,
    /// Events in the buffer so far.
    pub number: u64,
    /// Fields of the whole block so far.
    pub fields: BlockFields,
    /// [last, top) of the whole block so far.
    pub payload: Vec<u8>,
    /// Fields of the events that no part has yet.
    pub rest: BlockFields,
}

impl Ring {
    /// Begins the first block of a buffer.
    pub fn new(platform: &Platform, buffer: Buffer, base: u64) -> Ring {
        let size = platform.block_size() as u32;
        let fields = BlockFields {
            block_type: 1,
            last: size,
            top: size,
            base,
            base_last: base,
            ..BlockFields::default()
        };
        Ring { buffer, number: 0, fields, payload: Vec::new(), rest: fields }
    }

    /// Adds an event to the block. Returns whether the block had room.
    pub fn record(&mut self, platform: &Platform, ticks: u64, code: u16, values: &[Value]) -> bool {
        let mut event = platform.event(code, values);
        let mut base = self.fields.base_last;
        let is_near = ticks.checked_sub(base).is_some_and(|delta| delta <= u64::from(u32::MAX));
        let mut record = Vec::new();
        if !is_near {
            record = platform.base_record(ticks, base);
            base = ticks;
        }
        if 128 + event.len() + record.len() > self.fields.last as usize {
            return false;
        }
        platform.set_delta(&mut event, (ticks - base) as u32);
        event.extend_from_slice(&record);
        event.extend_from_slice(&self.payload);
        self.payload = event;
        self.number += 1;
        for fields in [&mut self.fields, &mut self.rest] {
            fields.last = (platform.block_size() - self.payload.len()) as u32;
            fields.count += 1;
            fields.base_last = base;
            fields.sync_ticks = fields.sync_ticks.max(ticks);
        }
        true
    }

    /// Writes the events that no part has yet as a part.
    pub fn flush(&mut self, writer: &mut Writer) {
        let size = (self.rest.top - self.rest.last) as usize;
        if size + 256 > writer.platform.block_size() {
            self.write(writer, true); // `.parts.fits`
        } else if size > 0 {
            writer.part(self.buffer, self.rest, &self.payload[..size]);
        }
        let BlockFields { last, count, base_last, .. } = self.rest;
        self.rest.top = last;
        self.rest.first += u64::from(count);
        self.rest.count = 0;
        self.rest.base = base_last;
    }

    /// Writes the whole block.
    pub fn write(&self, writer: &mut Writer, is_sealed: bool) {
        writer.event_block(self.buffer, self.fields, &self.payload, is_sealed);
    }

    /// Begins the next block.
    pub fn advance(&mut self, platform: &Platform, base: u64) {
        let before = self.fields;
        let number = self.number;
        *self = Ring::new(platform, self.buffer, base);
        self.number = number;
        for fields in [&mut self.fields, &mut self.rest] {
            fields.first = number;
            fields.sequence = before.sequence + 1;
            fields.overwritten = before.overwritten;
            fields.discarded = before.discarded;
        }
    }
}
