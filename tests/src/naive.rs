//! A naive writer of streams: `design/format.md` in `Vec<u8>`, without `eventlog::format`.
//!
//! ```text
//!  Recipe ── write ──▶ bytes of a stream
//!                 └──▶ [Recorded]: the events that a reader must return
//! ```
//!
//! It writes any word size, byte order and block size; blocks whole, open and in parts; base
//! records. It is as simple as possible, because the reader is compared with it.

pub use super::recipe::{KINDS, Random, Recipe, Ring, TYPES, write};

/// The value of a parameter; a double as its bits, so that it can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the sorts of `.event.params`")]
pub enum Value {
    P(u64),
    A(u64),
    W(u64),
    U(u32),
    D(u64),
    B(bool),
    S(Vec<u8>),
}

/// A recorded event.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in the format document")]
pub struct Recorded {
    pub stream: u16,
    pub buffer: u32,
    pub number: u64,
    pub ticks: u64,
    pub registry: u16,
    pub kind: u8,
    pub thread: u32,
    pub code: u16,
    pub values: Vec<Value>,
}

/// An event type: code, kind, name, and the letters and names of its parameters.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "as in the format document")]
pub struct EventType {
    pub code: u16,
    pub kind: u8,
    pub name: &'static str,
    pub params: &'static [(char, &'static str)],
}

/// The byte order and word size of a platform, and the size of blocks.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "as in the format document")]
pub struct Platform {
    pub big_endian: bool,
    pub word_size: usize,
    pub block_size_log2: u32,
}

/// Writes a stream.
#[derive(Clone, Debug)]
pub struct Writer {
    /// The platform and the block size.
    pub platform: Platform,
    /// The UUID of the stream.
    pub uuid: [u8; 16],
    /// The blocks, without the header block.
    pub blocks: Vec<Vec<u8>>,
    /// The filled bytes of the header block.
    pub head: Vec<u8>,
    /// The current parts block, as an index in `blocks`; `None` for the header block.
    parts: Option<usize>,
    parts_blocks: u64,
}

/// The identity of a buffer, the same in all its blocks.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "as in the format document")]
pub struct Buffer {
    pub buffer: u32,
    pub registry: u16,
    pub kind: u8,
    pub thread: u32,
}

/// The fields of a block header that differ from block to block.
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "as in the format document")]
pub struct BlockFields {
    pub block_type: u8,
    pub last: u32,
    pub count: u32,
    pub top: u32,
    pub sequence: u64,
    pub first: u64,
    pub base: u64,
    pub base_last: u64,
    pub sync_ticks: u64,
    pub sync_monotonic: u64,
    pub sync_realtime: u64,
    pub overwritten: u64,
    pub discarded: [u32; 4],
}

/// Returns the CRC-32C, bit by bit (`.crc`).
pub fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82F6_3B78 } else { crc >> 1 };
        }
    }
    !crc
}

/// Overwrites bytes at an offset.
pub fn put(bytes: &mut [u8], offset: usize, value: &[u8]) {
    bytes[offset..offset + value.len()].copy_from_slice(value);
}

/// Recomputes the checksum of the stream header at the start of these bytes.
pub fn seal_stream_header(bytes: &mut [u8]) {
    put(bytes, 28, &[0; 4]);
    let crc = crc32c(&bytes[..512]);
    put(bytes, 28, &crc.to_le_bytes());
}

/// Recomputes the checksum of the block header at the start of these bytes, over its payload.
pub fn seal_block(header: &mut [u8], payload: &[u8]) {
    put(header, 8, &[0; 4]);
    let mut all = header[..128].to_vec();
    all.extend_from_slice(payload);
    put(header, 8, &crc32c(&all).to_le_bytes());
}

impl Platform {
    /// Returns B, the block size.
    pub fn block_size(&self) -> usize {
        1 << self.block_size_log2
    }

    fn flags(&self) -> u8 {
        u8::from(self.big_endian) * 2 + u8::from(self.word_size == 8) * 4
    }

    pub(crate) fn int(&self, value: u64, size: usize) -> Vec<u8> {
        let mut bytes = value.to_le_bytes()[..size].to_vec();
        if self.big_endian {
            bytes.reverse();
        }
        bytes
    }

