//! The block header, with which every part and every block except the first begins.
//!
//! ```text
//!  0            12             24          40       56     72     104          128
//!  │ magic, crc │ whose events │ last,     │ which  │ base │ sync │ overwritten │ events …
//!  │ type,flags │ stream       │ count,top │ numbers│      │      │ discarded   │
//! ```
//!
//! Layout: section 3.1 of `design/format.md`.

use super::header::checksum;
use super::le::{U16le, U32le, U64le};
use bytemuck::{CheckedBitPattern, Pod, Zeroable};

/// The first bytes of a block or part (`.block.magic`).
pub const BLOCK_MAGIC: [u8; 4] = [0xF7, b'E', b'L', 0x8A];
/// Size of the block header, and of a part's header.
pub const BLOCK_HEADER_SIZE: usize = size_of::<BlockHeader>();

/// The content of a block or part (`.block.type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern)]
#[repr(u8)]
pub enum BlockType {
    /// Events.
    Events = 1,
    /// Parts.
    Parts = 2,
    /// A piece of a registry.
    Registry = 3,
    /// The mark that the stream was closed.
    End = 4,
}

impl BlockType {
    /// Returns the type with this number, if this version knows it.
    pub fn from_byte(byte: u8) -> Option<BlockType> {
        bytemuck::checked::try_cast(byte).ok()
    }
}

/// Flag (`.block.flags`): the checksum is valid, and nothing more is recorded here.
pub const SEALED: u8 = 1;
/// Flag: the writer is big-endian.
pub const BIG_ENDIAN: u8 = 2;
/// Flag: words and addresses have eight bytes.
pub const WORD64: u8 = 4;
/// Flag: the newest record has the numbers of the events (`.cut.numbers`).
pub const NUMBERED: u8 = 8;
/// The flags of this platform.
pub const NATIVE_FLAGS: u8 = if cfg!(target_endian = "big") { BIG_ENDIAN } else { 0 }
    | if cfg!(target_pointer_width = "64") { WORD64 } else { 0 };

/// The block header: section 3.1 of `design/format.md`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
#[expect(missing_docs, reason = "section 3.1 of design/format.md is the description")]
pub struct BlockHeader {
    pub magic: [u8; 4],
    pub block_type: u8,
    pub flags: u8,
    pub block_size_log2: u8,
    pub header_size_words: u8,
    pub crc: U32le,
    pub registry: U16le,
    pub kind: u8,
    pub reserved_15: u8,
    pub stream: [u8; 8],
    pub last: U32le,
    pub count: U32le,
    pub top: U32le,
    pub buffer: U32le,
    pub sequence: U64le,
    pub first: U64le,
    pub base: U64le,
    pub base_last: U64le,
    pub thread: U32le,
    pub sync_uncertainty: U32le,
    pub sync_ticks: U64le,
    pub sync_monotonic: U64le,
    pub sync_realtime: U64le,
    pub overwritten: U64le,
    pub discarded_full: U32le,
    pub discarded_nested: U32le,
    pub discarded_large: U32le,
    pub discarded_io: U32le,
}

const _: () = assert!(size_of::<BlockHeader>() == 128);
const _: () = assert!(core::mem::offset_of!(BlockHeader, last) == 24);
const _: () = assert!(core::mem::offset_of!(BlockHeader, sync_ticks) == 80);

impl BlockHeader {
    /// Returns whether the header counts events that are not in the stream (`.block.discarded`,
    /// `.block.overwritten`).
    pub fn has_losses(&self) -> bool {
        let [full, nested] = [self.discarded_full, self.discarded_nested];
        let discarded = [full, nested, self.discarded_large, self.discarded_io];
        self.overwritten.get() != 0 || discarded.iter().any(|count| count.get() != 0)
    }

    /// Reads the header at the start of a block's or part's bytes, if they hold all of it.
    pub fn read(bytes: &[u8]) -> Option<BlockHeader> {
        bytemuck::try_pod_read_unaligned(bytes.get(..BLOCK_HEADER_SIZE)?).ok()
    }

    /// Returns a header of this platform and version. Every other field is zero (`.reserved`): the
    /// block is not sealed.
    pub fn native(block_type: BlockType, block_size_log2: u8) -> BlockHeader {
        let mut header = BlockHeader::zeroed();
        header.magic = BLOCK_MAGIC;
        header.block_type = block_type as u8;
        header.flags = NATIVE_FLAGS;
        header.block_size_log2 = block_size_log2;
        header.header_size_words = (BLOCK_HEADER_SIZE / 8) as u8;
        header
    }

    /// Returns the checksum of the header and of these bytes at [last, top) (`.crc`, `.block.crc`).
    pub fn checksum(&self, payload: &[u8]) -> u32 {
        self.checksum_with(&[], payload)
    }

    /// Returns the checksum of a header that a later version made longer. `added` are the bytes
    /// between these fields and the payload (`.block.header-size`).
    pub fn checksum_with(&self, added: &[u8], payload: &[u8]) -> u32 {
        let mut copy = *self;
        copy.crc = U32le::new(0);
        checksum(&[bytemuck::bytes_of(&copy), added, payload])
    }

    /// Sets the sealed flag and the checksum over these bytes at [last, top) (`.write.seal`).
    pub fn seal(&mut self, payload: &[u8]) {
        self.flags |= SEALED;
        self.crc = U32le::new(self.checksum(payload));
    }

    /// Returns whether the block is sealed.
    pub fn is_sealed(&self) -> bool {
        self.flags & SEALED != 0
    }

    /// Returns the size of [last, top) in bytes; 0 if top is below last.
    pub fn payload_size(&self) -> usize {
        self.top.get().saturating_sub(self.last.get()) as usize
    }
}
