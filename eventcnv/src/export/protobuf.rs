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

/// A message, or nested messages.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// `.cnv.perfetto`
    #[test]
    fn fields_are_tags_and_values() {
        let mut message = Message::default();
        message.uint(1, 150);
        message.string(2, "ab");
        message.message(16, |inner| inner.uint(1, u64::MAX));
        message.fixed(3, 1);
        let mut expected = vec![8, 0x96, 1, 0x12, 2, b'a', b'b', 0x82, 1, 0x8B, 0x80, 0x80, 0];
        expected.extend([8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
        expected.extend([0x19, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(message.bytes(), expected);
        message.clear();
        message.message(1, |inner| inner.string(1, &"x".repeat(300)));
        assert_eq!(message.bytes()[1..5], [0x80 | 47, 0x80 | 2, 0x80, 0]);
    }
}