    /// Returns an event without its delta.
    pub fn event(&self, code: u16, values: &[Value]) -> Vec<u8> {
        let mut event = vec![0; 8];
        let word = self.word_size;
        for value in values {
            let (size, bits) = match *value {
                Value::P(bits) | Value::A(bits) | Value::W(bits) => (word, bits),
                Value::U(bits) => (4, u64::from(bits)),
                Value::D(bits) => (8, bits),
                Value::B(bit) => (1, u64::from(bit)),
                Value::S(ref string) => {
                    event.extend_from_slice(string);
                    let padding = 8 - event.len() % 8;
                    event.extend_from_slice(&vec![0; padding - 1]);
                    event.push(padding as u8 - 1);
                    continue;
                }
            };
            while !event.len().is_multiple_of(size) {
                event.push(0xEE); // Padding has no meaning.
            }
            event.extend_from_slice(&self.int(bits, size));
        }
        while !event.len().is_multiple_of(8) {
            event.push(0xEE);
        }
        put(&mut event, 0, &self.int(u64::from(code), 2));
        let size = event.len() as u64;
        put(&mut event, 2, &self.int(size, 2));
        event
    }

    /// Returns a base record.
    pub fn base_record(&self, base: u64, before: u64) -> Vec<u8> {
        let mut record = vec![0; 8];
        put(&mut record, 2, &self.int(24, 2));
        record.extend_from_slice(&self.int(base, 8));
        record.extend_from_slice(&self.int(before, 8));
        record
    }

    /// Sets the delta of an event.
    pub fn set_delta(&self, event: &mut [u8], delta: u32) {
        put(event, 4, &self.int(u64::from(delta), 4));
    }
}

impl Writer {
    /// Begins a stream.
    pub fn new(platform: Platform, uuid: [u8; 16], boot_id: [u8; 16]) -> Writer {
        let mut head = vec![0; 512];
        put(&mut head, 0, &[0xD5, 0x45, 0x56, 0x4C, 0x0D, 0x0A, 0x1A, 0x00]);
        put(&mut head, 8, &1u16.to_le_bytes());
        put(&mut head, 14, &512u16.to_le_bytes());
        put(&mut head, 16, &platform.int(0x0A0B_0C0D, 4));
        head[20] = platform.word_size as u8;
        head[21] = platform.word_size as u8;
        put(&mut head, 24, &(platform.block_size() as u32).to_le_bytes());
        put(&mut head, 32, &uuid);
        put(&mut head, 48, &boot_id);
        put(&mut head, 80, &4711u64.to_le_bytes());
        put(&mut head, 104, &3u32.to_le_bytes());
        put(&mut head, 152, b"naive 1");
        put(&mut head, 280, b"program");
        seal_stream_header(&mut head);
        Writer { platform, uuid, blocks: Vec::new(), head, parts: None, parts_blocks: 0 }
    }

    /// Returns a block header, sealed if it has a payload.
    pub fn header(&self, buffer: Buffer, fields: BlockFields, payload: Option<&[u8]>) -> Vec<u8> {
        let mut header = vec![0; 128];
        put(&mut header, 0, &[0xF7, 0x45, 0x4C, 0x8A]);
        header[4] = fields.block_type;
        header[5] = self.platform.flags() | u8::from(payload.is_some());
        header[6] = self.platform.block_size_log2 as u8;
        header[7] = 16;
        put(&mut header, 12, &buffer.registry.to_le_bytes());
        header[14] = buffer.kind;
        put(&mut header, 16, &self.uuid[..8]);
        put(&mut header, 24, &fields.last.to_le_bytes());
        put(&mut header, 28, &fields.count.to_le_bytes());
        put(&mut header, 32, &fields.top.to_le_bytes());
        put(&mut header, 36, &buffer.buffer.to_le_bytes());
        put(&mut header, 40, &fields.sequence.to_le_bytes());
        put(&mut header, 48, &fields.first.to_le_bytes());
        put(&mut header, 56, &fields.base.to_le_bytes());
        put(&mut header, 64, &fields.base_last.to_le_bytes());
        put(&mut header, 72, &buffer.thread.to_le_bytes());
        put(&mut header, 80, &fields.sync_ticks.to_le_bytes());
        put(&mut header, 88, &fields.sync_monotonic.to_le_bytes());
        put(&mut header, 96, &fields.sync_realtime.to_le_bytes());
        put(&mut header, 104, &fields.overwritten.to_le_bytes());
        for (index, count) in fields.discarded.iter().enumerate() {
            put(&mut header, 112 + 4 * index, &count.to_le_bytes());
        }
        if let Some(payload) = payload {
            seal_block(&mut header, payload);
        }
        header
    }

