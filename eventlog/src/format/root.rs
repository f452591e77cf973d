//! The root, by which a debugger finds a stream in the memory of the process that records it.
//!
//! ```text
//!  0       16          32     40     56    64        80     112        144            256
//!  │ magic │ order     │ self │ UUID │ pid │ chains  │ sync │ unhoused │ entry points │ 0 … │
//!  │       │ B, sizes  │      │      │     │         │      │          │              │
//! ```
//!
//! Numbers are in the byte order of the process (`.root.order`), unlike those of a stream. Layout:
//! section 9 of `design/format.md`.

use super::header::BYTE_ORDER_MARK;
use bytemuck::{CheckedBitPattern, Pod, Zeroable};
use core::mem::offset_of;

/// The first bytes of a root (`.root.magic`). The runtime does not use this constant: in memory,
/// only the root itself may have these bytes.
pub const ROOT_MAGIC: [u8; 16] = [
    0xA7, 0xDD, 0x8A, 0xE1, 0x7E, 0x26, 0x67, 0x4C, 0xD7, 0x51, 0x5D, 0xEF, 0x03, 0xFA, 0xB3, 0x42,
];
/// The version of the root that this library writes and reads (`.root.version`).
pub const ROOT_VERSION: u16 = 1;
/// Size of the root.
pub const ROOT_SIZE: usize = size_of::<Root>();
/// Alignment of a root's address.
pub const ROOT_ALIGNMENT: usize = 64;
/// Entries of a chain that a reader takes, at most (`.root.node`).
pub const ROOT_ENTRY_COUNT_MAX: usize = 1 << 20;
/// Number of counts of a buffer, 8 bytes each: full, nested, large, io, overwritten
/// (`.root.counts`).
pub const EXTENT_COUNTS: usize = 5;

/// The type of the blocks of an extent (`.root.extent`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern)]
#[repr(u8)]
pub enum ExtentType {
    /// Block 0, or a parts block with registries.
    Preamble = 1,
    /// Blocks of the store, buffer 0.
    Store = 2,
    /// The blocks of a ring.
    Ring = 3,
    /// The blocks of a mapped file.
    Mapped = 4,
}

impl ExtentType {
    /// Returns the type with this number, if this version knows it.
    pub fn from_byte(byte: u8) -> Option<ExtentType> {
        bytemuck::checked::try_cast(byte).ok()
    }
}

/// The root: section 9 of `design/format.md`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
#[expect(missing_docs, reason = "section 9 of design/format.md is the description")]
pub struct Root {
    pub magic: [u8; 16],
    pub byte_order_mark: u32,
    pub version: u16,
    pub size: u16,
    pub word_size: u8,
    pub address_size: u8,
    pub block_size_log2: u8,
    pub reserved_27: [u8; 5],
    pub own_address: u64,
    pub uuid: [u8; 16],
    pub pid: u64,
    pub extents: u64,
    pub registries: u64,
    pub sync_turn: u32,
    pub sync_uncertainty: u32,
    pub sync_ticks: u64,
    pub sync_monotonic: u64,
    pub sync_realtime: u64,
    pub unhoused: [u64; 4],
    pub dump: u64,
    pub describe: u64,
    pub flush: u64,
    pub last: u64,
    pub control: u64,
    pub reserved_184: [u64; 9],
}

const _: () = {
    assert!(size_of::<Root>() == 256);
    assert!(offset_of!(Root, own_address) == 32);
    assert!(offset_of!(Root, sync_turn) == 80);
    assert!(offset_of!(Root, dump) == 144);
};

impl Root {
    /// Returns a root of this platform and version. Every other field is zero, the magic too.
    pub fn native() -> Root {
        let mut root = Root::zeroed();
        root.byte_order_mark = BYTE_ORDER_MARK;
        root.version = ROOT_VERSION;
        root.size = ROOT_SIZE as u16;
        root.word_size = size_of::<usize>() as u8;
        root.address_size = size_of::<*const ()>() as u8;
        root
    }
}

/// The head of a node of a chain (`.root.node`).
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
#[expect(missing_docs, reason = "section 9 of design/format.md is the description")]
pub struct NodeHead {
    pub next: u64,
    pub count: u32,
    pub stride: u32,
}

const _: () = assert!(size_of::<NodeHead>() == 16);

/// An extent: adjacent blocks in memory (`.root.extent`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
#[expect(missing_docs, reason = "section 9 of design/format.md is the description")]
pub struct ExtentEntry {
    pub address: u64,
    pub count: u32,
    pub what: u8,
    pub kind: u8,
    pub registry: u16,
    pub counts: u64,
    pub buffer: u32,
    pub reserved_28: u32,
}

const _: () = assert!(size_of::<ExtentEntry>() == 32);

/// A registry and the addresses of its masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
#[expect(missing_docs, reason = "section 9 of design/format.md is the description")]
pub struct RegistryEntry {
    pub index: u32,
    pub reserved_4: u32,
    pub recorded: u64,
    pub output: u64,
}

const _: () = assert!(size_of::<RegistryEntry>() == 24);
