//! Writes the wire format of protocol buffers.
//!
//! ```text
//!  field 8, varint:   (8 << 3 | 0)  7 bits at a time, low ones first
//!  field 11, message: (11 << 3 | 2) size in four bytes, written after the fields   fields …
//! ```
//!
//! All readers accept a size in more bytes than necessary; messages are smaller than 256 MiB.
//! Design: `.cnv.perfetto` in `design/eventcnv.md`.

/// Bytes of the size of a message.
const SIZE_SIZE: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    fn varint(&mut self, mut value: u64) {
        while value > 0x7F {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn tag(&mut self, field: u32, wire: u64) {
        self.varint(u64::from(field) << 3 | wire);
    }

    /// Writes an integer; for a negative one, its two's complement.
    pub(super) fn uint(&mut self, field: u32, value: u64) {
        self.tag(field, 0);
        self.varint(value);
    }

    /// Writes a number in eight bytes.
    pub(super) fn fixed(&mut self, field: u32, value: u64) {
        self.tag(field, 1);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn double(&mut self, field: u32, value: f64) {
        self.fixed(field, value.to_bits());
    }

    pub(super) fn string(&mut self, field: u32, value: &str) {
        self.tag(field, 2);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value.as_bytes());
    }

    /// Writes a message that is made already.
    #[cfg(feature = "waits")]
    pub(super) fn bytes_of(&mut self, field: u32, message: &Message) {
        self.tag(field, 2);
        self.varint(message.bytes.len() as u64);
        self.bytes.extend_from_slice(&message.bytes);
    }

    /// Writes a message within this one.
    pub(super) fn message(&mut self, field: u32, fill: impl FnOnce(&mut Message)) {
        self.tag(field, 2);
        let begin = self.bytes.len() + SIZE_SIZE;
        self.bytes.extend_from_slice(&[0; SIZE_SIZE]);
        fill(self);
        let size = self.bytes.len() - begin;
        let place = self.bytes.get_mut(begin - SIZE_SIZE..begin);
        for (index, byte) in place.into_iter().flatten().enumerate() {
            let more = if index + 1 < SIZE_SIZE { 0x80 } else { 0 };
            *byte = (size >> (7 * index)) as u8 & 0x7F | more;
        }
    }
}