    /// Writes a part, into a new parts block if it does not fit.
    pub fn part(&mut self, buffer: Buffer, fields: BlockFields, payload: &[u8]) {
        let mut part = self.header(buffer, fields, Some(payload));
        part.extend_from_slice(payload);
        part.resize(part.len().next_multiple_of(8), 0);
        let size = self.platform.block_size();
        let used = match self.parts {
            None => self.head.len(),
            Some(index) => self.blocks[index].len(),
        };
        if used + part.len() > size {
            let nobody = Buffer { buffer: 0, registry: 0, kind: 0, thread: 0 };
            let (last, sequence) = (size as u32, self.parts_blocks);
            let fields =
                BlockFields { block_type: 2, last, top: last, sequence, ..BlockFields::default() };
            self.blocks.push(self.header(nobody, fields, Some(&[])));
            self.parts = Some(self.blocks.len() - 1);
            self.parts_blocks += 1;
        }
        match self.parts {
            None => self.head.extend_from_slice(&part),
            Some(index) => self.blocks[index].extend_from_slice(&part),
        }
    }

    /// Writes a registry, in pieces of a size.
    pub fn registry(&mut self, index: u16, kinds: &[&str], types: &[EventType], piece_size: usize) {
        self.encoded_registry(index, &encode_registry(kinds, types), piece_size);
    }

    /// Writes an encoded registry, in pieces of a size.
    pub fn encoded_registry(&mut self, index: u16, encoding: &[u8], piece_size: usize) {
        for (n, piece) in encoding.chunks(piece_size).enumerate() {
            let buffer = Buffer { buffer: 0, registry: index, kind: 0, thread: 0 };
            let fields = BlockFields {
                block_type: 3,
                top: piece.len() as u32,
                sequence: encoding.len() as u64,
                first: (n * piece_size) as u64,
                ..BlockFields::default()
            };
            self.part(buffer, fields, piece);
        }
    }

    /// Writes an end part.
    pub fn end(&mut self) {
        let nobody = Buffer { buffer: 0, registry: 0, kind: 0, thread: 0 };
        let sequence = self.blocks.len() as u64 + 1;
        self.part(nobody, BlockFields { block_type: 4, sequence, ..BlockFields::default() }, &[]);
    }

    /// Writes an event block whose payload ends at B; open if not sealed.
    pub fn event_block(
        &mut self,
        buffer: Buffer,
        fields: BlockFields,
        payload: &[u8],
        is_sealed: bool,
    ) {
        let header = self.header(buffer, fields, is_sealed.then_some(payload));
        let mut block = vec![0xCC; self.platform.block_size()]; // The gap has no meaning.
        put(&mut block, 0, &header);
        put(&mut block, self.platform.block_size() - payload.len(), payload);
        self.blocks.push(block);
    }

    /// Returns the bytes of the stream.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head.clone();
        for block in &self.blocks {
            bytes.resize(bytes.len().next_multiple_of(self.platform.block_size()), 0);
            bytes.extend_from_slice(block);
        }
        bytes
    }
}

fn encode_str(bytes: &mut Vec<u8>, string: &str) {
    bytes.extend_from_slice(&(string.len() as u16).to_le_bytes());
    bytes.extend_from_slice(string.as_bytes());
}

/// Returns the encoding of a registry (5.1), version 1.2.3, whose docs are the names.
pub fn encode_registry(kinds: &[&str], types: &[EventType]) -> Vec<u8> {
    let mut bytes = vec![1, 0, 2, 0, 3, 0];
    bytes.extend_from_slice(&(kinds.len() as u16).to_le_bytes());
    bytes.extend_from_slice(&(types.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&u64::MAX.to_le_bytes());
    bytes.extend_from_slice(&5u64.to_le_bytes());
    encode_str(&mut bytes, "naive");
    encode_str(&mut bytes, "what it is about");
    for (index, name) in kinds.iter().enumerate() {
        bytes.push(index as u8);
        encode_str(&mut bytes, name);
        encode_str(&mut bytes, name);
    }
    for row in types {
        bytes.extend_from_slice(&row.code.to_le_bytes());
        bytes.extend_from_slice(&[row.kind, 1]);
        bytes.extend_from_slice(&(row.params.len() as u16).to_le_bytes());
        encode_str(&mut bytes, row.name);
        encode_str(&mut bytes, row.name);
        for (sort, name) in row.params {
            bytes.push(*sort as u8);
            encode_str(&mut bytes, name);
            encode_str(&mut bytes, name);
        }
    }
    bytes
}
